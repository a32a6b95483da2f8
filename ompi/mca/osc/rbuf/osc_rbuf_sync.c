/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Synchronisation of active epochs but for fences (osc_rbuf_fence.c). Epochs of a process on a
 * window:
 *
 *   NONE --fence--> FENCE --fence(NOSUCCEED)--> NONE
 *   NONE or FENCE --start--> GROUP --complete--> NONE
 *   NONE or FENCE --lock, lock_all--> PASSIVE --unlock, unlock_all of the last--> NONE
 *     (osc_rbuf_passive.c)
 *
 * An exposure epoch (post to wait) goes beside them. What waits does so in Open MPI's progress,
 * with no lock held.
 */
#include "osc_rbuf.h"

#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_mpi.h"

/* ---- the epoch below ---- */

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

/* The first thread opens the epoch below, and the others wait until it is open: if that fails they
 * are refused there. */
static int open_below(struct osc_rbuf_window *window)
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

int osc_rbuf_pass(struct osc_rbuf_window *window, int target)
{
    bool group, active, refused;
    int status;

    osc_rbuf_lock();
    group = window->access == OSC_RBUF_ACCESS_GROUP;
    active = group || window->access == OSC_RBUF_ACCESS_FENCE;
    refused = group && !window->peers[target].accessed;
    osc_rbuf_counters.passed += active && !refused;
    osc_rbuf_unlock();
    if (refused) {
        return OMPI_ERR_RMA_SYNC;
    }
    if (!active) {
        return OMPI_SUCCESS;
    }
    if (group && !window->unchecked) {
        osc_rbuf_wait(window, osc_rbuf_has_posted, target);
    }
    status = group ? OMPI_SUCCESS : osc_rbuf_settle(window, target);
    return status == OMPI_SUCCESS ? open_below(window) : status;
}

int osc_rbuf_close_below(struct osc_rbuf_window *window)
{
    if (window->passage == OSC_RBUF_CLOSED) {
        return OMPI_SUCCESS;
    }
    set_passage(window, OSC_RBUF_CLOSED);
    return window->below.osc_unlock_all(window->win);
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

/* ---- post, start, complete, wait ---- */

/* The group's ranks in the window, to be freed; NULL without memory. */
static int *ranks_of(const struct osc_rbuf_window *window, MPI_Group group, int *count)
{
    int *theirs, *ours;

    *count = ompi_group_size(group);
    theirs = malloc(sizeof(*theirs) * (size_t) (*count + 1));
    ours = malloc(sizeof(*ours) * (size_t) (*count + 1));
    if (theirs != NULL && ours != NULL) {
        for (int i = 0; i < *count; i++) {
            theirs[i] = i;
        }
        ompi_group_translate_ranks(group, *count, theirs, window->comm->mpi->c_local_group, ours);
    } else {
        free(ours);
        ours = NULL;
    }
    free(theirs);
    return ours;
}

int osc_rbuf_post(MPI_Group group, int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = MPI_SUCCESS;
    int count;
    int *ranks;

    if (window->exposed > 0) {
        return OMPI_ERR_RMA_SYNC;
    }
    ranks = ranks_of(window, group, &count);
    if (ranks == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    osc_rbuf_lock();
    window->exposed = count;
    for (int i = 0; i < count && !(mode & MPI_MODE_NOCHECK) && status == MPI_SUCCESS; i++) {
        status = osc_rbuf_send_post(window, ranks[i]);
    }
    osc_rbuf_unlock();
    free(ranks);
    return status;
}

int osc_rbuf_start(MPI_Group group, int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);

    if (window->access == OSC_RBUF_ACCESS_GROUP || window->access == OSC_RBUF_ACCESS_PASSIVE) {
        return OMPI_ERR_RMA_SYNC;
    }
    window->targets = ranks_of(window, group, &window->target_count);
    if (window->targets == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    osc_rbuf_lock();
    for (int i = 0; i < window->target_count; i++) {
        window->peers[window->targets[i]].accessed = true;
    }
    window->unchecked = (mode & MPI_MODE_NOCHECK) != 0;
    window->access = OSC_RBUF_ACCESS_GROUP;
    osc_rbuf_unlock();
    return OMPI_SUCCESS;
}

static bool all_answered(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->unanswered == 0;
}

/* The last message of the epoch to one target, whose window is open by then. */
static int complete_target(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    int status;

    if (!window->unchecked) {
        osc_rbuf_wait(window, osc_rbuf_has_posted, target);
    }
    osc_rbuf_lock();
    peer->posts -= !window->unchecked;
    peer->accessed = false;
    status = osc_rbuf_send(window, target, OSC_RBUF_COMPLETE);
    osc_rbuf_unlock();
    return status;
}

int osc_rbuf_complete(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status;

    if (window->access != OSC_RBUF_ACCESS_GROUP) {
        return OMPI_ERR_RMA_SYNC;
    }
    status = osc_rbuf_close_below(window);
    for (int i = 0; i < window->target_count && status == MPI_SUCCESS; i++) {
        status = complete_target(window, window->targets[i]);
    }
    if (status == MPI_SUCCESS) {
        osc_rbuf_wait(window, all_answered, 0);
    }
    window->access = OSC_RBUF_ACCESS_NONE;
    free(window->targets);
    window->targets = NULL;
    window->target_count = 0;
    return status == MPI_SUCCESS ? osc_rbuf_take_error(window) : status;
}

static bool all_completed(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->completes >= window->exposed;
}

/* The lock is held. */
static void end_exposure(struct osc_rbuf_window *window)
{
    window->completes -= window->exposed;
    window->exposed = 0;
}

int osc_rbuf_wait_completes(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);

    osc_rbuf_wait(window, all_completed, 0);
    osc_rbuf_lock();
    end_exposure(window);
    osc_rbuf_unlock();
    return osc_rbuf_take_error(window);
}

int osc_rbuf_test_completes(ompi_win_t *win, int *flag)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);

    opal_progress();
    osc_rbuf_lock();
    *flag = all_completed(window, 0);
    if (*flag) {
        end_exposure(window);
    }
    osc_rbuf_unlock();
    return *flag ? osc_rbuf_take_error(window) : OMPI_SUCCESS;
}
