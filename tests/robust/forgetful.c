/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded under LeakSanitizer. Components stay loaded, so that their functions keep their names;
 * with FORGETFUL set, the 20th block that the transport frees is not freed: a leak that must be
 * seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int dlclose(void *handle);
int dlclose(void *handle)
{
    (void) handle;
    return 0;
}

static int is_of_transport(void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "mca_btl_rbuf.so") != NULL;
}

void free(void *memory)
{
    static void (*really)(void *);
    static int forgetful = -1, count;

    if (really == NULL) {
        really = (void (*)(void *)) dlsym(RTLD_NEXT, "free");
    }
    if (forgetful < 0) {
        forgetful = getenv("FORGETFUL") != NULL;
    }
    if (forgetful && memory != NULL && is_of_transport(__builtin_return_address(0)) &&
        ++count == 20) {
        return;
    }
    really(memory);
}
