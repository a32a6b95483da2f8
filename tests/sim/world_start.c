/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The users' messages, as they start (world.h): eager ones, by a ring or copied into a fragment,
 * and those with a rendezvous.
 */
#include "world_control.h"

#include <string.h>

uint32_t world_control_bytes(void)
{
    return sizeof(struct rbuf_message_header) + sizeof(struct user_control);
}

void world_send_control(struct world_node *node, struct world_message *message, unsigned to,
                        enum world_tag tag, uint64_t after, const struct user_control *control)
{
    world_am_send(world_am_make(node, message, tag, control, sizeof(*control), NULL, 0), to,
                  RBUF_CONTROL, after);
}

/* By several slots of a ring, if the message is that long and they are free; some in two chunks. */
static bool send_long(struct world_node *node, struct world_message *message)
{
    struct rbuf_peer *peer = node->links[message->to].peer;
    const uint32_t bytes = (uint32_t) (sizeof(message) + message->bytes);
    unsigned char *slots = rbuf_am_begin_long(peer, bytes);
    uint32_t half;

    if (slots == NULL) {
        return false;
    }
    half = message->seed % 4 < 2 || message->world->options.eager_copies
               ? 0
               : (uint32_t) message->bytes / 2;
    memcpy(slots, &message, sizeof(message));
    memcpy(slots + sizeof(message), message->source, half);
    if (half > 0) {
        rbuf_ring_long_write_part(peer, (uint32_t) sizeof(message) + half);
    }
    memcpy(slots + sizeof(message) + half, (const char *) message->source + half,
           message->bytes - half);
    return rbuf_ring_long_end(peer, TAG_EAGER, 0);
}

/* From where it is; the source is given back when it was fetched. */
static bool send_gathered(struct world_node *node, struct world_message *message)
{
    struct world_am *am =
        world_am_make(node, message, TAG_EAGER, &message, sizeof(message), NULL, 0);
    struct rbuf_fab_piece data = {message->source, (uint32_t) message->bytes,
                                  sim_register(&node->nic, message->source, message->bytes)};
    bool gathered;

    am->am.bytes += data.bytes;
    message->source_key = data.lkey;
    gathered = rbuf_am_gather(node->links[message->to].peer, &am->am, &data);
    am->gathered = gathered;
    world_am_sent(am, gathered);
    return gathered;
}

/* The processor is busy with a copy of the message. */
void world_charge_eager(struct world_node *node, const struct world_message *message)
{
    if (message->world->options.eager_copies) {
        node->nic.local_ns += world_copy_ns(node, message->target, message->source, message->bytes);
    }
}

static void start_eager(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->from];

    if (message->world->options.gather && message->channel == RBUF_CONTROL && message->bytes > 0 &&
        send_gathered(node, message)) {
        return;
    }
    world_charge_eager(node, message);
    if (message->channel != RBUF_CONTROL || !send_long(node, message)) {
        world_am_send(world_am_make(node, message, TAG_EAGER, &message, sizeof(message),
                                    message->source, message->bytes),
                      message->to, message->channel, 0);
    }
    world_give_back(message, &message->source, &message->source_key);
}

static void send_rts(struct world_node *node, struct world_message *message,
                     const struct user_control *control)
{
    struct rbuf_peer *peer = node->links[message->to].peer;
    struct world_am *rts =
        world_am_make(node, message, TAG_RENDEZVOUS, control, sizeof(*control), NULL, 0);
    const uint64_t sent = node->core.stats.early_sent;
    int state;

    rts->am.channel = RBUF_CONTROL;
    state = message->world->options.early == WORLD_EARLY_NONE
                ? rbuf_early_send_none(peer, &rts->am, message->source, message->bytes)
                : rbuf_early_send(peer, &rts->am, message->source, message->bytes);
    world_am_sent(rts, state != RBUF_AM_IDLE);
    if (message->world->options.prestage && node->core.stats.early_sent == sent) {
        world_prestage(message);
    }
}

static void start_rendezvous(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->from];
    struct user_control control = {.message = message};

    if (message->kind == WORLD_PACKED) {
        world_packed_start(message, world_am_make(node, message, TAG_RENDEZVOUS, &control,
                                                  sizeof(control), NULL, 0));
        return;
    }
    if (message->kind == WORLD_PUT || message->world->options.early != WORLD_EARLY_PUTS) {
        send_rts(node, message, &control);
        return;
    }
    world_send_control(node, message, message->to, TAG_RENDEZVOUS, 0, &control);
    if (message->world->options.prestage && message->kind == WORLD_DIRECT) {
        world_register_source(message); /* while the rendezvous is under way */
    }
}

static struct world_message *open_message(struct world *world, enum world_kind kind, unsigned from,
                                          unsigned to, uint64_t bytes)
{
    struct world_message *message = sim_allocate(sizeof(*message));

    message->world = world;
    message->kind = kind;
    message->from = from;
    message->to = to;
    message->bytes = kind == WORLD_ADD ? sizeof(uint64_t) : bytes;
    message->seed = world->next_seed++;
    message->channel = message->seed % 2 == 0 ? RBUF_CONTROL : RBUF_BULK;
    message->source = sim_allocate(message->bytes);
    message->target = sim_allocate(message->bytes);
    message->pattern = world->options.zeros && sim_pattern(message->seed, 0) % 2 == 0
                           ? SIM_PATTERN_ZEROS
                           : message->seed;
    sim_pattern_fill(message->source, message->bytes, message->pattern);
    message->started_ns = world_now(world);
    message->next = world->messages;
    world->messages = message;
    world->open++;
    world->active_ns = world_now(world);
    return message;
}

static void start(struct world_message *message)
{
    struct world_link *link = &message->world->nodes[message->from].links[message->to];

    switch (message->kind) {
    case WORLD_EAGER:
        message->order = link->sent[message->channel]++;
        start_eager(message);
        break;
    case WORLD_PUT:
    case WORLD_DIRECT:
    case WORLD_COPIED:
    case WORLD_PACKED:
        start_rendezvous(message);
        break;
    case WORLD_WRITE:
    case WORLD_READ:
    case WORLD_ADD:
        world_in_place_start(message);
        break;
    case WORLD_GET:
        world_get_start(message);
        break;
    case WORLD_COPIED_PUT:
        world_copied_put_start(message);
        break;
    case WORLD_STAGED:
    case WORLD_RAW:
        world_raw_start(message);
        break;
    }
}

struct world_message *world_send(struct world *world, enum world_kind kind, unsigned from,
                                 unsigned to, uint64_t bytes)
{
    struct world_message *message = open_message(world, kind, from, to, bytes);

    start(message);
    return message;
}

struct world_message *world_begin(struct world *world, enum world_kind kind, unsigned from,
                                  unsigned to, uint64_t bytes)
{
    struct world_message *message = open_message(world, kind, from, to, bytes);

    STAILQ_INSERT_TAIL(&world->nodes[from].beginning, message, link);
    world_wake(&world->nodes[from]);
    return message;
}

int world_start_begun(struct world_node *node)
{
    struct world_message *message;
    int done = 0;

    while ((message = STAILQ_FIRST(&node->beginning)) != NULL) {
        STAILQ_REMOVE_HEAD(&node->beginning, link);
        message->started_ns = sim_now(&node->nic);
        node->nic.local_ns += node->world->options.begin_ns;
        start(message);
        done++;
    }
    return done;
}
