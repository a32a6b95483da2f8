/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is printed for people, on standard error: at the start which path messages take
 * (btl_rbuf_show; explain.c), at the end what was done (btl_rbuf_report; report.c).
 *
 * The report has five lines for the job (1), a line a process with all counters (2), or the same as
 * a JSON object (3). For that of the job each process hands rank 0 its line, as level 2 prints it
 * but without counters that are 0, and rank 0 adds them up. Where not all processes come together
 * each prints its own.
 */
#ifndef BTL_RBUF_REPORT_H
#define BTL_RBUF_REPORT_H

#include <stdint.h>
#include <stdio.h>

enum mca_btl_rbuf_report_level {
    MCA_BTL_RBUF_REPORT_NONE,
    MCA_BTL_RBUF_REPORT_JOB,
    MCA_BTL_RBUF_REPORT_PROCESSES,
    MCA_BTL_RBUF_REPORT_JSON
};

/* Prints on standard error which path messages of each size would take, and why, for each port that
 * is started (btl_rbuf_show), at rank 0 alone. Once all modules are open; one thread. */
void mca_btl_rbuf_explain(void);

/* When there are modules. */
void mca_btl_rbuf_report_open(void);

/* Before the component is closed, behind its last module: all that is not printed yet. The job's is
 * printed before where PMIx has ended by then. May wait for the other processes, for a bounded time
 * (job_texts.c). */
void mca_btl_rbuf_report(void);

/* Writes what `print` prints to standard error, in one piece: mpirun would mix the pieces of two
 * ranks. */
void mca_btl_rbuf_print_whole(void (*print)(FILE *stream));

/* ---- the job's: five lines from the lines of its processes (summary.c) ---- */

struct mca_btl_rbuf_summary;

/* NULL: no memory. */
struct mca_btl_rbuf_summary *mca_btl_rbuf_summary_new(void);
void mca_btl_rbuf_summary_free(struct mca_btl_rbuf_summary *summary); /* or NULL */

void mca_btl_rbuf_summary_add(struct mca_btl_rbuf_summary *summary, const char *line);

/* `processes`: of the job, of which some may not have been added. */
void mca_btl_rbuf_summary_print(const struct mca_btl_rbuf_summary *summary, uint32_t processes,
                                FILE *stream);

/* ---- how the lines come to rank 0 (job_texts.c) ---- */

typedef enum {
    MCA_BTL_RBUF_TEXTS_ARE_HERE,  /* rank 0 has added all lines, in order of ranks */
    MCA_BTL_RBUF_TEXTS_AT_RANK_0, /* this is another rank: rank 0 has its line */
    MCA_BTL_RBUF_NO_TEXTS
} mca_btl_rbuf_job_texts_t;

/* Calls of this component may still come when Open MPI has unloaded it: from here on it stays. */
void mca_btl_rbuf_job_texts_stay_loaded(void);

/* Adds the lines to the summary. `*processes` is the size of the job, 0 if that is not known. */
mca_btl_rbuf_job_texts_t mca_btl_rbuf_job_texts(const char *text, uint32_t *processes,
                                                struct mca_btl_rbuf_summary *summary);

#endif
