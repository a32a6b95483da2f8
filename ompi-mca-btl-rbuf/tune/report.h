/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-tune prints: the constants with their spread, predicted times, the advice.
 */
#ifndef RBUF_TUNE_REPORT_H
#define RBUF_TUNE_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "tune/advice.h"
#include "tune/measured.h"

void tune_print_constants(FILE *stream, const struct tune_measured *measured,
                          const struct rbuf_machine *machine);

/* `protocol` is the one that the job runs with, above `eager_limit` bytes; the measured times are
 * of that. */
void tune_print_times(FILE *stream, const struct tune_measured *measured,
                      const struct tune_advice *advice, const char *protocol, uint64_t eager_limit);

/* A warning, if the machine was too busy to be measured. */
void tune_print_doubts(FILE *stream, const struct tune_measured *measured);

void tune_print_advice(FILE *stream, const struct tune_advice *advice);

#endif
