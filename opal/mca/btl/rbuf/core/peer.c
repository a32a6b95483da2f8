/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of peers, and their way through the states of core/state/state.h. Who finds a peer lost
 * only marks it BROKEN; here what is queued for it ends, in the order in which its user began it.
 */
#include "core/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/eager/channel.h"
#include "core/onesided/copied_put.h"
#include "core/onesided/get.h"
#include "core/rendezvous/grant.h"
#include "core/onesided/rma.h"
#include "core/rendezvous/sender.h"
#include "core/eager/polling_set.h"
#include "core/eager/ring.h"
#include "core/link/credit.h"
#include "core/link/words.h"
#include "core/rendezvous/early.h"
#include "core/rendezvous/lease.h"

#define FIRST_PEERS 16u /* places of the first table */

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

static void probed(struct rbuf_work *work, int status)
{
    (void) status;
    work->peer->probe_state = RBUF_PROBE_IDLE;
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
    added->probe = (struct rbuf_work){.completed = probed, .peer = added};
    rbuf_credit_open(added);
    rbuf_channel_open(added);
    rbuf_sender_open(added);
    rbuf_get_open(added);
    rbuf_copied_put_open(added);
    rbuf_rma_open(added);
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
        rbuf_credit_connected(peer, (enum rbuf_flow) id, link->window[id], link->granted[id]);
    }
    if (link->mailbox != NULL) {
        peer->mailbox = link->mailbox;
    }
    peer->their_mailbox = link->their_mailbox;
    peer->their_mailbox_rkey = link->their_mailbox_rkey;
    peer->their_stage_bytes = link->their_stage_bytes;
    peer->their_index = link->their_index;
    peer->proof = link->proof;
    rbuf_words_connected(peer, link->words);
    rbuf_peer_become(peer, RBUF_PEER_CONNECTED);
    rbuf_peer_wake(peer);
}

/* Whatever is queued for the peer ends with an error. */
static void end_all(struct rbuf_peer *peer, int status)
{
    rbuf_peer_become(peer, RBUF_PEER_FAILED);
    rbuf_polling_set_fail(peer);
    rbuf_ring_out_fail(peer);
    rbuf_channel_fail(peer, status);
    rbuf_rma_fail(peer, status);
    rbuf_sender_fail(peer, status);
    rbuf_copied_put_fail(peer, status);
    rbuf_get_fail(peer, status);
}

void rbuf_peer_fail(struct rbuf_peer *peer, int status)
{
    if (peer->state == RBUF_PEER_FAILED) {
        return;
    }
    /* That a post failed says no more than that; a completion, if one comes by then, says why. */
    if (peer->state == RBUF_PEER_BROKEN && peer->broken_status != -ECONNRESET) {
        status = peer->broken_status;
    }
    /* First: who hears that something of his has failed may end the process, and the cause is said
     * before. */
    rbuf_core_raise(peer->core, RBUF_EVENT_FAILED, peer, NULL, &peer->failed, status);
    end_all(peer, status);
}

bool rbuf_peer_is_idle(const struct rbuf_peer *peer)
{
    return rbuf_channel_idle(peer) && rbuf_sender_idle(peer) && rbuf_get_idle(peer) &&
           rbuf_rma_idle(peer) && !rbuf_acks_owed(peer) && !rbuf_early_in_owed(peer);
}

bool rbuf_peer_drained(const struct rbuf_peer *peer)
{
    bool queued =
        peer->state != RBUF_PEER_FAILED && (!rbuf_peer_is_idle(peer) || rbuf_sender_has_puts(peer));

    return !queued && peer->state != RBUF_PEER_BROKEN && peer->in_flight == 0;
}

/* True if something of the user waits to be sent. */
static bool has_users(const struct rbuf_peer *peer)
{
    return !rbuf_channel_empty(peer) || rbuf_sender_has_puts(peer) || !rbuf_get_idle(peer) ||
           !rbuf_rma_idle(peer);
}

bool rbuf_peer_unused(const struct rbuf_peer *peer)
{
    return peer->state != RBUF_PEER_UNCONNECTED && peer->state != RBUF_PEER_BROKEN &&
           !has_users(peer) && peer->in_flight == 0 && !rbuf_grants_are_open(peer);
}

/* An empty write, which the peer's adapter answers whatever its software does. */
static bool probe(struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    if (peer->probe_state == RBUF_PROBE_POSTED ||
        !rbuf_peer_posted(peer, rbuf_fab_write(peer->queue[id], NULL, 0, 0, peer->their_mailbox,
                                               peer->their_mailbox_rkey, &peer->probe))) {
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

    if (peer->state == RBUF_PEER_BROKEN) {
        end_all(peer, peer->broken_status);
    }
    rbuf_sender_fail(peer, -ECONNRESET);
    rbuf_copied_put_fail(peer, -ECONNRESET);
    rbuf_grants_remove(peer);
    rbuf_lease_remove(peer);
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
    rbuf_words_remove(peer);
    free(peer);
}
