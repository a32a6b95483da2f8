/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a message of the world is made of and leaves behind: the active messages that carry it or
 * its parts, each with memory of its own, and the buffers of its two ends.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Where a message's end is seen: what is done in place ends at who started it. */
static struct world_node *ends_at(const struct world_message *message)
{
    const bool at_origin = message->kind == WORLD_WRITE || message->kind == WORLD_READ ||
                           message->kind == WORLD_ADD || message->kind == WORLD_GET ||
                           message->kind == WORLD_COPIED_PUT;

    return &message->world->nodes[at_origin ? message->from : message->to];
}

void world_close_message(struct world_message *message, enum world_message_state state)
{
    struct world *world = message->world;

    if (message->state != WORLD_OPEN) {
        return;
    }
    message->state = state;
    message->arrived_ns = sim_now(&ends_at(message)->nic);
    world->open--;
    world->corrupt += state == WORLD_CORRUPT;
    world->failed += state == WORLD_FAILED;
}

void world_give_back(struct world_message *message, unsigned char **memory, uint32_t *key)
{
    if (*key != 0) {
        sim_deregister(&message->world->net, *key);
    }
    free(*memory);
    *memory = NULL;
    *key = 0;
}

void world_am_free(struct world_am *am)
{
    if (am->gathered) {
        world_give_back(am->message, &am->message->source, &am->message->source_key);
    }
    am->node->ams--;
    sim_deregister(&am->node->world->net, am->key);
    free(am->memory);
    free(am);
}

struct world_am *world_am_make(struct world_node *node, struct world_message *message,
                               enum world_tag tag, const void *first, size_t first_bytes,
                               const void *second, size_t second_bytes)
{
    struct world_am *am = sim_allocate(sizeof(*am));
    size_t header = sizeof(struct rbuf_message_header);

    am->node = node;
    am->message = message;
    am->memory = sim_allocate(header + first_bytes + second_bytes);
    am->key = sim_register(&node->nic, am->memory, header + first_bytes + second_bytes);
    memcpy(am->memory + header, first, first_bytes);
    if (second_bytes > 0) {
        memcpy(am->memory + header + first_bytes, second, second_bytes);
    }
    am->am = (struct rbuf_am){.header = (struct rbuf_message_header *) (void *) am->memory,
                              .lkey = am->key,
                              .bytes = (uint32_t) (first_bytes + second_bytes),
                              .tag = (uint8_t) tag};
    node->ams++;
    return am;
}

void world_am_sent(struct world_am *am, bool under_way)
{
    struct world_node *node = am->node;

    if (!under_way) {
        world_am_free(am);
    }
    world_wake(node);
}

static enum rbuf_am_state send_as(struct rbuf_peer *peer, struct rbuf_am *am)
{
    switch ((enum world_tag) am->tag) {
    case TAG_RENDEZVOUS:
        return rbuf_am_send_as(peer, am, RBUF_MESSAGE_RTS, RBUF_RTS_PLAIN);
    case TAG_ANSWER:
    case TAG_FIN:
        return rbuf_am_send_as(peer, am, RBUF_MESSAGE_ANSWER, am->argument);
    case TAG_EAGER:
    case TAG_PACKED:
        break;
    }
    return rbuf_am_send(peer, am);
}

void world_am_send(struct world_am *am, unsigned to, enum rbuf_channel_id channel,
                   uint64_t argument)
{
    am->am.channel = (uint8_t) channel;
    am->am.argument = argument;
    world_am_sent(am, send_as(am->node->links[to].peer, &am->am) != RBUF_AM_IDLE);
}
