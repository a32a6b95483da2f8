/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Children of fork, as of system() and popen().
 *
 * After fork a page is copied when the parent or the child writes to it. On kernels before 5.12 the
 * parent may get the copy, while the adapter keeps the old page: its queues, and registered memory,
 * are then no longer what the adapter sees. ibv_fork_init() makes libibverbs keep such pages out of
 * children (MADV_DONTFORK). The process must call it before anybody in it registers memory. Newer
 * kernels copy pinned pages at fork, and it is not needed.
 *
 * Our own memory is never part of a child (memory.h). The call costs that registered user memory is
 * not, either: a child that looks at it is killed. Staged protocols register none.
 *
 * Threads: one that opens ports.
 */
#ifndef RBUF_VERBS_FORK_H
#define RBUF_VERBS_FORK_H

#include "common/problem.h"

enum rbuf_fork_choice {
    RBUF_FORK_AUTO, /* called where the kernel wants it; that it fails is no error */
    RBUF_FORK_ON,   /* likewise, and it is */
    RBUF_FORK_OFF   /* not called */
};

/* Before the first call of a process that makes something of verbs. 0 or a negative errno, with ON
 * only. Topic "bad-option". */
int rbuf_fork_prepare(enum rbuf_fork_choice choice, struct rbuf_problem *problem);

#endif
