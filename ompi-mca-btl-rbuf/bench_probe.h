/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Is the machine quiet? Virtual machines have phases in which cache lines that the other core has
 * touched are several times slower to write. They last about a minute, slow every staged copy
 * and leave transfers alone, so a figure taken in one says nothing about the transport.
 *
 * The probe makes the two ranks of one node share 64 KB: one reads it, the other writes it and
 * takes the time, then the roles change.
 */
#ifndef RBUF_BENCH_PROBE_H
#define RBUF_BENCH_PROBE_H

#include <stdbool.h>

struct bench_probe;

/*
 * Collective over both ranks. NULL on both if the ranks share no memory (two nodes, no /dev/shm).
 * The caller frees with bench_probe_close().
 */
struct bench_probe *bench_probe_open(int rank);
void bench_probe_close(struct bench_probe *probe);

/*
 * Collective. The rate in bytes/s of writing 64 KB last read by the other core, the lower of the
 * two directions, the same on both ranks; 0 if the other rank was not scheduled within a second.
 */
double bench_probe_rate(struct bench_probe *probe);

#endif
