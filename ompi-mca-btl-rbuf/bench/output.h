/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A case's line of output: named fields, printed as CSV behind a line of names, or as a JSON
 * object.
 *
 * A field that has no value is "-", in JSON null. Names and texts have no character that either
 * would have to quote. Pure but for the stream.
 */
#ifndef RBUF_BENCH_OUTPUT_H
#define RBUF_BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

enum { BENCH_FIELDS_MAX = 32 };

/* To be set to {0}. */
struct bench_line {
    struct {
        const char *name;
        char value[32];
        bool is_text;
    } field[BENCH_FIELDS_MAX];
    int count;
};

void bench_line_text(struct bench_line *line, const char *name, const char *text);

/* With so many digits behind the point. What is not finite has no value. */
void bench_line_number(struct bench_line *line, const char *name, int digits, double value);

void bench_line_print_names(const struct bench_line *line, FILE *stream);
void bench_line_print_csv(const struct bench_line *line, FILE *stream);
void bench_line_print_json(const struct bench_line *line, FILE *stream);

#endif
