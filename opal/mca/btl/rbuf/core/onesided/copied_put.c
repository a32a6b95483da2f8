/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied puts (core/onesided/copied_put.h): their window, their copy, their write, and who begins
 * when another one is over.
 */
#include "core/onesided/copied_put.h"

#include "core/base/cut.h"
#include "core/rendezvous/sender.h"
#include "core/stage/copies.h"
#include "core/stage/tx_chunk.h"

static struct rbuf_put *put_of(struct rbuf_copy *copy)
{
    return (struct rbuf_put *) (void *) ((char *) copy - offsetof(struct rbuf_put, copy));
}

/* ---- their functions for the sender ---- */

/* All of it has arrived. */
static void finish(struct rbuf_peer *peer, struct rbuf_put *put)
{
    struct rbuf_copy *next = rbuf_copies_end(&peer->onesided.copied_puts);

    rbuf_sender_remove(peer, put);
    if (next != NULL) {
        rbuf_put_become(put_of(next), RBUF_PUT_FILLING);
        rbuf_sender_add(peer, put_of(next));
    }
    rbuf_sender_finish(put, RBUF_EVENT_PUT, 0);
}

/* A chunk has arrived, or not. */
static void chunk_completed(struct rbuf_work *work, int status)
{
    struct rbuf_tx_chunk *chunk = rbuf_tx_chunk_of(work);
    struct rbuf_peer *peer = work->peer;
    struct rbuf_put *put = chunk->put;

    rbuf_copies_back(&peer->onesided.copied_puts, chunk->shape.bytes);
    rbuf_tx_chunk_free(peer->core, chunk);
    /* The puts of a peer that has failed, or is about to, are its failing's. */
    if (status == 0 && !rbuf_peer_is_lost(peer) && --put->copy.chunks == 0 &&
        put->state == RBUF_PUT_LANDING) {
        finish(peer, put);
    }
}

static bool window_open(const struct rbuf_put *put)
{
    const struct rbuf_peer *peer = put->peer;

    return put->copy.chunks < put->offer.schedule.buffers &&
           rbuf_copies_may_go(peer->core, &peer->onesided.copied_puts, &put->copy, put->next.bytes);
}

static void fill(struct rbuf_put *put, uint64_t *budget)
{
    rbuf_tx_chunk_fill_dense(put->filling, put->rest, budget);
}

static enum rbuf_fab_status write_chunk(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;
    struct rbuf_tx_chunk *chunk = put->filling;
    enum rbuf_fab_status status;

    chunk->work.completed = chunk_completed;
    chunk->put = put;
    status = rbuf_fab_write(peer->queue[RBUF_BULK], chunk->data, chunk->lkey, chunk->shape.bytes,
                            put->offer.base + chunk->shape.offset, put->offer.rkey, &chunk->work);
    if (status == RBUF_FAB_OK) {
        rbuf_copies_posted(&peer->onesided.copied_puts, &put->copy, chunk->shape.bytes);
    }
    return status;
}

static bool step(struct rbuf_put *put)
{
    return rbuf_cut_next(&put->offer.schedule, RBUF_CUT_PUT, put->rest_bytes, &put->next);
}

static const struct rbuf_put_ops to_target = {.window_open = window_open,
                                              .fill = fill,
                                              .write = write_chunk,
                                              .step = step,
                                              .posted = RBUF_PUT_LANDING};

/* ---- begin and end ---- */

void rbuf_copied_put_open(struct rbuf_peer *peer)
{
    rbuf_copies_open(&peer->onesided.copied_puts);
}

void rbuf_copied_put_start(struct rbuf_peer *peer, struct rbuf_put *put)
{
    if (!rbuf_put_begin(peer, put, &to_target)) {
        return;
    }
    /* With an opening chunk, as early data have: nobody is asked before. */
    put->offer.schedule = peer->core->options.schedule;
    put->offer.schedule.opening_blocks = peer->core->options.early.opening_blocks;
    put->rest = put->source;
    put->rest_bytes = put->offer.bytes;
    rbuf_cut_first(&put->offer.schedule, RBUF_CUT_PUT, put->rest_bytes, &put->next);
    peer->core->stats.copied_puts++;
    if (rbuf_copies_begin(&peer->onesided.copied_puts, &put->copy)) {
        rbuf_put_become(put, RBUF_PUT_FILLING);
        rbuf_sender_begin(peer, put);
    } else {
        rbuf_put_become(put, RBUF_PUT_WAITING);
    }
}

void rbuf_copied_put_fail(struct rbuf_peer *peer, int status)
{
    while (peer->onesided.copied_puts.begun > 0) {
        struct rbuf_copy *next = rbuf_copies_end(&peer->onesided.copied_puts);

        if (next != NULL) {
            rbuf_sender_finish(put_of(next), RBUF_EVENT_PUT, status);
        }
    }
}
