/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded under LeakSanitizer. Components stay loaded, so that their functions keep their names.
 * With FORGETFUL set, every getrandom(), which the transport calls for each queue pair, loses some
 * memory: a leak with a function of the transport in its stack, which must be seen.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

int dlclose(void *handle);
int dlclose(void *handle)
{
    (void) handle;
    return 0;
}

ssize_t getrandom(void *buffer, size_t bytes, unsigned flags)
{
    if (getenv("FORGETFUL") != NULL) {
        volatile char *lost = malloc(777);

        if (lost != NULL) {
            lost[0] = 1;
        }
    }
    return syscall(SYS_getrandom, buffer, bytes, flags);
}
