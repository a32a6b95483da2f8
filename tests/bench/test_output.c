/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Lines of rbuf-bench's output: the same fields as CSV and as JSON.
 */
#include "unit.h"

#include "bench/output.h"

#include <math.h>

/* What `print` prints of the line. */
static const char *printed(void (*print)(const struct bench_line *line, FILE *stream),
                           const struct bench_line *line)
{
    static char text[256];
    FILE *stream = fmemopen(text, sizeof text, "w");

    ck_assert_ptr_nonnull(stream);
    print(line, stream);
    ck_assert_int_eq(fclose(stream), 0);
    return text;
}

START_TEST(a_line_in_both_forms)
{
    struct bench_line line = {0};

    bench_line_number(&line, "size", 0, 1048576);
    bench_line_text(&line, "buffers", "25%");
    bench_line_number(&line, "median_us", 3, 12.34567);
    bench_line_number(&line, "hidden_percent", 1, NAN);
    bench_line_number(&line, "messages_per_s", 0, INFINITY);
    bench_line_text(&line, "quiet", "-");
    ck_assert_str_eq(printed(bench_line_print_names, &line),
                     "size,buffers,median_us,hidden_percent,messages_per_s,quiet\n");
    ck_assert_str_eq(printed(bench_line_print_csv, &line), "1048576,25%,12.346,-,-,-\n");
    ck_assert_str_eq(printed(bench_line_print_json, &line),
                     "{\"size\":1048576,\"buffers\":\"25%\",\"median_us\":12.346,"
                     "\"hidden_percent\":null,\"messages_per_s\":null,\"quiet\":null}\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");

    unit_add(suite, a_line_in_both_forms);
    return unit_run(suite);
}
