/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The user of the victim and of the foe in their dealings with each other (see core_fuzz.h). Every
 * buffer has its own memory, of just its size, and is freed as soon as core says that it may be.
 */
#include <errno.h>

#include "core_fuzz.h"

int __real_world_user_events(struct world_node *node);

static struct sim_nic *victim_nic(void)
{
    return &dealings.world->nodes[VICTIM].nic;
}

static uint64_t bounded(uint64_t value, uint64_t most)
{
    return 1 + value % most;
}

/* Memory with a pattern, and a key for it if `key` is not NULL. */
static unsigned char *open_memory(uint64_t bytes, struct sim_nic *nic, uint32_t *key)
{
    unsigned char *memory = malloc(bytes);

    fuzz_require(memory != NULL, "there is memory");
    sim_pattern_fill(memory, bytes, bytes);
    if (key != NULL) {
        *key = sim_register(nic, memory, bytes);
    }
    return memory;
}

static void close_memory(unsigned char **memory, uint32_t *key)
{
    if (*key != 0) {
        sim_deregister(&dealings.world->net, *key);
    }
    free(*memory);
    *memory = NULL;
    *key = 0;
}

/* --- grants --- */

static void open_grant(struct item_grant *items, struct rbuf_peer *peer, uint64_t bytes)
{
    struct item_grant *item = NULL;

    for (unsigned i = 0; i < ITEMS && item == NULL; i++) {
        item = items[i].grant == NULL ? &items[i] : NULL;
    }
    if (item == NULL || peer->state == RBUF_PEER_FAILED) {
        return;
    }
    item->target = open_memory(bytes, NULL, NULL);
    item->key = 0;
    item->grant = rbuf_grant_open(peer, item->target, bytes, item, &item->offer);
    fuzz_require(item->grant != NULL, "there is memory for a grant");
    fuzz_require(
        item->offer.id != 0 && item->offer.bytes == bytes &&
            (item->offer.mode == RBUF_OFFER_STAGED || item->offer.mode == RBUF_OFFER_DEFERRED),
        "an offer says what was asked for");
}

static void close_grant(struct item_grant *item)
{
    struct rbuf_core *core;

    if (item->grant == NULL) {
        return;
    }
    core = item->grant->peer->core;
    rbuf_grant_close(item->grant);
    fuzz_require(rbuf_grant_find(core, item->offer.id) == NULL, "a closed grant is not found");
    item->grant = NULL;
    close_memory(&item->target, &item->key);
}

/* What a head announced that waits for its receive; otherwise `otherwise`. */
static uint64_t kept_bytes(const struct rbuf_standing_in *in, uint64_t otherwise)
{
    for (unsigned i = 0; in != NULL && i < RBUF_EARLY_SLOTS; i++) {
        if (in->uses[i].state == RBUF_USE_KEPT) {
            return bounded(in->uses[i].bytes - 1, LARGEST_SOURCE);
        }
    }
    return otherwise;
}

/* A receive that was not expected, as long as a head that waits or not, or out of the newest
 * delivery, likewise. */
void user_grant(const struct record *record)
{
    const struct rbuf_standing_in *in = dealings.foe->standing_in;
    unsigned count = dealings.delivery_count;
    struct item_delivery *newest = count > 0 ? &dealings.deliveries[count - 1] : NULL;
    uint64_t bytes = bounded(record->value, LARGEST_SOURCE);

    if (record->which & 1 && newest != NULL && newest->peer == dealings.foe) {
        rbuf_core_delivering(newest->peer, &newest->delivery);
        if (record->which & 2 && newest->delivery.place != 0) {
            bytes = bounded(in->uses[newest->delivery.place - 1].bytes - 1, LARGEST_SOURCE);
        }
    } else if (record->which & 2) {
        bytes = kept_bytes(in, bytes);
    }
    open_grant(dealings.granted, dealings.foe, bytes);
    dealings.core->delivering_of = NULL;
}

void user_offer(const struct record *record)
{
    open_grant(dealings.offered, dealings.victim, bounded(record->value, LARGEST_SOURCE));
}

void user_close_grant(const struct record *record)
{
    close_grant(&dealings.granted[record->which % ITEMS]);
}

static void answer_registration(struct world_node *node, struct rbuf_grant *grant)
{
    struct item_grant *item = grant->user;

    if (dealings.answer == ANSWER_REFUSE || item->grant != grant) {
        rbuf_grant_not_direct(grant);
    } else if (dealings.answer == ANSWER_REGISTER) {
        if (item->key == 0) {
            item->key = sim_register(&node->nic, item->target, item->offer.bytes);
        }
        rbuf_grant_direct(grant, item->key);
    }
}

/* --- messages --- */

/* The number of the first piece of the set that is not named. */
static uint32_t next_to_name(const struct rbuf_ahead_out *out)
{
    const bool begun = out->newest >> RBUF_PIECE_NUMBER_BITS == out->set;

    return begun ? (uint32_t) (out->newest - rbuf_piece_name(out->set, 0)) + 1 : 0;
}

/* Sends the message as it is, or as the next that its kind allows; true if it is under way. */
static bool send_some_way(struct rbuf_am *am, unsigned way)
{
    const struct rbuf_ahead_out *out = &dealings.foe->ahead_out;

    for (uint32_t next = next_to_name(out);
         out->state == RBUF_AHEAD_OPEN && way % 8 > 3 && next < out->sent; next++) {
        (void) rbuf_ahead_name(dealings.foe, rbuf_piece_name(out->set, next), am->tag, &way,
                               sizeof(way));
    }
    if (way % 16 > 7) {
        rbuf_ahead_tell(dealings.foe->core);
    }
    if (out->state == RBUF_AHEAD_OPEN && way % 4 == 1) {
        return rbuf_ahead_piece(dealings.foe, am);
    }
    if (out->state == RBUF_AHEAD_OPEN && way % 4 == 2 && am->bytes >= sizeof(struct rbuf_naming)) {
        return rbuf_ahead_named(dealings.foe, am, am->tag, &way, sizeof(way));
    }
    if (out->state == RBUF_AHEAD_OPEN && way % 4 == 3) {
        rbuf_ahead_end(dealings.foe);
    } else if (way % 4 != 0 && rbuf_ahead_may(dealings.foe)) {
        am->channel = RBUF_CONTROL;
        return rbuf_ahead_herald(dealings.foe, am);
    }
    return rbuf_am_send(dealings.foe, am) != RBUF_AM_IDLE;
}

void user_send(const struct record *record)
{
    struct item_am *item = &dealings.ams[record->which % ITEMS];
    uint32_t bytes = record->amount % (MESSAGE_BYTES - sizeof(struct rbuf_message_header) + 1);

    if (item->open) {
        return;
    }
    item->memory =
        open_memory(sizeof(struct rbuf_message_header) + bytes, victim_nic(), &item->key);
    item->open = true;
    item->am = (struct rbuf_am){.header = (struct rbuf_message_header *) (void *) item->memory,
                                .lkey = item->key,
                                .bytes = bytes,
                                .tag = (uint8_t) record->spare,
                                .channel = (uint8_t) (record->spare >> 8) % RBUF_CHANNELS,
                                .after = record->value};
    if (!send_some_way(&item->am, record->spare >> 16)) {
        item->open = false;
        close_memory(&item->memory, &item->key);
    }
    world_wake(&dealings.world->nodes[VICTIM]);
}

/* By several slots, in chunks of up to 511 bytes. */
static void send_long(const struct record *record)
{
    const uint32_t bytes = record->amount % 5000, chunk = 1 + (record->spare & 511);
    unsigned char *payload = rbuf_am_begin_long(dealings.foe, bytes);

    if (payload == NULL) {
        return;
    }
    for (uint32_t done = 0; done < bytes; done += chunk) {
        memset(payload + done, (int) record->spare, bytes - done < chunk ? bytes - done : chunk);
        if (bytes - done > chunk) {
            rbuf_ring_long_lead(dealings.foe, bytes, done + chunk);
        }
    }
    (void) rbuf_am_end_long(dealings.foe, (uint8_t) record->spare, bytes, record->value);
    world_wake(&dealings.world->nodes[VICTIM]);
}

void user_send_now(const struct record *record)
{
    uint32_t bytes = record->amount % 200;
    uint32_t key = 0;
    unsigned char *memory = open_memory(sizeof(struct rbuf_message_header) + bytes, NULL, NULL);

    send_long(record);
    (void) rbuf_am_send_now(dealings.foe, (enum rbuf_channel_id)(record->which % RBUF_CHANNELS),
                            (uint8_t) record->spare, (struct rbuf_message_header *) (void *) memory,
                            bytes, 0);
    close_memory(&memory, &key);
}

/* --- operations --- */

void user_rma(const struct record *record)
{
    struct item_rma *item = &dealings.rmas[record->which % ITEMS];
    enum rbuf_rma_operation operation = (enum rbuf_rma_operation)(record->spare % 4);
    bool atomic = operation == RBUF_RMA_FETCH_ADD || operation == RBUF_RMA_COMPARE_SWAP;
    uint64_t bytes = atomic ? sizeof(uint64_t) : bounded(record->amount, SCRATCH_BYTES);
    bool wild = record->spare & 0x10;

    if (item->open) {
        return;
    }
    item->memory = open_memory(bytes, victim_nic(), &item->key);
    item->open = true;
    item->rma = (struct rbuf_rma){
        .operation = operation,
        .local = item->memory,
        .remote = wild ? record->value : (uintptr_t) dealings.scratch,
        .bytes = bytes,
        .lkey = item->key,
        .rkey = wild ? record->spare : dealings.scratch_key,
        .operand = record->value,
        .compare = record->amount,
    };
    rbuf_rma_start(dealings.foe, &item->rma);
}

void user_prestage(const struct record *record)
{
    uint64_t bytes = bounded(record->value, LARGEST_SOURCE);
    unsigned char *memory = open_memory(bytes, NULL, NULL);

    rbuf_prestage(dealings.foe, memory, bytes);
    /* The newer wish replaces it, but a head of it may have been announced. */
    rbuf_prestage_cancel(dealings.foe, dealings.prestaged);
    free(dealings.prestaged);
    dealings.prestaged = memory;
    dealings.prestaged_bytes = bytes;
}

void user_progressed(void)
{
    free(dealings.prestaged);
    dealings.prestaged = NULL;
}

/* Glue refuses a put of another size than the offer's; the size is therefore the offer's here. */
void user_put(const struct record *record, const struct rbuf_offer *offer)
{
    struct item_put *item = &dealings.puts[record->which % ITEMS];

    if (item->open || offer->bytes > LARGEST_SOURCE) {
        return;
    }
    item->open = true;
    item->key = 0;
    if (dealings.prestaged != NULL && dealings.prestaged_bytes == offer->bytes) {
        item->source = dealings.prestaged;
        dealings.prestaged = NULL;
    } else {
        item->source = malloc(offer->bytes + (offer->bytes == 0));
        fuzz_require(item->source != NULL, "there is memory");
        sim_pattern_fill(item->source, offer->bytes, 1);
    }
    item->put = (struct rbuf_put){.source = item->source, .offer = *offer};
    rbuf_put_start(dealings.foe, &item->put);
    world_wake(&dealings.world->nodes[VICTIM]);
}

static void end_put(struct item_put *item)
{
    fuzz_require(item >= dealings.puts && item < dealings.puts + ITEMS && item->open,
                 "a put ends once");
    item->open = false;
    close_memory(&item->source, &item->key);
}

static void put_in_place(struct item_put *item)
{
    const struct rbuf_offer *offer = &item->put.offer;

    fuzz_require(item >= dealings.puts && item < dealings.puts + ITEMS && item->open,
                 "a put goes in place once");
    if (offer->bytes == 0) {
        end_put(item);
        return;
    }
    item->key = sim_register(victim_nic(), item->source, offer->bytes);
    item->rma = (struct rbuf_rma){.operation = RBUF_RMA_WRITE,
                                  .local = item->source,
                                  .remote = offer->base,
                                  .bytes = offer->bytes,
                                  .lkey = item->key,
                                  .rkey = offer->rkey};
    rbuf_rma_start(dealings.foe, &item->rma);
}

static void end_rma(struct rbuf_rma *rma)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        if (rma == &dealings.puts[i].rma) {
            end_put(&dealings.puts[i]);
            return;
        }
        if (rma == &dealings.rmas[i].rma) {
            fuzz_require(dealings.rmas[i].open, "an operation ends once");
            dealings.rmas[i].open = false;
            close_memory(&dealings.rmas[i].memory, &dealings.rmas[i].key);
            return;
        }
    }
    fuzz_require(false, "an operation that ends was begun");
}

static void end_am(struct rbuf_am *am)
{
    struct item_am *item = (struct item_am *) (void *) am; /* its first member */

    fuzz_require(item >= dealings.ams && item < dealings.ams + ITEMS && item->open,
                 "a message is given back once");
    item->open = false;
    close_memory(&item->memory, &item->key);
}

/* --- events --- */

static void give_back(struct item_delivery *item)
{
    struct world_node *node = ((struct world_link *) item->peer->user)->end[0].nic->user;
    struct rbuf_buffer *buffer = rbuf_ahead_buffer_of(&item->delivery);

    if (buffer != NULL) {
        sim_post_receive(&node->nic, buffer->channel, &buffer->receive);
    }
    rbuf_core_release(item->peer, &item->delivery);
}

void user_release(unsigned keep)
{
    unsigned count = dealings.delivery_count;
    unsigned given = count > keep ? count - keep : 0;

    for (unsigned i = 0; i < given; i++) {
        give_back(&dealings.deliveries[i]);
    }
    memmove(dealings.deliveries, dealings.deliveries + given,
            (count - given) * sizeof(dealings.deliveries[0]));
    dealings.delivery_count = count - given;
}

void user_release_one(unsigned which)
{
    struct item_delivery item;

    if (which < dealings.delivery_count) {
        item = dealings.deliveries[which];
        dealings.delivery_count--;
        memmove(dealings.deliveries + which, dealings.deliveries + which + 1,
                (dealings.delivery_count - which) * sizeof(dealings.deliveries[0]));
        give_back(&item);
    }
}

/* The most that a message may have, by the place that it came to. */
static uint32_t most_of(const struct rbuf_event *event)
{
    if (event->delivery.origin == RBUF_ORIGIN_RING) {
        return rbuf_ring_room(&event->peer->core->options.ring);
    }
    if (event->delivery.origin == RBUF_ORIGIN_RING_LONG) {
        return rbuf_ring_longest(&event->peer->core->options.ring);
    }
    return MESSAGE_BYTES - (uint32_t) sizeof(struct rbuf_message_header);
}

static void take_delivery(const struct rbuf_event *event)
{
    const volatile unsigned char *data = event->delivery.data;

    fuzz_require(event->delivery.bytes <= most_of(event) ||
                     event->delivery.origin == RBUF_ORIGIN_HELD,
                 "a delivery fits the place that it came to");
    for (uint32_t i = 0; i < event->delivery.bytes; i++) {
        (void) data[i]; /* all of it can be read */
    }
    if (dealings.delivery_count == ITEMS) {
        user_release(ITEMS / 2);
    }
    dealings.deliveries[dealings.delivery_count++] =
        (struct item_delivery){.peer = event->peer, .delivery = event->delivery};
}

/* The peer is lost: its queue pairs go, and its buffers are no longer granted. */
static void take_failure(struct world_node *node, struct rbuf_peer *peer)
{
    struct world_link *link = peer->user;
    unsigned other = (unsigned) (link - node->links);

    fuzz_require(!link->failed, "a failure is told once");
    link->failed = true;
    for (unsigned id = 0; id < RBUF_CHANNELS; id++) {
        sim_kill(&link->end[id]);
    }
    for (unsigned i = 0; i < ITEMS && peer == dealings.foe; i++) {
        close_grant(&dealings.granted[i]);
    }
    for (unsigned i = 0; i < ITEMS && peer == dealings.victim; i++) {
        close_grant(&dealings.offered[i]);
    }
    world_lose(&dealings.world->nodes[other], node->index, -ECONNRESET);
    world_wake(&dealings.world->nodes[other]);
}

static void take_event(struct world_node *node, const struct rbuf_event *event)
{
    switch (event->kind) {
    case RBUF_EVENT_DELIVER:
        take_delivery(event);
        break;
    case RBUF_EVENT_SENT:
        end_am(event->am);
        break;
    case RBUF_EVENT_PUT:
        end_put((struct item_put *) (void *) event->put);
        break;
    case RBUF_EVENT_DIRECT:
        put_in_place((struct item_put *) (void *) event->put);
        break;
    case RBUF_EVENT_RMA:
        end_rma(event->rma);
        break;
    case RBUF_EVENT_REGISTER:
        answer_registration(node, event->grant);
        break;
    case RBUF_EVENT_RING_MEMORY:
        world_ring_memory(node);
        break;
    case RBUF_EVENT_STAGING:
        world_staging(node, event->arena);
        break;
    case RBUF_EVENT_LATE:
        break;
    case RBUF_EVENT_BUFFER:
        sim_post_receive(&node->nic, event->buffer->channel, &event->buffer->receive);
        break;
    case RBUF_EVENT_FAILED:
        take_failure(node, event->peer);
        break;
    }
}

/* Whether the event is of dealings with the foe: the simulator's users know nothing of it. */
static bool ours(const struct world_node *node, const struct rbuf_event *event)
{
    return node->index == FOE || event->peer == dealings.foe ||
           event->peer == dealings.world->nodes[HONEST].links[FOE].peer;
}

/* Takes what is ours out of the node's events and leaves the rest to the simulator's user. */
int __wrap_world_user_events(struct world_node *node)
{
    struct rbuf_events *events = &node->core.events;
    struct rbuf_event event;
    int done = 0;

    for (uint32_t count = events->tail - events->head; count > 0; count--) {
        fuzz_require(rbuf_events_pop(events, &event), "an event that was counted is there");
        if (ours(node, &event)) {
            take_event(node, &event);
            done++;
        } else {
            fuzz_require(rbuf_events_push(events, &event), "there is memory for an event");
        }
    }
    for (uint32_t i = events->head; i != events->tail; i++) {
        if (ours(node, &events->ring[i & (events->size - 1)])) {
            return done + 1; /* raised while handling the others: next time */
        }
    }
    return done + __real_world_user_events(node);
}

/* --- the end --- */

void user_end(void)
{
    user_release(0);
    for (unsigned i = 0; i < ITEMS; i++) {
        close_grant(&dealings.granted[i]);
        close_grant(&dealings.offered[i]);
    }
}

uint64_t user_open_items(void)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < ITEMS; i++) {
        count += dealings.ams[i].open + dealings.puts[i].open + dealings.rmas[i].open +
                 (dealings.granted[i].grant != NULL) + (dealings.offered[i].grant != NULL);
    }
    return count;
}

bool user_idle(void)
{
    return user_open_items() == 0 && dealings.delivery_count == 0;
}

void user_free(void)
{
    user_progressed();
    free(dealings.scratch);
}
