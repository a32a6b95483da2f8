/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How help texts are shown by the Open MPI releases that rbuf is built for: 4.1 and 5.0 read
 * files, 6.0 knows the texts of its own components alone. There the text is handed to PMIx, as Open
 * MPI does it.
 */
#ifndef RBUF_COMPAT_HELP_H
#define RBUF_COMPAT_HELP_H

#include "rbuf_compat.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "opal/util/show_help.h"

/* Open MPI 5 and later hand texts to the PMIx of the launcher. prted passes them on. Slurm's plugin
 * takes them and shows nobody: under srun each process has to print its own. */
static inline bool rbuf_compat_help_passed_on(void)
{
#if OPAL_MAJOR_VERSION < 5
    return true;
#else
    return getenv("PRTE_LAUNCHED") != NULL;
#endif
}

#if OPAL_MAJOR_VERSION < 6

/* PREFIX/lib/openmpi/COMPONENT.so, in which the address is, has its texts in PREFIX/share/openmpi.
 */
static inline void rbuf_compat_help_open(const void *inside)
{
    char object[PATH_MAX];
    char directory[PATH_MAX + 32];
    Dl_info info;

    if (dladdr(inside, &info) == 0 || realpath(info.dli_fname, object) == NULL) {
        return;
    }
    snprintf(directory, sizeof(directory), "%s/../../share/openmpi", dirname(object));
    opal_show_help_add_dir(directory);
}

/* Not the form with a va_list, which does not merge. What a topic does not use is ignored. */
static inline void rbuf_compat_help_show(const char *file, const char *topic,
                                         const char *const values[5], const char *rendered)
{
    if (!rbuf_compat_help_passed_on()) {
        fputs(rendered, stderr);
        return;
    }
    opal_show_help(file, topic, true, values[0], values[1], values[2], values[3], values[4]);
}

#else

static inline void rbuf_compat_help_open(const void *inside)
{
    (void) inside;
}

/* The form that waits: the other one calls back, when the component may have been unloaded. */
static inline void rbuf_compat_help_show(const char *file, const char *topic,
                                         const char *const values[5], const char *rendered)
{
    pmix_info_t text;
    pmix_info_t merge[3];
    bool yes = true;

    (void) values;
    PMIX_INFO_LOAD(&text, PMIX_LOG_STDERR, rendered, PMIX_STRING);
    PMIX_INFO_LOAD(&merge[0], PMIX_LOG_KEY, file, PMIX_STRING);
    PMIX_INFO_LOAD(&merge[1], PMIX_LOG_VAL, topic, PMIX_STRING);
    PMIX_INFO_LOAD(&merge[2], PMIX_LOG_AGG, &yes, PMIX_BOOL);
    if (!rbuf_compat_help_passed_on() || !PMIx_Initialized() ||
        PMIx_Log(&text, 1, merge, 3) != PMIX_SUCCESS) {
        fputs(rendered, stderr);
    }
    PMIX_INFO_DESTRUCT(&text);
    PMIX_INFO_DESTRUCT(&merge[0]);
    PMIX_INFO_DESTRUCT(&merge[1]);
    PMIX_INFO_DESTRUCT(&merge[2]);
}

#endif

#endif
