/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded under valgrind, which does not see that Open MPI's memory hooks rewrite functions of
 * the C library: tells the hooks when the heap shrinks, so that they pass for complete. For
 * programs whose buffers are not registered.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *sbrk(intptr_t bytes);
void *sbrk(intptr_t bytes)
{
    void *(*next)(intptr_t);
    void (*tell)(void *, size_t, bool);
    void *end;

    *(void **) &next = dlsym(RTLD_NEXT, "sbrk");
    *(void **) &tell = dlsym(RTLD_DEFAULT, "opal_mem_hooks_release_hook");
    end = next(bytes);
    if (bytes < 0 && tell != NULL) {
        tell((char *) end + bytes, (size_t) -bytes, true);
    }
    return end;
}
