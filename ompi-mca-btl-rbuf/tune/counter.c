/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counters by the tools interface of MPI, which each of them opens and closes.
 */
#include "tune/counter.h"

#include <stdio.h>

/* A handle of a counter begins at 0. */
static bool open_handle(struct tune_counter *counter, int index)
{
    int count;

    if (MPI_T_pvar_session_create(&counter->session) != MPI_SUCCESS) {
        return false;
    }
    if (MPI_T_pvar_handle_alloc(counter->session, index, NULL, &counter->handle, &count) ==
        MPI_SUCCESS) {
        return true;
    }
    MPI_T_pvar_session_free(&counter->session);
    return false;
}

void tune_counter_open(struct tune_counter *counter, const char *name)
{
    char full[80];
    int provided, index;

    *counter = (struct tune_counter){0};
    snprintf(full, sizeof full, "btl_rbuf_%s", name);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        return;
    }
    counter->open = MPI_T_pvar_get_index(full, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS &&
                    open_handle(counter, index);
    if (!counter->open) {
        MPI_T_finalize();
    }
}

uint64_t tune_counter_close(struct tune_counter *counter)
{
    unsigned long long value = 0;

    if (!counter->open) {
        return 0;
    }
    if (MPI_T_pvar_read(counter->session, counter->handle, &value) != MPI_SUCCESS) {
        value = 0;
    }
    MPI_T_pvar_handle_free(counter->session, &counter->handle);
    MPI_T_pvar_session_free(&counter->session);
    MPI_T_finalize();
    counter->open = false;
    return value;
}
