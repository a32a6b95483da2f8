/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The vector loop of rbuf_copy() (core/base/copy.h), compiled once for each width of vectors.
 */
#include "core/base/copy.h"

#include <stdint.h>
#include <string.h>

/* Below this the call overhead rules and memcpy() has no bad case. */
#define SMALL_COPY 256u

typedef unsigned char vector32 __attribute__((vector_size(32), aligned(1), may_alias));

/*
 * 128 bytes a turn, all loads before the stores. Returns the bytes done, a multiple of 128. The
 * compiler turns a vector32 into the widest registers that the enclosing function's target has,
 * hence always_inline: the body is compiled once for each.
 */
static inline __attribute__((always_inline)) size_t
copy_turns(unsigned char *to, const unsigned char *from, size_t bytes)
{
    size_t done = 0;

    while (bytes - done >= 128) {
        const vector32 *source = (const vector32 *) (from + done);
        vector32 *sink = (vector32 *) (to + done);
        vector32 a = source[0];
        vector32 b = source[1];
        vector32 c = source[2];
        vector32 d = source[3];

        sink[0] = a;
        sink[1] = b;
        sink[2] = c;
        sink[3] = d;
        done += 128;
    }
    return done;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static size_t copy_avx2(unsigned char *to,
                                                        const unsigned char *from, size_t bytes)
{
    return copy_turns(to, from, bytes);
}
#endif

static size_t copy_large(unsigned char *to, const unsigned char *from, size_t bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        return copy_avx2(to, from, bytes);
    }
#endif
    return copy_turns(to, from, bytes);
}

void rbuf_copy(void *to, const void *from, size_t bytes)
{
    size_t done = 0;

    if (bytes >= SMALL_COPY) {
        done = copy_large(to, from, bytes);
    }
    memcpy((unsigned char *) to + done, (const unsigned char *) from + done, bytes - done);
}
