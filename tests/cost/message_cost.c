/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core spends on small messages, with a fabric that costs nothing, and on the order of
 * one-sided operations.
 *
 *     message_cost ring COUNT         COUNT messages of 8 bytes by a ring: sent, received, released
 *     message_cost send COUNT         the same over send/receive
 *     message_cost poll RINGS COUNT   COUNT polls of so many idle rings
 *     message_cost puts COUNT         COUNT lists of PUTS puts, arranged (rma_order both)
 *
 * Run under callgrind with two counts the difference is the instructions of so many messages, which
 * no other load changes: cost.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/eager/channel.h"
#include "core/onesided/rma.h"
#include "side.h"

/* Acts on what core has to say; returns the number of messages delivered. */
static int act(struct side *side)
{
    struct rbuf_event event;
    int delivered = 0;

    while (rbuf_events_pop(&side->core.events, &event)) {
        switch (event.kind) {
        case RBUF_EVENT_DELIVER:
            delivered++;
            rbuf_core_release(event.peer, &event.delivery);
            break;
        case RBUF_EVENT_RING_MEMORY:
            side_give_ring(&side->core);
            break;
        default:
            fprintf(stderr, "message_cost: event %d\n", event.kind);
            exit(EXIT_FAILURE);
        }
    }
    return delivered;
}

static int receive(struct side *side)
{
    struct rbuf_fab_queue *queue = &side->queue[RBUF_CONTROL];
    static char buffer; /* a receive buffer's identity */
    int delivered;

    (void) rbuf_core_poll(&side->core);
    while (queue->count > 0) {
        (void) rbuf_core_received(&side->core, RBUF_CONTROL,
                                  (struct rbuf_buffer *) (void *) &buffer,
                                  queue->sent[queue->first], queue->bytes[queue->first]);
        queue->first = (queue->first + 1) % COST_SENDS;
        queue->count--;
    }
    rbuf_core_swept(&side->core);
    delivered = act(side);
    if (!TAILQ_EMPTY(&side->core.busy)) {
        (void) rbuf_core_progress(&side->core, 1); /* something is owed */
    }
    return delivered;
}

/* One message of 8 bytes: by the ring if there is one, else as it is sent without. */
static void send_one(struct rbuf_peer *peer, uint64_t value)
{
    struct {
        struct rbuf_message_header header;
        uint64_t value;
    } message = {.value = value};
    uint64_t *slot = rbuf_am_begin(peer, sizeof(value));

    if (slot != NULL) {
        *slot = value;
    }
    if (slot != NULL
            ? !rbuf_am_end(peer, 1, sizeof(value), 0)
            : !rbuf_am_send_now(peer, RBUF_CONTROL, 1, &message.header, sizeof(value), 0)) {
        fprintf(stderr, "message_cost: a message could not be sent\n");
        exit(EXIT_FAILURE);
    }
}

static void connect_sides(struct side *one, struct side *other)
{
    struct rbuf_peer_link link = {.queue = {&one->queue[0], &one->queue[1]},
                                  .their_mailbox = (uintptr_t) &other->mailbox,
                                  .their_index = other->peer->index,
                                  .window = {64, 16},
                                  .words = RBUF_WORDS_IN_ORDER};

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        one->queue[i].other = &other->queue[i];
    }
    rbuf_peer_connected(one->peer, &link);
}

static void messages(bool rings, uint64_t count)
{
    struct side *sides = side_allocate(2 * sizeof(*sides));

    for (int i = 0; i < 2; i++) {
        side_open_core(&sides[i].core, rings ? 16 : 0);
        if (rbuf_peer_add(&sides[i].core, &sides[i].mailbox, NULL, &sides[i].peer) != 0) {
            exit(EXIT_FAILURE);
        }
    }
    connect_sides(&sides[0], &sides[1]);
    connect_sides(&sides[1], &sides[0]);
    for (uint64_t i = 0; i < count; i++) {
        unsigned from = i % 2; /* ping and pong: credits travel with the answers */

        send_one(sides[from].peer, i);
        if (receive(&sides[1 - from]) != 1) {
            fprintf(stderr, "message_cost: a message did not arrive\n");
            exit(EXIT_FAILURE);
        }
    }
    if (rings != (sides[0].core.stats.ring_sent > 0)) {
        fprintf(stderr, "message_cost: not by that way\n");
        exit(EXIT_FAILURE);
    }
}

/* Polls rings to which nobody writes. */
static void poll_idle(uint32_t rings, uint64_t count)
{
    struct rbuf_core *core = side_idle_rings(rings);

    for (uint64_t i = 0; i < count; i++) {
        if (rbuf_core_poll(core) != 0) {
            side_die("message_cost: a message out of nowhere");
        }
    }
}

enum { PUTS = 64 };

static void arrange_puts(uint64_t count)
{
    struct rbuf_rma rmas[PUTS], *list[PUTS];

    for (unsigned i = 0; i < PUTS; i++) {
        rmas[i] = (struct rbuf_rma){.operation = RBUF_FAB_WRITE,
                                    .local = (void *) (uintptr_t) (1000 + 100 * i),
                                    .remote = 100000 + 100 * i,
                                    .span = 8};
        list[i] = &rmas[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        rbuf_rma_arrange(RBUF_RMA_BOTH, 16, list, PUTS);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "ring") == 0) {
        messages(true, strtoull(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "send") == 0) {
        messages(false, strtoull(argv[2], NULL, 10));
    } else if (argc == 4 && strcmp(argv[1], "poll") == 0) {
        poll_idle((uint32_t) strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "puts") == 0) {
        arrange_puts(strtoull(argv[2], NULL, 10));
    } else {
        fprintf(stderr, "usage: message_cost ring|send|puts COUNT | poll RINGS COUNT\n");
        return 2;
    }
    return EXIT_SUCCESS;
}
