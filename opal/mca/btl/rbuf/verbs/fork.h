/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Children of fork, as of system() and popen().
 *
 * Kernels before 5.12 give a parent that writes to a page after fork another one than the adapter
 * knows: the provider's own queues go stale, and so does registered memory. ibv_fork_init() makes
 * libibverbs keep such pages out of children. It has to come before anything is registered, by
 * whomever in the process. Newer kernels copy pages that are pinned at fork, and nothing is to do.
 *
 * Our own memory is kept out of children anyhow (memory.h). What the call costs is that user memory
 * that is registered is, too: a child that looks at it is killed. With staged protocols there is
 * none.
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
