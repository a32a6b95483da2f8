/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Users that know each other's buffers beforehand: operations in place, and transfers as in Denis
 * 2011's "raw protocol benchmark" (section 5): no rendezvous and no message behind the data. The
 * sender knows where to write before it begins, and the receiver looks for the end in its own
 * memory.
 */
#include "world.h"

void world_start_rma(struct world_message *message, uint64_t remote, uint32_t rkey)
{
    static const enum rbuf_fab_verb operations[] = {
        [WORLD_PUT] = RBUF_FAB_WRITE,    [WORLD_WRITE] = RBUF_FAB_WRITE,
        [WORLD_DIRECT] = RBUF_FAB_WRITE, [WORLD_RAW] = RBUF_FAB_WRITE,
        [WORLD_READ] = RBUF_FAB_READ,    [WORLD_ADD] = RBUF_FAB_FETCH_ADD};
    struct world_node *node = &message->world->nodes[message->from];
    bool outgoing = operations[message->kind] == RBUF_FAB_WRITE;

    message->rma = (struct rbuf_rma){
        .operation = operations[message->kind],
        .local = outgoing ? message->source : message->target,
        .lkey = outgoing ? message->source_key : message->target_key,
        .remote = remote,
        .rkey = rkey,
        .bytes = message->bytes,
        .operand = message->seed,
    };
    message->pending++;
    if (message->kind == WORLD_WRITE || message->kind == WORLD_READ) {
        rbuf_rma_hold(node->links[message->to].peer, &message->rma);
    } else {
        rbuf_rma_start(node->links[message->to].peer, &message->rma);
    }
    world_wake(node);
}

/* In-place operations need no word from the other side: the world knows both. */
void world_in_place_start(struct world_message *message)
{
    bool outgoing = message->kind == WORLD_WRITE;

    world_register_ends(message);
    world_start_rma(message, (uintptr_t) (outgoing ? message->target : message->source),
                    outgoing ? message->target_key : message->source_key);
}

/* As little as those; `from` gets from `to`. */
void world_get_start(struct world_message *message)
{
    struct world *world = message->world;
    struct world_node *node = &world->nodes[message->from];

    message->source_key =
        sim_register(&world->nodes[message->to].nic, message->source, message->bytes);
    message->get = (struct rbuf_get){.target = message->target,
                                     .remote = (uintptr_t) message->source,
                                     .bytes = message->bytes,
                                     .rkey = message->source_key};
    message->pending++;
    rbuf_get_start(node->links[message->to].peer, &message->get);
    world_wake(node);
}

void world_copied_put_start(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->from];

    message->target_key =
        sim_register(&message->world->nodes[message->to].nic, message->target, message->bytes);
    message->put = (struct rbuf_put){.source = message->source,
                                     .offer = {.base = (uintptr_t) message->target,
                                               .bytes = message->bytes,
                                               .rkey = message->target_key,
                                               .mode = RBUF_OFFER_DIRECT}};
    message->pending++;
    rbuf_copied_put_start(node->links[message->to].peer, &message->put);
    world_wake(node);
}

static void start_staged(struct world_message *message)
{
    struct world *world = message->world;
    struct world_node *node = &world->nodes[message->from];
    struct rbuf_peer *receiver = world->nodes[message->to].links[message->from].peer;
    struct rbuf_offer offer;

    message->grant = rbuf_grant_open(receiver, message->target, message->bytes, message, 0, &offer);
    if (message->grant == NULL || offer.mode != RBUF_OFFER_STAGED) {
        world_close_message(message, WORLD_FAILED); /* no room, and nobody who would tell later */
        return;
    }
    message->put = (struct rbuf_put){.source = message->source, .offer = offer};
    message->put_id = offer.id;
    message->put_ns = sim_now(&node->nic);
    message->pending++;
    rbuf_put_start(node->links[message->to].peer, &message->put);
}

/* Who has to register does so from the start, on both sides at the same time. */
static void start_raw(struct world_message *message)
{
    struct world *world = message->world;
    struct world_node *node = &world->nodes[message->from];
    enum rbuf_registered registered = world->options.registered;
    uint64_t cost = world_registration_ns(world, message->bytes);

    world_register_ends(message);
    if (registered == RBUF_REGISTERED_BOTH || registered == RBUF_REGISTERED_RECEIVER) {
        world_compute(world, message->to, cost);
    }
    if (registered != RBUF_REGISTERED_NONE) {
        node->nic.local_ns += cost; /* it cannot begin before the other side is ready */
    }
    world_start_rma(message, (uintptr_t) message->target, message->target_key);
}

void world_raw_start(struct world_message *message)
{
    STAILQ_INSERT_TAIL(&message->world->nodes[message->to].expected, message, link);
    if (message->kind == WORLD_STAGED) {
        start_staged(message);
    } else {
        start_raw(message);
    }
}

/* True if the last two words of the message are there: a write is placed in order. */
static bool end_is_here(const struct world_message *message)
{
    uint64_t last = (message->bytes - 1) / sizeof(uint64_t);

    for (uint64_t word = last > 0 ? last - 1 : 0; word <= last; word++) {
        uint64_t at = word * sizeof(uint64_t);
        uint64_t expected = sim_pattern(message->pattern, word);
        size_t bytes =
            message->bytes - at < sizeof(expected) ? message->bytes - at : sizeof(expected);

        if (memcmp(message->target + at, &expected, bytes) != 0) {
            return false;
        }
    }
    return true;
}

static bool has_arrived(const struct world_message *message)
{
    return message->kind == WORLD_STAGED ? message->grant->state == RBUF_GRANT_PLACED
                                         : end_is_here(message);
}

int world_raw_look(struct world_node *node)
{
    struct world_message *message = STAILQ_FIRST(&node->expected), *next;
    int done = 0;

    for (; message != NULL; message = next) {
        bool right;

        next = STAILQ_NEXT(message, link);
        if (message->state == WORLD_OPEN && !has_arrived(message)) {
            continue;
        }
        STAILQ_REMOVE(&node->expected, message, world_message, link);
        if (message->grant != NULL) {
            rbuf_grant_close(message->grant);
            message->grant = NULL;
        }
        right = world_target_right(message);
        world_give_back(message, &message->target, &message->target_key);
        world_close_message(message, right ? WORLD_ARRIVED : WORLD_CORRUPT);
        done++;
    }
    return done;
}
