/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied gets (core/onesided/get.h).
 */
#include "core/onesided/get.h"

#include <errno.h>

#include "core/base/copy.h"
#include "core/base/cut.h"
#include "core/stage/copies.h"
#include "core/stage/tx_chunk.h"

static void become(struct rbuf_get *get, enum rbuf_get_state state)
{
    static const char *const names[] = {RBUF_GET_STATES(RBUF_STATE_NAME)};

    rbuf_trace("get", get->peer->index, get->remote, names[get->state], names[state]);
    get->state = state;
}

static void finish(struct rbuf_get *get, int status)
{
    become(get, RBUF_GET_DONE);
    rbuf_core_raise(get->peer->core, RBUF_EVENT_GET, get->peer, get, &get->ended, status);
}

static const struct rbuf_schedule *schedule_of(const struct rbuf_get *get)
{
    return &get->peer->core->options.schedule;
}

/* ---- reading ---- */

/* Of a chunk that was read, or was to be. */
static void give_back(struct rbuf_tx_chunk *chunk)
{
    rbuf_copies_back(&chunk->work.peer->onesided.copied_gets, chunk->shape.bytes);
    rbuf_tx_chunk_free(chunk->work.peer->core, chunk);
}

static void chunk_completed(struct rbuf_work *work, int status)
{
    struct rbuf_tx_chunk *chunk = rbuf_tx_chunk_of(work);

    work->peer->onesided.reads--;
    if (status != 0 || rbuf_peer_is_lost(work->peer)) { /* its get is the failing's, or has ended */
        give_back(chunk);
    } else {
        STAILQ_INSERT_TAIL(&chunk->get->landed, chunk, link);
    }
}

/* True if the next chunk may be under way besides those that are. */
static bool window_open(const struct rbuf_get *get)
{
    const struct rbuf_peer *peer = get->peer;

    return (peer->onesided.reads == 0 || peer->onesided.reads < peer->core->options.reads) &&
           rbuf_copies_may_go(peer->core, &peer->onesided.copied_gets, &get->copy, get->next.bytes);
}

static enum rbuf_fab_status post(struct rbuf_get *get, struct rbuf_tx_chunk *chunk)
{
    const struct rbuf_fab_rma read = {.verb = RBUF_FAB_READ,
                                      .bytes = chunk->shape.bytes,
                                      .local = chunk->data,
                                      .remote = get->remote + chunk->shape.offset,
                                      .lkey = chunk->lkey,
                                      .rkey = get->rkey,
                                      .work = &chunk->work};
    unsigned posted;

    chunk->get = get;
    chunk->work.completed = chunk_completed;
    return rbuf_fab_post_list(get->peer->queue[RBUF_BULK], &read, 1, &posted);
}

static void chunk_posted(struct rbuf_get *get, const struct rbuf_tx_chunk *chunk)
{
    struct rbuf_peer *peer = get->peer;

    peer->in_flight++;
    peer->onesided.reads++;
    rbuf_copies_posted(&peer->onesided.copied_gets, &get->copy, chunk->shape.bytes);
    if (!rbuf_cut_next(schedule_of(get), RBUF_CUT_GET, get->bytes, &get->next)) {
        become(get, RBUF_GET_LANDING);
    }
}

/* What keeps a get where it is. */
enum get_progress {
    GET_MOVED, /* nothing: a chunk is asked for */
    GET_BLOCKED,
    GET_OUT_OF_STAGING,
    GET_FINISHED
};

/* Reads the next chunk, if it may be read now. */
static enum get_progress ask(struct rbuf_get *get)
{
    struct rbuf_peer *peer = get->peer;
    struct rbuf_tx_chunk *chunk;

    if (!window_open(get) || !rbuf_fab_has_room(peer->queue[RBUF_BULK], true)) {
        return GET_BLOCKED;
    }
    chunk = rbuf_tx_chunk_take(peer, schedule_of(get), &get->next);
    if (chunk == NULL) {
        peer->core->stats.staging_waits++;
        return GET_OUT_OF_STAGING;
    }
    if (!rbuf_peer_posted(peer, post(get, chunk))) {
        rbuf_tx_chunk_free(peer->core, chunk);
        return GET_BLOCKED;
    }
    chunk_posted(get, chunk);
    return GET_MOVED;
}

/* ---- copying ---- */

/* Copies some of the oldest chunk; true if all of it is copied. */
static bool copy_some(struct rbuf_get *get, struct rbuf_tx_chunk *chunk, uint64_t *budget)
{
    const uint64_t left = chunk->shape.bytes - chunk->filled;
    const uint32_t bytes = (uint32_t) (left < *budget ? left : *budget);

    rbuf_copy(get->target + chunk->shape.offset + chunk->filled, chunk->data + chunk->filled,
              bytes);
    chunk->filled += bytes;
    *budget -= bytes;
    return chunk->filled == chunk->shape.bytes;
}

/* Copies what has arrived. */
static void copy_out(struct rbuf_get *get, uint64_t *budget)
{
    struct rbuf_tx_chunk *chunk;

    while (*budget > 0 && (chunk = STAILQ_FIRST(&get->landed)) != NULL &&
           copy_some(get, chunk, budget)) {
        STAILQ_REMOVE_HEAD(&get->landed, link);
        get->copy.chunks--;
        give_back(chunk);
    }
}

/* Copies and reads as far as it goes, into new staging only if `may_stage`. A get whose peer fails
 * here is finished by the failing. `done` counts the reads. */
static enum get_progress advance(struct rbuf_get *get, bool may_stage, uint64_t *budget, int *done)
{
    enum get_progress progress = GET_MOVED;

    copy_out(get, budget);
    while (may_stage && progress == GET_MOVED && get->state == RBUF_GET_ASKING) {
        progress = ask(get);
        *done += progress == GET_MOVED;
    }
    return get->state == RBUF_GET_LANDING && get->copy.chunks == 0 ? GET_FINISHED : progress;
}

static struct rbuf_get *get_of(struct rbuf_copy *copy)
{
    return (struct rbuf_get *) (void *) ((char *) copy - offsetof(struct rbuf_get, copy));
}

static void begin(struct rbuf_peer *peer, struct rbuf_get *get)
{
    become(get, RBUF_GET_ASKING);
    TAILQ_INSERT_TAIL(&peer->onesided.gets, get, link);
}

/* A get is over: the one that waits the longest has its place. */
static void leave(struct rbuf_peer *peer, struct rbuf_get *get)
{
    struct rbuf_copy *next = rbuf_copies_end(&peer->onesided.copied_gets);

    TAILQ_REMOVE(&peer->onesided.gets, get, link);
    if (next != NULL) {
        begin(peer, get_of(next));
    }
}

void rbuf_get_open(struct rbuf_peer *peer)
{
    TAILQ_INIT(&peer->onesided.gets);
    rbuf_copies_open(&peer->onesided.copied_gets);
}

bool rbuf_get_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->onesided.gets);
}

int rbuf_get_progress(struct rbuf_peer *peer, uint64_t *budget)
{
    const uint64_t before = *budget;
    struct rbuf_get *get, *next;
    bool may_stage = true;
    int done = 0;

    for (get = TAILQ_FIRST(&peer->onesided.gets); get != NULL; get = next) {
        const enum get_progress progress = advance(get, may_stage, budget, &done);

        if (rbuf_peer_is_lost(peer)) {
            return done + 1; /* core ends every get of it */
        }
        next = TAILQ_NEXT(get, link);
        if (progress == GET_FINISHED) {
            leave(peer, get);
            finish(get, 0);
            done++;
        } else if (progress == GET_OUT_OF_STAGING) {
            may_stage = false; /* those behind it only copy what they have */
        }
    }
    return done + (*budget < before);
}

/* ---- begin and end ---- */

void rbuf_get_start(struct rbuf_peer *peer, struct rbuf_get *get)
{
    uint64_t budget = 0; /* nothing of it has arrived */

    get->peer = peer;
    get->state = RBUF_GET_WAITING;
    STAILQ_INIT(&get->landed);
    peer->core->stats.copied_gets++;
    if (peer->state == RBUF_PEER_FAILED) {
        finish(get, -ECONNRESET);
        return;
    }
    rbuf_cut_first(schedule_of(get), RBUF_CUT_GET, get->bytes, &get->next);
    if (!rbuf_copies_begin(&peer->onesided.copied_gets, &get->copy)) {
        return;
    }
    begin(peer, get);
    rbuf_peer_wake(peer);
    if (peer->state == RBUF_PEER_CONNECTED && TAILQ_FIRST(&peer->onesided.gets) == get) {
        (void) rbuf_get_progress(peer, &budget);
    }
}

void rbuf_get_fail(struct rbuf_peer *peer, int status)
{
    struct rbuf_tx_chunk *chunk;
    struct rbuf_get *get;

    while ((get = TAILQ_FIRST(&peer->onesided.gets)) != NULL) {
        leave(peer, get);
        while ((chunk = STAILQ_FIRST(&get->landed)) != NULL) {
            STAILQ_REMOVE_HEAD(&get->landed, link);
            give_back(chunk);
        }
        finish(get, status);
    }
}
