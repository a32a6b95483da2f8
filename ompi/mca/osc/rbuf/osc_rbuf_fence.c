/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Fences, with one collective operation each. It tells each process how many messages of the epoch
 * to expect; when these are scattered the fence has ended here, be the others where they may. What
 * a fence waits for, in turn:
 *
 *   the epoch below      its operations have arrived
 *   the sums             all processes have come to this fence
 *   the messages         those of the sums are scattered, and the results here
 *   a barrier            if any process had operations below in this epoch, or nothing follows
 *
 * Epochs are numbered by the fences that have ended before, alike at all processes. Without the
 * barrier a process may be one epoch ahead of another, never more, as the next sums take both:
 *
 *   - Each message says its epoch. One that is ahead is held until the fence here has ended
 *     (osc_rbuf_comm.c).
 *   - Operations below know no epochs. The first for a target asks it, and waits for the answer
 *     that its fence has ended. A program that has such operations in each epoch has a barrier in
 *     each fence, and asks but once.
 *
 * Owns `fence` of a window and of its peers. The lock guards it, but for `sums`: only a fence uses
 * them.
 */
#include "osc_rbuf_fence.h"

#include "ompi/constants.h"
#include "osc_rbuf_below.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_inbox.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_windows.h"

/* What a fence sums up for a process, in this order. */
enum { SUM_MINE, SUM_ALL, SUM_BARRIER };

/* ---- what goes below asks ---- */

static bool is_settled(struct osc_rbuf_window *window, int target)
{
    return target == window->rank || window->fence.settled >= window->fence.ended ||
           window->peers[target].fence.ended >= window->fence.ended;
}

/* Asks a target, unless it is known to be as far or was asked already. The lock is held. */
static int ask(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    int status;

    if (is_settled(window, target) || peer->fence.asked) {
        return MPI_SUCCESS;
    }
    peer->fence.question = (struct osc_rbuf_header){OSC_RBUF_ASK, (uint32_t) window->fence.ended};
    peer->fence.asked = true;
    status = osc_rbuf_send_header(window, target, &peer->fence.question);
    if (status != MPI_SUCCESS) {
        peer->fence.asked = false;
    }
    return status;
}

int osc_rbuf_settle(struct osc_rbuf_window *window, int target)
{
    const int first = target == OSC_RBUF_ALL ? 0 : target;
    const int behind = target == OSC_RBUF_ALL ? window->size : target + 1;
    int status = MPI_SUCCESS;

    osc_rbuf_lock();
    for (int i = first; i < behind && status == MPI_SUCCESS; i++) {
        status = ask(window, i);
    }
    osc_rbuf_unlock();
    for (int i = first; i < behind && status == MPI_SUCCESS; i++) {
        osc_rbuf_wait(window, is_settled, i);
    }
    return status;
}

static void answer(struct osc_rbuf_window *window, int origin)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];
    int status;

    peer->fence.answer = (struct osc_rbuf_header){OSC_RBUF_ENDED, (uint32_t) window->fence.ended};
    status = osc_rbuf_send_header(window, origin, &peer->fence.answer);
    if (status != MPI_SUCCESS) {
        window->error = status;
    }
}

/* A peer asks to be told when so many fences have ended here. Those below are called by the inbox,
 * or at the end of a fence, with the lock held. */
static void asked(struct osc_rbuf_window *window, int origin, const struct osc_rbuf_header *header)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];
    const int ahead = osc_rbuf_epochs_ahead(window, header->fences);

    if (ahead <= 0) {
        answer(window, origin);
    } else if (peer->fence.asks == 0) {
        peer->fence.asks = window->fence.ended + (uint64_t) ahead;
    }
}

/* A peer has answered. */
static void told(struct osc_rbuf_window *window, int origin, const struct osc_rbuf_header *header)
{
    struct osc_rbuf_peer *peer = &window->peers[origin];

    peer->fence.ended =
        window->fence.ended + (uint64_t) (int64_t) osc_rbuf_epochs_ahead(window, header->fences);
    peer->fence.asked = false;
}

/* Answers those who wait for the fence that has ended. */
static void answer_all(struct osc_rbuf_window *window)
{
    for (int i = 0; i < window->size; i++) {
        struct osc_rbuf_peer *peer = &window->peers[i];

        if (peer->fence.asks != 0 && peer->fence.asks <= window->fence.ended) {
            peer->fence.asks = 0;
            answer(window, i);
        }
    }
}

/* ---- the fence ---- */

/* The operations of a message of a fence epoch are done. The lock is held. */
static void received(struct osc_rbuf_window *window, int origin,
                     const struct osc_rbuf_header *header)
{
    (void) origin;
    (void) header;
    window->fence.received++;
}

static bool all_received(struct osc_rbuf_window *window, int unused)
{
    (void) unused;
    return window->fence.received >= window->fence.expected && window->results.unanswered == 0;
}

/* Sends all that is packed, and fills in `sums`. The first error: a message that has not left is
 * not in the sums, so the fence goes on. */
static int send_all(struct osc_rbuf_window *window, bool barrier)
{
    int status = MPI_SUCCESS;
    int total = 0;

    osc_rbuf_lock();
    for (int i = 0; i < window->size; i++) {
        if (window->peers[i].packing[OSC_RBUF_BY_MPI] != NULL) {
            const int sent = osc_rbuf_send(window, i, OSC_RBUF_FENCE_DATA);

            status = status == MPI_SUCCESS ? sent : status;
        }
        total += window->peers[i].fence.sent;
    }
    for (int i = 0; i < window->size; i++) {
        int *sums = window->fence.sums + OSC_RBUF_SUMS * i;

        sums[SUM_MINE] = window->peers[i].fence.sent;
        sums[SUM_ALL] = total > 0;
        sums[SUM_BARRIER] = barrier;
        window->peers[i].fence.sent = 0;
    }
    osc_rbuf_unlock();
    return status;
}

static void fence_ended(struct osc_rbuf_window *window, bool settled)
{
    osc_rbuf_lock();
    window->fence.ended++;
    if (settled) {
        window->fence.settled = window->fence.ended;
    }
    answer_all(window);
    osc_rbuf_unlock();
}

/* The operations of this epoch on this process's memory, and its own everywhere, are complete. One
 * that failed here keeps no other process waiting: all come to the sums. */
static int end_epoch(struct osc_rbuf_window *window, bool nothing_follows)
{
    int sums[OSC_RBUF_SUMS];
    const int sent = send_all(window, nothing_follows || window->passage != OSC_RBUF_CLOSED);
    const int closed = osc_rbuf_below_close(window);
    int status;
    bool settles;

    status = osc_rbuf_sum_for_each(window->comm->mpi, window->fence.sums, sums, OSC_RBUF_SUMS);
    if (status != MPI_SUCCESS) {
        return status;
    }
    status = sent != MPI_SUCCESS ? sent : closed;
    osc_rbuf_lock();
    window->fence.expected += (uint64_t) sums[SUM_MINE];
    osc_rbuf_unlock();
    osc_rbuf_wait(window, all_received, 0);
    settles = sums[SUM_ALL] == 0 || sums[SUM_BARRIER] > 0;
    if (sums[SUM_ALL] > 0 && settles) {
        const int met = osc_rbuf_barrier(window->comm->mpi);

        status = status == MPI_SUCCESS ? met : status;
    }
    fence_ended(window, settles);
    return status;
}

/* Whether this process has operations that a fence is to end. */
static bool has_operations(struct osc_rbuf_window *window)
{
    bool has = window->passage != OSC_RBUF_CLOSED;

    osc_rbuf_lock();
    has |= window->results.unanswered > 0;
    for (int i = 0; i < window->size && !has; i++) {
        has = window->peers[i].packing[OSC_RBUF_BY_MPI] != NULL || window->peers[i].fence.sent > 0;
    }
    osc_rbuf_unlock();
    return has;
}

/* MPI_MODE_NOPRECEDE: there is nothing to end. What is there all the same stays for the next fence.
 */
static int begin_epoch(struct osc_rbuf_window *window)
{
    const int status = osc_rbuf_barrier(window->comm->mpi);

    fence_ended(window, true);
    return status == MPI_SUCCESS && has_operations(window) ? MPI_ERR_RMA_SYNC : status;
}

int osc_rbuf_fence(int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const bool nothing_follows = (mode & MPI_MODE_NOSUCCEED) != 0;
    int status;

    if (osc_rbuf_is_exclusive(window->access)) {
        return osc_rbuf_refuse(window, "MPI_Win_fence");
    }
    status =
        (mode & MPI_MODE_NOPRECEDE) != 0 ? begin_epoch(window) : end_epoch(window, nothing_follows);
    osc_rbuf_lock();
    window->access = nothing_follows ? OSC_RBUF_ACCESS_NONE : OSC_RBUF_ACCESS_FENCE;
    status = osc_rbuf_first_error(window, status);
    osc_rbuf_unlock();
    return status;
}

void osc_rbuf_fence_open(void)
{
    osc_rbuf_inbox_set(OSC_RBUF_FENCE_DATA, received);
    osc_rbuf_inbox_set(OSC_RBUF_ASK, asked);
    osc_rbuf_inbox_set(OSC_RBUF_ENDED, told);
}
