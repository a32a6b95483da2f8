/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Help texts (params/help.h). Owns those that wait: what a thread that may not call Open MPI
 * says goes into a list, under a mutex, until another thread prints it. At most MOST_TEXTS
 * arguments.
 */
#include "rbuf_compat.h"

#include "params/help.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "params/help_show.h"
#include "common/problem.h"
#include "opal/util/output.h"

#define MOST_TEXTS    MCA_BTL_RBUF_HELP_VALUES
#define VERBOSE_LEVEL 10 /* of Open MPI: what a component does */

/* One that waits to be printed. */
struct deferred {
    const char *topic;      /* static */
    char *text[MOST_TEXTS]; /* NULL from the first that was not given */
    STAILQ_ENTRY(deferred) link;
};

static _Thread_local bool defers;                        /* may not call Open MPI */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static STAILQ_HEAD(, deferred) list = STAILQ_HEAD_INITIALIZER(list);
static atomic_bool waiting; /* the list is not empty; written with the lock held */

/* Open MPI 4.1's launcher may lose a text (its issue 8356), so with btl_base_verbose the process
 * prints it, too. */
static void print(const char *topic, const char *const text[MOST_TEXTS])
{
    const int output = opal_btl_base_framework.framework_output;

    mca_btl_rbuf_help_show(&mca_btl_rbuf_help_texts, topic, text);
    if (opal_output_get_verbosity(output) >= VERBOSE_LEVEL) {
        char *whole = mca_btl_rbuf_help_render(&mca_btl_rbuf_help_texts, topic, text);

        opal_output(output, "%s", whole != NULL ? whole : topic);
        free(whole);
    }
}

static void free_deferred(struct deferred *deferred)
{
    for (int i = 0; i < MOST_TEXTS; i++) {
        free(deferred->text[i]);
    }
    free(deferred);
}

/* Without memory it is lost: what it is about raises an error of its own. */
static void keep(const char *topic, const char *const text[MOST_TEXTS])
{
    struct deferred *deferred = calloc(1, sizeof(*deferred));

    if (deferred == NULL) {
        return;
    }
    deferred->topic = topic;
    for (int i = 0; i < MOST_TEXTS && text[i] != NULL; i++) {
        deferred->text[i] = strdup(text[i]);
    }
    pthread_mutex_lock(&lock);
    STAILQ_INSERT_TAIL(&list, deferred, link);
    atomic_store_explicit(&waiting, true, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

void mca_btl_rbuf_help_defer(void)
{
    defers = true;
}

static struct deferred *take(void)
{
    struct deferred *deferred;

    pthread_mutex_lock(&lock);
    deferred = STAILQ_FIRST(&list);
    if (deferred != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
    }
    atomic_store_explicit(&waiting, !STAILQ_EMPTY(&list), memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    return deferred;
}

void mca_btl_rbuf_help_flush(void)
{
    struct deferred *deferred;

    while (atomic_load_explicit(&waiting, memory_order_relaxed) && (deferred = take()) != NULL) {
        print(deferred->topic, (const char *const *) deferred->text);
        free_deferred(deferred);
    }
}

void mca_btl_rbuf_verbose(const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (defers) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    opal_output_verbose(VERBOSE_LEVEL, opal_btl_base_framework.framework_output, "%s", text);
}

void mca_btl_rbuf_help(const char *topic, ...)
{
    const char *text[MOST_TEXTS] = {NULL};
    va_list arguments;

    va_start(arguments, topic);
    for (int i = 0; i < MOST_TEXTS; i++) {
        text[i] = va_arg(arguments, const char *);
        if (text[i] == NULL) {
            break;
        }
    }
    va_end(arguments);
    if (defers) {
        keep(topic, text);
    } else {
        print(topic, text);
    }
}

static void show(const char *topic, const struct rbuf_problem *problem)
{
    mca_btl_rbuf_help(topic, opal_process_info.nodename, problem->what, problem->value,
                      strerror(problem->error < 0 ? -problem->error : problem->error),
                      problem->remedy, NULL);
}

/* What may fail for each message, which then goes another way, is said once a process. */
void mca_btl_rbuf_help_problem(const struct rbuf_problem *problem)
{
    static atomic_bool said;

    if (strcmp(problem->topic, "memlock") == 0) {
        mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_OWN, problem);
    } else if (strcmp(problem->topic, "reg-failed") != 0 ||
               !atomic_exchange_explicit(&said, true, memory_order_relaxed)) {
        show(problem->topic, problem);
    }
}

void mca_btl_rbuf_help_pinned(enum mca_btl_rbuf_pinned pinned, const struct rbuf_problem *problem)
{
    static const char *const topics[MCA_BTL_RBUF_PINNED_KINDS] = {
        [MCA_BTL_RBUF_PINNED_OWN] = "memlock",
        [MCA_BTL_RBUF_PINNED_STAGING] = "memlock-staging",
        [MCA_BTL_RBUF_PINNED_RECEIVE] = "memlock-receive",
        [MCA_BTL_RBUF_PINNED_WINDOW] = "memlock-window",
        [MCA_BTL_RBUF_PINNED_BUFFER] = "memlock-buffer"};
    static atomic_bool said[MCA_BTL_RBUF_PINNED_KINDS];

    if (strcmp(problem->topic, "memlock") != 0) {
        mca_btl_rbuf_help_problem(problem);
    } else if (!atomic_exchange_explicit(&said[pinned], true, memory_order_relaxed)) {
        show(topics[pinned], problem);
    }
}
