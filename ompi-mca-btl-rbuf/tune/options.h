/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-tune. Every rank parses the same arguments and comes to the same answer.
 */
#ifndef RBUF_TUNE_OPTIONS_H
#define RBUF_TUNE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum tune_verdict {
    TUNE_RUN,
    TUNE_HELP, /* print the help and leave with status 0 */
    TUNE_BAD   /* `message` says why; leave with status 2 */
};

struct tune_options {
    const char *output; /* NULL: none, like the next two */
    const char *plot;
    const char *csv;
    double seconds;
    bool quiet;
    char message[300];
};

/* Fills *options, which then point into argv; on TUNE_BAD only `message` is meaningful. */
enum tune_verdict tune_parse(struct tune_options *options, int argc, char **argv);

void tune_print_help(FILE *stream);

#endif
