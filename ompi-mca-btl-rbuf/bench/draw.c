/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "bench/draw.h"

#include <assert.h>

struct bench_draw bench_draw_of(int64_t messages, int reuse)
{
    const int64_t kept = (messages * reuse + 50) / 100;

    return (struct bench_draw){
        .seed = UINT64_C(88172645463325252), .left = messages, .kept_left = kept, .kept = kept};
}

bool bench_draw_kept(struct bench_draw *draw)
{
    uint64_t x = draw->seed;

    assert(draw->left > 0);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    draw->seed = x;
    const bool kept = (int64_t) (x >> 40) * draw->left < draw->kept_left << 24;
    draw->left--;
    draw->kept_left -= kept;
    return kept;
}
