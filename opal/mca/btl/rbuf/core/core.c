/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Core as a whole: opened and closed, one round of progress over all that has work, and where work
 * that came back belongs. The roof: it calls every other file of core, and none calls it.
 *
 * Progress goes round the busy peers, so that one with much to do does not hold up the others: each
 * round copies at most a quantum in each direction, and a quantum for gets.
 */
#include "core/eager/ring_in.h"
#include "core/rendezvous/receiver.h"
#include "core/core.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/fill.h"
#include "core/eager/channel.h"
#include "core/onesided/get.h"
#include "core/rendezvous/grant.h"
#include "core/eager/polling_set.h"
#include "core/onesided/rma.h"
#include "core/rendezvous/sender.h"
#include "core/stage/tx_chunk.h"

#define FILL_AT_ONCE 8u /* blocks, a microsecond or two */

int rbuf_core_open(struct rbuf_core *core, const struct rbuf_core_options *options,
                   const struct rbuf_region *send_region, const struct rbuf_region *receive_region)
{
    uint32_t block_bytes = options->schedule.block_bytes;

    *core = (struct rbuf_core){
        .options = *options, .take = rbuf_inbox_take, .fill = rbuf_fill_value(options->random)};
    TAILQ_INIT(&core->busy);
    rbuf_grants_open(core);
    rbuf_tx_chunks_open(core);
    core->options.window[RBUF_FLOW_RING] = (uint16_t) options->ring.slots;
    if (rbuf_arena_open(&core->send_arena, send_region, block_bytes) != 0 ||
        rbuf_arena_open(&core->receive_arena, receive_region, block_bytes) != 0 ||
        rbuf_events_open(&core->events) != 0 ||
        rbuf_polling_set_open(core, options->ring.slots > 0 ? options->ring.set : 0) != 0) {
        rbuf_core_close(core);
        return -ENOMEM;
    }
    rbuf_bounces_open(&core->bounces, &options->bounce);
    rbuf_words_open(core);
    rbuf_lease_grown(core);
    return 0;
}

void rbuf_core_close(struct rbuf_core *core)
{
    struct rbuf_event event;

    while (rbuf_events_pop(&core->events, &event)) {
        if (event.kind == RBUF_EVENT_DELIVER && event.delivery.origin == RBUF_ORIGIN_HELD) {
            rbuf_held_free(&event.delivery);
        }
    }
    rbuf_tx_chunks_close(core);
    rbuf_grants_close(core);
    rbuf_polling_set_close(core);
    rbuf_events_close(&core->events);
    rbuf_arena_close(&core->receive_arena);
    rbuf_arena_close(&core->send_arena);
    free(core->peers);
}

/* Who waits for blocks to send from tries again in every progress. */
void rbuf_core_grow(struct rbuf_core *core, struct rbuf_arena *arena, uint32_t lkey, uint32_t rkey)
{
    rbuf_arena_grow(arena, lkey, rkey);
    core->stats.staging_grown++;
    if (arena == &core->receive_arena) {
        rbuf_lease_grown(core);
        rbuf_grants_grown(core);
    }
}

/* Bytes that may still be copied in this round. */
struct budget {
    uint64_t send;
    uint64_t get;
};

static int progress_peer(struct rbuf_peer *peer, struct budget *budget)
{
    int done = rbuf_acks_write(peer);

    done += rbuf_early_in_report(peer);
    done += rbuf_channel_progress(peer);
    done += rbuf_rma_progress(peer);
    done += rbuf_get_progress(peer, &budget->get);
    done += rbuf_sender_progress(peer, &budget->send);
    return done;
}

/* Walks the busy peers once, starting where the last walk left off: the list rotates. */
static int progress_busy(struct rbuf_core *core, struct budget *budget)
{
    struct rbuf_peer *last = TAILQ_LAST(&core->busy, rbuf_peer_list);
    struct rbuf_peer *peer = TAILQ_FIRST(&core->busy);
    int done = 0;

    while (peer != NULL) {
        struct rbuf_peer *next = peer == last ? NULL : TAILQ_NEXT(peer, busy_link);
        bool spent = false;

        if (peer->state == RBUF_PEER_CONNECTED) {
            done += progress_peer(peer, budget);
            spent = budget->send == 0 || budget->get == 0;
        }
        if (peer->state == RBUF_PEER_BROKEN) {
            rbuf_peer_fail(peer, peer->broken_status);
            done++;
        }
        if (peer->state != RBUF_PEER_CONNECTED || rbuf_peer_is_idle(peer)) {
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

/* Probes one peer at a time, each once an interval: a peer that is gone ends in a failed probe. */
static int progress_probes(struct rbuf_core *core)
{
    struct rbuf_peer *peer;

    if (core->options.probe_interval_ns == 0 || core->peer_count == 0 ||
        core->now_ns < core->probe_due_ns) {
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
    struct budget budget = {core->options.quantum, core->options.quantum};
    int done = 0;

    if (rbuf_grants_receive(core)) {
        done += rbuf_receiver_progress(core, &receive_budget);
    }
    if (!TAILQ_EMPTY(&core->busy)) {
        done += progress_busy(core, &budget);
    }
    if (rbuf_grants_wait(core)) {
        done += rbuf_grants_progress(core);
    }
    core->copied += 2 * (uint64_t) core->options.quantum - receive_budget - budget.send;
    return done;
}

/* What need not be done at once. Memory is filled while there is nothing else to do: what is not
 * filled when it is wanted is filled then. */
static __attribute__((noinline)) int progress_chores(struct rbuf_core *core, bool idle)
{
    struct rbuf_arena *arena = &core->receive_arena;
    const bool more = arena->fill_first < arena->fill_end &&
                      (!idle || rbuf_arena_fill_some(arena, FILL_AT_ONCE, core->fill));
    const bool late = !rbuf_events_catch_up(&core->events);
    const int done = progress_probes(core);

    core->chores_due_ns = more || late                          ? 0
                          : core->options.probe_interval_ns > 0 ? core->probe_due_ns
                                                                : UINT64_MAX;
    return done;
}

int rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns)
{
    int done = 0;

    core->now_ns = now_ns;
    if (rbuf_grants_receive(core) || !TAILQ_EMPTY(&core->busy) || rbuf_grants_wait(core)) {
        done = progress_work(core);
    }
    return now_ns >= core->chores_due_ns ? done + progress_chores(core, done == 0) : done;
}

void rbuf_core_completed(struct rbuf_work *work, int status)
{
    struct rbuf_peer *peer = work->peer;

    if (work->completed == NULL) {
        return;
    }
    if (status != 0) {
        rbuf_peer_fail(peer, status); /* first, as it says itself */
    }
    work->completed(work, status);
    peer->in_flight--;
}
