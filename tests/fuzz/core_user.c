/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The user of the victim and of the foe in their dealings with each other (see core_fuzz.h). Every
 * buffer has its own memory, of just its size, and is freed as soon as core says that it may be.
 */
#include <errno.h>

#include "core/stage/tx_chunk.h"
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

static void open_grant(struct item_grant *items, struct rbuf_peer *peer, uint64_t bytes,
                       uint32_t early)
{
    struct item_grant *item = NULL;

    for (unsigned i = 0; i < ITEMS && item == NULL; i++) {
        item = items[i].grant == NULL ? &items[i] : NULL;
    }
    if (item == NULL || rbuf_peer_is_lost(peer)) {
        return;
    }
    item->target = open_memory(bytes, NULL, NULL);
    item->key = 0;
    item->core = peer->core;
    item->grant = rbuf_grant_open(peer, item->target, bytes, item, early, &item->offer);
    fuzz_require(item->grant != NULL, "there is memory for a grant");
    fuzz_require(
        item->offer.id != 0 && item->offer.bytes == bytes &&
            (item->offer.mode == RBUF_OFFER_STAGED || item->offer.mode == RBUF_OFFER_DEFERRED),
        "an offer says what was asked for");
}

static void close_grant(struct item_grant *item)
{
    if (item->grant == NULL) {
        return;
    }
    rbuf_grant_close(item->grant);
    fuzz_require(rbuf_grant_find(item->core, item->offer.id) == NULL,
                 "a closed grant is not found");
    item->grant = NULL;
    close_memory(&item->target, &item->key);
}

/* A receive that was not expected, or one out of the newest delivery, or of a message that is said
 * to have no early data. */
void user_grant(const struct record *record)
{
    unsigned count = dealings.delivery_count;
    const struct item_delivery *newest = count > 0 ? &dealings.deliveries[count - 1] : NULL;
    uint64_t bytes = bounded(record->value, LARGEST_SOURCE);
    uint32_t early = record->which & 2 ? RBUF_EARLY_UNKNOWN : 0;

    if (record->which & 1 && newest != NULL && newest->peer == dealings.foe &&
        newest->delivery.extra == RBUF_EXTRA_RTS) {
        early = newest->delivery.early;
    }
    open_grant(dealings.granted, dealings.foe, record->which & 4 ? bytes % 4096 + 1 : bytes, early);
}

void user_offer(const struct record *record)
{
    open_grant(dealings.offered, dealings.victim, bounded(record->value, LARGEST_SOURCE),
               record->which & 1 ? RBUF_EARLY_UNKNOWN : 0);
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

/* A message that can be sent; NULL: too many are open. */
static struct item_am *make_am(uint8_t tag, enum rbuf_channel_id channel, uint32_t bytes)
{
    struct item_am *item = NULL;

    for (unsigned i = 0; i < ITEMS && item == NULL; i++) {
        item = dealings.ams[i].open ? NULL : &dealings.ams[i];
    }
    if (item == NULL) {
        return NULL;
    }
    item->memory =
        open_memory(sizeof(struct rbuf_message_header) + bytes, victim_nic(), &item->key);
    item->open = true;
    item->am = (struct rbuf_am){.header = (struct rbuf_message_header *) (void *) item->memory,
                                .lkey = item->key,
                                .bytes = bytes,
                                .tag = tag,
                                .channel = (uint8_t) channel};
    return item;
}

static void sent(struct item_am *item, int state)
{
    if (state == RBUF_AM_IDLE) {
        item->open = false;
        close_memory(&item->memory, &item->key);
    }
    world_wake(&dealings.world->nodes[VICTIM]);
}

void user_send(const struct record *record)
{
    uint32_t bytes = record->amount % (MESSAGE_BYTES - sizeof(struct rbuf_message_header) + 1);
    struct item_am *item =
        make_am((uint8_t) record->spare,
                (enum rbuf_channel_id)((record->spare >> 8) % RBUF_CHANNELS), bytes);

    if (item == NULL) {
        return;
    }
    item->am.argument = record->value;
    sent(item, rbuf_am_send(dealings.foe, &item->am));
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
            rbuf_ring_long_write_part(dealings.foe, done + chunk);
        }
    }
    (void) rbuf_ring_long_end(dealings.foe, (uint8_t) record->spare, record->value);
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
    static const enum rbuf_fab_verb operations[] = {RBUF_FAB_WRITE, RBUF_FAB_READ,
                                                    RBUF_FAB_FETCH_ADD, RBUF_FAB_COMPARE_SWAP};
    enum rbuf_fab_verb operation = operations[record->spare % 4];
    bool atomic = operation == RBUF_FAB_FETCH_ADD || operation == RBUF_FAB_COMPARE_SWAP;
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

/* Announces a message; NULL: too many are open. */
static struct item_source *announce(uint64_t bytes)
{
    struct item_source *source = NULL;
    struct item_am *item;

    for (unsigned i = 0; i < ITEMS && source == NULL; i++) {
        source = dealings.sources[i].memory != NULL ? NULL : &dealings.sources[i];
    }
    item = source != NULL ? make_am(1, RBUF_CONTROL, sizeof(bytes)) : NULL;
    if (item == NULL) {
        return NULL;
    }
    *source = (struct item_source){.memory = open_memory(bytes, NULL, NULL), .bytes = bytes};
    sent(item, rbuf_early_send(dealings.foe, &item->am, source->memory, bytes));
    return source;
}

void user_announce(const struct record *record)
{
    const uint64_t bytes = bounded(record->value, record->which & 2 ? 4096 : LARGEST_SOURCE);
    struct item_source *source = announce(bytes);

    if (source != NULL) {
        source->ends = record->which & 1;
    }
}

void user_progressed(void)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        if (dealings.sources[i].ends) {
            free(dealings.sources[i].memory);
            dealings.sources[i] = (struct item_source){0};
        }
    }
}

/* Packs some chunks; returns their blocks. */
static uint32_t pack(struct rbuf_early_data *data, uint32_t chunks, uint32_t less)
{
    uint32_t packed = 0;

    for (uint32_t i = 0; i < chunks; i++) {
        struct rbuf_tx_chunk *chunk = rbuf_early_begin(dealings.foe, data);
        uint32_t blocks;

        if (chunk == NULL) {
            break;
        }
        blocks = chunk->shape.blocks > less ? chunk->shape.blocks - less : 0;
        for (uint32_t k = 0; k < blocks; k++) {
            memset(rbuf_early_block(dealings.foe, chunk, k), (int) k,
                   rbuf_early_block_payload(dealings.foe));
        }
        if (!rbuf_early_end(dealings.foe, data, chunk, blocks)) {
            break;
        }
        packed += blocks;
    }
    return packed;
}

/* Names blocks of the slot, as the last that are; false: too many messages are open. */
static bool name(const struct rbuf_early_data *data, uint32_t blocks)
{
    struct item_am *item = make_am(1, RBUF_BULK, sizeof(struct rbuf_fragment) + 8);
    struct rbuf_fragment *fragment;

    if (item == NULL) {
        return false;
    }
    fragment = (struct rbuf_fragment *) (void *) (item->am.header + 1);
    *fragment = (struct rbuf_fragment){.seq = data->seq,
                                       .blocks = (uint8_t) (blocks % RBUF_FRAGMENT_BLOCKS),
                                       .last = 1,
                                       .bytes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    sent(item, rbuf_am_send_as(dealings.foe, &item->am, RBUF_MESSAGE_FRAGMENT, 0));
    return true;
}

void user_packed(const struct record *record)
{
    struct item_am *item = make_am(1, RBUF_CONTROL, 8);
    struct rbuf_early_data *data;
    uint32_t blocks;

    if (item == NULL) {
        return;
    }
    sent(item, rbuf_early_send_packed(dealings.foe, &item->am, record, &data));
    if (data == NULL) {
        return;
    }
    blocks = pack(data, record->amount % 4, record->spare % 4);
    if (blocks == 0 || record->which & 1 || !name(data, blocks)) {
        rbuf_early_close(dealings.foe, data);
    }
}

/* One that was announced and has so many bytes; else one that is announced now. NULL: too many are
 * open. */
static struct item_source *source_for(uint64_t bytes, unsigned first)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        struct item_source *source = &dealings.sources[(first + i) % ITEMS];

        if (source->memory != NULL && source->bytes >= bytes) {
            return source;
        }
    }
    return announce(bytes > 0 ? bytes : 1);
}

/* Every put is of a message that was announced. Glue refuses one of another size than the offer's;
 * the size is therefore the offer's here. */
void user_put(const struct record *record, const struct rbuf_offer *offer)
{
    struct item_put *item = &dealings.puts[record->which % ITEMS];
    struct item_source *source;

    if (item->open || offer->bytes > LARGEST_SOURCE) {
        return;
    }
    source = source_for(offer->bytes, record->which >> 4);
    if (source == NULL) {
        return;
    }
    item->open = true;
    item->key = 0;
    item->source = source->memory;
    *source = (struct item_source){0};
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
    item->rma = (struct rbuf_rma){.operation = RBUF_FAB_WRITE,
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
    struct rbuf_buffer *buffer = item->delivery.buffer;

    rbuf_core_release(item->peer, &item->delivery); /* which looks into it */
    if (buffer != NULL) {
        sim_post_receive(&node->nic, buffer->channel, &buffer->receive);
    }
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

static void take_delivery(const struct rbuf_event *event)
{
    watch_delivery(event);
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

    fuzz_require(!link->failed, "a failure is reported once");
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
    case RBUF_EVENT_GET: /* none is got from the foe */
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
    for (unsigned i = 0; i < ITEMS; i++) {
        free(dealings.sources[i].memory);
    }
    free(dealings.scratch);
}
