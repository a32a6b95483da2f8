/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of rbuf-bench: its table, and what options say only together.
 */
#include "bench/options.h"

#include "common/values.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* What the options say about sizes before they can be judged together. */
struct range {
    size_t min, max;
    double step;
    bool listed;
};

struct parser {
    struct bench_options *options;
    struct range range;
    char wants[260]; /* the words that an option takes, when it got another one */
};

static const char SIZE_WANTED[] = "a size below 2g such as 12k or 1M";

/* An MPI count is an int: messages of 2 GiB and more are out of reach. */
static bool read_size(const char *text, size_t *size)
{
    uint64_t value;

    if (!mca_btl_rbuf_read_size(text, &value) || value > INT32_MAX) {
        return false;
    }
    *size = (size_t) value;
    return true;
}

static const char *take_min(void *target, const char *value)
{
    struct parser *parser = target;

    return read_size(value, &parser->range.min) ? NULL : SIZE_WANTED;
}

static const char *take_max(void *target, const char *value)
{
    struct parser *parser = target;

    return read_size(value, &parser->range.max) ? NULL : SIZE_WANTED;
}

static const char *take_step(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = value_number(value, 0.01, 10000, &parser->range.step);

    return read ? NULL : "per cent from 0.01 to 10000";
}

static const char *take_sizes(void *target, const char *value)
{
    struct parser *parser = target;
    struct bench_options *options = parser->options;
    char item[VALUE_ITEM_MAX];

    parser->range.listed = true;
    options->size_count = 0;
    for (const char *rest = value; rest != NULL;) {
        if (options->size_count == BENCH_MAX_SIZES) {
            return "at most 1024 sizes";
        }
        if (!value_next(&rest, item) || !read_size(item, &options->sizes[options->size_count++])) {
            return "sizes below 2g such as 64k,1M,4096";
        }
    }
    return NULL;
}

/* Words that an option takes, by their values. */
struct words {
    const struct bench_word *words;
    int count;
};

/* Calls `read` for each item of a list; false if one is not read or there are many. */
static bool read_list(struct bench_list *list, const char *value,
                      bool (*read)(const struct words *, const char *, int *),
                      const struct words *words)
{
    char item[VALUE_ITEM_MAX];

    list->count = 0;
    for (const char *rest = value; rest != NULL;) {
        if (list->count == BENCH_MAX_CHOICES || !value_next(&rest, item) ||
            !read(words, item, &list->values[list->count++])) {
            return false;
        }
    }
    return true;
}

static bool read_word(const struct words *words, const char *text, int *value)
{
    for (int i = 0; i < words->count; i++) {
        if (strcmp(words->words[i].name, text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static const char *take_words(struct parser *parser, const char *value, struct bench_list *list,
                              const struct words *words)
{
    size_t used = 0;

    if (read_list(list, value, read_word, words)) {
        return NULL;
    }
    for (int i = 0; i < words->count; i++) {
        snprintf(parser->wants + used, sizeof parser->wants - used, "%s%s", i == 0 ? "" : ", ",
                 words->words[i].name);
        used = strlen(parser->wants);
    }
    return parser->wants;
}

static const char *take_pattern(void *target, const char *value)
{
    struct parser *parser = target;

    return take_words(parser, value, &parser->options->patterns,
                      &(struct words){bench_pattern_words, BENCH_PATTERNS});
}

static const char *take_type(void *target, const char *value)
{
    struct parser *parser = target;

    return take_words(parser, value, &parser->options->types,
                      &(struct words){bench_type_words, BENCH_TYPES});
}

static const char *take_cache(void *target, const char *value)
{
    struct parser *parser = target;

    return take_words(parser, value, &parser->options->caches,
                      &(struct words){bench_cache_words, BENCH_CACHES});
}

static bool read_buffers(const struct words *words, const char *text, int *percent)
{
    (void) words;
    if (strcmp(text, "reused") == 0) {
        *percent = 100;
        return true;
    }
    if (strcmp(text, "fresh") == 0) {
        *percent = 0;
        return true;
    }
    return value_percent(text, percent);
}

static const char *take_buffers(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = read_list(&parser->options->reuse, value, read_buffers, NULL);

    return read ? NULL : "reused, fresh, or shares such as 25%";
}

static bool whole_or_auto(const char *value, int most, int *number)
{
    if (strcmp(value, "auto") == 0) {
        *number = 0;
        return true;
    }
    return value_whole(value, 1, most, number);
}

static const char *take_window(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = whole_or_auto(value, BENCH_MAX_WINDOW, &parser->options->window);

    return read ? NULL : "auto or a whole number from 1 to 4096";
}

static const char *take_burst(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = whole_or_auto(value, 1000000, &parser->options->burst);

    return read ? NULL : "auto or a whole number from 1 to 1000000";
}

static const char *take_sets(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = value_whole(value, 1, BENCH_MAX_SLOTS, &parser->options->sets);

    return read ? NULL : "a whole number from 1 to 262144";
}

static const char *take_working_set(void *target, const char *value)
{
    struct parser *parser = target;

    return read_size(value, &parser->options->working_set) ? NULL : SIZE_WANTED;
}

static const char *take_reps(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = value_whole(value, 1, 1000000, &parser->options->reps);

    return read ? NULL : "a whole number from 1 to 1000000";
}

static const char *take_late(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = value_number(value, 0, 1e7, &parser->options->late_us);

    return read ? NULL : "microseconds from 0 to 10000000";
}

static const char *take_probe_rate(void *target, const char *value)
{
    struct parser *parser = target;
    uint64_t rate;

    if (!mca_btl_rbuf_read_size(value, &rate) || rate == 0) {
        return "bytes a second such as 3G";
    }
    parser->options->probe_rate = (double) rate;
    return NULL;
}

/* LEAST:MOST, or any. */
static const char *take_probe_handover(void *target, const char *value)
{
    const char *colon = strchr(value, ':');
    struct parser *parser = target;
    struct bench_options *options = parser->options;
    char least[32];

    if (strcmp(value, "any") == 0) {
        options->handover_least = 0;
        options->handover_most = INFINITY;
        return NULL;
    }
    if (colon != NULL && (size_t) (colon - value) < sizeof least) {
        snprintf(least, sizeof least, "%.*s", (int) (colon - value), value);
        if (value_number(least, 0, 1e6, &options->handover_least) &&
            value_number(colon + 1, options->handover_least, 1e6, &options->handover_most)) {
            return NULL;
        }
    }
    return "any or nanoseconds such as 40:120";
}

static const char *take_probe_wait(void *target, const char *value)
{
    struct parser *parser = target;
    const bool read = value_number(value, 0, 86400, &parser->options->probe_wait);

    return read ? NULL : "seconds from 0 to 86400";
}

static const char *take_pages(void *target, const char *value)
{
    struct parser *parser = target;

    (void) value;
    parser->options->pages = true;
    return NULL;
}

static const char *take_check(void *target, const char *value)
{
    struct parser *parser = target;

    (void) value;
    parser->options->check = true;
    return NULL;
}

static const char *take_cold_start(void *target, const char *value)
{
    struct parser *parser = target;

    (void) value;
    parser->options->cold_start = true;
    return NULL;
}

static const char *take_json(void *target, const char *value)
{
    struct parser *parser = target;

    (void) value;
    parser->options->json = true;
    return NULL;
}

static const char *take_probe(void *target, const char *value)
{
    struct parser *parser = target;

    (void) value;
    parser->options->probe = true;
    return NULL;
}

static const struct option_row rows[] = {
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
    {"window", "N", "auto", "messages under way at once (stream, sends 16, rate 64, others 1)",
     take_window},
    {"burst", "N", "auto", "exchanges back to back (reused in rate 16, others --sets)", take_burst},
    {"sets", "N", "1", "sets of buffers that a burst uses in turn, see BUFFERS", take_sets},
    {"working-set", "SIZE", "0", "memory that the pattern processor computes on", take_working_set},
    {"late", "US", "200", "how much later the receiver comes in the pattern late", take_late},
    {"reps", "N", "40", "repetitions a size", take_reps},
    {"pages", NULL, NULL, "each buffer on pages of its own, also small ones", take_pages},
    {"check", NULL, NULL, "compare every byte received, off the clock", take_check},
    {"no-warm-up", NULL, NULL, "measure how the ranks connect, too, see WARM-UP", take_cold_start},
    {"json", NULL, NULL, "an object a case instead of CSV", take_json},
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
    options_print(stream, rows, ROWS);
}

int bench_window(const struct bench_options *options, enum bench_pattern pattern)
{
    switch (pattern) {
    case BENCH_STREAM:
    case BENCH_SENDS:
    case BENCH_PROCESSOR:
    case BENCH_PUTS_GETS:
        return options->window > 0 ? options->window : 16;
    case BENCH_SPECTRUM:
    case BENCH_PUT_SPECTRUM:
    case BENCH_GET_SPECTRUM:
        return options->window > 0 ? options->window : 1000;
    case BENCH_RATE:
        return options->window > 0 ? options->window : 64;
    case BENCH_PUT:
    case BENCH_GET:
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
    case BENCH_SENDS:
    case BENCH_PROCESSOR:
    case BENCH_PUT:
    case BENCH_GET:
    case BENCH_PUT_PSCW:
    case BENCH_GET_PSCW:
    case BENCH_PUTS_GETS:
    case BENCH_PUT_GET_PSCW:
    case BENCH_BCAST:
    case BENCH_ALLREDUCE:
    case BENCH_BARRIER:
    case BENCH_BOTH:
        return options->burst > 0 ? options->burst : reuse == 100 ? options->sets : 1;
    case BENCH_RATE:
        return options->burst > 0 ? options->burst : reuse == 100 ? 16 : 1;
    default:
        return 1;
    }
}

int bench_sets(const struct bench_options *options, enum bench_pattern pattern, int reuse)
{
    const int burst = bench_burst(options, pattern, reuse);

    return reuse == 0 || options->sets > burst ? burst : options->sets;
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

    if ((bench_is_one_sided(pattern) || pattern == BENCH_SCATTER) && reuse > 0 && reuse < 100) {
        snprintf(options->message, sizeof options->message,
                 "--pattern %s: --buffers must be fresh or reused, not %d%%", name, reuse);
        return false;
    }
    if ((long) bench_sets(options, pattern, 100) * bench_window(options, pattern) >
        BENCH_MAX_SLOTS) {
        snprintf(options->message, sizeof options->message,
                 "--pattern %s with windows of %d: --sets %d would be more than %d buffers", name,
                 bench_window(options, pattern), options->sets, BENCH_MAX_SLOTS);
        return false;
    }
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

static bool types_possible(struct bench_options *options, enum bench_pattern pattern)
{
    for (int t = 0; bench_is_of_bytes(pattern) && t < options->types.count; t++) {
        if (options->types.values[t] != BENCH_BYTES) {
            snprintf(options->message, sizeof options->message,
                     "--pattern %s: --type must be bytes", bench_pattern_words[pattern].name);
            return false;
        }
    }
    return true;
}

static bool cases_possible(struct bench_options *options)
{
    for (int p = 0; p < options->patterns.count; p++) {
        if (!types_possible(options, (enum bench_pattern) options->patterns.values[p])) {
            return false;
        }
        for (int r = 0; r < options->reuse.count; r++) {
            if (!burst_possible(options, (enum bench_pattern) options->patterns.values[p],
                                options->reuse.values[r])) {
                return false;
            }
        }
    }
    return true;
}

bool bench_takes_ranks(struct bench_options *options, int ranks)
{
    bool all = !options->probe;

    for (int p = 0; p < options->patterns.count; p++) {
        all = all && bench_is_collective((enum bench_pattern) options->patterns.values[p]);
    }
    if (ranks == 2 || (ranks > 2 && all)) {
        return true;
    }
    snprintf(options->message, sizeof options->message,
             "%d ranks: it measures between two, start it with -np 2; more only for --pattern "
             "bcast,scatter,allreduce,barrier, without --probe",
             ranks);
    return false;
}

enum options_result bench_parse(struct bench_options *options, int argc, char **argv)
{
    struct parser parser = {.options = options};
    enum options_result result;

    *options = (struct bench_options){0};
    result = options_parse(rows, ROWS, &parser, argc, argv, options->message);
    if (result != OPTIONS_RUN) {
        return result;
    }
    if (!parser.range.listed && !step_sizes(options, &parser.range)) {
        return OPTIONS_BAD;
    }
    return cases_possible(options) ? OPTIONS_RUN : OPTIONS_BAD;
}
