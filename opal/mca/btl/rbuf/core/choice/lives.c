/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long buffers live, in messages: of those that came to their 1st, 2nd, 3rd to 4th, 5th to 8th
 * ... use, how many went on and how many ended there. From that, what a registration is worth to a
 * buffer of which only the uses so far are known, and whether it is better to wait for more uses.
 *
 * Old buffers count less and less; of what was never seen, one in three is assumed to go on.
 */
#include "core/choice/reuse.h"

#define LAST      (RBUF_LIFE_STEPS - 1)
#define MANY_USES 128.0 /* still expected in the last step */
#define MEMORY    64u   /* buffers of a step that are remembered fully */

static uint32_t step_of(uint32_t uses)
{
    uint32_t step = uses <= 1 ? 0 : 32 - (uint32_t) __builtin_clz(uses - 1);

    return step < LAST ? step : LAST;
}

/* Uses that the step has: 1, 1, 2, 4, 8 ... */
static double length_of(uint32_t step)
{
    return step == 0 ? 1 : (double) (1u << (step - 1));
}

static void fade(struct rbuf_lives *lives, uint32_t step)
{
    if (lives->passed[step] + lives->ended[step] > MEMORY) {
        lives->passed[step] /= 2;
        lives->ended[step] /= 2;
    }
}

void rbuf_lives_use(struct rbuf_lives *lives, uint32_t uses)
{
    uint32_t before = step_of(uses - 1);

    if (uses > 1 && step_of(uses) != before) {
        lives->passed[before]++;
        fade(lives, before);
    }
}

void rbuf_lives_end(struct rbuf_lives *lives, uint32_t uses)
{
    uint32_t step = step_of(uses);

    lives->ended[step]++;
    fade(lives, step);
}

bool rbuf_lives_worth(const struct rbuf_lives *lives, uint32_t uses, double saving, double price)
{
    double remaining = MANY_USES; /* after the first use of the step */
    double buy = (1 + remaining) * saving - price;
    double wait = 0;

    for (uint32_t step = LAST; step > step_of(uses); step--) {
        uint32_t before = step - 1;
        double passed = lives->passed[before] + 1;
        double passes = passed / (passed + lives->ended[before] + 2);
        double best = buy > wait ? buy : wait;

        wait = best > 0 ? passes * best : 0;
        remaining =
            passes * (length_of(before) + remaining) + (1 - passes) * (length_of(before) - 1) / 2;
        buy = (1 + remaining) * saving - price;
    }
    return buy > 0 && buy >= wait;
}
