/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The users: what Open MPI does with messages, played on every node (see world.h). It answers the
 * events of a node's core, and compares the bytes that arrive. Messages start in world_start.c.
 */
#include "world_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    world_charge_eager(node, message);
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
        world_send_control(node, message, message->from, TAG_ANSWER, 0, &answer);
        return;
    }
    if (message->kind == WORLD_DIRECT || message->kind == WORLD_COPIED) {
        world_register_target(message);
        message->offered_ns = sim_now(&node->nic);
        answer.offer = (struct rbuf_offer){.base = (uintptr_t) message->target,
                                           .bytes = message->bytes,
                                           .rkey = message->target_key,
                                           .mode = RBUF_OFFER_DIRECT};
        world_send_control(node, message, message->from, TAG_ANSWER, 0, &answer);
        return;
    }
    message->offered_ns = sim_now(&node->nic);
    message->grant = rbuf_grant_open(link->peer, message->target, message->bytes, message,
                                     early_of(node, link->peer), &answer.offer);
    if (message->grant == NULL) { /* no memory: the other side would wait for ever */
        rbuf_peer_fail(link->peer, -ENOMEM);
        return;
    }
    world_send_control(node, message, message->from, TAG_ANSWER, 0, &answer);
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
        rbuf_early_may_begin(peer)) { /* the message does not go behind its early data */
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

        world_send_control(node, message, message->to, TAG_FIN, after, &control);
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
    int done = world_start_begun(node);

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
