/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-bench.
 */
#include "arguments.h"

#include "bench/options.h"

static void check_list(const struct bench_list *list, int choices)
{
    fuzz_require(list->count >= 1 && list->count <= BENCH_MAX_CHOICES, "something is chosen");
    for (int i = 0; i < list->count; i++) {
        fuzz_require(list->values[i] >= 0 && list->values[i] < choices,
                     "choices are among those that there are");
    }
}

static void check_run(const struct bench_options *options)
{
    fuzz_require(options->size_count >= 1 && options->size_count <= BENCH_MAX_SIZES,
                 "there are sizes");
    for (size_t i = 0; i < options->size_count; i++) {
        fuzz_require(options->sizes[i] <= INT32_MAX, "a size fits a count of MPI");
    }
    fuzz_require(options->reps >= 1 && options->reps <= 1000000, "repetitions are in range");
    fuzz_require(options->probe_rate >= 1 && options->probe_wait >= 0 &&
                     options->probe_wait <= 86400,
                 "the probe's numbers are in range");
    fuzz_require(options->late_us >= 0 && options->late_us <= 1e7, "the delay is in range");
    check_list(&options->patterns, BENCH_PATTERNS);
    check_list(&options->types, BENCH_TYPES);
    check_list(&options->caches, BENCH_CACHES);
    check_list(&options->reuse, 101);
    for (int pattern = 0; pattern < BENCH_PATTERNS; pattern++) {
        const int window = bench_window(options, (enum bench_pattern) pattern);

        fuzz_require(window >= 1 && window <= BENCH_MAX_WINDOW, "there is room for the window");
        fuzz_require(bench_burst(options, (enum bench_pattern) pattern, 100) >= 1,
                     "something is sent");
    }
    for (int i = 0; i < options->patterns.count; i++) {
        const enum bench_pattern pattern = (enum bench_pattern) options->patterns.values[i];

        fuzz_require((long) bench_sets(options, pattern, 100) * bench_window(options, pattern) <=
                         BENCH_MAX_SLOTS,
                     "there is room for the sets");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bench_options options;
    static struct printed printed;
    struct arguments arguments;
    enum options_result result;

    arguments_read(&arguments, "rbuf-bench", data, size);
    printed_begin(&printed);
    result = bench_parse(&options, arguments.count, arguments.list);
    printed_end(&printed);
    fuzz_require(printed.text[0] == '\0', "every rank reads, so nothing is printed");
    if (result == OPTIONS_RUN) {
        check_run(&options);
    } else if (result == OPTIONS_BAD) {
        fuzz_require(options.message[0] != '\0' &&
                         memchr(options.message, 0, sizeof(options.message)) != NULL,
                     "what is wrong has a message");
    }
    arguments_free(&arguments);
    return 0;
}
