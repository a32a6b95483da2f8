/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The processes of a job on one node share its idle cores for their helper threads
 * (core/helper/sharing.h has the policies). Each posts what it has registered in memory that they
 * share, a file in the job's session directory, and reckons from what all have posted who has a
 * helper, and on which core.
 *
 * Invariant: an entry is written by its process alone; whoever reads one that is just being written
 * reckons wrongly until its next look.
 *
 * Threads: look and move in the helper thread, open and close before and after it.
 */
#ifndef BTL_RBUF_SHARING_H
#define BTL_RBUF_SHARING_H

#include "core/helper/sharing.h"

/* Never fails: without shared memory the process takes itself for alone on its node. */
void mca_btl_rbuf_sharing_open(void);
void mca_btl_rbuf_sharing_close(void);

/* Posts `rank`; this process's place. */
struct rbuf_sharing_place mca_btl_rbuf_sharing_look(const struct rbuf_sharing_rank *rank);

/* Binds the calling thread to the place's core, if that is one that no process of the job is bound
 * to; else it is left to the system, within what the application may use. */
void mca_btl_rbuf_sharing_move(const struct rbuf_sharing_place *place);

#endif
