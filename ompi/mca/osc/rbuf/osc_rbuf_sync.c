/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Post, start, complete and wait. osc_rbuf_epoch.h has the states. What waits does so in Open MPI's
 * progress, with no lock held.
 *
 * Starts and posts of two processes match in their order, so both number them. With
 * MPI_MODE_NOCHECK a post sends no message and a start waits for none, and MPI wants both to have
 * it or none. Where just one has, the operations are done all the same, and the epoch ends in
 * MPI_ERR_RMA_SYNC:
 *
 *   the start has it  its complete says so, and the target's wait returns the error
 *   the post has it   an origin that has waited for PATIENCE_NS asks about the post; once it is
 *                     made the target says that it was not checked, and both return the error
 *
 * Owns `sync` of a window and of its peers. The lock guards what messages change of it. `targets`
 * and their number change in start and complete alone.
 */
#include "osc_rbuf_sync.h"

#include <stdlib.h>
#include <time.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_below.h"
#include "osc_rbuf_buffer.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_inbox.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_windows.h"

enum { PATIENCE_NS = 1000000000, TURNS = 256 /* of waiting between two looks at the clock */ };

/* ---- posts are told, or asked about ---- */

static int send_post(struct osc_rbuf_window *window, int origin, enum osc_rbuf_kind kind)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];
    struct osc_rbuf_header *header = &peer->sync.post[peer->sync.posted % 2];

    *header = (struct osc_rbuf_header){kind, peer->sync.posted};
    return osc_rbuf_send_header(window, origin, header);
}

/* A peer's post is known. The lock is held, as in all functions that the inbox calls. */
static void opened(struct osc_rbuf_window *window, int target, const struct osc_rbuf_header *header)
{
    window->peers[target].sync.opened = header->fences;
    if (header->kind == OSC_RBUF_POST_UNCHECKED &&
        window->access != OSC_RBUF_ACCESS_STARTED_UNCHECKED) {
        window->sync.access_error = MPI_ERR_RMA_SYNC;
    }
}

static void tell_unchecked(struct osc_rbuf_window *window, int origin)
{
    const int status = send_post(window, origin, OSC_RBUF_POST_UNCHECKED);

    window->peers[origin].sync.asks_post = 0;
    if (status != MPI_SUCCESS) {
        window->error = status;
    }
}

/* A peer has asked about the post of that number. One that was checked has been told already, or
 * will be. */
static void post_asked(struct osc_rbuf_window *window, int origin,
                       const struct osc_rbuf_header *header)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->sync.asks_post = header->fences;
    if (peer->sync.posted == header->fences &&
        window->sync.exposure == OSC_RBUF_EXPOSURE_POSTED_UNCHECKED) {
        tell_unchecked(window, origin);
    }
}

/* Whether the target's post for the epoch that goes on is known. The lock is held. */
static bool is_open(struct osc_rbuf_window *window, int target)
{
    const struct osc_rbuf_peer *peer = &window->peers[target];

    return (int32_t) (peer->sync.opened - peer->sync.completed) > 0;
}

static int ask_post(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    int status;

    osc_rbuf_lock();
    peer->sync.post_question =
        (struct osc_rbuf_header){OSC_RBUF_POST_ASK, peer->sync.completed + 1};
    status = osc_rbuf_send_header(window, target, &peer->sync.post_question);
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

void osc_rbuf_make_room(struct osc_rbuf_window *window, int target, size_t records, size_t bytes)
{
    const struct osc_rbuf_buffer *packing = window->peers[target].packing[OSC_RBUF_BY_MPI];
    const size_t used = packing != NULL ? packing->used : sizeof(packing->header);
    /* Each record is padded. */
    const size_t most = records * (sizeof(struct osc_rbuf_record) + 7) + bytes;

    if (window->access == OSC_RBUF_ACCESS_STARTED && used + most > osc_rbuf_params.message_size) {
        osc_rbuf_unlock();
        osc_rbuf_await_post(window, target);
        osc_rbuf_lock();
    }
}

/* ---- post, start, complete, wait ---- */

/* The group's ranks in the window, to be freed; NULL without memory. What is asked for is behind
 * what is found. */
static int *ranks_of(const struct osc_rbuf_window *window, MPI_Group group, int *count)
{
    const int size = ompi_group_size(group);
    int *ranks = malloc(sizeof(*ranks) * 2 * (size_t) (size + 1));

    for (int i = 0; i < size && ranks != NULL; i++) {
        ranks[size + i] = i;
    }
    if (ranks != NULL) {
        ompi_group_translate_ranks(group, size, ranks + size, window->comm->mpi->c_local_group,
                                   ranks);
    }
    *count = size;
    return ranks;
}

/* Opens the window for an origin. The complete of one that has not waited for it may have come. The
 * lock is held. */
static int expose(struct osc_rbuf_window *window, int origin)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->sync.posted++;
    if ((int32_t) (peer->sync.completes - peer->sync.posted) >= 0) {
        window->sync.completes++;
        window->sync.exposure_error = MPI_ERR_RMA_SYNC;
    }
    if (window->sync.exposure == OSC_RBUF_EXPOSURE_POSTED) {
        peer->sync.asks_post = 0;
        return send_post(window, origin, OSC_RBUF_POST);
    }
    if (peer->sync.asks_post == peer->sync.posted) {
        tell_unchecked(window, origin);
    }
    return MPI_SUCCESS;
}

int osc_rbuf_post(MPI_Group group, int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = MPI_SUCCESS;
    int count;
    int *ranks;

    if (window->sync.exposure != OSC_RBUF_EXPOSURE_NONE) {
        return osc_rbuf_refuse(window, "MPI_Win_post");
    }
    ranks = ranks_of(window, group, &count);
    if (ranks == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    osc_rbuf_lock();
    window->sync.origins = count;
    window->sync.exposure = (mode & MPI_MODE_NOCHECK) != 0 ? OSC_RBUF_EXPOSURE_POSTED_UNCHECKED
                                                           : OSC_RBUF_EXPOSURE_POSTED;
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

    if (osc_rbuf_is_exclusive(window->access)) {
        return osc_rbuf_refuse(window, "MPI_Win_start");
    }
    window->sync.targets = ranks_of(window, group, &window->sync.target_count);
    if (window->sync.targets == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    osc_rbuf_lock();
    for (int i = 0; i < window->sync.target_count; i++) {
        window->peers[window->sync.targets[i]].sync.accessed = true;
    }
    window->sync.access_error = MPI_SUCCESS;
    window->access = (mode & MPI_MODE_NOCHECK) != 0 ? OSC_RBUF_ACCESS_STARTED_UNCHECKED
                                                    : OSC_RBUF_ACCESS_STARTED;
    osc_rbuf_unlock();
    return OMPI_SUCCESS;
}

static bool all_answered(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->results.unanswered == 0;
}

/* Sends the last message of the epoch to one target, once its window is open. */
static int complete_target(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    const bool checked = window->access == OSC_RBUF_ACCESS_STARTED;
    int status;

    if (checked) {
        osc_rbuf_await_post(window, target);
    }
    osc_rbuf_lock();
    peer->sync.completed++;
    peer->sync.accessed = false;
    if (!is_open(window, target)) {
        peer->sync.opened =
            peer->sync.completed; /* posts that are not told leave it behind: no wrap */
    }
    status =
        osc_rbuf_send(window, target, checked ? OSC_RBUF_COMPLETE : OSC_RBUF_COMPLETE_UNCHECKED);
    osc_rbuf_unlock();
    return status;
}

/* Ends the access epoch, and returns its error. The lock is held. */
static int end_access(struct osc_rbuf_window *window)
{
    window->access = OSC_RBUF_ACCESS_NONE;
    free(window->sync.targets);
    window->sync.targets = NULL;
    window->sync.target_count = 0;
    return window->sync.access_error;
}

int osc_rbuf_complete(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status, epoch;

    if (!osc_rbuf_is_started(window->access)) {
        return osc_rbuf_refuse(window, "MPI_Win_complete");
    }
    status = osc_rbuf_below_close(window);
    for (int i = 0; i < window->sync.target_count;
         i++) { /* one that fails keeps no other waiting */
        const int completed = complete_target(window, window->sync.targets[i]);

        status = status == MPI_SUCCESS ? completed : status;
    }
    osc_rbuf_wait(window, all_answered, 0);
    osc_rbuf_lock();
    epoch = end_access(window);
    status = osc_rbuf_first_error(window, status == MPI_SUCCESS ? epoch : status);
    osc_rbuf_unlock();
    return status;
}

/* A peer's epoch is over. One that comes before its post counts for that. */
static void completed(struct osc_rbuf_window *window, int origin,
                      const struct osc_rbuf_header *header)
{
    const bool unchecked = header->kind == OSC_RBUF_COMPLETE_UNCHECKED;
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->sync.completes++;
    if ((int32_t) (peer->sync.completes - peer->sync.posted) <= 0) {
        window->sync.completes++;
        if (unchecked != (window->sync.exposure == OSC_RBUF_EXPOSURE_POSTED_UNCHECKED)) {
            window->sync.exposure_error = MPI_ERR_RMA_SYNC;
        }
    }
}

static bool all_completed(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->sync.completes >= window->sync.origins;
}

/* Ends the exposure epoch, and returns its error. The lock is held. */
static int end_exposure(struct osc_rbuf_window *window)
{
    const int error = window->sync.exposure_error;

    window->sync.exposure = OSC_RBUF_EXPOSURE_NONE;
    window->sync.completes = 0;
    window->sync.origins = 0;
    window->sync.exposure_error = MPI_SUCCESS;
    return error;
}

int osc_rbuf_wait_completes(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status;

    osc_rbuf_wait(window, all_completed, 0);
    osc_rbuf_lock();
    status = osc_rbuf_first_error(window, end_exposure(window));
    osc_rbuf_unlock();
    return status;
}

int osc_rbuf_test_completes(ompi_win_t *win, int *flag)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = OMPI_SUCCESS;

    opal_progress();
    osc_rbuf_lock();
    *flag = all_completed(window, 0);
    if (*flag) {
        status = osc_rbuf_first_error(window, end_exposure(window));
    }
    osc_rbuf_unlock();
    return status;
}

void osc_rbuf_sync_open(void)
{
    osc_rbuf_inbox_set(OSC_RBUF_POST, opened);
    osc_rbuf_inbox_set(OSC_RBUF_POST_UNCHECKED, opened);
    osc_rbuf_inbox_set(OSC_RBUF_POST_ASK, post_asked);
    osc_rbuf_inbox_set(OSC_RBUF_COMPLETE, completed);
    osc_rbuf_inbox_set(OSC_RBUF_COMPLETE_UNCHECKED, completed);
}
