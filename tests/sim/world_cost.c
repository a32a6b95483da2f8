/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a node's processor spends on user memory: copying it, at a speed that depends on the length
 * of the message that it belongs to, and registering it.
 */
#include <math.h>

#include "world.h"

#define PAGE 4096u

static bool holds(const unsigned char *memory, uint64_t bytes, const void *address)
{
    return memory != NULL && (uintptr_t) address - (uintptr_t) memory < bytes;
}

/* The open message whose user memory this is, or NULL. */
static struct world_message *message_at(struct world *world, const void *address)
{
    struct world_message *message = world->copied;

    if (message != NULL && (holds(message->source, message->bytes, address) ||
                            holds(message->target, message->bytes, address))) {
        return message;
    }
    for (message = world->messages; message != NULL; message = message->next) {
        if (holds(message->source, message->bytes, address) ||
            holds(message->target, message->bytes, address)) {
            world->copied = message;
            return message;
        }
    }
    return NULL;
}

/* What a copy costs the node's processor. */
uint64_t world_copy_ns(struct world_node *node, const void *to, const void *from, size_t bytes)
{
    const struct world_options *options = &node->world->options;
    bool taking = holds(node->receive_memory, options->receive_bytes, from);
    bool getting = holds(node->send_memory, options->send_bytes, from); /* a copied get's chunk */
    const struct rbuf_copy_speed *table = taking ? &options->receive_copy : &options->send_copy;
    double speed = options->copy_bytes_per_ns;
    double block_ns = taking ? (double) options->block_ns : 0;
    const struct world_message *message;

    if (table->count > 0 &&
        (message = message_at(node->world, taking || getting ? to : from)) != NULL) {
        speed = rbuf_copy_speed_at(table, message->bytes);
    }
    return (uint64_t) llround((double) bytes / speed + block_ns);
}

uint64_t world_registration_ns(const struct world *world, uint64_t bytes)
{
    const struct world_options *options = &world->options;

    return options->register_ns + options->register_page_ns * ((bytes + PAGE - 1) / PAGE);
}

static bool sender_registers(const struct world *world)
{
    return world->options.registered == RBUF_REGISTERED_BOTH ||
           world->options.registered == RBUF_REGISTERED_SENDER;
}

static bool receiver_registers(const struct world *world)
{
    return world->options.registered == RBUF_REGISTERED_BOTH ||
           world->options.registered == RBUF_REGISTERED_RECEIVER;
}

/* Registers the source in the sender's time, unless it is said to be cached. */
void world_register_source(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->from];

    message->source_key = sim_register(&node->nic, message->source, message->bytes);
    if (sender_registers(message->world)) {
        node->nic.local_ns += world_registration_ns(message->world, message->bytes);
    }
}

void world_register_target(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->to];

    message->target_key = sim_register(&node->nic, message->target, message->bytes);
    if (receiver_registers(message->world)) {
        node->nic.local_ns += world_registration_ns(message->world, message->bytes);
    }
}

/* Registers both buffers with the adapters at which they are. */
void world_register_ends(struct world_message *message)
{
    struct world *world = message->world;
    bool outgoing = message->kind != WORLD_READ && message->kind != WORLD_ADD;
    unsigned source_node = outgoing ? message->from : message->to;
    unsigned target_node = outgoing ? message->to : message->from;

    message->source_key =
        sim_register(&world->nodes[source_node].nic, message->source, message->bytes);
    message->target_key =
        sim_register(&world->nodes[target_node].nic, message->target, message->bytes);
}
