/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What comes before the first case of a measurement. MPI's main thread.
 */
#ifndef RBUF_BENCH_WARM_H
#define RBUF_BENCH_WARM_H

enum { BENCH_WARM_MESSAGES = 64 }; /* each way between each two ranks */

/* Small messages between all ranks, so that what a transport does for the first ones is behind it:
 * it connects, and may take peers into sets of those that send much. All ranks call it, before the
 * first case. Large messages, and the buffers of cases, are left as they are. */
void bench_warm_up(int rank, int ranks);

#endif
