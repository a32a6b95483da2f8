/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns the mutex (osc_rbuf_lock.h).
 */
#include "osc_rbuf_lock.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void osc_rbuf_lock(void)
{
    pthread_mutex_lock(&mutex);
}

bool osc_rbuf_trylock(void)
{
    return pthread_mutex_trylock(&mutex) == 0;
}

void osc_rbuf_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}
