/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fault of disorder.
 */
#ifndef SOFTHCA_DISORDER_H
#define SOFTHCA_DISORDER_H

#include "copy.h"

/* Like copy_between(), or copy_inline() where from is NULL, with the bytes in another order. The
 * path says in what packets they come, its own queue pair's or the peer's. Under the progress lock.
 */
int disorder_copy(const struct ibv_qp_attr *path, const struct memory_list *to,
                  const struct memory_list *from, const uint8_t *inline_data, uint64_t offset,
                  uint64_t length);

#endif
