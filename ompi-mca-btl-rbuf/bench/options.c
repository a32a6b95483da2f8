/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-bench. What is not fully understood is refused with the option, the
 * value and what is allowed.
 */
#include "bench/options.h"

#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

const struct bench_word bench_pattern_words[BENCH_PATTERNS] = {
    [BENCH_PINGPONG] = {"pingpong", "one message there, one back; half of the time"},
    [BENCH_STREAM] = {"stream",
                      "a window of 16 messages one way, then an empty answer; time a message"},
    [BENCH_RATE] = {"rate", "the same with windows of 64, sixteen of them back to back"},
    [BENCH_BOTH] = {"both",
                    "both ranks send and receive at once; the slower rank's time a message"},
    [BENCH_OVERLAP_SEND] = {"overlap-send", "one message one way while the sender computes"},
    [BENCH_OVERLAP_RECV] = {"overlap-recv", "the same while the receiver computes"},
    [BENCH_OVERLAP] = {"overlap", "the same while both compute"},
    [BENCH_LATE] = {"late", "the receiver comes --late after the sender; the receive's own time"},
};

const struct bench_word bench_type_words[BENCH_TYPES] = {
    [BENCH_BYTES] = {"bytes", "contiguous"},
    [BENCH_VECTOR] = {"vector", "blocks of 64 bytes, 128 apart (MPI_Type_vector)"},
    [BENCH_STRUCT] = {"struct", "a double and an int in every 16 bytes (MPI_Type_create_struct)"},
};

const struct bench_word bench_cache_words[BENCH_CACHES] = {
    [BENCH_WARM] = {"warm", "both buffers just written by the processor"},
    [BENCH_COLD_RECV] = {"cold-recv", "the caches hold nothing of the receive buffer"},
    [BENCH_COLD] = {"cold", "nor of the send buffer"},
};

/* What the options say about sizes before they can be judged together. */
struct range {
    size_t min, max;
    double step;
    bool listed;
};

struct parser {
    struct bench_options *options;
    struct range range;
};

static bool refuse(struct parser *parser, const char *name, const char *value, const char *allowed)
{
    snprintf(parser->options->message, sizeof parser->options->message, "--%s '%.60s': wants %s",
             name, value, allowed);
    return false;
}

/* An MPI count is an int: messages of 2 GiB and more are out of reach. */
static bool message_size(const char *text, size_t length, size_t *size)
{
    size_t value;

    if (!bench_parse_size(text, length, &value) || value > INT32_MAX) {
        return false;
    }
    *size = value;
    return true;
}

static const char SIZE_ALLOWED[] = "a size below 2g such as 12k or 1M";

static bool take_min(struct parser *parser, const char *name, const char *value)
{
    return message_size(value, strlen(value), &parser->range.min) ||
           refuse(parser, name, value, SIZE_ALLOWED);
}

static bool take_max(struct parser *parser, const char *name, const char *value)
{
    return message_size(value, strlen(value), &parser->range.max) ||
           refuse(parser, name, value, SIZE_ALLOWED);
}

static bool take_step(struct parser *parser, const char *name, const char *value)
{
    return bench_parse_number(value, 0.01, 10000, &parser->range.step) ||
           refuse(parser, name, value, "per cent from 0.01 to 10000");
}

static bool take_sizes(struct parser *parser, const char *name, const char *value)
{
    struct bench_options *options = parser->options;

    parser->range.listed = true;
    options->size_count = 0;
    for (const char *item = value;; item++) {
        const size_t length = strcspn(item, ",");
        if (options->size_count == BENCH_MAX_SIZES) {
            return refuse(parser, name, value, "at most 1024 sizes");
        }
        if (!message_size(item, length, &options->sizes[options->size_count++])) {
            return refuse(parser, name, value, "sizes below 2g such as 64k,1M,4096");
        }
        item += length;
        if (*item == '\0') {
            return true;
        }
    }
}

/* Calls `read` for each item of a list with commas; false if one is not read or there are many. */
static bool take_list(struct bench_list *list, const char *value,
                      bool (*read)(const void *, const char *, size_t, int *), const void *words)
{
    list->count = 0;
    for (const char *item = value;; item++) {
        const size_t length = strcspn(item, ",");
        if (list->count == BENCH_MAX_CHOICES ||
            !read(words, item, length, &list->values[list->count++])) {
            return false;
        }
        item += length;
        if (*item == '\0') {
            return true;
        }
    }
}

/* The words that an option takes. */
struct words {
    const struct bench_word *words;
    int count;
};

static bool read_word(const void *argument, const char *text, size_t length, int *value)
{
    const struct words *words = argument;

    for (int i = 0; i < words->count; i++) {
        if (strlen(words->words[i].name) == length &&
            memcmp(words->words[i].name, text, length) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static bool take_words(struct parser *parser, const char *name, const char *value,
                       struct bench_list *list, const struct words *words)
{
    char allowed[120] = "";

    if (take_list(list, value, read_word, words)) {
        return true;
    }
    for (int i = 0; i < words->count; i++) {
        const size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i == 0 ? "" : ", ",
                 words->words[i].name);
    }
    return refuse(parser, name, value, allowed);
}

static bool take_pattern(struct parser *parser, const char *name, const char *value)
{
    return take_words(parser, name, value, &parser->options->patterns,
                      &(struct words){bench_pattern_words, BENCH_PATTERNS});
}

static bool take_type(struct parser *parser, const char *name, const char *value)
{
    return take_words(parser, name, value, &parser->options->types,
                      &(struct words){bench_type_words, BENCH_TYPES});
}

static bool take_cache(struct parser *parser, const char *name, const char *value)
{
    return take_words(parser, name, value, &parser->options->caches,
                      &(struct words){bench_cache_words, BENCH_CACHES});
}

static bool read_buffers(const void *words, const char *text, size_t length, int *percent)
{
    (void) words;
    if (length == 6 && memcmp(text, "reused", 6) == 0) {
        *percent = 100;
        return true;
    }
    if (length == 5 && memcmp(text, "fresh", 5) == 0) {
        *percent = 0;
        return true;
    }
    return bench_parse_share(text, length, percent);
}

static bool take_buffers(struct parser *parser, const char *name, const char *value)
{
    return take_list(&parser->options->reuse, value, read_buffers, NULL) ||
           refuse(parser, name, value, "reused, fresh, or shares such as 25%");
}

static bool whole_or_auto(const char *value, int most, int *number)
{
    if (strcmp(value, "auto") == 0) {
        *number = 0;
        return true;
    }
    return bench_parse_whole(value, 1, most, number);
}

static bool take_window(struct parser *parser, const char *name, const char *value)
{
    return whole_or_auto(value, BENCH_MAX_WINDOW, &parser->options->window) ||
           refuse(parser, name, value, "auto or a whole number from 1 to 4096");
}

static bool take_burst(struct parser *parser, const char *name, const char *value)
{
    return whole_or_auto(value, 1000000, &parser->options->burst) ||
           refuse(parser, name, value, "auto or a whole number from 1 to 1000000");
}

static bool take_reps(struct parser *parser, const char *name, const char *value)
{
    return bench_parse_whole(value, 1, 1000000, &parser->options->reps) ||
           refuse(parser, name, value, "a whole number from 1 to 1000000");
}

static bool take_late(struct parser *parser, const char *name, const char *value)
{
    return bench_parse_number(value, 0, 1e7, &parser->options->late_us) ||
           refuse(parser, name, value, "microseconds from 0 to 10000000");
}

static bool take_probe_rate(struct parser *parser, const char *name, const char *value)
{
    size_t rate;

    if (!bench_parse_size(value, strlen(value), &rate) || rate == 0) {
        return refuse(parser, name, value, "bytes a second such as 3G");
    }
    parser->options->probe_rate = (double) rate;
    return true;
}

/* LEAST:MOST, or any. */
static bool take_probe_handover(struct parser *parser, const char *name, const char *value)
{
    const char *colon = strchr(value, ':');
    struct bench_options *options = parser->options;
    char least[32];

    if (strcmp(value, "any") == 0) {
        options->handover_least = 0;
        options->handover_most = INFINITY;
        return true;
    }
    if (colon != NULL && (size_t) (colon - value) < sizeof least) {
        snprintf(least, sizeof least, "%.*s", (int) (colon - value), value);
        if (bench_parse_number(least, 0, 1e6, &options->handover_least) &&
            bench_parse_number(colon + 1, options->handover_least, 1e6, &options->handover_most)) {
            return true;
        }
    }
    return refuse(parser, name, value, "any or nanoseconds such as 40:120");
}

static bool take_probe_wait(struct parser *parser, const char *name, const char *value)
{
    return bench_parse_number(value, 0, 86400, &parser->options->probe_wait) ||
           refuse(parser, name, value, "seconds from 0 to 86400");
}

static bool take_check(struct parser *parser, const char *name, const char *value)
{
    (void) name;
    (void) value;
    return parser->options->check = true;
}

static bool take_probe(struct parser *parser, const char *name, const char *value)
{
    (void) name;
    (void) value;
    return parser->options->probe = true;
}

/* `standard` is NULL where there is no default; `argument` is NULL where there is none to give. */
static const struct row {
    const char *name, *argument, *standard, *help;
    bool (*take)(struct parser *parser, const char *name, const char *value);
} rows[] = {
    {"min", "SIZE", "4k", "smallest message", take_min},
    {"max", "SIZE", "4M", "largest message", take_max},
    {"step", "PERCENT", "5", "growth from one size to the next", take_step},
    {"sizes", "LIST", NULL, "these sizes instead", take_sizes},
    {"pattern", "LIST", "pingpong", "what is measured, see PATTERNS", take_pattern},
    {"buffers", "LIST", "reused", "which buffers are new to the transport, see BUFFERS",
     take_buffers},
    {"type", "LIST", "bytes", "what messages are made of, see TYPES", take_type},
    {"cache", "LIST", "warm", "what the caches hold before the clock starts, see CACHES",
     take_cache},
    {"window", "N", "auto", "messages under way at once (stream 16, rate 64, both 1)", take_window},
    {"burst", "N", "auto", "exchanges back to back (reused in rate 16, others 1)", take_burst},
    {"late", "US", "200", "how much later the receiver comes in the pattern late", take_late},
    {"reps", "N", "40", "repetitions a size", take_reps},
    {"check", NULL, NULL, "compare every byte received, off the clock", take_check},
    {"probe", NULL, NULL, "measure while the machine is quiet, see PROBING", take_probe},
    {"probe-rate", "SIZE", "4G", "bytes a second that count as quiet", take_probe_rate},
    {"probe-handover", "NS:NS", "any", "core to core, least and most that count as quiet",
     take_probe_handover},
    {"probe-wait", "S", "120", "seconds to wait for quiet in the whole run", take_probe_wait},
    {"help", NULL, NULL, "this text", NULL},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

void bench_print_options(FILE *stream)
{
    for (int i = 0; i < ROWS; i++) {
        char head[40];
        snprintf(head, sizeof head, "--%s%s%s", rows[i].name, rows[i].argument ? " " : "",
                 rows[i].argument ? rows[i].argument : "");
        fprintf(stream, "    %-17s %s%s%s%s\n", head, rows[i].help, rows[i].standard ? " [" : "",
                rows[i].standard ? rows[i].standard : "", rows[i].standard ? "]" : "");
    }
}

int bench_window(const struct bench_options *options, enum bench_pattern pattern)
{
    switch (pattern) {
    case BENCH_STREAM:
        return options->window > 0 ? options->window : 16;
    case BENCH_RATE:
        return options->window > 0 ? options->window : 64;
    case BENCH_BOTH:
        return options->window > 0 ? options->window : 1;
    default:
        return 1;
    }
}

int bench_burst(const struct bench_options *options, enum bench_pattern pattern, int reuse)
{
    switch (pattern) {
    case BENCH_PINGPONG:
    case BENCH_STREAM:
    case BENCH_BOTH:
        return options->burst > 0 ? options->burst : 1;
    case BENCH_RATE:
        return options->burst > 0 ? options->burst : reuse == 100 ? 16 : 1;
    default:
        return 1;
    }
}

/* The sizes from min to max; the last is max itself. */
static bool step_sizes(struct bench_options *options, const struct range *range)
{
    size_t size = range->min;

    if (range->min > range->max) {
        snprintf(options->message, sizeof options->message, "--min %zu is larger than --max %zu",
                 range->min, range->max);
        return false;
    }
    options->size_count = 0;
    while (size < range->max && options->size_count < BENCH_MAX_SIZES - 1) {
        const size_t next = (size_t) ((double) size * (1 + range->step / 100));
        options->sizes[options->size_count++] = size;
        size = next > size ? next : size + 1;
    }
    if (size < range->max) {
        snprintf(options->message, sizeof options->message,
                 "--step %g gives more than %d sizes from --min to --max", range->step,
                 BENCH_MAX_SIZES);
        return false;
    }
    options->sizes[options->size_count++] = range->max;
    return true;
}

/* What is drawn at random is reported by repetition, which cannot be of both kinds; and new buffers
 * are as many as the messages of a repetition. */
static bool burst_possible(struct bench_options *options, enum bench_pattern pattern, int reuse)
{
    const int burst = bench_burst(options, pattern, reuse);
    const char *name = bench_pattern_words[pattern].name;

    if (burst == 1 || reuse == 100) {
        return true;
    }
    if (reuse > 0) {
        snprintf(options->message, sizeof options->message,
                 "--pattern %s with --burst %d: --buffers must be fresh or reused, not %d%%, or "
                 "--burst 1",
                 name, burst, reuse);
        return false;
    }
    if ((long) burst * bench_window(options, pattern) > BENCH_MAX_NEW) {
        snprintf(options->message, sizeof options->message,
                 "--pattern %s with --burst %d and windows of %d: fresh buffers would be more than "
                 "%d; --burst 1, or --buffers reused",
                 name, burst, bench_window(options, pattern), BENCH_MAX_NEW);
        return false;
    }
    return true;
}

static bool bursts_possible(struct bench_options *options)
{
    for (int p = 0; p < options->patterns.count; p++) {
        for (int r = 0; r < options->reuse.count; r++) {
            if (!burst_possible(options, (enum bench_pattern) options->patterns.values[p],
                                options->reuse.values[r])) {
                return false;
            }
        }
    }
    return true;
}

static void set_defaults(struct parser *parser)
{
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].standard != NULL) {
            (void) rows[i].take(parser, rows[i].name, rows[i].standard);
        }
    }
}

/* Reads all options; BENCH_RUN means that they are understood one by one. */
static enum bench_verdict take_options(struct parser *parser, int argc, char **argv)
{
    struct option known[ROWS + 1] = {0};
    int index;

    for (int i = 0; i < ROWS; i++) {
        known[i] =
            (struct option){.name = rows[i].name,
                            .has_arg = rows[i].argument == NULL ? no_argument : required_argument,
                            .val = i + 1};
    }
    opterr = 0;
    while ((index = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (index == '?') {
            snprintf(parser->options->message, sizeof parser->options->message,
                     "option '%.60s': unknown, or its value is missing", argv[optind - 1]);
            return BENCH_BAD;
        }
        const struct row *row = &rows[index - 1];
        if (row->take == NULL) {
            return BENCH_HELP;
        }
        if (!row->take(parser, row->name, optarg)) {
            return BENCH_BAD;
        }
    }
    if (optind < argc) {
        snprintf(parser->options->message, sizeof parser->options->message,
                 "argument '%.60s': not expected", argv[optind]);
        return BENCH_BAD;
    }
    return BENCH_RUN;
}

enum bench_verdict bench_parse(struct bench_options *options, int argc, char **argv)
{
    struct parser parser = {.options = options};

    *options = (struct bench_options){0};
    set_defaults(&parser);
    const enum bench_verdict verdict = take_options(&parser, argc, argv);
    if (verdict != BENCH_RUN) {
        return verdict;
    }
    if (!parser.range.listed && !step_sizes(options, &parser.range)) {
        return BENCH_BAD;
    }
    return bursts_possible(options) ? BENCH_RUN : BENCH_BAD;
}
