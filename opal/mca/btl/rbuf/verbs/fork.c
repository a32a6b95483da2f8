/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Calls ibv_fork_init() where the kernel needs it (fork.h). */
#include "verbs/fork.h"

#include <infiniband/verbs.h>
#include <stdlib.h>

int rbuf_fork_prepare(enum rbuf_fork_choice choice, struct rbuf_problem *problem)
{
    int error;

    if (choice == RBUF_FORK_OFF || ibv_is_fork_initialized() != IBV_FORK_DISABLED) {
        return 0;
    }
    error = ibv_fork_init();
    if (error == 0 || choice != RBUF_FORK_ON) {
        return 0;
    }
    rbuf_problem_set(problem, "bad-option", -abs(error), "support for fork (ibv_fork_init)");
    rbuf_problem_value(problem, "on");
    rbuf_problem_remedy(problem,
                        "it has to come before anything of the process is registered: leave "
                        "the choice to rbuf (auto), or have no other user of verbs");
    return -abs(error);
}
