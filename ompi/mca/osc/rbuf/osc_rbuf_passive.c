/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Passive target epochs. Locks are below's, and so are puts and gets. With parameter `passive` the
 * window's accumulates, fetches and swaps travel packed here as well: the target's processor does
 * them, one after another, like those of active epochs. So each is atomic with all others, whatever
 * its type and operation, and takes one message and one answer, where osc/rdma takes a lock, gets,
 * puts and gives the lock back.
 *
 * What has come as a message of MPI is done while the target is inside of MPI: a target that
 * computes lets its origins wait at their flush. What has come as an active message rbuf's thread
 * does meanwhile (osc_rbuf_am.h).
 *
 * Owns `locks` of a window and of its peers. osc_rbuf_flush.c has what is asked for and not
 * answered.
 */
#include "osc_rbuf_passive.h"

#include "ompi/constants.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_am.h"
#include "osc_rbuf_fence.h"
#include "osc_rbuf_flush.h"
#include "osc_rbuf_inbox.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_windows.h"

/* ---- locks ---- */

/* Packed or passed operations of a fence epoch may not go on behind it: MPI forbids a lock then. A
 * target, or OSC_RBUF_ALL, is locked, or no more. */
static void locks_changed(struct osc_rbuf_window *window, int target, int by)
{
    const bool all = target == OSC_RBUF_ALL;

    osc_rbuf_lock();
    for (int i = all ? 0 : target; i <= (all ? window->size - 1 : target); i++) {
        window->peers[i].locks += by;
    }
    window->locks += by;
    window->access = window->locks > 0 ? OSC_RBUF_ACCESS_PASSIVE : OSC_RBUF_ACCESS_NONE;
    osc_rbuf_unlock();
}

int osc_rbuf_passive_lock(int type, int target, int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = osc_rbuf_settle(window, target);

    if (status == OMPI_SUCCESS) {
        status = target == OSC_RBUF_ALL ? window->below.osc_lock_all(mode, win)
                                        : window->below.osc_lock(type, target, mode, win);
    }
    if (status == OMPI_SUCCESS) {
        locks_changed(window, target, 1);
    }
    return status;
}

int osc_rbuf_passive_lock_all(int mode, ompi_win_t *win)
{
    return osc_rbuf_passive_lock(MPI_LOCK_SHARED, OSC_RBUF_ALL, mode, win);
}

/* ---- flushes ---- */

/* Asks on one of the paths. The lock is held; an active message may have it given up. */
static int ask_by(struct osc_rbuf_window *window, int target, enum osc_rbuf_path path)
{
    struct osc_rbuf_flush *flush = osc_rbuf_flush_begin(window, target, path);
    int status;

    if (flush == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    status = path == OSC_RBUF_BY_AM ? osc_rbuf_am_send(window, target, OSC_RBUF_PASSIVE_FLUSH)
                                    : osc_rbuf_send(window, target, OSC_RBUF_PASSIVE_FLUSH);
    if (status != OMPI_SUCCESS) { /* no answer will come */
        osc_rbuf_flush_end(window, target, flush);
    }
    return status;
}

int osc_rbuf_passive_ask(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    const bool by_mpi = peer->flush.unflushed[OSC_RBUF_BY_MPI],
               by_am = peer->flush.unflushed[OSC_RBUF_BY_AM];
    int status = OMPI_SUCCESS;

    if (!by_mpi && !by_am) {
        return OMPI_SUCCESS;
    }
    osc_rbuf_flush_asked(peer);
    if (by_mpi) {
        status = ask_by(window, target, OSC_RBUF_BY_MPI);
    }
    if (by_am) { /* whatever became of the other path */
        const int by_am_status = ask_by(window, target, OSC_RBUF_BY_AM);

        status = status == OMPI_SUCCESS ? by_am_status : status;
    }
    return status;
}

/* Of all, asks the peers that have something to answer for, however many there are besides, and
 * whatever becomes of one of them. The first error. */
static int ask(struct osc_rbuf_window *window, int target)
{
    const struct osc_rbuf_peer *peer;
    int status = OMPI_SUCCESS;

    osc_rbuf_lock();
    if (target != OSC_RBUF_ALL) {
        status = osc_rbuf_passive_ask(window, target);
    }
    while (target == OSC_RBUF_ALL && (peer = LIST_FIRST(&window->flush.unflushed)) != NULL) {
        const int asked = osc_rbuf_passive_ask(window, (int) (peer - window->peers));

        status = status == OMPI_SUCCESS ? asked : status;
    }
    osc_rbuf_unlock();
    return status;
}

void osc_rbuf_passive_await(struct osc_rbuf_window *window, int target)
{
    const uint64_t last = window->flush.last;

    while (!osc_rbuf_is_flushed(window, target, last)) {
        osc_rbuf_unlock();
        opal_progress();
        osc_rbuf_lock();
    }
}

/* Packed operations for a target, or for all of them, are done there, and have their results here;
 * so are those below, by `status`, which was asked for meanwhile. */
static int await(struct osc_rbuf_window *window, int target, int status)
{
    osc_rbuf_lock();
    osc_rbuf_passive_await(window, target);
    status = osc_rbuf_first_error(window, status);
    osc_rbuf_unlock();
    return status;
}

int osc_rbuf_flush(int target, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = ask(window, target);

    if (status == OMPI_SUCCESS) {
        status = target == OSC_RBUF_ALL ? window->below.osc_flush_all(win)
                                        : window->below.osc_flush(target, win);
    }
    return await(window, target, status);
}

int osc_rbuf_flush_all(ompi_win_t *win)
{
    return osc_rbuf_flush(OSC_RBUF_ALL, win);
}

/* What was packed may be written over at once: only results are waited for. */
int osc_rbuf_flush_local(int target, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    bool has_answers;

    osc_rbuf_lock();
    has_answers = window->results.unanswered > 0;
    osc_rbuf_unlock();
    if (has_answers) {
        return osc_rbuf_flush(target, win);
    }
    return target == OSC_RBUF_ALL ? window->below.osc_flush_local_all(win)
                                  : window->below.osc_flush_local(target, win);
}

int osc_rbuf_flush_local_all(ompi_win_t *win)
{
    return osc_rbuf_flush_local(OSC_RBUF_ALL, win);
}

/* ---- the end of an epoch: what is packed is done before another process may get the lock ---- */

int osc_rbuf_passive_unlock(int target, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const int status = await(window, target, ask(window, target));
    const int unlocked = target == OSC_RBUF_ALL ? window->below.osc_unlock_all(win)
                                                : window->below.osc_unlock(target, win);

    if (unlocked == OMPI_SUCCESS) {
        locks_changed(window, target, -1);
    }
    return status == OMPI_SUCCESS ? unlocked : status;
}

int osc_rbuf_passive_unlock_all(ompi_win_t *win)
{
    return osc_rbuf_passive_unlock(OSC_RBUF_ALL, win);
}

/* A target has answered a flush by a message of MPI. The lock is held. */
static void done(struct osc_rbuf_window *window, int origin, const struct osc_rbuf_header *header)
{
    (void) header;
    osc_rbuf_flushed(window, origin, OSC_RBUF_BY_MPI);
}

void osc_rbuf_passive_open(void)
{
    osc_rbuf_inbox_set(OSC_RBUF_DONE, done);
}
