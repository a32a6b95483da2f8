/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long buffers live, in messages: of those that came to their 1st, 2nd, 3rd to 4th, 5th to 8th
 * ... use, how many went on and how many ended there. From that, what a registration is worth to a
 * buffer of which only the uses so far are known, and whether it is better to wait for more uses.
 *
 * Old buffers count less and less; of what was never seen, one in three is assumed to go on.
 */
#ifndef RBUF_CORE_LIVES_H
#define RBUF_CORE_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#define RBUF_LIFE_STEPS 8u /* the last one is 65 uses and more, and has no end */

struct rbuf_lives {
    uint16_t passed[RBUF_LIFE_STEPS];
    uint16_t ended[RBUF_LIFE_STEPS];
};

/* A buffer is used for the `uses`-th time. */
void rbuf_lives_use(struct rbuf_lives *lives, uint32_t uses);

/* A buffer has ended after `uses` > 0 uses. */
void rbuf_lives_end(struct rbuf_lives *lives, uint32_t uses);

/* Whether a buffer is best registered at its `uses`-th use, at `price`, when each use from this one
 * on then saves `saving` (both ns). */
bool rbuf_lives_worth(const struct rbuf_lives *lives, uint32_t uses, double saving, double price);

#endif
