/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Totals of this process, for SOFTHCA_STATS.
 *
 * Any thread; all counters are atomic.
 */
#ifndef SOFTHCA_STATS_H
#define SOFTHCA_STATS_H

#include <stdbool.h>
#include <stdint.h>

void stats_request(uint64_t bytes);
void stats_registered(uint64_t bytes);
void stats_deregistered(uint64_t bytes);
void stats_stale(void);
/* Bytes registered now. */
uint64_t stats_registered_now(void);
/* Appends the totals to the file named by SOFTHCA_STATS, if any. */
void stats_write(void);

#endif
