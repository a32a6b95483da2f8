/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Lines of output (bench/output.h).
 */
#include "bench/output.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char NOTHING[] = "-";

void bench_line_text(struct bench_line *line, const char *name, const char *text)
{
    assert(line->count < BENCH_FIELDS_MAX);
    line->field[line->count].name = name;
    line->field[line->count].is_text = true;
    snprintf(line->field[line->count].value, sizeof line->field[0].value, "%s", text);
    line->count++;
}

void bench_line_number(struct bench_line *line, const char *name, int digits, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.*f", digits, value);
    bench_line_text(line, name, isfinite(value) ? text : NOTHING);
    line->field[line->count - 1].is_text = false;
}

void bench_line_print_names(const struct bench_line *line, FILE *stream)
{
    for (int i = 0; i < line->count; i++) {
        fprintf(stream, "%s%s", i > 0 ? "," : "", line->field[i].name);
    }
    fputc('\n', stream);
}

void bench_line_print_csv(const struct bench_line *line, FILE *stream)
{
    for (int i = 0; i < line->count; i++) {
        fprintf(stream, "%s%s", i > 0 ? "," : "", line->field[i].value);
    }
    fputc('\n', stream);
}

void bench_line_print_json(const struct bench_line *line, FILE *stream)
{
    for (int i = 0; i < line->count; i++) {
        const char *value = line->field[i].value;
        const char *quote = line->field[i].is_text && strcmp(value, NOTHING) != 0 ? "\"" : "";

        fprintf(stream, "%c\"%s\":%s%s%s", i > 0 ? ',' : '{', line->field[i].name, quote,
                strcmp(value, NOTHING) != 0 ? value : "null", quote);
    }
    fputs("}\n", stream);
}
