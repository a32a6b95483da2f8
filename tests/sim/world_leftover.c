/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What must hold at the end of a run: all staging is free, nothing is open or under way, and
 * nothing went wrong meanwhile.
 */
#include "world.h"

/* True if a slot is not free, and its data was not dropped either. */
static bool slot_taken(const struct world_node *node, const struct world_link *link)
{
    const struct rbuf_early_in *in = link->peer->rendezvous.early_in;
    const struct world_node *other = link->end[0].peer->nic->user;
    const struct rbuf_early_out *out = other->links[node->index].peer->rendezvous.early_out;

    for (uint32_t i = 0; in != NULL && i < RBUF_EARLY_SLOTS; i++) {
        if (in->slot[i].state != RBUF_EARLY_SLOT_FREE && out->slot[i].state != RBUF_EARLY_DROPPED) {
            return true;
        }
    }
    return false;
}

static bool early_under_way(const struct rbuf_early_out *out)
{
    if (out == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (out->slot[i].state == RBUF_EARLY_WRITING || out->slot[i].state == RBUF_EARLY_WRITTEN ||
            out->slot[i].in_flight != 0) {
            return true;
        }
    }
    return out->writing != 0 || out->in_flight != 0 || out->state == RBUF_EARLY_OUT_RETURNING;
}

static const char *peer_leftover(const struct world_node *node, const struct world_link *link)
{
    const struct rbuf_peer *peer = link->peer;

    if (!rbuf_peer_drained(peer)) {
        return "a peer is not drained";
    }
    if (peer->rendezvous.slots_taken != 0) {
        return "an acknowledgement word is still taken";
    }
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        if (peer->link.credit[flow].sent - peer->link.credit[flow].taken >
            peer->link.credit[flow].window) {
            return "more messages are out than there are credits";
        }
    }
    if (peer->state == RBUF_PEER_CONNECTED && slot_taken(node, link)) {
        return "a slot of a window is still taken";
    }
    if (peer->state == RBUF_PEER_CONNECTED && early_under_way(peer->rendezvous.early_out)) {
        return "early data is still under way, or waits for its put";
    }
    if (peer->eager.ring_in != NULL && peer->eager.ring_in->freed != 0) {
        return "a slot of a ring is still taken";
    }
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        if (!link->failed &&
            link->end[id].queue.posted - link->end[id].queue.retired > node->world->options.depth) {
            return "a send queue is overfull";
        }
    }
    return NULL;
}

static const char *node_leftover(const struct world_node *node)
{
    const struct rbuf_core *core = &node->core;

    if (core->send_arena.free_blocks != core->send_arena.blocks) {
        return "send staging is still taken";
    }
    if (!world_receive_staging_free(core)) {
        return "receive staging is still taken";
    }
    if (!TAILQ_EMPTY(&core->rendezvous.receiving) || !TAILQ_EMPTY(&core->rendezvous.deferred)) {
        return "a grant is still open";
    }
    if (node->ams != 0) {
        return "an active message was not given back";
    }
    if (core->stats.messages_sent + core->stats.own_sent !=
            core->stats.ring_sent + core->stats.sends[0] + core->stats.sends[1] &&
        node->world->failed == 0) {
        return "messages went by neither way, or by two";
    }
    for (unsigned other = 0; other < node->world->options.nodes; other++) {
        const char *left = other == node->index ? NULL : peer_leftover(node, &node->links[other]);

        if (left != NULL) {
            return left;
        }
    }
    return NULL;
}

const char *world_leftover(struct world *world)
{
    const struct world_message *message;

    for (unsigned i = 0; i < world->options.nodes; i++) {
        const char *left = node_leftover(&world->nodes[i]);

        if (left != NULL) {
            return left;
        }
    }
    for (message = world->messages; message != NULL; message = message->next) {
        if (message->pending != 0) {
            return "an operation did not end in an event";
        }
    }
    if (world->net.rnr != 0) {
        return "a message found no receive buffer";
    }
    if (world->net.violations != 0) {
        return "memory was accessed that no key covers, or more was sent inline than fits";
    }
    if (world->overwrites != 0) {
        return "a staging buffer was overwritten before it was free";
    }
    return world->corrupt != 0 ? "a message arrived with wrong bytes or out of order" : NULL;
}
