/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages that node 1 is made to receive from node 0 as if they had come over the network, with
 * any content.
 */
#ifndef RBUF_TEST_HOSTILE_H
#define RBUF_TEST_HOSTILE_H

#include <errno.h>

#include "early.h"

struct hostile_message {
    struct rbuf_message_header header;
    unsigned char payload[512];
};

/* Core's answer to a message, as if it had been received by node 1. */
static inline bool hostile_receive_by(struct world *world, enum rbuf_channel_id channel,
                                      struct hostile_message *message, uint32_t bytes)
{
    struct rbuf_core *core = &world->nodes[1].core;

    if (message->header.peer < core->peer_count && core->peers[message->header.peer] != NULL) {
        message->header.sequence = core->peers[message->header.peer]->sequence_in;
    }
    return rbuf_core_received(core, channel, NULL, message, bytes);
}

static inline bool hostile_receive(struct world *world, struct hostile_message *message,
                                   uint32_t bytes)
{
    return hostile_receive_by(world, RBUF_CONTROL, message, bytes);
}

static inline struct hostile_message hostile_message(struct world *world, uint8_t kind)
{
    return (struct hostile_message){
        .header = {.peer = world->nodes[1].links[0].peer->index, .kind = kind}};
}

#endif
