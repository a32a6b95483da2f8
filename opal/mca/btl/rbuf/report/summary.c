/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Adds up lines of processes, and prints what a job has done. Pure but for the stream.
 *
 * Lines are of words NAME=VALUE. They come from other processes, which may have another version of
 * rbuf: what is not known is passed over.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/counters.h"
#include "common/bindings.h"
#include "common/names.h"

#define NAMES_SHOWN 4u

/* Names, each once, with how many processes have it. */
struct names {
    struct {
        char *text;
        uint32_t processes;
    } * entry;
    size_t count;
};

struct mca_btl_rbuf_summary {
    struct mca_btl_rbuf_counters sum; /* pinned_peak: the most of a process */
    uint32_t processes;
    struct names hosts;
    struct names versions;
    struct names protocols;
    struct names ports;
    struct rbuf_bindings *bindings; /* hosts by their index in `hosts` */
};

struct mca_btl_rbuf_summary *mca_btl_rbuf_summary_new(void)
{
    struct mca_btl_rbuf_summary *summary = calloc(1, sizeof(*summary));

    if (summary != NULL && (summary->bindings = rbuf_bindings_new()) == NULL) {
        free(summary);
        summary = NULL;
    }
    return summary;
}

static void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->entry[i].text);
    }
    free(names->entry);
}

void mca_btl_rbuf_summary_free(struct mca_btl_rbuf_summary *summary)
{
    if (summary != NULL) {
        names_free(&summary->hosts);
        names_free(&summary->versions);
        names_free(&summary->protocols);
        names_free(&summary->ports);
        rbuf_bindings_free(summary->bindings);
        free(summary);
    }
}

/* ---- adding up ---- */

#define NO_NAME SIZE_MAX

/* The name's index. Without memory (NO_NAME) it is missing in what is printed. Neighbours mostly
 * have the same. */
static size_t names_add(struct names *names, const struct rbuf_name *name)
{
    void *more;
    char *text;

    for (size_t i = names->count; i-- > 0;) {
        if (rbuf_name_is(name, names->entry[i].text)) {
            names->entry[i].processes++;
            return i;
        }
    }
    text = strndup(name->start, name->length);
    more = realloc(names->entry, (names->count + 1) * sizeof(names->entry[0]));
    names->entry = more != NULL ? more : names->entry;
    if (text == NULL || more == NULL) {
        free(text);
        return NO_NAME;
    }
    names->entry[names->count].text = text;
    names->entry[names->count].processes = 1;
    return names->count++;
}

/* The last one's index. */
static size_t names_add_list(struct names *names, const char *list)
{
    struct rbuf_name name;
    size_t index = NO_NAME;

    while (rbuf_names_next(&list, &name)) {
        index = names_add(names, &name);
    }
    return index;
}

static void add_counter(struct mca_btl_rbuf_counters *sum, const char *name, uint64_t value)
{
    const struct mca_btl_rbuf_counter *counter;

    for (size_t i = 0; (counter = mca_btl_rbuf_counter(i)) != NULL; i++) {
        if (strcmp(counter->name, name) == 0) {
            uint64_t *field = (uint64_t *) (void *) ((char *) sum + counter->offset);

            if (field != &sum->pinned_peak) {
                *field += value;
            } else if (value > *field) {
                *field = value;
            }
            return;
        }
    }
}

/* What two words of a line say together. */
struct binding {
    size_t host;            /* NO_NAME: not said */
    const char *processors; /* NULL: not said */
};

static void add_word(struct mca_btl_rbuf_summary *summary, struct binding *binding, char *word)
{
    char *value = strchr(word, '=');

    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    if (strcmp(word, "host") == 0) {
        binding->host = names_add_list(&summary->hosts, value);
    } else if (strcmp(word, "processors") == 0) {
        binding->processors = value;
    } else if (strcmp(word, "version") == 0) {
        names_add_list(&summary->versions, value);
    } else if (strcmp(word, "protocol") == 0) {
        names_add_list(&summary->protocols, value);
    } else if (strcmp(word, "ports") == 0) {
        names_add_list(&summary->ports, value);
    } else {
        add_counter(&summary->sum, word, strtoull(value, NULL, 10));
    }
}

void mca_btl_rbuf_summary_add(struct mca_btl_rbuf_summary *summary, const char *line)
{
    struct binding binding = {.host = NO_NAME};
    char *words = strdup(line);
    char *rest = NULL;

    if (words == NULL) {
        return;
    }
    summary->processes++;
    for (char *word = strtok_r(words, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        add_word(summary, &binding, word);
    }
    if (binding.host != NO_NAME && binding.processors != NULL) {
        rbuf_bindings_add(summary->bindings, (uint32_t) binding.host, binding.processors);
    }
    free(words);
}

/* ---- printing ---- */

struct amount {
    char text[24];
};

/* "12 bytes", "3.4 MB": of 1024 each. */
static struct amount amount_of(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double) bytes;
    struct amount amount;
    unsigned unit = 0;

    while (value >= 1024) {
        value /= 1024;
        unit++;
    }
    snprintf(amount.text, sizeof(amount.text), unit == 0 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return amount;
}

static uint64_t less(uint64_t all, uint64_t some)
{
    return all > some ? all - some : 0;
}

/* With how many processes have it, where not all do. */
static void print_names(const struct mca_btl_rbuf_summary *summary, const char *title,
                        const struct names *names, FILE *stream)
{
    fprintf(stream, ", %s%s ", title, names->count > 1 ? "s" : "");
    for (size_t i = 0; i < names->count && i < NAMES_SHOWN; i++) {
        fprintf(stream, "%s%s", i > 0 ? ", " : "", names->entry[i].text);
        if (names->entry[i].processes < summary->processes) {
            fprintf(stream, " (%" PRIu32 ")", names->entry[i].processes);
        }
    }
    if (names->count > NAMES_SHOWN) {
        fprintf(stream, " and %zu more", names->count - NAMES_SHOWN);
    }
    if (names->count == 0) {
        fputs("none", stream);
    }
}

static void print_who(const struct mca_btl_rbuf_summary *summary, uint32_t processes, FILE *stream)
{
    fprintf(stream, "rbuf-report: %" PRIu32 " process%s on %zu node%s", summary->processes,
            summary->processes == 1 ? "" : "es", summary->hosts.count,
            summary->hosts.count == 1 ? "" : "s");
    if (summary->processes < processes) {
        fprintf(stream, " (of %" PRIu32 ": nothing is known of the others)", processes);
    }
    print_names(summary, "version", &summary->versions, stream);
    print_names(summary, "protocol", &summary->protocols, stream);
    print_names(summary, "port", &summary->ports, stream);
    fputc('\n', stream);
}

static void print_messages(const struct rbuf_stats *core, const struct mca_btl_rbuf_counters *sum,
                           FILE *stream)
{
    const uint64_t sends = core->sends[0] + core->sends[1];

    fprintf(stream,
            "rbuf-report: messages: %" PRIu64 " (%s): %" PRIu64 " by eager rings (%s), %" PRIu64
            " by send/receive (%s), of these %" PRIu64 " packed fragments (%s)\n",
            core->ring_sent + sends, amount_of(core->ring_bytes + core->send_bytes).text,
            core->ring_sent, amount_of(core->ring_bytes).text, sends,
            amount_of(core->send_bytes).text, sum->fragments, amount_of(sum->fragment_bytes).text);
}

static void print_large(const struct rbuf_stats *core, const struct mca_btl_rbuf_one_sided *one,
                        FILE *stream)
{
    fprintf(stream,
            "rbuf-report: rendezvous: %" PRIu64 " staged (%s), %" PRIu64
            " with early data, %" PRIu64 " in place (%s); one-sided: %" PRIu64
            " puts (%s), %" PRIu64 " gets (%s), %" PRIu64 " atomics\n",
            less(core->staged_puts + core->copied_puts, one->copied_puts),
            amount_of(less(core->staged_bytes, one->copied_bytes)).text, core->early_sent,
            less(core->direct_puts, less(one->puts, one->copied_puts)),
            amount_of(less(core->direct_bytes, less(one->put_bytes, one->copied_bytes))).text,
            one->puts, amount_of(one->put_bytes).text, one->gets, amount_of(one->get_bytes).text,
            core->atomics);
}

static void print_memory(const struct mca_btl_rbuf_counters *sum, FILE *stream)
{
    fprintf(stream,
            "rbuf-report: memory: %" PRIu64 " registrations, cache %" PRIu64 " hits, %" PRIu64
            " misses; staging %s, grown %" PRIu64 " times; at most %s pinned by a process\n",
            sum->registrations, sum->cache_hits, sum->cache_misses, amount_of(sum->staging).text,
            sum->core.staging_grown, amount_of(sum->pinned_peak).text);
}

/* Whether processes wait for each other's turn on a processor. */
static bool print_shortage(const struct mca_btl_rbuf_summary *summary, FILE *stream)
{
    struct rbuf_shortage shortage;

    if (!rbuf_bindings_shortage(summary->bindings, &shortage)) {
        return false;
    }
    fprintf(stream, "%" PRIu32 " processes share %" PRIu32 " processor%s on %s", shortage.processes,
            shortage.processors, shortage.processors == 1 ? "" : "s",
            summary->hosts.entry[shortage.host].text);
    if (shortage.hosts > 1) {
        fprintf(stream, " (and so on %" PRIu32 " more)", shortage.hosts - 1);
    }
    fputs(
        ": bind each to a core of its own (mpirun --bind-to core, srun --cpu-bind=cores), or, with "
        "fewer cores than processes, set mpi_yield_when_idle=1",
        stream);
    return true;
}

/* What costs time or should not be. Messages that wait for their connection are as usual. */
static void print_unusual(const struct mca_btl_rbuf_summary *summary, FILE *stream)
{
    const struct mca_btl_rbuf_counters *sum = &summary->sum;
    const struct {
        uint64_t count;
        const char *text;
    } list[] = {{sum->core.credit_waits, "messages waited for credits"},
                {sum->core.ring_full, "found their ring full"},
                {sum->core.grants_deferred, "receives waited for staging"},
                {sum->core.grants_direct, "of them were registered instead"},
                {sum->core.staging_waits, "waits for send staging"},
                {sum->core.early_dropped, "early data dropped"},
                {sum->choice.refused, "registrations refused"},
                {sum->core.messages_refused, "malformed messages"},
                {sum->undelivered, "messages came within MPI_Finalize and were dropped"},
                {sum->connects_unanswered, "peers did not answer in time, though their hosts did"},
                {sum->unauthenticated, "connections of strangers were closed"}};
    const char *separator;

    fputs("rbuf-report: unusual: ", stream);
    separator = print_shortage(summary, stream) ? "; " : "";
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (list[i].count > 0) {
            fprintf(stream, "%s%" PRIu64 " %s", separator, list[i].count, list[i].text);
            separator = ", ";
        }
    }
    fputs(separator[0] == '\0' ? "nothing" : "", stream);
    if (sum->latecomers > 0) {
        fprintf(stream,
                "; as usual: %" PRIu64 " connections that came too late, or were for others",
                sum->latecomers);
    }
    fputc('\n', stream);
}

void mca_btl_rbuf_summary_print(const struct mca_btl_rbuf_summary *summary, uint32_t processes,
                                FILE *stream)
{
    print_who(summary, processes, stream);
    print_messages(&summary->sum.core, &summary->sum, stream);
    print_large(&summary->sum.core, &summary->sum.one_sided, stream);
    print_memory(&summary->sum, stream);
    print_unusual(summary, stream);
}
