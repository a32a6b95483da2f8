/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded: of those who ask Open MPI's memory hooks to be called, so many of the first are
 * (DEAF), and the others only think so. Told of nothing, who keeps registrations keeps those of
 * memory that is gone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int opal_mem_hooks_register_release(void *function, void *context);
int opal_mem_hooks_register_release(void *function, void *context)
{
    static int called;
    int (*next)(void *, void *);

    *(void **) &next = dlsym(RTLD_NEXT, "opal_mem_hooks_register_release");
    return called++ < atoi(getenv("DEAF")) ? next(function, context) : 0;
}
