/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-bench, and that its help tells all of it.
 */
#include "unit.h"
#include "words.h"

#include "bench/help.h"
#include "bench/options.h"

#include <math.h>

static struct bench_options options;

/* Parses a line of words with blanks between them. */
static enum options_result parse(const char *line)
{
    char *arguments[WORDS_MOST + 2];
    int count = words_of("rbuf-bench", line, arguments);

    return bench_parse(&options, count, arguments);
}

START_TEST(defaults)
{
    ck_assert_int_eq(parse(""), OPTIONS_RUN);
    ck_assert_uint_eq(options.sizes[0], 4096);
    ck_assert_uint_eq(options.sizes[1], 4300); /* 5 per cent more */
    ck_assert_uint_eq(options.sizes[options.size_count - 1], 4 << 20);
    ck_assert_int_eq(options.patterns.count, 1);
    ck_assert_int_eq(options.patterns.values[0], BENCH_PINGPONG);
    ck_assert_int_eq(options.reuse.values[0], 100);
    ck_assert_int_eq(options.types.values[0], BENCH_BYTES);
    ck_assert_int_eq(options.caches.values[0], BENCH_WARM);
    ck_assert_int_eq(options.reps, 40);
    ck_assert(!options.check && !options.probe && !options.json && !options.cold_start);
    ck_assert(options.handover_least == 0 && isinf(options.handover_most));
    ck_assert_int_eq(bench_window(&options, BENCH_PINGPONG), 1);
    ck_assert_int_eq(bench_window(&options, BENCH_STREAM), 16);
    ck_assert_int_eq(bench_window(&options, BENCH_RATE), 64);
    ck_assert_int_eq(bench_burst(&options, BENCH_RATE, 100), 16);
    ck_assert_int_eq(bench_burst(&options, BENCH_RATE, 0), 1);
    ck_assert_int_eq(bench_burst(&options, BENCH_STREAM, 100), 1);
}
END_TEST

START_TEST(lists)
{
    ck_assert_int_eq(
        parse("--sizes 8,1k,3M --pattern pingpong,both,late --buffers fresh,25%,reused "
              "--type vector,struct --cache cold --window 4 --late 12.5 --check"),
        OPTIONS_RUN);
    ck_assert_uint_eq(options.size_count, 3);
    ck_assert_uint_eq(options.sizes[2], 3 << 20);
    ck_assert_int_eq(options.patterns.count, 3);
    ck_assert_int_eq(options.patterns.values[2], BENCH_LATE);
    ck_assert_int_eq(options.reuse.count, 3);
    ck_assert_int_eq(options.reuse.values[0], 0);
    ck_assert_int_eq(options.reuse.values[1], 25);
    ck_assert_int_eq(options.reuse.values[2], 100);
    ck_assert_int_eq(options.types.values[1], BENCH_STRUCT);
    ck_assert_int_eq(options.caches.values[0], BENCH_COLD);
    ck_assert_int_eq(bench_window(&options, BENCH_BOTH), 4);
    ck_assert_int_eq(bench_window(&options, BENCH_LATE), 1);
    ck_assert_double_eq(options.late_us, 12.5);
    ck_assert(options.check);
}
END_TEST

/* A burst uses each set once, if it is not said how long it is; new buffers are used once. */
START_TEST(sets)
{
    ck_assert_int_eq(parse("--sets 100 --working-set 1M"), OPTIONS_RUN);
    ck_assert_uint_eq(options.working_set, 1 << 20);
    ck_assert_int_eq(bench_burst(&options, BENCH_PUT, 100), 100);
    ck_assert_int_eq(bench_sets(&options, BENCH_PUT, 100), 100);
    ck_assert_int_eq(bench_sets(&options, BENCH_RATE, 100), 16);
    ck_assert_int_eq(bench_sets(&options, BENCH_PUT, 0), 1);
    ck_assert_int_eq(bench_sets(&options, BENCH_SPECTRUM, 100), 1);
    ck_assert_int_eq(parse("--sets 100 --burst 30"), OPTIONS_RUN);
    ck_assert_int_eq(bench_sets(&options, BENCH_PINGPONG, 100), 30);
    ck_assert_int_eq(parse("--sets 3 --burst 30"), OPTIONS_RUN);
    ck_assert_int_eq(bench_sets(&options, BENCH_PINGPONG, 100), 3);
    ck_assert_int_eq(bench_sets(&options, BENCH_PINGPONG, 0), 30);
    ck_assert_int_eq(parse("--sets 262144"), OPTIONS_RUN);
}
END_TEST

START_TEST(switches)
{
    ck_assert_int_eq(parse("--no-warm-up --json --probe"), OPTIONS_RUN);
    ck_assert(options.cold_start && options.json && options.probe);
    ck_assert(!options.check);
}
END_TEST

START_TEST(steps_end_at_the_largest)
{
    ck_assert_int_eq(parse("--min 0 --max 3 --step 50"), OPTIONS_RUN);
    ck_assert_uint_eq(options.size_count, 4);
    ck_assert_int_eq(parse("--min 7 --max 7"), OPTIONS_RUN);
    ck_assert_uint_eq(options.size_count, 1);
    ck_assert_int_eq(parse("--min 16k --max 16M --step 100"), OPTIONS_RUN);
    ck_assert_uint_eq(options.size_count, 11);
    for (size_t i = 0; i < 11; i++) {
        ck_assert_uint_eq(options.sizes[i], (size_t) 16384 << i);
    }
}
END_TEST

START_TEST(handovers)
{
    ck_assert_int_eq(parse("--probe-handover 12.5:130"), OPTIONS_RUN);
    ck_assert_double_eq(options.handover_least, 12.5);
    ck_assert_double_eq(options.handover_most, 130);
    ck_assert_int_eq(parse("--probe-handover 12.5:130 --probe-handover any"), OPTIONS_RUN);
    ck_assert(options.handover_least == 0 && isinf(options.handover_most));
}
END_TEST

/* What is refused, and what the message must name. */
static const struct {
    const char *line, *named;
} refused[] = {
    {"--min 1x", "--min '1x'"},
    {"--max 2g", "--max '2g'"},
    {"--min 2M --max 1M", "--min 2097152"},
    {"--step 0", "--step '0'"},
    {"--min 1 --max 1g --step 0.01", "--step 0.01"},
    {"--sizes 1,,2", "--sizes '1,,2'"},
    {"--sizes 1k,", "--sizes '1k,'"},
    {"--pattern ping", "--pattern 'ping'"},
    {"--pattern ping", ", barrier"},
    {"--pattern pingpong,", "overlap-send"},
    {"--buffers 101%", "--buffers '101%'"},
    {"--buffers 5", "--buffers '5'"},
    {"--buffers old", "reused, fresh"},
    {"--type float", "bytes, vector, struct"},
    {"--cache lukewarm", "warm, cold-recv, cold"},
    {"--window 0", "--window '0'"},
    {"--window 4097", "--window '4097'"},
    {"--burst 1.5", "--burst '1.5'"},
    {"--sets 0", "--sets '0'"},
    {"--sets 262145", "--sets '262145'"},
    {"--pattern stream --sets 20000", "--sets 20000"},
    {"--working-set 2g", "--working-set '2g'"},
    {"--reps 0", "--reps '0'"},
    {"--late -1", "--late '-1'"},
    {"--probe-rate 0", "--probe-rate '0'"},
    {"--probe-wait nan", "--probe-wait 'nan'"},
    {"--probe-handover 40", "--probe-handover '40'"},
    {"--probe-handover 130:40", "--probe-handover '130:40'"},
    {"--probe-handover :40", "--probe-handover ':40'"},

    {"--burst 4 --buffers 50%", "--burst 4"},
    {"--pattern put --buffers 50%", "--pattern put"},
    {"--pattern scatter --buffers 50%", "--pattern scatter"},
    {"--pattern bcast,scatter --type bytes,struct", "--pattern scatter"},
    {"--pattern barrier,allreduce --type vector", "--pattern allreduce"},
    {"--pattern rate --buffers fresh --burst 16", "fresh buffers would be more than"},
    {"--window 4096 --pattern stream --burst 1000000 --buffers fresh", "--burst 1000000"},
    {"--reps", "--reps"},
    {"--faster", "--faster"},
    {"8k", "argument '8k'"},
};

START_TEST(what_is_wrong_is_named)
{
    ck_assert_int_eq(parse(refused[_i].line), OPTIONS_BAD);
    ck_assert_msg(strstr(options.message, refused[_i].named) != NULL, "%s: %s", refused[_i].line,
                  options.message);
}
END_TEST

/* Collective operations have any number of ranks, all else two. */
START_TEST(ranks)
{
    ck_assert_int_eq(parse("--pattern bcast,scatter,allreduce,barrier"), OPTIONS_RUN);
    ck_assert(bench_takes_ranks(&options, 2) && bench_takes_ranks(&options, 4));
    ck_assert(!bench_takes_ranks(&options, 1));
    ck_assert_int_eq(parse("--pattern bcast,put"), OPTIONS_RUN);
    ck_assert(bench_takes_ranks(&options, 2) && !bench_takes_ranks(&options, 4));
    ck_assert_ptr_nonnull(strstr(options.message, "4 ranks"));
    ck_assert_int_eq(parse("--pattern bcast --probe"), OPTIONS_RUN);
    ck_assert(!bench_takes_ranks(&options, 4));
}
END_TEST

START_TEST(many_choices_are_refused)
{
    char line[256] = "--buffers ";

    for (int i = 0; i < BENCH_MAX_CHOICES; i++) {
        strcat(line, "1%,");
    }
    strcat(line, "1%");
    ck_assert_int_eq(parse(line), OPTIONS_BAD);
}
END_TEST

static char *help_text(void)
{
    static char text[16384];
    FILE *stream = fmemopen(text, sizeof text, "w");

    ck_assert_ptr_nonnull(stream);
    bench_print_help(stream);
    ck_assert_int_eq(fclose(stream), 0);
    return text;
}

START_TEST(help_has_all_words)
{
    const char *help = help_text();

    ck_assert_int_eq(parse("--help"), OPTIONS_HELP);
    ck_assert_int_eq(parse("--version"), OPTIONS_VERSION);
    for (int i = 0; i < BENCH_PATTERNS; i++) {
        ck_assert_ptr_nonnull(strstr(help, bench_pattern_words[i].name));
    }
    ck_assert_ptr_nonnull(strstr(help, "--step PERCENT"));
    ck_assert_ptr_nonnull(strstr(help, "[4k]"));
    ck_assert_ptr_nonnull(strstr(help, "--probe-wait S"));
}
END_TEST

START_TEST(help_fits_a_terminal)
{
    const char *line = help_text();

    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");
        ck_assert_msg(length <= 96, "%.*s", (int) length, line);
        line += length + (line[length] == '\n');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");

    unit_add(suite, defaults);
    unit_add(suite, lists);
    unit_add(suite, handovers);
    unit_add(suite, sets);
    unit_add(suite, switches);
    unit_add(suite, steps_end_at_the_largest);
    unit_add_loop(suite, what_is_wrong_is_named, (int) (sizeof refused / sizeof refused[0]));
    unit_add(suite, ranks);
    unit_add(suite, many_choices_are_refused);
    unit_add(suite, help_has_all_words);
    unit_add(suite, help_fits_a_terminal);
    return unit_run(suite);
}
