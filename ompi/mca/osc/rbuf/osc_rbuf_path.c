/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Paths of operations (osc_rbuf_path.h). Owns `path` of a peer. The lock is held.
 */
#include "osc_rbuf_path.h"

#include <string.h>

#include "osc_rbuf_am.h"
#include "osc_rbuf_buffer.h"
#include "osc_rbuf_flush.h"
#include "osc_rbuf_passive.h"

/* Whether an operation fits behind what is packed, and its answer behind `answer` bytes of others,
 * in messages of `most` bytes. */
static bool fits(const struct osc_rbuf_buffer *packing, size_t answer,
                 const struct osc_rbuf_need *need, size_t most)
{
    const size_t used = packing != NULL ? packing->used : sizeof(packing->header);

    return used + need->request <= most && sizeof(packing->header) + answer + need->answer <= most;
}

/* Whether operations that do `next` have to stay behind those that do `before`. */
static bool is_ordered(unsigned ordered, unsigned before, unsigned next)
{
    unsigned pairs = 0;

    if ((next & OSC_RBUF_READS) != 0) {
        pairs |= (before & OSC_RBUF_READS) != 0 ? OSC_RBUF_READ_READ : 0;
        pairs |= (before & OSC_RBUF_WRITES) != 0 ? OSC_RBUF_READ_WRITE : 0;
    }
    if ((next & OSC_RBUF_WRITES) != 0) {
        pairs |= (before & OSC_RBUF_READS) != 0 ? OSC_RBUF_WRITE_READ : 0;
        pairs |= (before & OSC_RBUF_WRITES) != 0 ? OSC_RBUF_WRITE_WRITE : 0;
    }
    return (pairs & ordered) != 0;
}

/* Decides the path of an operation that active messages take, or not, and keeps the order. Where
 * the path is MPI's the lock may be given up, to wait for all operations so far. What other threads
 * do meanwhile has no order with this one: they may go on and on. */
static int choose(struct osc_rbuf_window *window, int target, bool taken, unsigned does)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    const unsigned ordered = window->info.ordered, *pending = peer->path.pending;
    int status = MPI_SUCCESS;

    if (!osc_rbuf_is_unflushed(peer) && osc_rbuf_is_answered(peer)) {
        memset(peer->path.pending, 0, sizeof(peer->path.pending));
    }
    if (taken && !is_ordered(ordered, pending[OSC_RBUF_BY_MPI], does)) {
        peer->path.chosen = OSC_RBUF_BY_AM;
        return MPI_SUCCESS;
    }
    if (is_ordered(ordered, pending[OSC_RBUF_BY_AM], does)) {
        status = osc_rbuf_passive_ask(window, target);
        if (status == MPI_SUCCESS) {
            osc_rbuf_passive_await(window, target);
        }
    }
    peer->path.chosen = OSC_RBUF_BY_MPI;
    return status;
}

/* Whether it goes behind what is packed for an active message already. */
static bool joins(const struct osc_rbuf_peer *peer, const struct osc_rbuf_need *need)
{
    const struct osc_rbuf_buffer *packing = peer->packing[OSC_RBUF_BY_AM];

    return packing != NULL && fits(packing, peer->path.answer_bytes, need, peer->path.most);
}

/* Decides the path of an operation, and makes room in its message. */
static int choose_and_make_room(struct osc_rbuf_window *window, int target,
                                const struct osc_rbuf_need *need)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    bool taken;
    int status;

    peer->path.most = need->plain ? osc_rbuf_am_most(window, target) : 0;
    taken = peer->path.most > 0 && fits(NULL, 0, need, peer->path.most);
    status = choose(window, target, taken, need->does);
    if (status == MPI_SUCCESS && peer->path.chosen == OSC_RBUF_BY_AM &&
        peer->packing[OSC_RBUF_BY_AM] != NULL && !joins(peer, need)) {
        status = osc_rbuf_am_send(window, target, OSC_RBUF_PASSIVE_DATA);
        if (status == MPI_SUCCESS) { /* nothing is packed now, but others may have gone by MPI */
            status = choose(window, target, taken, need->does);
        }
    }
    return status;
}

int osc_rbuf_path_prepare(struct osc_rbuf_window *window, int target,
                          const struct osc_rbuf_need *need)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    int status = MPI_SUCCESS;

    if (need->plain && joins(peer, need) &&
        !is_ordered(window->info.ordered, peer->path.pending[OSC_RBUF_BY_MPI], need->does)) {
        peer->path.chosen = OSC_RBUF_BY_AM;
    } else {
        status = choose_and_make_room(window, target, need);
    }
    peer->path.pending[peer->path.chosen] |= need->does;
    if (peer->path.chosen == OSC_RBUF_BY_AM) {
        peer->path.answer_bytes =
            (peer->packing[OSC_RBUF_BY_AM] != NULL ? peer->path.answer_bytes : 0) + need->answer;
    }
    return status;
}
