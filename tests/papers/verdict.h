/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a simulated number says about the paper's number beside it. A program that states numbers
 * prints one of these words behind each.
 *
 *     holds    within its bound
 *     FAILS    outside its bound, whatever else it is
 *     put in   the paper's number, or a constant that we chose by it: that the model gives it back
 * is no result shown    has no bound
 *
 * contrib/docs_tables.pl marks what is put in, and counts as agreement what holds and nothing else.
 */
#ifndef RBUF_SIM_VERDICT_H
#define RBUF_SIM_VERDICT_H

#include <stdbool.h>

enum sim_standing { SIM_COMPARED, SIM_PUT_IN, SIM_SHOWN };

/* The standing of a number that is not put in: an empty bound is none. */
static inline enum sim_standing sim_standing_of(const char *bound)
{
    return *bound == '\0' ? SIM_SHOWN : SIM_COMPARED;
}

static inline const char *sim_verdict(enum sim_standing standing, bool within)
{
    static const char *const word[] = {
        [SIM_COMPARED] = "holds", [SIM_PUT_IN] = "put in", [SIM_SHOWN] = "shown"};

    return within ? word[standing] : "FAILS";
}

#endif
