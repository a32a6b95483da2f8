/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is printed at the end (btl_rbuf_report): five lines for the job (1), a line a process with
 * all counters (2), or the same as a JSON object (3). On standard error.
 *
 * A process that is counted for the job hands rank 0 its line, as level 2 prints it but for what is
 * 0, and rank 0 adds them up. Where they do not all come together each process prints its own.
 */
#ifndef BTL_RBUF_REPORT_H
#define BTL_RBUF_REPORT_H

enum mca_btl_rbuf_report_level {
    MCA_BTL_RBUF_REPORT_NONE,
    MCA_BTL_RBUF_REPORT_JOB,
    MCA_BTL_RBUF_REPORT_PROCESSES,
    MCA_BTL_RBUF_REPORT_JSON
};

/* When there are modules. */
void mca_btl_rbuf_report_open(void);

/* Before the component is closed, behind its last module: all that is not printed yet. The job's is
 * printed before where PMIx has ended by then. May wait for the other processes, for a bounded time
 * (report/job_texts.h). */
void mca_btl_rbuf_report(void);

#endif
