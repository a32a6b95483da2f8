/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Draws without replacement by xorshift (G. Marsaglia, "Xorshift RNGs", 2003).
 */
#include "bench/reuse.h"

#include <assert.h>

struct bench_reuse bench_reuse_start(int64_t messages, int reuse)
{
    const int64_t reused = (messages * reuse + 50) / 100;

    return (struct bench_reuse){.seed = UINT64_C(88172645463325252),
                                .left = messages,
                                .reused_left = reused,
                                .reused = reused};
}

bool bench_reuse_next(struct bench_reuse *reuse)
{
    uint64_t x = reuse->seed;

    assert(reuse->left > 0);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    reuse->seed = x;
    const bool reused = (int64_t) (x >> 40) * reuse->left < reuse->reused_left << 24;
    reuse->left--;
    reuse->reused_left -= reused;
    return reused;
}
