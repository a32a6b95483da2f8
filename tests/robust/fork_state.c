/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Says whether ibv_fork_init() was called by the time that MPI_Init has returned, of whatever
 * libibverbs is in the process.
 */
#include "check.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    static const char *const names[] = {"disabled", "enabled", "unneeded"};
    int (*state)(void);

    check_begin(&argc, &argv);
    state = (int (*)(void))(intptr_t) dlsym(RTLD_DEFAULT, "ibv_is_fork_initialized");
    check_that(state != NULL, "there is no libibverbs");
    if (state != NULL) {
        printf("fork support is %s\n", names[state() % 3]);
    }
    return check_end();
}
