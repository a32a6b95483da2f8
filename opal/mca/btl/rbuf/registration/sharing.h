/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The processes of a job on one node share its idle cores for their helper threads
 * (core/helper/sharing.h has the policies). Each posts what it has registered in memory that they
 * share, a file in the job's session directory, and reckons from what all have posted who has a
 * helper, and on which core.
 *
 * Idle is a core that no process of the job computes on: those that are bound to one core compute
 * there, each of the others on some other core. What other jobs do is not seen: a node's cores are
 * those that its cgroup leaves.
 *
 * Invariant: an entry is written by its process alone; whoever reads one that is just being written
 * reckons wrongly until its next look.
 *
 * Threads: look in the helper thread, open and close before and after it.
 */
#ifndef BTL_RBUF_SHARING_H
#define BTL_RBUF_SHARING_H

#include "core/helper/sharing.h"

/* Never fails: without shared memory the process takes itself for alone on its node. */
void mca_btl_rbuf_sharing_open(void);
void mca_btl_rbuf_sharing_close(void);

/* Posts `rank`, and the calling thread's time slice. Returns what is assigned to this process; if
 * that is a core the calling thread is bound to it. *slice_ns becomes t_slice + t_cs of
 * core/helper/helper.h: the longest of all slices posted, and a switch of context. */
struct rbuf_sharing_assignment mca_btl_rbuf_sharing_look(const struct rbuf_sharing_rank *rank,
                                                         uint64_t *slice_ns);

#endif
