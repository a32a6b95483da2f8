/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-tune was asked to do: the command line, parsed and bounded (common/options.h).
 */
#ifndef RBUF_TUNE_OPTIONS_H
#define RBUF_TUNE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/options.h"

struct tune_options {
    const char *output; /* NULL: none, like the next two */
    const char *plot;
    const char *csv;
    double seconds;
    bool quiet;
    char message[OPTIONS_MESSAGE_MAX];
};

/* Fills *options, which then point into argv; with OPTIONS_BAD only `message` is meaningful. */
enum options_result tune_parse(struct tune_options *options, int argc, char **argv);

void tune_print_help(FILE *stream);

#endif
