/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "rbuf_compat.h"

#include "btl_rbuf_help.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "opal/util/show_help.h"
#include "verbs/problem.h"

#define HELP_FILE  "help-mpi-btl-rbuf.txt"
#define MOST_TEXTS 5

void mca_btl_rbuf_help_open(void)
{
    char object[PATH_MAX];
    char directory[PATH_MAX + 32];
    Dl_info info;

    if (dladdr((void *) (uintptr_t) &mca_btl_rbuf_help_open, &info) == 0 ||
        realpath(info.dli_fname, object) == NULL) {
        return;
    }
    /* PREFIX/lib/openmpi/mca_btl_rbuf.so -> PREFIX/share/openmpi */
    snprintf(directory, sizeof(directory), "%s/../../share/openmpi", dirname(object));
    opal_show_help_add_dir(directory);
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
    /* Not the form with a va_list, which does not merge. What a topic does not use is ignored. */
    opal_show_help(HELP_FILE, topic, true, text[0], text[1], text[2], text[3], text[4]);
}

/* What may fail for each message, which then goes another way, is said once a process. */
static bool is_known(const char *topic)
{
    static atomic_bool said;

    return (strcmp(topic, "memlock") == 0 || strcmp(topic, "reg-failed") == 0) &&
           atomic_exchange_explicit(&said, true, memory_order_relaxed);
}

void mca_btl_rbuf_help_problem(const struct rbuf_problem *problem)
{
    if (is_known(problem->topic)) {
        return;
    }
    mca_btl_rbuf_help(problem->topic, opal_process_info.nodename, problem->what, problem->value,
                      strerror(problem->error < 0 ? -problem->error : problem->error),
                      problem->remedy, NULL);
}
