/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Measuring in rounds until the time of a phase is up. Both ranks call the same functions in the
 * same order; rank 0's clock decides.
 */
#ifndef RBUF_TUNE_ROUNDS_H
#define RBUF_TUNE_ROUNDS_H

#include <stdbool.h>

#include "tune/fit.h"

struct tune_rounds {
    double end_ns;
    int rounds; /* begun */
};

/* No progress is shown. */
void tune_rounds_quiet(void);

/* Begins a phase of `seconds`. Rank 0 tells what is being done on standard error. */
void tune_rounds_open(struct tune_rounds *rounds, const char *what, double seconds);

/* Meets the other rank. True: measure one more round; samples->rounds counts it. There are
 * TUNE_GROUPS rounds or more, TUNE_ROUNDS at most. */
bool tune_rounds_next(struct tune_rounds *rounds, struct tune_samples *samples);

#endif
