/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Opens and closes the epoch below (osc_rbuf_below.h). The lock guards `passage`, and is given up
 * for the calls below.
 */
#include "osc_rbuf_below.h"

#include "ompi/constants.h"

bool osc_rbuf_below_can_open(struct osc_rbuf_window *window)
{
    return window->below.osc_lock_all(MPI_MODE_NOCHECK, window->win) == OMPI_SUCCESS &&
           window->below.osc_unlock_all(window->win) == OMPI_SUCCESS;
}

static bool opened_or_not(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->passage != OSC_RBUF_OPENING;
}

static void set_passage(struct osc_rbuf_window *window, enum osc_rbuf_passage passage)
{
    osc_rbuf_lock();
    window->passage = passage;
    osc_rbuf_unlock();
}

int osc_rbuf_below_open(struct osc_rbuf_window *window)
{
    enum osc_rbuf_passage found;
    int status;

    osc_rbuf_lock();
    found = window->passage;
    if (found == OSC_RBUF_CLOSED) {
        window->passage = OSC_RBUF_OPENING;
    }
    osc_rbuf_unlock();
    if (found == OSC_RBUF_OPENING) {
        osc_rbuf_wait(window, opened_or_not, 0);
    }
    if (found != OSC_RBUF_CLOSED) {
        return OMPI_SUCCESS;
    }
    status = window->below.osc_lock_all(MPI_MODE_NOCHECK, window->win);
    set_passage(window, status == OMPI_SUCCESS ? OSC_RBUF_OPEN : OSC_RBUF_CLOSED);
    return status;
}

int osc_rbuf_below_close(struct osc_rbuf_window *window)
{
    if (window->passage == OSC_RBUF_CLOSED) {
        return OMPI_SUCCESS;
    }
    set_passage(window, OSC_RBUF_CLOSED);
    return window->below.osc_unlock_all(window->win);
}
