/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What must hold at the end of a run: all staging is free, nothing is open or under way, and
 * nothing went wrong meanwhile.
 */
#include "inspect/eager.h"
#include "inspect/link.h"
#include "inspect/rendezvous.h"
#include "world.h"

static const char *peer_leftover(const struct world_node *node, const struct world_link *link)
{
    const struct world_node *other = link->end[0].peer->nic->user;
    const struct rbuf_peer *peer = link->peer;

    if (!rbuf_peer_drained(peer)) {
        return "a peer is not drained";
    }
    if (inspect_words_taken(peer) != 0) {
        return "an acknowledgement word is still taken";
    }
    if (inspect_credits_fault(peer) != NULL) {
        return "credits are counted wrong, or more messages are out than there are credits";
    }
    if (peer->state == RBUF_PEER_CONNECTED &&
        inspect_slot_leaked(peer, other->links[node->index].peer)) {
        return "a slot of a window is still taken";
    }
    if (peer->state == RBUF_PEER_CONNECTED && inspect_early_under_way(peer)) {
        return "early data is still under way, or waits for its put";
    }
    if (!inspect_ring_is_idle(peer)) {
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
    if (rbuf_grants_receive(core) || rbuf_grants_wait(core)) {
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
