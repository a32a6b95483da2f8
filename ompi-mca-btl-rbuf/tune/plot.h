/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Times as CSV lines in the columns of rbuf-bench, and a picture of them by rbuf-plot.
 */
#ifndef RBUF_TUNE_PLOT_H
#define RBUF_TUNE_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "tune/advice.h"
#include "tune/measured.h"

/* Each predicted protocol is a transport of its own, and so are the measured messages, if they go
 * over rbuf by `protocol`. */
void tune_print_csv(FILE *stream, const struct tune_measured *measured,
                    const struct tune_advice *advice, const char *protocol);

/* Runs the rbuf-plot that is installed beside this program, else that of the search path. False if
 * there is no picture then; rbuf-plot has said why. After MPI_Finalize(): it forks. */
bool tune_plot(const char *csv, const char *picture, bool measured);

#endif
