/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns the lock. Besides it has what several files need of a window: to wait, and to take its
 * error.
 */
#include "osc_rbuf_window.h"

#include <pthread.h>

#include "opal/runtime/opal_progress.h"

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

void osc_rbuf_wait(struct osc_rbuf_window *window,
                   bool (*done)(struct osc_rbuf_window *window, int argument), int argument)
{
    bool over;

    do {
        osc_rbuf_lock();
        over = done(window, argument);
        osc_rbuf_unlock();
        if (!over) {
            opal_progress();
        }
    } while (!over);
}

int osc_rbuf_first_error(struct osc_rbuf_window *window, int epoch)
{
    const int error = window->error;

    window->error = MPI_SUCCESS;
    return error != MPI_SUCCESS ? error : epoch;
}
