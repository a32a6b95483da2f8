/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Faults asked for by SOFTHCA_FAULT; the list is in fault.c. */
#ifndef SOFTHCA_FAULT_H
#define SOFTHCA_FAULT_H

#include "copy.h"

/* Like copy_between, or copy_inline where from is NULL, with the bytes in another order. */
int fault_copy(const struct memory_list *to, const struct memory_list *from,
               const uint8_t *inline_data, uint64_t offset, uint64_t length);
/* Whether a queue pair's n-th request (from 1) shall fail. */
bool fault_request(uint64_t n);

#endif
