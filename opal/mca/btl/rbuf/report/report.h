/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is printed for people, on standard error: at the start by which way messages go
 * (btl_rbuf_show; explain.c), at the end what was done (btl_rbuf_report; report.c).
 *
 * The report has five lines for the job (1), a line a process with all counters (2), or the same as
 * a JSON object (3). For that of the job each process hands rank 0 its line, as level 2 prints it
 * but without counters that are 0, and rank 0 adds them up. Where not all processes come together
 * each prints its own.
 */
#ifndef BTL_RBUF_REPORT_H
#define BTL_RBUF_REPORT_H

#include <stdio.h>

enum mca_btl_rbuf_report_level {
    MCA_BTL_RBUF_REPORT_NONE,
    MCA_BTL_RBUF_REPORT_JOB,
    MCA_BTL_RBUF_REPORT_PROCESSES,
    MCA_BTL_RBUF_REPORT_JSON
};

/* Prints on standard error by which way messages of each size would go, and why, for each port that
 * is started (btl_rbuf_show), at rank 0 alone. Once all modules are open; one thread. */
void mca_btl_rbuf_explain(void);

/* When there are modules. */
void mca_btl_rbuf_report_open(void);

/* Before the component is closed, behind its last module: all that is not printed yet. The job's is
 * printed before where PMIx has ended by then. May wait for the other processes, for a bounded time
 * (report/job_texts.h). */
void mca_btl_rbuf_report(void);

/* Writes what `print` prints to standard error, in one piece: mpirun would mix the pieces of two
 * ranks. */
void mca_btl_rbuf_print_whole(void (*print)(FILE *stream));

#endif
