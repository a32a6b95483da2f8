/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "rbuf_compat.h"

#include "btl_rbuf_help.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "opal/util/show_help.h"
#include "verbs/problem.h"

#define HELP_FILE "help-mpi-btl-rbuf.txt"

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
    va_list arguments;

    va_start(arguments, topic);
    opal_show_vhelp(HELP_FILE, topic, true, arguments);
    va_end(arguments);
}

void mca_btl_rbuf_help_problem(const struct rbuf_problem *problem)
{
    mca_btl_rbuf_help(problem->topic, opal_process_info.nodename, problem->what, problem->value,
                      strerror(problem->error < 0 ? -problem->error : problem->error),
                      problem->remedy);
}
