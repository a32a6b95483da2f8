/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Passive target epochs. Locks are below's, and so are puts and gets. With parameter `passive` the
 * window's accumulates, fetches and swaps travel packed here as well: the target's processor does
 * them, one after another, like those of active epochs. So each is atomic with all others, whatever
 * its type and operation, and takes one message and one answer, where osc/rdma takes a lock, gets,
 * puts and gives the lock back.
 *
 * A flush asks the target for an answer behind the messages before it, which the target does in
 * their order. Of a peer, all under the lock:
 *
 *   unflushed   operations that no flush has asked for: packed, or sent in messages that were full;
 *               of each of the two ways (osc_rbuf_am.h)
 *   flushes     asked for and not answered, each with its number and its way
 *
 * Who flushes waits for those of the numbers so far, of one peer or of all: other threads may ask
 * on and on, so that there is never a moment with none. A target answers in order on each way. A
 * thread may give up the lock before its question leaves, and another one's leaves first: the first
 * answer is for all operations of both.
 *
 * What has come as a message of MPI is done while the target is inside of MPI: a target that
 * computes lets its origins wait at their flush. What has come as an active message rbuf's thread
 * does meanwhile (osc_rbuf_am.h).
 */
#include "osc_rbuf.h"

#include <stdlib.h>

#include "ompi/constants.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_am.h"
#include "osc_rbuf_message.h"

/* ---- locks ---- */

/* Packed or passed operations of a fence epoch may not go on behind it: MPI forbids a lock then.
 * `first` to `last` are locked, or no more. */
static void locks_changed(struct osc_rbuf_window *window, int first, int last, int by)
{
    osc_rbuf_lock();
    for (int i = first; i <= last; i++) {
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
        status = window->below.osc_lock(type, target, mode, win);
    }
    if (status == OMPI_SUCCESS) {
        locks_changed(window, target, target, 1);
    }
    return status;
}

int osc_rbuf_passive_lock_all(int mode, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = osc_rbuf_settle_all(window);

    if (status == OMPI_SUCCESS) {
        status = window->below.osc_lock_all(mode, win);
    }
    if (status == OMPI_SUCCESS) {
        locks_changed(window, 0, window->size - 1, 1);
    }
    return status;
}

/* ---- flushes ---- */

enum { ALL = -1 }; /* targets */

/* One that a target was asked for. */
struct osc_rbuf_flush {
    TAILQ_ENTRY(osc_rbuf_flush) link;
    SLIST_ENTRY(osc_rbuf_flush) link_of_peer;
    uint64_t number;
    enum osc_rbuf_way way;
};

/* NULL without memory. */
static struct osc_rbuf_flush *flush_begin(struct osc_rbuf_window *window, int target,
                                          enum osc_rbuf_way way)
{
    struct osc_rbuf_flush *flush = malloc(sizeof(*flush));
    struct osc_rbuf_flush *last = SLIST_FIRST(&window->peers[target].flushes);

    if (flush == NULL) {
        return NULL;
    }
    *flush = (struct osc_rbuf_flush){.number = ++window->last_flush, .way = way};
    TAILQ_INSERT_TAIL(&window->flushes, flush, link);
    while (last != NULL && SLIST_NEXT(last, link_of_peer) != NULL) {
        last = SLIST_NEXT(last, link_of_peer); /* one for each thread at most, or nearly */
    }
    if (last == NULL) {
        SLIST_INSERT_HEAD(&window->peers[target].flushes, flush, link_of_peer);
    } else {
        SLIST_INSERT_AFTER(last, flush, link_of_peer);
    }
    return flush;
}

static void flush_end(struct osc_rbuf_window *window, int target, struct osc_rbuf_flush *flush)
{
    TAILQ_REMOVE(&window->flushes, flush, link);
    SLIST_REMOVE(&window->peers[target].flushes, flush, osc_rbuf_flush, link_of_peer);
    free(flush);
}

/* Whether all of the target, or of ALL, up to that number are answered. */
static bool is_flushed(const struct osc_rbuf_window *window, int target, uint64_t number)
{
    const struct osc_rbuf_flush *oldest =
        target == ALL ? TAILQ_FIRST(&window->flushes) : SLIST_FIRST(&window->peers[target].flushes);

    return oldest == NULL || oldest->number > number;
}

void osc_rbuf_unflushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way)
{
    struct osc_rbuf_peer *peer = &window->peers[target];

    if (!osc_rbuf_is_unflushed(peer)) {
        LIST_INSERT_HEAD(&window->unflushed, peer, unflushed_link);
    }
    peer->unflushed[way] = true;
}

void osc_rbuf_flushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way)
{
    struct osc_rbuf_flush *flush;

    SLIST_FOREACH(flush, &window->peers[target].flushes, link_of_peer)
    {
        if (flush->way == way) {
            flush_end(window, target, flush);
            return;
        }
    }
}

/* On one of the ways. The lock may be given up in the second. */
static int ask_by(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way)
{
    struct osc_rbuf_flush *flush = flush_begin(window, target, way);
    int status;

    if (flush == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    status = way == OSC_RBUF_BY_AM ? osc_rbuf_am_send(window, target, OSC_RBUF_PASSIVE_FLUSH)
                                   : osc_rbuf_send(window, target, OSC_RBUF_PASSIVE_FLUSH);
    if (status != OMPI_SUCCESS) { /* no answer will come */
        flush_end(window, target, flush);
    }
    return status;
}

int osc_rbuf_ask(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    const bool by_mpi = peer->unflushed[OSC_RBUF_BY_MPI], by_am = peer->unflushed[OSC_RBUF_BY_AM];
    int status = OMPI_SUCCESS;

    if (!by_mpi && !by_am) {
        return OMPI_SUCCESS;
    }
    LIST_REMOVE(peer, unflushed_link);
    peer->unflushed[OSC_RBUF_BY_MPI] = false;
    peer->unflushed[OSC_RBUF_BY_AM] = false;
    if (by_mpi) {
        status = ask_by(window, target, OSC_RBUF_BY_MPI);
    }
    if (by_am && status == OMPI_SUCCESS) {
        status = ask_by(window, target, OSC_RBUF_BY_AM);
    }
    return status;
}

static int ask(struct osc_rbuf_window *window, int target)
{
    int status;

    osc_rbuf_lock();
    status = osc_rbuf_ask(window, target);
    osc_rbuf_unlock();
    return status;
}

/* The peers that have something to answer for, however many there are besides. */
static int ask_all(struct osc_rbuf_window *window)
{
    const struct osc_rbuf_peer *peer;
    int status = OMPI_SUCCESS;

    osc_rbuf_lock();
    while ((peer = LIST_FIRST(&window->unflushed)) != NULL && status == OMPI_SUCCESS) {
        status = osc_rbuf_ask(window, (int) (peer - window->peers));
    }
    osc_rbuf_unlock();
    return status;
}

/* Packed operations for a target, or for ALL, are done there, and have their results here; so are
 * those below, by `status`, which was asked for meanwhile. */
static int await(struct osc_rbuf_window *window, int target, int status)
{
    uint64_t last;

    osc_rbuf_lock();
    last = window->last_flush;
    while (!is_flushed(window, target, last)) {
        osc_rbuf_unlock();
        opal_progress();
        osc_rbuf_lock();
    }
    osc_rbuf_unlock();
    return status == OMPI_SUCCESS ? osc_rbuf_take_error(window) : status;
}

int osc_rbuf_flush(int target, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = ask(window, target);

    if (status == OMPI_SUCCESS) {
        status = window->below.osc_flush(target, win);
    }
    return await(window, target, status);
}

int osc_rbuf_flush_all(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = ask_all(window);

    if (status == OMPI_SUCCESS) {
        status = window->below.osc_flush_all(win);
    }
    return await(window, ALL, status);
}

static bool has_answers(struct osc_rbuf_window *window)
{
    bool has;

    osc_rbuf_lock();
    has = window->unanswered > 0;
    osc_rbuf_unlock();
    return has;
}

/* What was packed may be written over at once: only results are waited for. */
int osc_rbuf_flush_local(int target, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);

    return has_answers(window) ? osc_rbuf_flush(target, win)
                               : window->below.osc_flush_local(target, win);
}

int osc_rbuf_flush_local_all(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);

    return has_answers(window) ? osc_rbuf_flush_all(win) : window->below.osc_flush_local_all(win);
}

/* ---- the end of an epoch: what is packed is done before the target may be another's ---- */

int osc_rbuf_passive_unlock(int target, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = await(window, target, ask(window, target));
    const int unlocked = window->below.osc_unlock(target, win);

    if (unlocked == OMPI_SUCCESS) {
        locks_changed(window, target, target, -1);
    }
    return status == OMPI_SUCCESS ? unlocked : status;
}

int osc_rbuf_passive_unlock_all(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status = await(window, ALL, ask_all(window));
    const int unlocked = window->below.osc_unlock_all(win);

    if (unlocked == OMPI_SUCCESS) {
        locks_changed(window, 0, window->size - 1, -1);
    }
    return status == OMPI_SUCCESS ? unlocked : status;
}
