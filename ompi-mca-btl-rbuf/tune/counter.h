/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component's counters: what it does in this process from tune_counter_open() on. Between
 * MPI_Init() and MPI_Finalize().
 */
#ifndef RBUF_TUNE_COUNTER_H
#define RBUF_TUNE_COUNTER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct tune_counter {
    bool open; /* false: the component is not loaded */
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

/* Opens a counter such as "requests", which is then 0. */
void tune_counter_open(struct tune_counter *counter, const char *name);

/* Returns how far it has come; 0 if the component is not loaded. */
uint64_t tune_counter_close(struct tune_counter *counter);

#endif
