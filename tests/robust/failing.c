/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded: the function that FAIL names, eventfd or pthread_create, fails when the component
 * calls it for the second time and from then on. The first time it is for the listener.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static bool fails(const char *name, const void *caller)
{
    static atomic_int calls;
    Dl_info info;

    return strcmp(name, getenv("FAIL")) == 0 && dladdr(caller, &info) != 0 &&
           strstr(info.dli_fname, "mca_btl_rbuf") != NULL && atomic_fetch_add(&calls, 1) > 0;
}

int eventfd(unsigned initial, int flags)
{
    int (*next)(unsigned, int);

    if (fails("eventfd", __builtin_return_address(0))) {
        errno = EMFILE;
        return -1;
    }
    *(void **) &next = dlsym(RTLD_NEXT, "eventfd");
    return next(initial, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

    if (fails("pthread_create", __builtin_return_address(0))) {
        return EAGAIN;
    }
    *(void **) &next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, run, argument);
}
