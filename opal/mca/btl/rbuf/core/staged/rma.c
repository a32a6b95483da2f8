/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Operations on registered memory (core/staged/rma.h). Invariant: the first of a peer's queue alone
 * may be posted in part.
 */
#include "core/staged/rma.h"

#include <errno.h>

static bool is_last(const struct rbuf_rma *rma, uint32_t piece)
{
    return rma->done + piece >= rma->bytes;
}

static enum rbuf_fab_status post_piece(struct rbuf_peer *peer, struct rbuf_rma *rma, uint32_t piece)
{
    struct rbuf_fab_queue *queue = peer->queue[RBUF_BULK];
    struct rbuf_work *work = is_last(rma, piece) ? &rma->work : NULL;
    unsigned char *local = (unsigned char *) rma->local + rma->done;
    uint64_t remote = rma->remote + rma->done;

    switch (rma->operation) {
    case RBUF_RMA_WRITE:
        if (rma->bytes <= rbuf_fab_inline_max(queue)) {
            return rbuf_fab_write_inline(queue, local, piece, remote, rma->rkey, work);
        }
        return rbuf_fab_write(queue, local, rma->lkey, piece, remote, rma->rkey, work);
    case RBUF_RMA_READ:
        return rbuf_fab_read(queue, local, rma->lkey, piece, remote, rma->rkey, work);
    case RBUF_RMA_FETCH_ADD:
        return rbuf_fab_fetch_add(queue, rma->local, rma->lkey, remote, rma->rkey, rma->operand,
                                  work);
    case RBUF_RMA_COMPARE_SWAP:
        return rbuf_fab_compare_swap(queue, rma->local, rma->lkey, remote, rma->rkey, rma->compare,
                                     rma->operand, work);
    }
    return RBUF_FAB_DEAD;
}

/* Posts what fits; true if all of the operation is posted. */
static bool post(struct rbuf_peer *peer, struct rbuf_rma *rma)
{
    uint32_t most = peer->core->options.max_message;

    do {
        uint64_t left = rma->bytes - rma->done;
        uint32_t piece = left < most ? (uint32_t) left : most;
        enum rbuf_fab_status status = post_piece(peer, rma, piece);

        if (status == RBUF_FAB_DEAD) {
            rbuf_peer_break(peer, -ECONNRESET);
        }
        if (status != RBUF_FAB_OK) {
            return false;
        }
        rma->done += piece;
    } while (rma->done < rma->bytes);
    peer->in_flight++;
    return true;
}

static void count(struct rbuf_stats *stats, const struct rbuf_rma *rma)
{
    switch (rma->operation) {
    case RBUF_RMA_WRITE:
        stats->direct_puts++;
        stats->direct_bytes += rma->bytes;
        break;
    case RBUF_RMA_READ:
        stats->reads++;
        break;
    case RBUF_RMA_FETCH_ADD:
    case RBUF_RMA_COMPARE_SWAP:
        stats->atomics++;
        break;
    }
}

void rbuf_rma_start(struct rbuf_peer *peer, struct rbuf_rma *rma)
{
    rma->peer = peer;
    rma->done = 0;
    rma->work.kind = RBUF_WORK_RMA;
    count(&peer->core->stats, rma);
    if (peer->state == RBUF_PEER_FAILED) {
        rbuf_core_raise(peer->core, RBUF_EVENT_RMA, peer, rma, -ECONNRESET);
        return;
    }
    /* Queued first, so that a queue pair found dead fails this operation with the others. */
    bool alone = TAILQ_EMPTY(&peer->rmas);

    TAILQ_INSERT_TAIL(&peer->rmas, rma, link);
    if (peer->state == RBUF_PEER_CONNECTED && alone) {
        rbuf_rma_progress(peer);
    }
    if (!TAILQ_EMPTY(&peer->rmas)) {
        rbuf_peer_wake(peer);
    }
}

int rbuf_rma_progress(struct rbuf_peer *peer)
{
    struct rbuf_rma *rma;
    int done = 0;

    while ((rma = TAILQ_FIRST(&peer->rmas)) != NULL && post(peer, rma)) {
        TAILQ_REMOVE(&peer->rmas, rma, link);
        done++;
    }
    return done;
}

void rbuf_rma_completed(struct rbuf_rma *rma, int status)
{
    rbuf_core_raise(rma->peer->core, RBUF_EVENT_RMA, rma->peer, rma, status);
}

void rbuf_rma_fail(struct rbuf_peer *peer, int status)
{
    struct rbuf_rma *rma;

    while ((rma = TAILQ_FIRST(&peer->rmas)) != NULL) {
        TAILQ_REMOVE(&peer->rmas, rma, link);
        rbuf_core_raise(peer->core, RBUF_EVENT_RMA, peer, rma, status);
    }
}
