/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Five lines about a job, from the lines of its processes (report/report.h).
 *
 * Lines are of words NAME=VALUE. They come from other processes, which may have another version of
 * rbuf: what is not known is passed over.
 */
#ifndef BTL_RBUF_SUMMARY_H
#define BTL_RBUF_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

struct mca_btl_rbuf_summary;

/* NULL: no memory. */
struct mca_btl_rbuf_summary *mca_btl_rbuf_summary_new(void);
void mca_btl_rbuf_summary_free(struct mca_btl_rbuf_summary *summary); /* or NULL */

void mca_btl_rbuf_summary_add(struct mca_btl_rbuf_summary *summary, const char *line);

/* `processes`: of the job, of which some may not have been added. */
void mca_btl_rbuf_summary_print(const struct mca_btl_rbuf_summary *summary, uint32_t processes,
                                FILE *stream);

#endif
