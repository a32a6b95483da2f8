/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-bench. Nothing is rounded or guessed: what is not fully understood is
 * refused with the option, the value and what is allowed.
 */
#include "bench_options.h"

#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char BENCH_USAGE[] =
    "usage: mpirun -np 2 ... rbuf-bench [options]\n"
    "Half round trip between two ranks by message size, as CSV.\n"
    "  --min SIZE --max SIZE --step PERCENT\n"
    "                     sizes from min to max growing by step per cent (4k, 4M, 5)\n"
    "  --sizes A,B,...    these sizes instead\n"
    "  --buffers reused   one send and one receive buffer a size (default)\n"
    "  --buffers fresh    both sides map both buffers anew for every repetition\n"
    "  --pattern pingpong one message there, one back; half of the time is reported (default)\n"
    "  --pattern both     both ranks send and receive at once; the time of the slower is reported\n"
    "  --reps N           repetitions a size (40)\n"
    "  --check            compare every byte received (off the clock)\n"
    "  --probe            measure only while the machine is quiet: before and after each size one\n"
    "                     rank writes 64 KB that the other core has just read, and when that is\n"
    "                     slower than --probe-rate the size waits or is measured again\n"
    "  --probe-rate SIZE  bytes a second that count as quiet (4G)\n"
    "  --probe-wait S     seconds to wait for quiet in the whole run (120); when they are used up\n"
    "                     the rest is measured all the same and marked in the column quiet\n"
    "Sizes are bytes, or 12k, 1M, 2g. Each repetition is one round trip after a barrier. Before\n"
    "the clock starts both ranks write every byte of both buffers, fresh or reused, so that page\n"
    "faults are never measured and the caches are in the same state whatever the transport;\n"
    "fresh buffers are unmapped after the clock has stopped. Columns: size, buffers, pattern,\n"
    "reps, first, median, best, 10th and 90th percentile in microseconds, 10^6 bytes a second at\n"
    "the median, checked (ok, no, bad), quiet (yes, no, - where nothing was probed).\n"
    "Exit status: 0, 1 if a check failed, 2 on bad usage.\n";

bool bench_parse_size(const char *text, size_t length, size_t *size)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        if (value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t) (text[i] - '0');
    }
    if (i == 0 || length - i > 1) {
        return false;
    }
    if (i < length) {
        static const char suffixes[] = "kKmMgG";
        const char *suffix = strchr(suffixes, text[i]);
        if (suffix == NULL) {
            return false;
        }
        const int shift = 10 * ((int) (suffix - suffixes) / 2 + 1);
        if (value > UINT64_MAX >> shift) {
            return false;
        }
        value <<= shift;
    }
    *size = (size_t) value;
    return true;
}

static bool refuse(struct bench_options *options, const char *name, const char *value,
                   const char *allowed)
{
    snprintf(options->message, sizeof options->message, "%s '%.60s': %s", name, value, allowed);
    return false;
}

/* An MPI count is an int: messages of 2 GiB and more are out of reach. */
static bool message_size(const char *text, size_t length, size_t *size)
{
    return bench_parse_size(text, length, size) && *size <= INT32_MAX;
}

static bool parse_list(struct bench_options *options, const char *list)
{
    options->size_count = 0;
    for (const char *item = list;; item++) {
        const size_t length = strcspn(item, ",");
        if (options->size_count == BENCH_MAX_SIZES) {
            return refuse(options, "--sizes", list, "more than 1024 sizes");
        }
        if (!message_size(item, length, &options->sizes[options->size_count++])) {
            return refuse(options, "--sizes", list, "wants sizes below 2g such as 64k,1M,4096");
        }
        item += length;
        if (*item == '\0') {
            return true;
        }
    }
}

static bool parse_number(const char *text, double least, double most, double *value)
{
    char *end;
    const double number = strtod(text, &end);

    if (end == text || *end != '\0' || !(number >= least && number <= most)) {
        return false;
    }
    *value = number;
    return true;
}

/* The sizes from min to max; the last is max itself. */
static bool step_sizes(struct bench_options *options, size_t min, size_t max, double percent)
{
    size_t size = min;

    options->size_count = 0;
    while (size < max && options->size_count < BENCH_MAX_SIZES - 1) {
        const size_t next = (size_t) ((double) size * (1 + percent / 100));
        options->sizes[options->size_count++] = size;
        size = next > size ? next : size + 1;
    }
    if (size < max) {
        snprintf(options->message, sizeof options->message,
                 "--step %g gives more than %d sizes from --min to --max", percent,
                 BENCH_MAX_SIZES);
        return false;
    }
    options->sizes[options->size_count++] = max;
    return true;
}

static bool parse_choice(struct bench_options *options, const char *name, const char *value,
                         const char *const words[2], int *choice)
{
    for (int i = 0; i < 2; i++) {
        if (strcmp(value, words[i]) == 0) {
            *choice = i;
            return true;
        }
    }
    snprintf(options->message, sizeof options->message, "%s '%.60s': wants %s or %s", name, value,
             words[0], words[1]);
    return false;
}

/* The options that the loop below collects before they can be judged together. */
struct raw_range {
    size_t min, max;
    double step;
    bool listed;
};

static bool parse_one(struct bench_options *options, struct raw_range *range, int letter,
                      const char *value)
{
    static const char *const buffers[2] = {[BENCH_REUSED] = "reused", [BENCH_FRESH] = "fresh"};
    static const char *const patterns[2] = {[BENCH_PINGPONG] = "pingpong", [BENCH_BOTH] = "both"};
    double number;
    size_t rate;
    int choice;

    switch (letter) {
    case 'm':
    case 'M':
        return message_size(value, strlen(value), letter == 'm' ? &range->min : &range->max) ||
               refuse(options, letter == 'm' ? "--min" : "--max", value,
                      "wants a size below 2g such as 12k or 1M");
    case 's':
        return parse_number(value, 0.01, 10000, &range->step) ||
               refuse(options, "--step", value, "wants per cent from 0.01 to 10000");
    case 'l':
        range->listed = true;
        return parse_list(options, value);
    case 'b':
        if (!parse_choice(options, "--buffers", value, buffers, &choice)) {
            return false;
        }
        options->buffers = (enum bench_buffers) choice;
        return true;
    case 'p':
        if (!parse_choice(options, "--pattern", value, patterns, &choice)) {
            return false;
        }
        options->pattern = (enum bench_pattern) choice;
        return true;
    case 'r':
        if (!parse_number(value, 1, 1e6, &number) || number != floor(number)) {
            return refuse(options, "--reps", value, "wants a whole number from 1 to 1000000");
        }
        options->reps = (int) number;
        return true;
    case 'q':
        if (!bench_parse_size(value, strlen(value), &rate) || rate == 0) {
            return refuse(options, "--probe-rate", value, "wants bytes a second such as 3G");
        }
        options->probe_rate = (double) rate;
        return true;
    case 'w':
        return parse_number(value, 0, 86400, &options->probe_wait) ||
               refuse(options, "--probe-wait", value, "wants seconds from 0 to 86400");
    default:
        return false;
    }
}

enum bench_verdict bench_parse(struct bench_options *options, int argc, char **argv)
{
    static const struct option known[] = {{"min", required_argument, NULL, 'm'},
                                          {"max", required_argument, NULL, 'M'},
                                          {"step", required_argument, NULL, 's'},
                                          {"sizes", required_argument, NULL, 'l'},
                                          {"buffers", required_argument, NULL, 'b'},
                                          {"pattern", required_argument, NULL, 'p'},
                                          {"reps", required_argument, NULL, 'r'},
                                          {"probe-rate", required_argument, NULL, 'q'},
                                          {"probe-wait", required_argument, NULL, 'w'},
                                          {"check", no_argument, NULL, 'c'},
                                          {"probe", no_argument, NULL, 'P'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct raw_range range = {.min = 4096, .max = 4 << 20, .step = 5};
    int letter;

    *options = (struct bench_options){
        .reps = 40, .probe_rate = 4.0 * (1 << 30), .probe_wait = 120, .pattern = BENCH_PINGPONG};
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (letter == 'h') {
            return BENCH_HELP;
        }
        if (letter == '?') {
            refuse(options, "option", argv[optind - 1], "unknown, or its value is missing");
            return BENCH_BAD;
        }
        if (letter == 'c' || letter == 'P') {
            *(letter == 'c' ? &options->check : &options->probe) = true;
        } else if (!parse_one(options, &range, letter, optarg)) {
            return BENCH_BAD;
        }
    }
    if (optind < argc) {
        refuse(options, "argument", argv[optind], "not expected");
        return BENCH_BAD;
    }
    if (!range.listed && range.min > range.max) {
        snprintf(options->message, sizeof options->message, "--min %zu is larger than --max %zu",
                 range.min, range.max);
        return BENCH_BAD;
    }
    if (!range.listed && !step_sizes(options, range.min, range.max, range.step)) {
        return BENCH_BAD;
    }
    return BENCH_RUN;
}
