/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What users send each other beside data, between world_start.c, which starts messages, and
 * world_user.c, which answers them.
 */
#ifndef WORLD_CONTROL_H
#define WORLD_CONTROL_H

#include "world.h"

/* What control messages carry; small messages carry `message` and then their bytes. */
struct user_control {
    struct world_message *message;
    uint64_t number; /* of a FIN: among those of its put */
    struct rbuf_offer offer;
};

/* Sends it, behind the put of that number (0: none). */
void world_send_control(struct world_node *node, struct world_message *message, unsigned to,
                        enum world_tag tag, uint64_t after, const struct user_control *control);

/* The processor of the node is busy with a copy of the eager message. */
void world_charge_eager(struct world_node *node, const struct world_message *message);

/* Starts what world_begin() has kept for the node; returns the number of messages. */
int world_start_begun(struct world_node *node);

#endif
