/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The loss of a peer: what the users on both sides hear of it, and which messages end so (see
 * world.h).
 */
#include "world.h"

#include <errno.h>
#include <stdlib.h>

#define OTHER_SIDE_NS 100000u /* until the other node hears of a failure that it does not see */

/* A message whose sender has nothing more to expect, and whose peer is lost, is over. */
void world_settle_failed(struct world_message *message)
{
    if (message->pending == 0) {
        world_close_message(message, WORLD_FAILED);
    }
}

/* What a node hears of the loss of another: the receiver's side of its messages ends. */
static void peer_failed(struct world_node *node, struct world_link *link, unsigned other)
{
    struct world_message *message;

    link->failed = true;
    link->packing = NULL;
    for (message = node->world->messages; message != NULL; message = message->next) {
        if (message->from == other && message->to == node->index && message->grant != NULL) {
            rbuf_grant_close(message->grant);
            message->grant = NULL;
        }
        if ((message->from == other && message->to == node->index) ||
            (message->from == node->index && message->to == other)) {
            world_settle_failed(message);
        }
    }
}

struct late_news {
    struct world_node *node;
    unsigned other;
};

static void tell_other_side(void *subject)
{
    struct late_news *news = subject;

    rbuf_peer_fail(news->node->links[news->other].peer, -ECONNRESET);
    world_wake(news->node);
    free(news);
}

void world_lose(struct world_node *node, unsigned other, int status)
{
    rbuf_peer_fail(node->links[other].peer, status);
}

/* The peer is lost to core: both queue pairs go, and the other side hears of it in the end. */
void world_take_failure(struct world_node *node, struct rbuf_peer *peer)
{
    struct world_link *link = peer->user;
    unsigned other = (unsigned) (link - node->links);
    struct late_news *news;

    if (link->failed) {
        node->world->corrupt++; /* RBUF_EVENT_FAILED comes once a peer */
        return;
    }
    for (unsigned id = 0; id < RBUF_CHANNELS; id++) {
        sim_kill(&link->end[id]);
    }
    peer_failed(node, link, other);
    news = sim_allocate(sizeof(*news));
    *news = (struct late_news){.node = &node->world->nodes[other], .other = node->index};
    sim_at(&node->world->net.clock, world_now(node->world) + OTHER_SIDE_NS, tell_other_side, news);
}
