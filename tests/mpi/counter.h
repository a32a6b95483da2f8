/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf tells of itself through MPI_T: its counters and its parameters, by their names without
 * btl_rbuf_; counters of osc/rbuf by their full names. Over another transport there are none.
 */
#ifndef RBUF_TESTS_MPI_COUNTER_H
#define RBUF_TESTS_MPI_COUNTER_H

#include "check.h"

static const char *const counter_names[] = {"ring_sent",
                                            "ring_received",
                                            "ring_full",
                                            "ring_admitted",
                                            "ring_recalled",
                                            "early_sent",
                                            "early_dropped",
                                            "early_claimed",
                                            "early_late",
                                            "early_corrected",
                                            "early_recalled",
                                            "early_fragments",
                                            "messages_sent",
                                            "staged_messages",
                                            "staged_bytes",
                                            "staged_received",
                                            "copied_puts",
                                            "copied_gets",
                                            "registrations",
                                            "direct_puts",
                                            "rma_requests",
                                            "rma_doorbells",
                                            "pinned",
                                            "queue_pairs",
                                            "osc_rbuf_packed",
                                            "osc_rbuf_passed",
                                            "osc_rbuf_messages",
                                            "osc_rbuf_active_sent",
                                            "osc_rbuf_by_thread",
                                            "reuse_gathered"};

enum { COUNTER_COUNT = sizeof counter_names / sizeof counter_names[0] };

static MPI_T_pvar_session counter_session;
static MPI_T_pvar_handle counter_handles[COUNTER_COUNT]; /* NULL: there is none */

/* They count from here on: call it right after MPI_Init. */
static inline void counter_begin(void)
{
    int provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&counter_session);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        char full[128];

        snprintf(full, sizeof full, "%s%s",
                 strncmp(counter_names[i], "osc_", 4) == 0 ? "" : "btl_rbuf_", counter_names[i]);
        for (int class = MPI_T_PVAR_CLASS_STATE; class <= MPI_T_PVAR_CLASS_GENERIC; class ++) {
            int index, count;

            if (counter_handles[i] == NULL &&
                MPI_T_pvar_get_index(full, class, &index) == MPI_SUCCESS) {
                MPI_T_pvar_handle_alloc(counter_session, index, NULL, &counter_handles[i], &count);
            }
        }
    }
}

static inline void counter_end(void)
{
    MPI_T_pvar_session_free(&counter_session);
    MPI_T_finalize();
}

/* The value of a counter of this process, or -1. */
static inline long counter_read(const char *name)
{
    unsigned long long value = 0;

    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (strcmp(name, counter_names[i]) == 0 && counter_handles[i] != NULL) {
            MPI_T_pvar_read(counter_session, counter_handles[i], &value);
            return (long) value;
        }
    }
    return -1;
}

/* The text of a parameter; false if there is none. */
static inline bool counter_text(const char *name, char *text, size_t size)
{
    char full[128];
    MPI_T_cvar_handle handle;
    int index, count;

    snprintf(full, sizeof full, "btl_rbuf_%s", name);
    if (MPI_T_cvar_get_index(full, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) {
        return false;
    }
    memset(text, 0, size);
    if ((size_t) count < size) {
        MPI_T_cvar_read(handle, text);
    }
    MPI_T_cvar_handle_free(&handle);
    return true;
}

/* A parameter that is a number or a size (they are texts, 2k is 2048); -1: there is none, or it is
 * another text. */
static inline long counter_parameter(const char *name)
{
    char text[4096], *unit;
    long value;

    if (!counter_text(name, text, sizeof text)) {
        return -1;
    }
    value = strtol(text, &unit, 10);
    if (unit == text) {
        return -1;
    }
    return *unit == 'k' ? value * CHECK_K : *unit == 'M' ? value * CHECK_M : value;
}

#endif
