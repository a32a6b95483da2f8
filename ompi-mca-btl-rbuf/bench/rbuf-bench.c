/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * rbuf-bench: time of messages between two MPI ranks, case by case.
 *
 * A case is a size with one value of each list that was asked for. Its repetitions are prepared,
 * timed and checked one by one; only rank 0 prints.
 */
#define _GNU_SOURCE
#include "bench/buffers.h"
#include "bench/help.h"
#include "bench/options.h"
#include "bench/output.h"
#include "bench/patterns.h"
#include "bench/quiet.h"
#include "bench/summary.h"
#include "bench/warm.h"
#include "common/clock.h"
#include "common/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct bench {
    struct bench_options options;
    struct bench_quiet quiet;
    int serial;            /* of the repetition within its case, those that do not count included */
    double *times;         /* us, one a repetition */
    double *hidden;        /* shares, one a repetition */
    bool *reused;          /* whether the repetition used its buffers again */
    MPI_Request *requests; /* two for each message of the largest window */
    long bad_messages;
    long lines; /* printed */
    int rank, ranks;
};

struct bench_case {
    enum bench_pattern pattern;
    enum bench_type type;
    enum bench_cache cache;
    int reuse; /* per cent */
    size_t size;
};

struct result {
    struct bench_summary times;
    double hidden;
    const char *quiet;
    long bad;
};

static void *array_or_abort(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        fputs("rbuf-bench: no memory for the times\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return memory;
}

static void repeat_once(struct bench *bench, const struct bench_case *one,
                        struct bench_exchange *exchange, struct bench_buffers *buffers, int rep)
{
    const int serial = bench->serial++;

    bench_buffers_prepare(buffers, bench->rank, serial, one->cache);
    bench_exchange_open(exchange);
    MPI_Barrier(MPI_COMM_WORLD);
    bench->times[rep] = bench_exchange_time(exchange);
    bench->hidden[rep] = exchange->hidden;
    bench->reused[rep] = exchange->window == 1 && buffers->last_reused;
    /* Neither rank changes its mappings, or anything else, while the other's clock runs. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench->options.check) {
        int first;
        const int received = bench_received(one->pattern, buffers->slots, bench->rank, &first);
        const struct bench_ranks from = one->pattern == BENCH_ALLREDUCE
                                            ? (struct bench_ranks){0, bench->ranks}
                                            : (struct bench_ranks){bench->rank == 0, 1};
        bench->bad_messages += bench_buffers_check(buffers, first, received, from, serial);
    }
    if (!buffers->last_reused) {
        bench_exchange_close(exchange);
    }
    bench_buffers_release(buffers);
}

/* A repetition, again until its probes agree. False: they do not, and there is no time left, or it
 * cannot be had again, since the buffers are new to the transport but once. */
static bool repeat_until_good(struct bench *bench, const struct bench_case *one,
                              struct bench_exchange *exchange, struct bench_buffers *buffers,
                              int rep)
{
    for (;;) {
        const bool before = bench_quiet_wait(&bench->quiet, bench_quiet_handover);
        const double start = clock_us();

        repeat_once(bench, one, exchange, buffers, rep);
        if (bench_quiet_handover(&bench->quiet) && before) {
            return true;
        }
        bench_quiet_use_up(&bench->quiet, start);
        if (bench->quiet.wait_left_s <= 0 || rep == 0 || bench_buffers_first_reuse(buffers)) {
            return false;
        }
        bench_buffers_repeat(buffers);
    }
}

/* All repetitions of one case into bench->times; false if one was judged by itself and does not
 * count. With it the case ends, while there is time left for another attempt. */
static bool repeat(struct bench *bench, const struct bench_case *one)
{
    const struct bench_options *options = &bench->options;
    const int window = bench_window(options, one->pattern);
    const int burst = bench_burst(options, one->pattern, one->reuse);
    const int sets = bench_sets(options, one->pattern, one->reuse);
    const int slots =
        one->pattern == BENCH_SCATTER ? bench->ranks : bench_slots(one->pattern, window, sets);
    struct bench_layout layout;
    struct bench_buffers buffers;
    struct bench_exchange exchange = {.pattern = one->pattern,
                                      .rank = bench->rank,
                                      .ranks = bench->ranks,
                                      .win = MPI_WIN_NULL,
                                      .window = window,
                                      .burst = burst,
                                      .sets = sets,
                                      .late_us = options->late_us,
                                      .working_set = options->working_set,
                                      .buffers = &buffers,
                                      .requests = bench->requests};
    bool all_good = true;

    bench_layout_open(&layout, one->type, one->size);
    layout.pages = options->pages;
    layout.array = one->pattern == BENCH_SCATTER;
    bench_buffers_open(&buffers, &layout, slots, options->reps, one->reuse);
    bench->serial = 0;
    for (int rep = 0; rep < options->reps && (all_good || bench->quiet.wait_left_s <= 0); rep++) {
        if (bench_quiet_each(&bench->quiet)) {
            const bool good = repeat_until_good(bench, one, &exchange, &buffers, rep);
            all_good = all_good && good;
        } else {
            repeat_once(bench, one, &exchange, &buffers, rep);
        }
    }
    bench_exchange_close(&exchange);
    bench_buffers_close(&buffers);
    bench_layout_close(&layout);
    return all_good;
}

/* Measures until the probes agree that the machine was quiet, or time is up. */
static const char *repeat_quietly(struct bench *bench, const struct bench_case *one)
{
    if (bench->quiet.probe == NULL) {
        (void) repeat(bench, one);
        return "-";
    }
    for (;;) {
        const bool before = bench_quiet_wait(&bench->quiet, bench_quiet_all);
        const double start = clock_us();
        const bool within = repeat(bench, one);
        const bool each = bench_quiet_each(&bench->quiet);
        if (before && within && (each || bench_quiet_all(&bench->quiet))) {
            return "yes";
        }
        if (bench->quiet.wait_left_s <= 0) {
            return "no";
        }
        if (!each) { /* else it has been, by the repetition that does not count */
            bench_quiet_use_up(&bench->quiet, start);
        }
    }
}

static struct result measure(struct bench *bench, const struct bench_case *one)
{
    struct result result = {.quiet = repeat_quietly(bench, one)};
    const int reps = bench->options.reps;

    if (!bench_summarize(bench->times, bench->reused, reps, &result.times)) {
        fputs("rbuf-bench: no memory for the times\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    result.hidden = stats_median(bench->hidden, reps);
    MPI_Allreduce(&bench->bad_messages, &result.bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    bench->bad_messages = 0;
    return result;
}

/* "fresh", "reused", "25%". */
static void name_buffers(const struct bench_case *one, char name[8])
{
    if (one->reuse > 0 && one->reuse < 100) {
        snprintf(name, 8, "%d%%", one->reuse);
    } else {
        snprintf(name, 8, one->reuse == 100 ? "reused" : "fresh");
    }
}

static void describe_case(const struct bench *bench, const struct bench_case *one,
                          struct bench_line *line)
{
    char buffers[8];

    name_buffers(one, buffers);
    bench_line_number(line, "size", 0, (double) one->size);
    bench_line_text(line, "buffers", buffers);
    bench_line_text(line, "pattern", bench_pattern_words[one->pattern].name);
    bench_line_text(line, "type", bench_type_words[one->type].name);
    bench_line_text(line, "cache", bench_cache_words[one->cache].name);
    bench_line_number(line, "window", 0, bench_window(&bench->options, one->pattern));
    bench_line_number(line, "burst", 0, bench_burst(&bench->options, one->pattern, one->reuse));
    bench_line_number(line, "sets", 0, bench_sets(&bench->options, one->pattern, one->reuse));
    bench_line_number(line, "reps", 0, bench->options.reps);
}

static void describe_times(const struct bench_summary *times, struct bench_line *line)
{
    bench_line_number(line, "first_us", 3, times->first);
    bench_line_number(line, "median_us", 3, times->median);
    bench_line_number(line, "low_us", 3, times->low);
    bench_line_number(line, "high_us", 3, times->high);
    bench_line_number(line, "best_us", 3, times->best);
    bench_line_number(line, "mean_us", 3, times->mean);
    bench_line_number(line, "p10_us", 3, times->p10);
    bench_line_number(line, "p90_us", 3, times->p90);
}

static bool overlaps(enum bench_pattern pattern)
{
    return pattern == BENCH_OVERLAP || pattern == BENCH_OVERLAP_SEND ||
           pattern == BENCH_OVERLAP_RECV;
}

static void print_result(struct bench *bench, const struct bench_case *one,
                         const struct result *result)
{
    const double messages = one->pattern == BENCH_BOTH ? 2 : 1;
    const double median = result->times.median;
    const double handover = bench->quiet.handover;
    const bool probed = bench->quiet.probe != NULL && !isinf(handover);
    struct bench_line line = {0};

    describe_case(bench, one, &line);
    describe_times(&result->times, &line);
    bench_line_number(&line, "mb_per_s", 1, messages * (double) one->size / median);
    bench_line_number(&line, "messages_per_s", 0, messages * 1e6 / median);
    bench_line_number(&line, "hidden_percent", 1,
                      overlaps(one->pattern) ? 100 * result->hidden : NAN);
    bench_line_text(&line, "checked",
                    !bench->options.check ? "no"
                    : result->bad == 0    ? "ok"
                                          : "bad");
    bench_line_text(&line, "quiet", result->quiet);
    bench_line_number(&line, "handover_ns", 0, probed ? handover : NAN);
    if (bench->options.json) {
        bench_line_print_json(&line, stdout);
    } else {
        if (bench->lines == 0) {
            bench_line_print_names(&line, stdout);
        }
        bench_line_print_csv(&line, stdout);
    }
    bench->lines++;
    fflush(stdout);
}

/* Every combination at one size; returns the number of wrong messages seen by both ranks. */
static long run_size(struct bench *bench, size_t size)
{
    const struct bench_options *options = &bench->options;
    const int combinations = options->patterns.count * options->reuse.count * options->types.count *
                             options->caches.count;
    long bad = 0;

    for (int i = 0; i < combinations; i++) {
        int at = i;
        struct bench_case one = {.size = size};
        one.reuse = options->reuse.values[at % options->reuse.count];
        at /= options->reuse.count;
        one.cache = (enum bench_cache) options->caches.values[at % options->caches.count];
        at /= options->caches.count;
        one.type = (enum bench_type) options->types.values[at % options->types.count];
        at /= options->types.count;
        one.pattern = (enum bench_pattern) options->patterns.values[at];
        const struct result result = measure(bench, &one);
        bad += result.bad;
        if (bench->rank == 0) {
            print_result(bench, &one, &result);
        }
    }
    return bad;
}

static int bench_main(struct bench *bench)
{
    const size_t reps = (size_t) bench->options.reps;
    long bad = 0;

    if (bench->options.probe) {
        bench->quiet = (struct bench_quiet){.probe = bench_probe_open(bench->rank),
                                            .rate = bench->options.probe_rate,
                                            .handover_least = bench->options.handover_least,
                                            .handover_most = bench->options.handover_most,
                                            .wait_left_s = bench->options.probe_wait,
                                            .rank = bench->rank};
        if (bench->quiet.probe == NULL && bench->rank == 0) {
            fputs("rbuf-bench: --probe: the ranks share no memory, nothing is probed\n", stderr);
        }
    }
    bench->times = array_or_abort(reps, sizeof *bench->times);
    bench->hidden = array_or_abort(reps, sizeof *bench->hidden);
    bench->reused = array_or_abort(reps, sizeof *bench->reused);
    bench->requests = array_or_abort(2 * BENCH_MAX_WINDOW, sizeof *bench->requests);
    if (!bench->options.cold_start) {
        bench_warm_up(bench->rank, bench->ranks);
    }
    for (size_t i = 0; i < bench->options.size_count; i++) {
        bad += run_size(bench, bench->options.sizes[i]);
    }
    bench_probe_close(bench->quiet.probe);
    free(bench->times);
    free(bench->hidden);
    free(bench->reused);
    free(bench->requests);
    return bad == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);

    enum options_result result = bench_parse(&bench.options, argc, argv);
    if (result == OPTIONS_RUN && !bench_takes_ranks(&bench.options, bench.ranks)) {
        result = OPTIONS_BAD;
    }
    switch (result) {
    case OPTIONS_RUN:
        status = bench_main(&bench);
        break;
    case OPTIONS_HELP:
        if (bench.rank == 0) {
            bench_print_help(stdout);
        }
        status = 0;
        break;
    case OPTIONS_VERSION:
        if (bench.rank == 0) {
            options_print_version(stdout, "rbuf-bench");
        }
        status = 0;
        break;
    case OPTIONS_BAD:
    default:
        if (bench.rank == 0) {
            fprintf(stderr, "rbuf-bench: %s (--help explains)\n", bench.options.message);
        }
        status = 2;
        break;
    }
    MPI_Finalize();
    return status;
}
