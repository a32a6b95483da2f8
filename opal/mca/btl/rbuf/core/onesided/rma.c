/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Operations on registered memory (core/onesided/rma.h). Invariants: the first of a peer's queue
 * alone may be posted in part, and has one piece under way then; those that are held stand at its
 * end, the first `held_first`.
 */
#include "core/onesided/rma.h"

#include <errno.h>

/* The next piece of the operation, or all of it. */
static struct rbuf_fab_rma piece_of(const struct rbuf_peer *peer, struct rbuf_rma *rma)
{
    const uint32_t most = peer->core->options.max_message;
    const uint64_t left = rma->span - rma->done;
    const bool inlined = rma->operation == RBUF_FAB_WRITE &&
                         rma->span <= rbuf_fab_inline_max(peer->queue[RBUF_BULK]);

    return (struct rbuf_fab_rma){.verb = inlined ? RBUF_FAB_WRITE_INLINE : rma->operation,
                                 .bytes = left < most ? (uint32_t) left : most,
                                 .local = (unsigned char *) rma->local + rma->done,
                                 .remote = rma->remote + rma->done,
                                 .lkey = rma->lkey,
                                 .rkey = rma->rkey,
                                 .operand = rma->operand,
                                 .compare = rma->compare,
                                 .work = &rma->work};
}

static bool piece_under_way(const struct rbuf_rma *rma)
{
    return rma->back < rma->done;
}

/* Describes the next requests of the queue, up to one that is not the last of its operation;
 * returns their number. */
static unsigned describe(const struct rbuf_peer *peer, struct rbuf_fab_rma *list)
{
    struct rbuf_rma *rma = TAILQ_FIRST(&peer->onesided.rmas);
    unsigned count = 0;

    while (rma != NULL && count < RBUF_FAB_LIST && !piece_under_way(rma)) {
        list[count] = piece_of(peer, rma);
        rma = rma->done + list[count].bytes == rma->span ? TAILQ_NEXT(rma, link) : NULL;
        count++;
    }
    return count;
}

/* Posts what fits with one doorbell; false if nothing more can be posted now, or the peer is lost.
 * `done` counts the operations. */
static bool post(struct rbuf_peer *peer, int *done)
{
    struct rbuf_fab_rma list[RBUF_FAB_LIST];
    const unsigned count = describe(peer, list);
    unsigned posted;
    enum rbuf_fab_status status;

    if (count == 0) {
        return false;
    }
    status = rbuf_fab_post_list(peer->queue[RBUF_BULK], list, count, &posted);
    for (unsigned i = 0; i < posted; i++) {
        struct rbuf_rma *rma = TAILQ_FIRST(&peer->onesided.rmas);

        rma->done += list[i].bytes;
        peer->in_flight++;
        if (rma->done == rma->span) {
            TAILQ_REMOVE(&peer->onesided.rmas, rma, link);
            ++*done;
        }
    }
    peer->core->stats.rma_requests += posted;
    peer->core->stats.rma_doorbells += posted > 0;
    return rbuf_peer_posted(peer, status);
}

static void count(struct rbuf_stats *stats, const struct rbuf_rma *rma)
{
    if (rma->operation == RBUF_FAB_WRITE) {
        stats->direct_puts++;
        stats->direct_bytes += rma->bytes;
    } else if (rma->operation == RBUF_FAB_READ) {
        stats->reads++;
    } else {
        stats->atomics++;
    }
}

/* ---- ends ---- */

static void raise_end(struct rbuf_rma *rma, int status)
{
    struct rbuf_peer *peer = rma->work.peer;

    rbuf_core_raise(peer->core, RBUF_EVENT_RMA, peer, rma, &rma->ended, status);
}

/* Of an operation, and of those that its request did besides. */
static void end(struct rbuf_rma *rma, int status)
{
    struct rbuf_rma *other;

    while ((other = TAILQ_FIRST(&rma->with)) != NULL) {
        TAILQ_REMOVE(&rma->with, other, link);
        raise_end(other, status);
    }
    raise_end(rma, status);
}

/* The next piece goes with the peer's progress. */
static void completed(struct rbuf_work *work, int status)
{
    struct rbuf_rma *rma =
        (struct rbuf_rma *) (void *) ((char *) work - offsetof(struct rbuf_rma, work));
    struct rbuf_peer *peer = work->peer;
    const bool queued = TAILQ_FIRST(&peer->onesided.rmas) == rma;

    rma->back = rma->done;
    if (status == 0 && queued) {
        return;
    }
    if (queued) {
        TAILQ_REMOVE(&peer->onesided.rmas, rma, link);
    }
    end(rma, status != 0 || rma->done == rma->span ? status : -ECONNRESET);
}

/* ---- begins ---- */

/* False: the peer has failed, and so has the operation. */
static bool begin(struct rbuf_peer *peer, struct rbuf_rma *rma)
{
    rma->work.peer = peer;
    rma->done = 0;
    rma->back = 0;
    rma->span = rma->bytes;
    rma->work.completed = completed;
    TAILQ_INIT(&rma->with);
    count(&peer->core->stats, rma);
    if (peer->state == RBUF_PEER_FAILED) {
        raise_end(rma, -ECONNRESET);
        return false;
    }
    return true;
}

void rbuf_rma_start(struct rbuf_peer *peer, struct rbuf_rma *rma)
{
    if (!begin(peer, rma)) {
        return;
    }
    rbuf_rma_release(peer);
    /* Queued first, so that a queue pair found dead fails this operation with the others. */
    TAILQ_INSERT_TAIL(&peer->onesided.rmas, rma, link);
    if (peer->state == RBUF_PEER_CONNECTED) {
        rbuf_rma_progress(peer);
    }
    if (!TAILQ_EMPTY(&peer->onesided.rmas)) {
        rbuf_peer_wake(peer);
    }
}

/* ---- held ---- */

/* True if one request does both: they are neighbours here and there. A write that goes inline may
 * have no key. */
static bool can_merge(const struct rbuf_peer *peer, const struct rbuf_rma *rma,
                      const struct rbuf_rma *next)
{
    const uint64_t span = rma->span + next->span;
    const uint32_t most = rbuf_fab_inline_max(peer->queue[RBUF_BULK]);
    const bool inlined = rma->operation == RBUF_FAB_WRITE && span <= most;

    return rma->operation == next->operation && rma->rkey == next->rkey &&
           (inlined || (rma->lkey == next->lkey && rma->lkey != 0)) &&
           rma->remote + rma->span == next->remote &&
           (unsigned char *) rma->local + rma->span == next->local &&
           span <= peer->core->options.max_message;
}

void rbuf_rma_hold(struct rbuf_peer *peer, struct rbuf_rma *rma)
{
    struct rbuf_rma *last = TAILQ_LAST(&peer->onesided.rmas, rbuf_rma_list);

    if (peer->core->options.rma_order == RBUF_RMA_ISSUE || peer->state != RBUF_PEER_CONNECTED) {
        rbuf_rma_start(peer, rma);
        return;
    }
    (void) begin(peer, rma);
    peer->core->stats.rma_held++;
    peer->core->queued++;
    if (peer->onesided.held++ > 0 && can_merge(peer, last, rma)) {
        TAILQ_INSERT_TAIL(&last->with, rma, link);
        last->span += rma->span;
        peer->core->stats.rma_merged++;
    } else {
        TAILQ_INSERT_TAIL(&peer->onesided.rmas, rma, link);
        peer->onesided.held_first =
            peer->onesided.held_first != NULL ? peer->onesided.held_first : rma;
    }
    if (peer->onesided.held == RBUF_RMA_HELD_MOST) {
        rbuf_rma_progress(peer);
    }
    rbuf_peer_wake(peer);
}

/* Those that are held are so no more. */
static void let_go(struct rbuf_peer *peer)
{
    peer->core->queued -= peer->onesided.held;
    peer->onesided.held = 0;
    peer->onesided.held_first = NULL;
}

void rbuf_rma_release(struct rbuf_peer *peer)
{
    const struct rbuf_core_options *options = &peer->core->options;
    struct rbuf_rma *list[RBUF_RMA_HELD_MOST];
    struct rbuf_rma *rma = peer->onesided.held_first;
    unsigned held = 0;

    if (rma == NULL) {
        return;
    }
    while (rma != NULL) {
        list[held++] = rma;
        rma = TAILQ_NEXT(rma, link);
    }
    rbuf_rma_arrange(options->rma_order, options->reads, list, held);
    for (unsigned i = 0; i < held; i++) {
        TAILQ_REMOVE(&peer->onesided.rmas, list[i], link);
        TAILQ_INSERT_TAIL(&peer->onesided.rmas, list[i], link);
    }
    let_go(peer);
}

void rbuf_rma_open(struct rbuf_peer *peer)
{
    TAILQ_INIT(&peer->onesided.rmas);
}

int rbuf_rma_progress(struct rbuf_peer *peer)
{
    int done = 0;

    rbuf_rma_release(peer);
    while (!TAILQ_EMPTY(&peer->onesided.rmas) && post(peer, &done)) {
    }
    return done;
}

void rbuf_rma_fail(struct rbuf_peer *peer, int status)
{
    struct rbuf_rma *rma;

    let_go(peer);
    while ((rma = TAILQ_FIRST(&peer->onesided.rmas)) != NULL) {
        TAILQ_REMOVE(&peer->onesided.rmas, rma, link);
        if (!piece_under_way(rma)) { /* else it ends with that, as those that are posted */
            end(rma, status);
        }
    }
}
