/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sending half of the superpipeline (core/rendezvous/sender.h): a put from EARLY or FILLING on.
 */
#include "core/rendezvous/sender.h"

#include <errno.h>
#include <stdlib.h>

#include "core/rendezvous/early.h"
#include "core/stage/tx_chunk.h"

void rbuf_sender_finish(struct rbuf_put *put, enum rbuf_event_kind kind, int status)
{
    rbuf_put_become(put, RBUF_PUT_DONE);
    rbuf_core_raise(put->peer->core, kind, put->peer, put, &put->ended, status);
}

/* ---- from one state to the next ---- */

/* What keeps a put where it is. */
enum put_progress {
    PUT_MOVED, /* nothing: it is in another state */
    PUT_BLOCKED,
    PUT_OUT_OF_STAGING,
    PUT_OUT_OF_BUDGET,
    PUT_FINISHED
};

/* EARLY: writes what is missing. No more than is put: the receiver frees the slot when it has that.
 */
static enum put_progress write_early(struct rbuf_put *put, bool may_stage, uint64_t *budget)
{
    if (!may_stage || (rbuf_put_early_missing(put) &&
                       !rbuf_early_write(put->peer, put->early, put->offer.bytes, budget))) {
        return *budget == 0 ? PUT_OUT_OF_BUDGET : PUT_OUT_OF_STAGING;
    }
    if (put->rest_bytes == 0) {
        return PUT_FINISHED;
    }
    rbuf_put_become(put, RBUF_PUT_FILLING);
    return PUT_MOVED;
}

/*
 * True if the put may take staging for its next chunk now. A chunk whose window is open leaves by
 * itself; one that would wait for the peer's software is staged ahead only while half of the arena
 * is free, so that peers that compute cannot keep the arena from the others.
 */
static bool may_stage_ahead(const struct rbuf_put *put)
{
    const struct rbuf_arena *arena = &put->peer->core->send_arena;

    return arena->free_blocks >= arena->blocks / 2 || put->ops->window_open(put);
}

/* FILLING: copies. */
static enum put_progress fill(struct rbuf_put *put, bool may_stage, uint64_t *budget)
{
    if (put->filling == NULL && !may_stage_ahead(put)) {
        return PUT_BLOCKED;
    }
    if (put->filling == NULL && may_stage) {
        put->filling = rbuf_tx_chunk_take(put->peer, &put->offer.schedule, &put->next);
        put->peer->core->stats.staging_waits += put->filling == NULL;
    }
    if (put->filling == NULL) {
        return PUT_OUT_OF_STAGING;
    }
    put->ops->fill(put, budget);
    if (put->filling->filled < put->next.bytes) {
        return PUT_OUT_OF_BUDGET;
    }
    rbuf_put_become(put, RBUF_PUT_FILLED);
    return PUT_MOVED;
}

/* FILLED: posts the chunk if it may go. */
static enum put_progress post(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;

    if (!put->ops->window_open(put)) {
        peer->core->stats.window_waits++;
        return PUT_BLOCKED;
    }
    if (!rbuf_peer_posted(peer, put->ops->write(put))) {
        return PUT_BLOCKED;
    }
    peer->core->stats.staged_chunks++;
    peer->core->stats.staged_bytes += put->filling->shape.bytes;
    peer->in_flight++;
    put->filling = NULL;
    if (put->ops->step(put)) {
        rbuf_put_become(put, RBUF_PUT_FILLING);
        return PUT_MOVED;
    }
    if (put->ops->posted == RBUF_PUT_DONE) {
        return PUT_FINISHED;
    }
    rbuf_put_become(put, put->ops->posted);
    return PUT_MOVED;
}

/* Moves the put on as far as it goes, into new staging only if `may_stage`. A put whose peer fails
 * here is finished by the failing. */
static enum put_progress advance(struct rbuf_put *put, bool may_stage, uint64_t *budget)
{
    enum put_progress progress = PUT_MOVED;

    while (progress == PUT_MOVED) {
        switch (put->state) {
        case RBUF_PUT_EARLY:
            progress = write_early(put, may_stage, budget);
            break;
        case RBUF_PUT_FILLING:
            progress = fill(put, may_stage, budget);
            break;
        case RBUF_PUT_FILLED:
            progress = post(put);
            break;
        case RBUF_PUT_LANDING: /* the last completion moves it on */
        case RBUF_PUT_WAITING: /* these are not on peer->puts */
        case RBUF_PUT_UNGRANTED:
        case RBUF_PUT_DONE:
            progress = PUT_BLOCKED;
            break;
        }
    }
    return progress;
}

/* ---- the puts of a peer ---- */

int rbuf_sender_progress(struct rbuf_peer *peer, uint64_t *budget)
{
    struct rbuf_put *put = TAILQ_FIRST(&peer->rendezvous.puts);
    struct rbuf_put *next;
    uint64_t before = *budget;
    bool may_stage = true;
    int done = 0;

    for (; put != NULL && *budget > 0; put = next) {
        enum put_progress progress = advance(put, may_stage, budget);

        if (rbuf_peer_is_lost(peer)) {
            return done + 1; /* core ends every put of it */
        }
        next = TAILQ_NEXT(put, link);
        if (progress == PUT_FINISHED) {
            rbuf_sender_remove(peer, put);
            rbuf_sender_finish(put, RBUF_EVENT_PUT, 0);
            done++;
        } else if (progress == PUT_OUT_OF_STAGING) {
            /* Those behind take none ahead of it, but must post what they hold: it may be what this
             * one waits for. */
            may_stage = false;
        } else if (progress == PUT_OUT_OF_BUDGET) {
            break;
        }
    }
    done += rbuf_early_out_progress(peer, budget);
    return done + (*budget < before);
}

void rbuf_sender_open(struct rbuf_peer *peer)
{
    TAILQ_INIT(&peer->rendezvous.puts);
    TAILQ_INIT(&peer->rendezvous.ungranted);
    SLIST_INIT(&peer->rendezvous.unexpected_rtrs);
}

void rbuf_sender_add(struct rbuf_peer *peer, struct rbuf_put *put)
{
    TAILQ_INSERT_TAIL(&peer->rendezvous.puts, put, link);
}

void rbuf_sender_remove(struct rbuf_peer *peer, struct rbuf_put *put)
{
    TAILQ_REMOVE(&peer->rendezvous.puts, put, link);
}

bool rbuf_sender_has_puts(const struct rbuf_peer *peer)
{
    return !TAILQ_EMPTY(&peer->rendezvous.puts) || !TAILQ_EMPTY(&peer->rendezvous.ungranted);
}

bool rbuf_sender_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->rendezvous.puts) &&
           (peer->rendezvous.early_out == NULL || peer->rendezvous.early_out->writing == 0);
}

void rbuf_sender_begin(struct rbuf_peer *peer, struct rbuf_put *put)
{
    uint64_t budget = peer->core->options.quantum;

    rbuf_sender_add(peer, put);
    rbuf_peer_wake(peer);
    if (peer->state == RBUF_PEER_CONNECTED && TAILQ_FIRST(&peer->rendezvous.puts) == put) {
        rbuf_sender_progress(peer, &budget);
    }
}

static void fail_list(struct rbuf_core *core, struct rbuf_put_list *list, int status)
{
    struct rbuf_put *put;

    while ((put = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, put, link);
        if (put->filling != NULL) {
            rbuf_tx_chunk_free(core, put->filling);
            put->filling = NULL;
        }
        rbuf_sender_finish(put, RBUF_EVENT_PUT, status);
    }
}

void rbuf_sender_fail(struct rbuf_peer *peer, int status)
{
    fail_list(peer->core, &peer->rendezvous.puts, status);
    fail_list(peer->core, &peer->rendezvous.ungranted, status);
    rbuf_put_unexpected_free(peer);
}
