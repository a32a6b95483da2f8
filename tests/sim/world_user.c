/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The users: what Open MPI does with messages, played on every node (see world.h). It starts them,
 * answers the events of its core, and compares the bytes that arrive.
 */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What control messages carry; small messages carry `message` and then their bytes. */
struct user_control {
    struct world_message *message;
    uint64_t number; /* of a FIN: among those of its put */
    struct rbuf_offer offer;
};

uint32_t world_control_bytes(void)
{
    return sizeof(struct rbuf_message_header) + sizeof(struct user_control);
}

static void send_control(struct world_node *node, struct world_message *message, unsigned to,
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
static void charge_eager(struct world_node *node, const struct world_message *message)
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
    charge_eager(node, message);
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
    send_control(node, message, message->to, TAG_RENDEZVOUS, 0, &control);
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

static int start_begun(struct world_node *node)
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

bool world_target_right(const struct world_message *message)
{
    return sim_pattern_right(message->target, message->bytes, message->pattern);
}

static void take_eager(struct world_node *node, const struct rbuf_event *event)
{
    struct world_message *message;
    const unsigned char *bytes = (const unsigned char *) event->delivery.data + sizeof(message);
    bool right;

    memcpy(&message, event->delivery.data, sizeof(message));
    right = event->delivery.bytes == sizeof(message) + message->bytes &&
            event->delivery.channel == message->channel &&
            sim_pattern_right(bytes, message->bytes, message->pattern) &&
            node->links[message->from].received[message->channel]++ == message->order;
    charge_eager(node, message);
    world_give_back(message, &message->target, &message->target_key);
    world_close_message(message, right ? WORLD_ARRIVED : WORLD_CORRUPT);
}

/* The early data of a message, if it is the one that is being delivered: of one receive at most. */
static uint32_t early_of(struct world_node *node, const struct rbuf_peer *peer)
{
    if (node->delivering != peer) {
        return RBUF_EARLY_UNKNOWN;
    }
    node->delivering = NULL;
    return node->early;
}

static void take_rendezvous(struct world_node *node, struct world_message *message)
{
    struct world_link *link = &node->links[message->from];
    struct user_control answer = {.message = message};

    if (link->peer->state == RBUF_PEER_FAILED) {
        return;
    }
    if (message->kind == WORLD_PACKED) { /* the answer needs no more */
        send_control(node, message, message->from, TAG_ANSWER, 0, &answer);
        return;
    }
    if (message->kind == WORLD_DIRECT || message->kind == WORLD_COPIED) {
        world_register_target(message);
        message->offered_ns = sim_now(&node->nic);
        answer.offer = (struct rbuf_offer){.base = (uintptr_t) message->target,
                                           .bytes = message->bytes,
                                           .rkey = message->target_key,
                                           .mode = RBUF_OFFER_DIRECT};
        send_control(node, message, message->from, TAG_ANSWER, 0, &answer);
        return;
    }
    message->offered_ns = sim_now(&node->nic);
    message->grant = rbuf_grant_open(link->peer, message->target, message->bytes, message,
                                     early_of(node, link->peer), &answer.offer);
    if (message->grant == NULL) { /* no memory: the other side would wait for ever */
        rbuf_peer_fail(link->peer, -ENOMEM);
        return;
    }
    send_control(node, message, message->from, TAG_ANSWER, 0, &answer);
}

/* A rendezvous was delivered: answers it, and one before that was not expected. */
static void take_expected(struct world_node *node, struct world_message *message)
{
    unsigned late = node->world->options.late;
    struct world_message *before = node->unexpected;

    node->unexpected = NULL;
    if (before != NULL) {
        struct rbuf_peer *of = node->delivering;

        if (node->world->options.aside) {
            node->delivering = NULL;
        }
        take_rendezvous(node, before);
        if (node->world->options.aside) {
            node->delivering = of;
        }
    }
    if ((before == NULL || late == 1) && late != 0 &&
        (message->kind == WORLD_PUT || message->kind == WORLD_PACKED) &&
        message->seed % late == 0) {
        node->unexpected = message;
        return;
    }
    take_rendezvous(node, message);
}

void world_expect(struct world *world, unsigned node)
{
    struct world_message *message = world->nodes[node].unexpected;

    world->nodes[node].unexpected = NULL;
    world->active_ns = world_now(world);
    take_rendezvous(&world->nodes[node], message);
    world_wake(&world->nodes[node]);
}

static void take_answer(struct world_node *node, struct world_message *message,
                        const struct rbuf_offer *offer)
{
    struct rbuf_peer *peer = node->links[message->to].peer;

    if (message->kind == WORLD_PACKED) {
        world_packed_answered(message);
        return;
    }
    if ((message->kind == WORLD_DIRECT || message->kind == WORLD_COPIED) &&
        peer->rendezvous.early_out != NULL) { /* the message does not go behind its early data */
        rbuf_early_forget(peer, message->source);
    }
    if (message->kind == WORLD_DIRECT) {
        if (message->source_key == 0) {
            world_register_source(message);
        }
        message->put_ns = sim_now(&node->nic);
        world_start_rma(message, offer->base, offer->rkey);
        return;
    }
    message->put = (struct rbuf_put){.source = message->source, .offer = *offer};
    message->put_id = offer->id;
    message->put_ns = sim_now(&node->nic);
    message->pending++;
    if (message->kind == WORLD_COPIED) {
        rbuf_copied_put_start(peer, &message->put);
    } else if (message->prestaged == NULL || !world_prestage_start(message)) {
        rbuf_put_start(peer, &message->put);
    }
}

/* True if the receiver may read the message, going by its grant. */
static bool may_be_read(const struct world_message *message)
{
    const struct rbuf_grant *grant = message->grant;

    return message->kind == WORLD_DIRECT || message->kind == WORLD_COPIED ||
           (grant != NULL &&
            (grant->state == RBUF_GRANT_PLACED || grant->state == RBUF_GRANT_DIRECT));
}

static void take_fin(struct world_message *message, uint64_t number)
{
    if (message->state != WORLD_OPEN || message->fins++ != number || !may_be_read(message) ||
        !world_target_right(message)) {
        world_close_message(message, WORLD_CORRUPT);
        return;
    }
    if (message->fins <= message->world->options.followers) {
        return;
    }
    if (message->grant != NULL) {
        rbuf_grant_close(message->grant);
        message->grant = NULL;
    }
    world_give_back(message, &message->target, &message->target_key);
    world_close_message(message, WORLD_ARRIVED);
}

static void post_again(struct world_node *node, struct rbuf_buffer *buffer)
{
    if (buffer != NULL) {
        sim_post_receive(&node->nic, buffer->channel, &buffer->receive);
    }
}

static void deliver(struct world_node *node, struct rbuf_event *event)
{
    struct user_control control;

    node->delivering = event->delivery.extra == RBUF_EXTRA_RTS ? event->peer : NULL;
    node->early = event->delivery.early;
    if (event->delivery.tag == TAG_EAGER) {
        take_eager(node, event);
    } else if (event->delivery.tag == TAG_PACKED) {
        world_packed_take(node, &event->delivery);
    } else {
        node->nic.local_ns += node->world->options.deliver_ns;
        memcpy(&control, event->delivery.data, sizeof(control));
        switch (event->delivery.tag) {
        case TAG_RENDEZVOUS:
            take_expected(node, control.message);
            break;
        case TAG_ANSWER:
            take_answer(node, control.message, &control.offer);
            break;
        default:
            take_fin(control.message, control.number);
            break;
        }
    }
    node->delivering = NULL;
    rbuf_core_release(event->peer, &event->delivery); /* which looks into the buffer */
    post_again(node, event->delivery.buffer);
}

/* The put is out, or in place: tells the receiver, and sends what else the user has for it. */
static void send_fins(struct world_message *message, uint64_t after)
{
    struct world_node *node = &message->world->nodes[message->from];

    for (uint64_t i = 0; i <= message->world->options.followers; i++) {
        struct user_control control = {.message = message, .number = i};

        send_control(node, message, message->to, TAG_FIN, after, &control);
    }
}

static void put_ended(struct world_message *message, int status)
{
    message->pending--;
    message->events++;
    message->put_ended_ns = sim_now(&message->world->nodes[message->from].nic);
    world_give_back(message, &message->source, &message->source_key);
    if (status != 0) {
        world_settle_failed(message);
    } else if (message->kind == WORLD_PUT || message->kind == WORLD_COPIED) {
        send_fins(message, message->put_id); /* 0 of a COPIED one: all is in place */
    } else if (message->kind == WORLD_COPIED_PUT) {
        world_close_message(message, world_target_right(message) ? WORLD_ARRIVED : WORLD_CORRUPT);
    }
}

static void put_in_place(struct world_message *message)
{
    struct world *world = message->world;

    message->pending--;
    message->source_key =
        sim_register(&world->nodes[message->from].nic, message->source, message->bytes);
    world_start_rma(message, message->put.offer.base, message->put.offer.rkey);
}

static void rma_ended(struct world_message *message, int status)
{
    message->pending--;
    message->events++;
    message->put_ended_ns = sim_now(&message->world->nodes[message->from].nic);
    if (status != 0) {
        world_settle_failed(message);
    } else if (message->kind == WORLD_PUT || message->kind == WORLD_DIRECT) {
        world_give_back(message, &message->source, &message->source_key);
        send_fins(message, 0);
    } else if (message->kind == WORLD_RAW) {
        world_give_back(message, &message->source, &message->source_key);
    } else if (message->kind == WORLD_ADD) {
        uint64_t after, before;

        memcpy(&after, message->source, sizeof(after));
        memcpy(&before, message->target, sizeof(before));
        world_close_message(message,
                            after == before + message->seed ? WORLD_ARRIVED : WORLD_CORRUPT);
    } else {
        world_close_message(message, world_target_right(message) ? WORLD_ARRIVED : WORLD_CORRUPT);
    }
}

static void get_ended(struct world_message *message, int status)
{
    message->pending--;
    message->events++;
    if (status != 0) {
        world_settle_failed(message);
    } else {
        world_close_message(message, world_target_right(message) ? WORLD_ARRIVED : WORLD_CORRUPT);
    }
}

static void register_buffer(struct world_node *node, struct rbuf_grant *grant)
{
    struct world_message *message = grant->user;

    node->world->registered++;
    if (node->world->options.refuse_registration) {
        rbuf_grant_not_direct(grant);
        return;
    }
    if (message->target != NULL && message->target_key == 0) {
        message->target_key = sim_register(&node->nic, message->target, message->bytes);
    }
    rbuf_grant_direct(grant, message->target_key);
}

static struct world_message *put_message(struct rbuf_put *put)
{
    return (struct world_message *) (void *) ((char *) put - offsetof(struct world_message, put));
}

static struct world_message *get_message(struct rbuf_get *get)
{
    return (struct world_message *) (void *) ((char *) get - offsetof(struct world_message, get));
}

static struct world_message *rma_message(struct rbuf_rma *rma)
{
    return (struct world_message *) (void *) ((char *) rma - offsetof(struct world_message, rma));
}

static void act(struct world_node *node, struct rbuf_event *event)
{
    switch (event->kind) {
    case RBUF_EVENT_DELIVER:
        deliver(node, event);
        break;
    case RBUF_EVENT_SENT: {
        struct world_am *am = (struct world_am *) (void *) event->am; /* its first member */
        struct world_message *message = am->message;

        world_am_free(am);
        if (event->status != 0) {
            world_settle_failed(message);
        }
        break;
    }
    case RBUF_EVENT_PUT:
        put_ended(put_message(event->put), event->status);
        break;
    case RBUF_EVENT_GET:
        get_ended(get_message(event->get), event->status);
        break;
    case RBUF_EVENT_DIRECT:
        put_in_place(put_message(event->put));
        break;
    case RBUF_EVENT_RMA:
        rma_ended(rma_message(event->rma), event->status);
        break;
    case RBUF_EVENT_REGISTER:
        register_buffer(node, event->grant);
        break;
    case RBUF_EVENT_RING_MEMORY:
        world_ring_memory(node);
        break;
    case RBUF_EVENT_STAGING:
        world_staging(node, event->arena);
        break;
    case RBUF_EVENT_FAILED:
        world_take_failure(node, event->peer);
        break;
    }
}

/* True if it has taken the processor's time: what the network has brought meanwhile is seen before
 * the next one. */
static bool has_taken_time(const struct world_node *node, const struct rbuf_event *event)
{
    return node->world->options.deliver_ns > 0 && event->kind == RBUF_EVENT_DELIVER &&
           event->delivery.tag != TAG_EAGER && event->delivery.tag != TAG_PACKED;
}

int world_user_events(struct world_node *node)
{
    struct rbuf_event event;
    int done = start_begun(node);

    while (rbuf_events_pop(&node->core.events, &event)) {
        done++;
        act(node, &event);
        if (has_taken_time(node, &event)) {
            break;
        }
    }
    return done + world_raw_look(node);
}

void world_user_close(struct world *world)
{
    struct world_message *message;

    while ((message = world->messages) != NULL) {
        world->messages = message->next;
        world_give_back(message, &message->source, &message->source_key);
        world_give_back(message, &message->target, &message->target_key);
        free(message);
    }
}
