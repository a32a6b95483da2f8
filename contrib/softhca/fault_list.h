/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The reader of SOFTHCA_FAULT. Pure; the names are constant. */
#ifndef SOFTHCA_FAULT_LIST_H
#define SOFTHCA_FAULT_LIST_H

#include "config.h"

extern const char *const fault_call_names[FAULT_CALLS];

/* Reads a comma list, which is cut up. NULL, or the item that cannot be read. */
const char *faults_read(char *list, struct faults *out);

#endif
