/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fault of disorder: the bytes of a write or send land in another order than that of their
 * addresses, with pauses in between in which the target may look.
 *
 * Owns the state of its random numbers. Under the progress lock, as all copying is.
 */
#define _GNU_SOURCE

#include "disorder.h"
#include "clock.h"
#include "config.h"
#include "copy.h"

#define PAUSE_NS   3000u
#define MAX_PIECES 64u

static uint64_t random_state;

/* xorshift64*: under the progress lock, as all copying is. */
static uint64_t random_next(void)
{
    if (!random_state)
        random_state = (config.faults.seed + self.slot) * 0x9e3779b97f4a7c15ull | 1;
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1dull;
}

static int copy_part(const struct memory_list *to, const struct memory_list *from,
                     const uint8_t *inline_data, uint64_t offset, uint64_t length)
{
    if (from)
        return copy_between(to, from, offset, length);
    copy_inline(to, inline_data + offset, offset, length);
    return 0;
}

/* Cuts [0, length) into pieces; returns their number, ends[i] being the end of piece i. */
static unsigned cut(uint64_t length, uint64_t *ends)
{
    uint64_t at = 0;
    unsigned n = 0;

    while (at < length) {
        uint64_t piece = 64ull << (random_next() % 7);

        if (n + 1 == MAX_PIECES || at + piece > length)
            piece = length - at;
        at += piece;
        ends[n++] = at;
    }
    return n;
}

int disorder_copy(const struct memory_list *to, const struct memory_list *from,
                  const uint8_t *inline_data, uint64_t offset, uint64_t length)
{
    uint64_t ends[MAX_PIECES];
    unsigned order[MAX_PIECES], n;

    if (config.faults.order == ORDER_TAIL_FIRST) {
        n = 2;
        ends[0] = length / 2;
        ends[1] = length;
        order[0] = 1;
        order[1] = 0;
    } else {
        n = cut(length, ends);
        for (unsigned i = 0; i < n; i++) {
            unsigned j = (unsigned) (random_next() % (i + 1));

            order[i] = order[j];
            order[j] = i;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t begin = order[i] ? ends[order[i] - 1] : 0;
        int err = copy_part(to, from, inline_data, offset + begin, ends[order[i]] - begin);

        if (err)
            return err;
        if (i + 1 < n)
            spin_until(clock_now() + PAUSE_NS);
    }
    return 0;
}
