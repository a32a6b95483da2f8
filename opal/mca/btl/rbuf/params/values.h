/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reading parameter values: strict, exact, no trailing junk. Open MPI's own reader takes "12.5k"
 * for 12 and "12x" for 12; here they are errors.
 */
#ifndef BTL_RBUF_VALUES_H
#define BTL_RBUF_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* A whole number, optionally with k, M or G (powers of 1024, either case, optional trailing B). */
bool mca_btl_rbuf_read_size(const char *text, uint64_t *bytes);

/* A whole number, decimal or 0x. */
bool mca_btl_rbuf_read_count(const char *text, uint64_t *count);

/* A whole number with unit ns, us, ms or s; 0 needs none. */
bool mca_btl_rbuf_read_time(const char *text, uint64_t *ns);

/* A decimal fraction such as 1.5, in 16.16 fixed point. No exponent, no sign, no inf, no nan. */
bool mca_btl_rbuf_read_ratio(const char *text, uint64_t *fixed);

#endif
