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
 *
 * Starts and posts of two processes match in their order, so both number them. With
 * MPI_MODE_NOCHECK a post sends no message and a start waits for none, and MPI wants both to have
 * it or none. Where just one has, the operations are done all the same, and the epoch ends in
 * MPI_ERR_RMA_SYNC:
 *
 *   the start has it  its complete says so, and the target's wait returns the error
 *   the post has it   an origin that has waited for PATIENCE_NS asks about the post; once it is
 * made the target says that it was not checked, and both return the error
 */
#include "osc_rbuf.h"

#include <stdlib.h>
#include <time.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_message.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_mpi.h"

enum { PATIENCE_NS = 1000000000, TURNS = 256 /* of waiting between two looks at the clock */ };

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
        osc_rbuf_await_post(window, target);
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

/* ---- posts are told, or asked about ---- */

static int send_post(struct osc_rbuf_window *window, int origin, enum osc_rbuf_kind kind)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];
    struct osc_rbuf_header *header = &peer->post[peer->posted % 2];

    *header = (struct osc_rbuf_header){kind, peer->posted};
    return osc_rbuf_send_header(window, origin, header);
}

void osc_rbuf_opened(struct osc_rbuf_window *window, int target, uint32_t number, bool unchecked)
{
    window->peers[target].opened = number;
    window->unlike_posts |= unchecked && !window->unchecked;
}

static void tell_unchecked(struct osc_rbuf_window *window, int origin)
{
    const int status = send_post(window, origin, OSC_RBUF_POST_UNCHECKED);

    window->peers[origin].asks_post = 0;
    if (status != MPI_SUCCESS) {
        window->error = status;
    }
}

/* A post that was checked has been told already, or will be. */
void osc_rbuf_post_asked(struct osc_rbuf_window *window, int origin, uint32_t number)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->asks_post = number;
    if (peer->posted == number && window->post_unchecked) {
        tell_unchecked(window, origin);
    }
}

static bool is_open(struct osc_rbuf_window *window, int target)
{
    const struct osc_rbuf_peer *peer = &window->peers[target];

    return (int32_t) (peer->opened - peer->completed) > 0;
}

static int ask_post(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    int status;

    osc_rbuf_lock();
    peer->post_question = (struct osc_rbuf_header){OSC_RBUF_POST_ASK, peer->completed + 1};
    status = osc_rbuf_send_header(window, target, &peer->post_question);
    osc_rbuf_unlock();
    return status;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Makes progress for some turns, or until the window is open. */
static bool opens(struct osc_rbuf_window *window, int target)
{
    for (int i = 0; i < TURNS; i++) {
        bool open;

        osc_rbuf_lock();
        open = is_open(window, target);
        osc_rbuf_unlock();
        if (open) {
            return true;
        }
        opal_progress();
    }
    return false;
}

void osc_rbuf_await_post(struct osc_rbuf_window *window, int target)
{
    bool asked = false;
    int64_t since;

    if (opens(window, target)) {
        return;
    }
    since = now_ns();
    while (!opens(window, target)) {
        if (!asked && now_ns() - since > PATIENCE_NS) {
            asked = ask_post(window, target) == MPI_SUCCESS;
        }
    }
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

/* Opens the window for an origin. The complete of one that has not waited for it may have come. */
static int expose(struct osc_rbuf_window *window, int origin)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->posted++;
    if ((int32_t) (peer->completes - peer->posted) >= 0) {
        window->completes++;
        window->unlike_starts = true;
    }
    if (!window->post_unchecked) {
        peer->asks_post = 0;
        return send_post(window, origin, OSC_RBUF_POST);
    }
    if (peer->asks_post == peer->posted) {
        tell_unchecked(window, origin);
    }
    return MPI_SUCCESS;
}

int osc_rbuf_post(MPI_Group group, int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const bool unchecked = (mode & MPI_MODE_NOCHECK) != 0;
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
    window->post_unchecked = unchecked;
    for (int i = 0; i < count && status == MPI_SUCCESS; i++) {
        status = expose(window, ranks[i]);
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
    window->unlike_posts = false;
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
        osc_rbuf_await_post(window, target);
    }
    osc_rbuf_lock();
    peer->completed++;
    peer->accessed = false;
    if (!is_open(window, target)) {
        peer->opened = peer->completed; /* posts that are not told leave it behind: no wrap */
    }
    status = osc_rbuf_send(window, target,
                           window->unchecked ? OSC_RBUF_COMPLETE_UNCHECKED : OSC_RBUF_COMPLETE);
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
    if (status == MPI_SUCCESS) {
        status = osc_rbuf_take_error(window);
    }
    return status == MPI_SUCCESS && window->unlike_posts ? MPI_ERR_RMA_SYNC : status;
}

/* One that comes before its post counts for that. */
void osc_rbuf_completed(struct osc_rbuf_window *window, int origin, bool unchecked)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->completes++;
    if ((int32_t) (peer->completes - peer->posted) <= 0) {
        window->completes++;
        window->unlike_starts |= unchecked != window->post_unchecked;
    }
}

static bool all_completed(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->completes >= window->exposed;
}

/* Returns its error. The lock is held. */
static int end_exposure(struct osc_rbuf_window *window)
{
    const int status = window->unlike_starts ? MPI_ERR_RMA_SYNC : MPI_SUCCESS;

    window->completes = 0;
    window->exposed = 0;
    window->unlike_starts = false;
    return status;
}

int osc_rbuf_wait_completes(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status, error;

    osc_rbuf_wait(window, all_completed, 0);
    osc_rbuf_lock();
    status = end_exposure(window);
    osc_rbuf_unlock();
    error = osc_rbuf_take_error(window);
    return error == MPI_SUCCESS ? status : error;
}

int osc_rbuf_test_completes(ompi_win_t *win, int *flag)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = OMPI_SUCCESS, error = OMPI_SUCCESS;

    opal_progress();
    osc_rbuf_lock();
    *flag = all_completed(window, 0);
    if (*flag) {
        status = end_exposure(window);
        error = window->error;
        window->error = MPI_SUCCESS;
    }
    osc_rbuf_unlock();
    return error == OMPI_SUCCESS ? status : error;
}
