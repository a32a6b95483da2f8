/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns the list of windows, by the lock, and the function that Open MPI's progress calls while
 * there are any.
 */
#include "osc_rbuf_windows.h"

#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_comm.h"

static LIST_HEAD(, osc_rbuf_window) windows = LIST_HEAD_INITIALIZER(windows);

/* Open MPI may call it while the lock is held, by this thread or another: then somebody else will
 * see to it. */
static int progress(void)
{
    int handled;

    if (!osc_rbuf_trylock()) {
        return 0;
    }
    handled = osc_rbuf_comms_progress();
    osc_rbuf_unlock();
    return handled;
}

struct osc_rbuf_window *osc_rbuf_window_of(const ompi_win_t *win)
{
    struct osc_rbuf_window *window;

    osc_rbuf_lock();
    LIST_FOREACH(window, &windows, link)
    {
        if (window->win == win) {
            break;
        }
    }
    if (window != NULL && window != LIST_FIRST(&windows)) {
        LIST_REMOVE(window, link);
        LIST_INSERT_HEAD(&windows, window, link);
        osc_rbuf_comm_use(window->comm);
    }
    osc_rbuf_unlock();
    return window;
}

void osc_rbuf_window_list(struct osc_rbuf_window *window)
{
    osc_rbuf_lock();
    if (LIST_EMPTY(&windows)) {
        opal_progress_register(progress);
    }
    LIST_INSERT_HEAD(&windows, window, link);
    osc_rbuf_unlock();
}

void osc_rbuf_window_unlist(struct osc_rbuf_window *window)
{
    osc_rbuf_lock();
    LIST_REMOVE(window, link);
    if (LIST_EMPTY(&windows)) {
        opal_progress_unregister(progress);
    }
    osc_rbuf_unlock();
}
