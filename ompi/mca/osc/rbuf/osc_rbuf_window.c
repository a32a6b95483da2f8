/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The lock, and what all of a window's files need of it.
 */
#include "osc_rbuf_window.h"

#include <pthread.h>

#include "ompi/datatype/ompi_datatype.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_cursor.h"

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

int osc_rbuf_take_error(struct osc_rbuf_window *window)
{
    int error;

    osc_rbuf_lock();
    error = window->error;
    window->error = MPI_SUCCESS;
    osc_rbuf_unlock();
    return error;
}

bool osc_rbuf_is_attached(const struct osc_rbuf_window *window, const unsigned char *first,
                          size_t bytes)
{
    const struct osc_rbuf_region *region;

    LIST_FOREACH(region, &window->regions, link)
    {
        const uintptr_t offset = (uintptr_t) first - (uintptr_t) region->base;

        if (offset <= region->bytes && bytes <= region->bytes - offset) {
            return true;
        }
    }
    return false;
}

/* A description of a duplicate of a predefined type makes that type itself, which is not ours. */
void osc_rbuf_forget_type(struct osc_rbuf_peer *peer)
{
    osc_rbuf_cursor_free(peer->cursor);
    peer->cursor = NULL;
    if (peer->type != NULL && !ompi_datatype_is_predefined(peer->type)) {
        OBJ_RELEASE(peer->type);
    }
    peer->type = NULL;
}
