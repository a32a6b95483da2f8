/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Brings a text of each process of the job to rank 0, at its end. MPI is over by then, and perhaps
 * this transport; what still runs is PMIx: each process puts its text, all meet in a
 * fence that collects the texts, rank 0 gets them.
 *
 * All processes have passed the barrier of MPI_Finalize(), so they come to that fence unless one
 * dies, has no adapter, or was not asked for its text. Nobody waits for these for ever: a process
 * that has waited JOB_TEXTS_SECONDS goes on without.
 *
 * Threads: the one that ends Open MPI, once.
 */
#ifndef BTL_RBUF_JOB_TEXTS_H
#define BTL_RBUF_JOB_TEXTS_H

#include <stdint.h>

#define MCA_BTL_RBUF_JOB_TEXTS_SECONDS 10

typedef enum {
    MCA_BTL_RBUF_TEXTS_ARE_HERE,  /* rank 0 was handed all texts, in order of ranks */
    MCA_BTL_RBUF_TEXTS_AT_RANK_0, /* this is another rank: rank 0 is handed its text */
    MCA_BTL_RBUF_NO_TEXTS
} mca_btl_rbuf_job_texts_t;

/* Calls of this component may still come when Open MPI has unloaded it: from here on it stays. */
void mca_btl_rbuf_job_texts_stay_loaded(void);

/* Hands the texts to `take`, which does not keep them. `*processes` is the size of the job, 0 if
 * that is not known. */
mca_btl_rbuf_job_texts_t mca_btl_rbuf_job_texts(const char *text, uint32_t *processes,
                                                void (*take)(void *context, const char *text),
                                                void *context);

#endif
