/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/grant.h"
#include "core/polling_set.h"
#include "core/rma.h"
#include "core/sender.h"

#define FIRST_PEERS 16u

int rbuf_core_open(struct rbuf_core *core, const struct rbuf_core_options *options,
                   const struct rbuf_region *send_region, const struct rbuf_region *receive_region)
{
    uint32_t block_bytes = options->schedule.block_bytes;
    int status;

    *core = (struct rbuf_core){.options = *options};
    TAILQ_INIT(&core->busy);
    TAILQ_INIT(&core->grants_free);
    TAILQ_INIT(&core->receiving);
    TAILQ_INIT(&core->deferred);
    SLIST_INIT(&core->chunks_free);
    status = rbuf_arena_open(&core->send_arena, send_region, block_bytes);
    if (status != 0) {
        return status;
    }
    status = rbuf_arena_open(&core->receive_arena, receive_region, block_bytes);
    if (status != 0) {
        goto close_send_arena;
    }
    rbuf_early_in_grown(core);
    status = rbuf_events_open(&core->events);
    if (status != 0) {
        goto close_receive_arena;
    }
    core->options.window[RBUF_FLOW_RING] = (uint16_t) options->ring.slots;
    status = rbuf_polling_set_open(core, options->ring.slots > 0 ? options->ring.set : 0);
    if (status != 0) {
        goto close_events;
    }
    status = rbuf_bounces_open(&core->bounces, &options->bounce);
    if (status != 0) {
        goto close_polling_set;
    }
    rbuf_words_open(&core->word_writes);
    return 0;

close_polling_set:
    rbuf_polling_set_close(core);
close_events:
    rbuf_events_close(&core->events);
close_receive_arena:
    rbuf_arena_close(&core->receive_arena);
close_send_arena:
    rbuf_arena_close(&core->send_arena);
    return status;
}

void rbuf_core_close(struct rbuf_core *core)
{
    struct rbuf_event event;

    while (rbuf_events_pop(&core->events, &event)) {
        if (event.kind == RBUF_EVENT_DELIVER && event.delivery.origin == RBUF_ORIGIN_HELD) {
            rbuf_held_free(&event.delivery);
        }
    }
    rbuf_sender_close(core);
    rbuf_grants_close(core);
    rbuf_bounces_close(&core->bounces);
    rbuf_polling_set_close(core);
    rbuf_events_close(&core->events);
    rbuf_arena_close(&core->receive_arena);
    rbuf_arena_close(&core->send_arena);
    free(core->peers);
}

/* A free place in the table of peers, which grows as needed; UINT32_MAX without memory. */
static uint32_t peer_index(struct rbuf_core *core)
{
    uint32_t count = core->peer_count == 0 ? FIRST_PEERS : 2 * core->peer_count;
    uint32_t index = core->peer_count;
    struct rbuf_peer **table;

    for (uint32_t i = core->peer_first_free; i < core->peer_count; i++) {
        if (core->peers[i] == NULL) {
            core->peer_first_free = i + 1;
            return i;
        }
    }
    table = realloc(core->peers, count * sizeof(*table));
    if (table == NULL) {
        return UINT32_MAX;
    }
    memset(table + core->peer_count, 0, (count - core->peer_count) * sizeof(*table));
    core->peers = table;
    core->peer_count = count;
    core->peer_first_free = index + 1;
    return index;
}

int rbuf_peer_add(struct rbuf_core *core, struct rbuf_mailbox *mailbox, void *user,
                  struct rbuf_peer **peer)
{
    struct rbuf_peer *added = calloc(1, sizeof(*added));
    uint32_t index;

    if (added == NULL) {
        return -ENOMEM;
    }
    index = peer_index(core);
    if (index == UINT32_MAX) {
        free(added);
        return -ENOMEM;
    }
    added->core = core;
    added->user = user;
    added->index = index;
    added->mailbox = mailbox;
    added->probe.kind = RBUF_WORK_PROBE;
    rbuf_credit_open(added);
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        TAILQ_INIT(&added->queued[id]);
    }
    TAILQ_INIT(&added->puts);
    TAILQ_INIT(&added->ungranted);
    TAILQ_INIT(&added->rmas);
    SLIST_INIT(&added->unexpected_rtrs);
    core->peers[index] = added;
    *peer = added;
    return 0;
}

void rbuf_peer_connected(struct rbuf_peer *peer, const struct rbuf_peer_link *link)
{
    if (peer->state != RBUF_PEER_UNCONNECTED) {
        return;
    }
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        peer->queue[id] = link->queue[id];
        peer->credit[id].window = link->window[id];
        if (link->lent[id] != 0) {
            rbuf_credit_lend(&peer->credit[id], link->lent[id]);
        }
    }
    if (link->mailbox != NULL) {
        peer->mailbox = link->mailbox;
    }
    peer->their_mailbox = link->their_mailbox;
    peer->their_mailbox_rkey = link->their_mailbox_rkey;
    peer->their_stage_bytes = link->their_stage_bytes;
    peer->their_index = link->their_index;
    peer->unordered = link->unordered;
    peer->counts.mine[RBUF_COUNTED] =
        link->words_overtake ? RBUF_COUNTED_UNORDERED : RBUF_COUNTED_IN_ORDER;
    peer->state = RBUF_PEER_CONNECTED;
    rbuf_peer_wake(peer);
}

void rbuf_peer_fail(struct rbuf_peer *peer, int status)
{
    if (peer->state == RBUF_PEER_FAILED) {
        return;
    }
    peer->state = RBUF_PEER_FAILED;
    rbuf_polling_set_fail(peer);
    rbuf_ring_out_fail(peer);
    rbuf_channel_fail(peer, status);
    rbuf_rma_fail(peer, status);
    rbuf_sender_fail(peer, status);
    rbuf_core_raise(peer->core, RBUF_EVENT_FAILED, peer, NULL, status);
}

static bool is_idle(const struct rbuf_peer *peer)
{
    return rbuf_channel_idle(peer) && rbuf_sender_idle(peer) && TAILQ_EMPTY(&peer->rmas) &&
           peer->words.acks_due == 0 && !rbuf_early_in_owed(peer);
}

bool rbuf_peer_drained(const struct rbuf_peer *peer)
{
    bool queued =
        peer->state != RBUF_PEER_FAILED && (!is_idle(peer) || !TAILQ_EMPTY(&peer->ungranted));

    return !queued && peer->in_flight == 0;
}

/* True if something of the user waits to be sent. */
static bool has_users(const struct rbuf_peer *peer)
{
    return !TAILQ_EMPTY(&peer->queued[RBUF_CONTROL]) || !TAILQ_EMPTY(&peer->queued[RBUF_BULK]) ||
           !TAILQ_EMPTY(&peer->puts) || !TAILQ_EMPTY(&peer->ungranted) || !TAILQ_EMPTY(&peer->rmas);
}

bool rbuf_peer_unused(const struct rbuf_peer *peer)
{
    const struct rbuf_core *core = peer->core;

    if (peer->state == RBUF_PEER_UNCONNECTED || has_users(peer) || peer->in_flight > 0) {
        return false;
    }
    for (uint32_t i = 0; i < core->grant_count; i++) {
        if (core->grants[i]->peer == peer && core->grants[i]->state != RBUF_GRANT_FREE) {
            return false;
        }
    }
    return true;
}

/* An empty write, which the peer's adapter answers whatever its software does. */
static bool probe(struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    enum rbuf_fab_status status;

    if (peer->probe_state == RBUF_PROBE_POSTED) {
        return false;
    }
    status = rbuf_fab_write(peer->queue[id], NULL, 0, 0, peer->their_mailbox,
                            peer->their_mailbox_rkey, &peer->probe);
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_fail(peer, -ECONNRESET);
    }
    if (status != RBUF_FAB_OK) {
        return false;
    }
    peer->probe_state = RBUF_PROBE_POSTED;
    peer->in_flight++;
    peer->core->stats.probes++;
    return true;
}

bool rbuf_peer_probe(struct rbuf_peer *peer)
{
    return peer->state == RBUF_PEER_CONNECTED && probe(peer, RBUF_CONTROL);
}

bool rbuf_peer_flush(struct rbuf_peer *peer)
{
    if (!rbuf_peer_drained(peer)) {
        return false;
    }
    for (int id = 0; id < RBUF_CHANNELS && peer->state == RBUF_PEER_CONNECTED; id++) {
        if (rbuf_fab_outstanding(peer->queue[id]) > 0) {
            (void) probe(peer, (enum rbuf_channel_id) id);
            return false;
        }
    }
    return true;
}

void rbuf_peer_remove(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;

    rbuf_sender_fail(peer, -ECONNRESET);
    for (uint32_t i = 0; i < core->grant_count; i++) {
        if (core->grants[i]->peer == peer) {
            rbuf_grant_close(core->grants[i]);
        }
    }
    rbuf_early_in_remove(peer);
    rbuf_early_out_remove(peer);
    rbuf_ring_out_remove(peer);
    rbuf_polling_set_remove(peer);
    if (peer->busy) { /* closing grants may have woken it */
        TAILQ_REMOVE(&core->busy, peer, busy_link);
    }
    core->peers[peer->index] = NULL;
    if (peer->index < core->peer_first_free) {
        core->peer_first_free = peer->index;
    }
    free(peer->words.acks);
    free(peer);
}

static int progress_peer(struct rbuf_peer *peer, uint64_t *budget)
{
    int done = rbuf_receiver_write_acks(peer);

    done += rbuf_early_in_report(peer);
    done += rbuf_channel_progress(peer);
    done += rbuf_rma_progress(peer);
    done += rbuf_sender_progress(peer, budget);
    return done;
}

/* Walks the busy peers once, starting where the last walk left off: the list rotates. */
static int progress_busy(struct rbuf_core *core, uint64_t *budget)
{
    struct rbuf_peer *last = TAILQ_LAST(&core->busy, rbuf_peer_list);
    struct rbuf_peer *peer = TAILQ_FIRST(&core->busy);
    int done = 0;

    while (peer != NULL) {
        struct rbuf_peer *next = peer == last ? NULL : TAILQ_NEXT(peer, busy_link);
        bool spent = false;

        if (peer->state == RBUF_PEER_CONNECTED) {
            done += progress_peer(peer, budget);
            spent = *budget == 0;
        }
        if (peer->state != RBUF_PEER_CONNECTED || is_idle(peer)) {
            TAILQ_REMOVE(&core->busy, peer, busy_link);
            peer->busy = false;
        } else if (spent) {
            TAILQ_REMOVE(&core->busy, peer, busy_link);
            TAILQ_INSERT_TAIL(&core->busy, peer, busy_link);
        }
        peer = next;
    }
    return done;
}

/* Probes one peer at a time, each once an interval: a peer that is gone ends in a failed probe. One
 * is due. */
static __attribute__((noinline)) int progress_probes(struct rbuf_core *core)
{
    struct rbuf_peer *peer;

    if (core->options.probe_interval_ns == 0 || core->peer_count == 0) {
        return 0;
    }
    core->probe_cursor = (core->probe_cursor + 1) % core->peer_count;
    core->probe_due_ns = core->now_ns + core->options.probe_interval_ns / core->peer_count;
    peer = core->peers[core->probe_cursor];
    return peer != NULL && rbuf_peer_probe(peer);
}

/* There is something to receive, to post, or to grant. Out of line, as most calls find nothing. */
static __attribute__((noinline)) int progress_work(struct rbuf_core *core)
{
    uint64_t receive_budget = core->options.quantum;
    uint64_t send_budget = core->options.quantum;
    int done = 0;

    if (!TAILQ_EMPTY(&core->receiving)) {
        done += rbuf_receiver_progress(core, &receive_budget);
    }
    if (!TAILQ_EMPTY(&core->busy)) {
        done += progress_busy(core, &send_budget);
    }
    if (!TAILQ_EMPTY(&core->deferred)) {
        done += rbuf_grants_progress(core);
    }
    core->copied += 2 * (uint64_t) core->options.quantum - receive_budget - send_budget;
    return done;
}

int rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns)
{
    int done = 0;

    core->now_ns = now_ns;
    if (!TAILQ_EMPTY(&core->receiving) || !TAILQ_EMPTY(&core->busy) ||
        !TAILQ_EMPTY(&core->deferred)) {
        done = progress_work(core);
    }
    return now_ns >= core->probe_due_ns ? done + progress_probes(core) : done;
}

void rbuf_core_completed(struct rbuf_core *core, struct rbuf_work *work, int status)
{
    struct rbuf_peer *peer = NULL;

    switch (work->kind) {
    case RBUF_WORK_MARKER:
        return;
    case RBUF_WORK_CHUNK:
        peer = rbuf_sender_chunk_completed(core, work, status);
        break;
    case RBUF_WORK_SEND: {
        struct rbuf_am *am =
            (struct rbuf_am *) (void *) ((char *) work - offsetof(struct rbuf_am, work));

        peer = am->peer;
        rbuf_channel_sent(am, status);
        break;
    }
    case RBUF_WORK_RMA: {
        struct rbuf_rma *rma =
            (struct rbuf_rma *) (void *) ((char *) work - offsetof(struct rbuf_rma, work));

        peer = rma->peer;
        rbuf_rma_completed(rma, status);
        break;
    }
    case RBUF_WORK_PROBE:
        peer = (struct rbuf_peer *) (void *) ((char *) work - offsetof(struct rbuf_peer, probe));
        peer->probe_state = RBUF_PROBE_IDLE;
        break;
    case RBUF_WORK_WORD:
        peer = rbuf_words_written(work);
        break;
    }
    peer->in_flight--;
    if (status != 0) {
        rbuf_peer_fail(peer, status);
    }
}
