/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI's info keys of accumulates. A window heeds them from the moment that it is made or
 * MPI_Win_set_info() is called, and gives back what is in use, the defaults included. A value that
 * MPI does not know changes nothing; Open MPI 4.1 leaves the key out then.
 *
 *   accumulate_ordering  which pairs of operations keep their order: decides whether an operation
 *                        waits for those on the other path (osc_rbuf_path.h)
 *   accumulate_ops       changes nothing: packed operations are atomic with all others of the
 *                        window, whatever they are
 *
 * Owns `info` of a window. The lock guards `ordered`; the texts are for calls of info alone. Open
 * MPI calls from MPI_Win_set_info(), with no lock held.
 */
#include "osc_rbuf_info.h"

#include <stdio.h>
#include <string.h>

#include "opal/util/info_subscriber.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_windows.h"

#define OPS            "accumulate_ops"
#define OPS_DEFAULT    "same_op_no_op"
#define OPS_RANGE      "same_op or same_op_no_op"
#define ORDERING       "accumulate_ordering"
#define ORDERING_ALL   "rar,raw,war,waw"
#define ORDERING_NONE  "none"
#define ORDERING_RANGE "none, or some of rar,raw,war,waw with commas"

enum { PAIRS = 4 };

static const struct pair {
    const char *name;
    unsigned bit;
} pairs[PAIRS] = {{"rar", OSC_RBUF_READ_READ},
                  {"raw", OSC_RBUF_READ_WRITE},
                  {"war", OSC_RBUF_WRITE_READ},
                  {"waw", OSC_RBUF_WRITE_WRITE}};

/* Says once for each key that its value is unknown. */
static void say_bad(const char *key, const char *value, const char *range, bool *said)
{
    if (!*said) {
        osc_rbuf_help("bad info", key, value, range);
    }
    *said = true;
}

/* Words with commas between them, and blanks around. False: MPI has no such value. */
static bool read_ordering(const char *text, unsigned *ordered)
{
    char word[8];
    int used = 0;

    *ordered = 0;
    if (sscanf(text, " " ORDERING_NONE " %n", &used) == 0 && used > 0 && text[used] == '\0') {
        return true;
    }
    for (;; text += used + 1) {
        int i = 0;

        if (sscanf(text, " %7[a-z] %n", word, &used) != 1) {
            return false;
        }
        while (i < PAIRS && strcmp(word, pairs[i].name) != 0) {
            i++;
        }
        if (i == PAIRS || (text[used] != ',' && text[used] != '\0')) {
            return false;
        }
        *ordered |= pairs[i].bit;
        if (text[used] == '\0') {
            return true;
        }
    }
}

static void write_ordering(struct osc_rbuf_window *window)
{
    size_t used = 0;

    snprintf(window->info.ordering, sizeof(window->info.ordering), ORDERING_NONE);
    for (int i = 0; i < PAIRS; i++) {
        if ((window->info.ordered & pairs[i].bit) != 0) {
            used += (size_t) snprintf(window->info.ordering + used,
                                      sizeof(window->info.ordering) - used, "%s%s",
                                      used > 0 ? "," : "", pairs[i].name);
        }
    }
}

static osc_rbuf_text_t *ordering_given(opal_infosubscriber_t *object, osc_rbuf_text_t *key,
                                       osc_rbuf_text_t *value)
{
    static bool said;
    struct osc_rbuf_window *window = osc_rbuf_window_of((ompi_win_t *) object);
    unsigned ordered;

    if (!read_ordering(value, &ordered)) {
        say_bad(key, value, ORDERING_RANGE, &said);
        return osc_rbuf_not_taken(window->info.ordering);
    }
    osc_rbuf_lock();
    window->info.ordered = ordered;
    osc_rbuf_unlock();
    write_ordering(window);
    return window->info.ordering;
}

static osc_rbuf_text_t *ops_given(opal_infosubscriber_t *object, osc_rbuf_text_t *key,
                                  osc_rbuf_text_t *value)
{
    static bool said;
    struct osc_rbuf_window *window = osc_rbuf_window_of((ompi_win_t *) object);

    if (strcmp(value, "same_op") != 0 && strcmp(value, OPS_DEFAULT) != 0) {
        say_bad(key, value, OPS_RANGE, &said);
        return osc_rbuf_not_taken(window->info.ops);
    }
    snprintf(window->info.ops, sizeof(window->info.ops), "%s", value);
    return window->info.ops;
}

void osc_rbuf_info_heed(struct osc_rbuf_window *window)
{
    opal_infosubscriber_t *object = &window->win->super;

    snprintf(window->info.ops, sizeof(window->info.ops), OPS_DEFAULT);
    write_ordering(window);
    (void) opal_infosubscribe_subscribe(object, OPS, OPS_DEFAULT, ops_given);
    (void) opal_infosubscribe_subscribe(object, ORDERING, ORDERING_ALL, ordering_given);
}
