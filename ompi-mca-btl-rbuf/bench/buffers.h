/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The buffers of one rank for one case: what is used again, and what is new.
 *
 * Reused buffers live as long as the case. New ones are mapped before each repetition's clock
 * starts and unmapped after it has stopped on both ranks. So no transport can have seen the memory:
 * its pages are new and the old ones are gone, though the kernel may well give the same addresses
 * again, as it does to programs that allocate and free. A pool that is merely larger than some
 * cache would not do: a cache without a limit ends up holding it all, and one with a limit pays for
 * an eviction at each use, which is not what new memory costs.
 *
 * Before the clock starts every byte of the buffers in use has been written, so that page faults
 * are never measured and the caches are in one state whatever the transport.
 */
#ifndef RBUF_BENCH_BUFFERS_H
#define RBUF_BENCH_BUFFERS_H

#include "bench/reuse.h"
#include "bench/layout.h"

#include <stdint.h>

/* One mapping of `slots` messages, each `stride` bytes from the one before. */
struct bench_area {
    char *base;
    size_t stride, slots;
};

struct bench_buffers {
    const struct bench_layout *layout;
    struct bench_area reused_send, reused_recv, fresh_send, fresh_recv;
    int slots;                              /* messages a repetition */
    char **send;                            /* where each message of this repetition lies */
    char **recv;                            /* and where each is to go */
    char *packed;                           /* a message without its gaps */
    struct bench_reuse reuse, reuse_before; /* now, and before this repetition */
    bool last_reused; /* whether the last message of this repetition uses its buffers again */
};

/*
 * Prepares a case of `reps` repetitions of `slots` messages, of which `reuse` per cent (rounded)
 * reuse their buffers, drawn at random. Ends the job where there is no memory. The caller closes.
 */
void bench_buffers_open(struct bench_buffers *buffers, const struct bench_layout *layout, int slots,
                        int reps, int reuse);
void bench_buffers_close(struct bench_buffers *buffers);

/* Draws, maps, writes and, as `cache` says, evicts the buffers of repetition `rep`. One that is
 * measured again has a number of its own: other bytes. */
void bench_buffers_prepare(struct bench_buffers *buffers, int rank, int rep,
                           enum bench_cache cache);

/* Whether this repetition was the first to use reused buffers, which makes them known to caches. */
bool bench_buffers_first_reuse(const struct bench_buffers *buffers);

/* The repetition does not count: the next one uses the buffers that it used. */
void bench_buffers_repeat(struct bench_buffers *buffers);

/* Some ranks in a row. */
struct bench_ranks {
    int first, count;
};

/*
 * The number of `count` messages from the `first` on that are not what `from` sent in repetition
 * `rep`, of several ranks the exclusive or of all, to the byte, gaps and what lies behind included.
 * Says on stderr what is wrong. Spoils the buffers.
 */
long bench_buffers_check(struct bench_buffers *buffers, int first, int count,
                         struct bench_ranks from, int rep);

/* Unmaps what was new. */
void bench_buffers_release(struct bench_buffers *buffers);

#endif
