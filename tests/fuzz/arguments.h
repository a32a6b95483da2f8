/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Command lines as inputs: a line is an argument. And what a program prints while it reads them:
 * kept, so that it can be judged and does not fill the log.
 */
#ifndef RBUF_FUZZ_ARGUMENTS_H
#define RBUF_FUZZ_ARGUMENTS_H

#include <getopt.h>

#include "fuzz.h"

#define ARGUMENTS_MAX 64

struct arguments {
    int count;
    char *list[ARGUMENTS_MAX + 2]; /* ends with NULL */
};

static inline void arguments_read(struct arguments *arguments, const char *program,
                                  const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};

    arguments->count = 0;
    arguments->list[arguments->count++] = strdup(program);
    while (input.left > 0 && arguments->count <= ARGUMENTS_MAX) {
        arguments->list[arguments->count++] = fuzz_text(&input, '\n');
    }
    arguments->list[arguments->count] = NULL;
    optind = 0; /* the C library's way to start anew */
}

/* getopt_long() may have changed their order, so they are counted again. */
static inline void arguments_free(struct arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++) {
        free(arguments->list[i]);
    }
}

struct printed {
    FILE *sink;
    FILE *out;
    FILE *err;
    char text[16384];
};

static inline void printed_begin(struct printed *printed)
{
    memset(printed->text, 0, sizeof(printed->text));
    printed->sink = fmemopen(printed->text, sizeof(printed->text), "w");
    fuzz_require(printed->sink != NULL, "there is memory");
    printed->out = stdout;
    printed->err = stderr;
    stdout = stderr = printed->sink;
}

static inline void printed_end(struct printed *printed)
{
    stdout = printed->out;
    stderr = printed->err;
    (void) fclose(printed->sink);
    printed->text[sizeof(printed->text) - 1] = '\0';
}

static inline unsigned printed_lines(const struct printed *printed)
{
    unsigned lines = 0;

    for (const char *c = printed->text; *c != '\0'; c++) {
        lines += *c == '\n';
    }
    return lines;
}

#endif
