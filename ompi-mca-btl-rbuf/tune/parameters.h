/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The parameter file that mpirun's --tune takes.
 */
#ifndef RBUF_TUNE_PARAMETERS_H
#define RBUF_TUNE_PARAMETERS_H

#include <stdio.h>

#include "tune/advice.h"
#include "tune/measured.h"

/* Lines NAME=VALUE that Open MPI reads, with comments that say what they come from. No blanks
 * around the sign, which Open MPI 5.0 would not understand. */
void tune_print_parameters(FILE *stream, const struct tune_measured *measured,
                           const struct tune_advice *advice);

#endif
