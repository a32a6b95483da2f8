/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-bench --help prints, in the sections of a manual page.
 */
#ifndef RBUF_BENCH_HELP_H
#define RBUF_BENCH_HELP_H

#include <stdio.h>

void bench_print_help(FILE *stream);

#endif
