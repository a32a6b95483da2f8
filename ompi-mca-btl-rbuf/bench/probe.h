/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Is the machine as it was? Virtual machines have phases in which cache lines that the other core
 * has touched are several times slower to write. They slow every staged copy and leave transfers
 * alone, so a figure taken in one says nothing about the transport. And the host moves virtual
 * processors about, several times a second: two of them may be threads of one core, cores beside
 * each other, or cores that share no cache, and a small message takes most of its time from one
 * to the other.
 *
 * The probe makes the two ranks of one node share 64 KB: one reads it, the other writes it and
 * takes the time, then the roles change. And it has them hand a cache line back and forth.
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

/*
 * Collective. Nanoseconds from one rank's write of a word to the other's seeing it, at best, the
 * same on both ranks; infinite if it took the ranks a tenth of a second, as where they share a
 * processor.
 */
double bench_probe_handover(struct bench_probe *probe);

#endif
