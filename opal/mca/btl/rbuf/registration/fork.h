/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether ibv_fork_init() is to be called: the user's word for rbuf, and where that is auto, Open
 * MPI's own word for all that use verbs.
 */
#ifndef BTL_RBUF_FORK_H
#define BTL_RBUF_FORK_H

#include "verbs/fork.h"

/* `given` is btl_rbuf_fork_support. Call it when all components have registered their parameters.
 */
enum rbuf_fork_choice mca_btl_rbuf_fork_choice(enum rbuf_fork_choice given);

#endif
