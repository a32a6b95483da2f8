/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What must hold whatever the foe does (see core_fuzz.h). Stands between the simulator and core
 * (-Wl,--wrap), so that every message, immediate and post is judged, and looks through the state of
 * every core after each step.
 */
#include "core_fuzz.h"

#include "core/eager/ring_long.h"
#include "inspect/eager.h"
#include "inspect/link.h"
#include "inspect/onesided.h"
#include "inspect/rendezvous.h"

bool __real_rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                               struct rbuf_buffer *buffer, void *data, uint32_t bytes);
bool __wrap_rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                               struct rbuf_buffer *buffer, void *data, uint32_t bytes);
void __real_rbuf_core_immediate(struct rbuf_core *core, uint32_t immediate);
void __wrap_rbuf_core_immediate(struct rbuf_core *core, uint32_t immediate);
int __real_rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns);
int __wrap_rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns);
bool __real_sim_post(struct rbuf_fab_queue *queue, const struct rbuf_fab_request *request,
                     struct rbuf_work *signal);
bool __wrap_sim_post(struct rbuf_fab_queue *queue, const struct rbuf_fab_request *request,
                     struct rbuf_work *signal);

/* --- what is posted --- */

/* A core sends from its own memory only, and never more than the send queue takes. */
bool __wrap_sim_post(struct rbuf_fab_queue *queue, const struct rbuf_fab_request *request,
                     struct rbuf_work *signal)
{
    const struct sim_pair_end *end = queue->qp;

    for (unsigned i = 0; i < request->count && !request->inlined; i++) {
        const struct rbuf_fab_piece *piece = &request->pieces[i];

        fuzz_require(
            sim_key_covers(end->nic, piece->lkey, (uintptr_t) piece->address, piece->bytes),
            "what is posted is registered here");
    }
    fuzz_require(rbuf_fab_outstanding(queue) < queue->depth, "a send queue is not overfull");
    return __real_sim_post(queue, request, signal);
}

/* --- what is delivered --- */

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

/* What a fragment names can be read. */
static void read_blocks(const struct rbuf_arena *arena, const struct rbuf_delivery *delivery)
{
    const struct rbuf_fragment *fragment = delivery->data;

    fuzz_require(delivery->bytes >= sizeof(*fragment), "a fragment is whole");
    for (uint32_t i = 0; i < fragment->blocks; i++) {
        const uint32_t block = delivery->early + i;

        fuzz_require(block < arena->blocks && fragment->bytes[i] <= arena->block_bytes,
                     "the payload of a fragment is in the arena");
        (void) ((const volatile unsigned char *) rbuf_arena_block(arena,
                                                                  block))[fragment->bytes[i] - 1];
    }
}

void watch_delivery(const struct rbuf_event *event)
{
    const volatile unsigned char *data = event->delivery.data;

    fuzz_require(event->delivery.bytes <= most_of(event) ||
                     event->delivery.origin == RBUF_ORIGIN_HELD,
                 "a delivery fits the place that it came to");
    for (uint32_t i = 0; i < event->delivery.bytes; i++) {
        (void) data[i]; /* all of it can be read */
    }
    if (event->delivery.extra == RBUF_EXTRA_FRAGMENT) {
        read_blocks(&event->peer->core->receive_arena, &event->delivery);
    }
}

/* --- what is written --- */

static sim_placing *world_placing;

/* Whether a write that is not the owner's goes into a ring, or into what may become one. */
static bool hits_ring(const struct world_node *node, const struct sim_pair_end *to, uint64_t remote,
                      uint32_t bytes)
{
    const struct rbuf_ring_options *options = &node->core.options.ring;

    for (unsigned i = 0; i < node->ring_memory_count; i++) {
        const struct rbuf_ring_memory *memory = node->ring_memory[i];
        uint64_t base = (uintptr_t) memory->base;

        if (remote < base + rbuf_ring_memory_bytes(options) && remote + bytes > base) {
            const struct rbuf_peer *peer = inspect_ring_writer(&node->core, memory);
            const struct world_link *link = peer != NULL ? peer->user : NULL;

            return link == NULL || link->end[0].peer->nic != to->peer->nic;
        }
    }
    return false;
}

/* The peer at whose other end the write began; NULL: it is gone. */
static const struct rbuf_peer *writer(const struct rbuf_core *core, const struct sim_pair_end *to)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct rbuf_peer *peer = core->peers[i];

        if (peer != NULL &&
            ((const struct world_link *) peer->user)->end[0].peer->nic == to->peer->nic) {
            return peer;
        }
    }
    return NULL;
}

/* All peers may write to all of the staging memory, and to rings that they have handed back, and
 * are trusted not to: whether the foe did is kept in mind. */
static void placing(void *user, struct sim_pair_end *to, uint64_t remote, uint32_t bytes)
{
    const struct world_node *node = to->nic->user;
    const struct rbuf_core *core = &node->core;

    dealings.collided |= hits_ring(node, to, remote, bytes) ||
                         inspect_is_of_others(core, writer(core, to), remote, bytes);
    world_placing(user, to, remote, bytes);
}

void watch_writes(struct world *world)
{
    world_placing = world->net.placing;
    world->net.placing = placing;
}

/* --- what is received --- */

/* By the form of a message alone, written down here again. */
static bool malformed(const struct rbuf_core *core, const void *data, uint32_t bytes)
{
    struct rbuf_message_header header;

    if (bytes < sizeof(header)) {
        return true;
    }
    memcpy(&header, data, sizeof(header));
    return header.peer >= core->peer_count || core->peers[header.peer] == NULL;
}

static size_t lease_bytes(uint8_t lease)
{
    switch (lease) {
    case RBUF_LEASE_RING:
        return sizeof(struct rbuf_ring_offer);
    case RBUF_LEASE_EARLY:
        return sizeof(struct rbuf_early_window);
    default:
        return SIZE_MAX / 2; /* none such */
    }
}

static bool unknown_kind(enum rbuf_channel_id channel, const void *data, uint32_t bytes)
{
    const struct rbuf_message_header *header = data;

    switch (header->kind) {
    case RBUF_MESSAGE_USER:
    case RBUF_MESSAGE_RTS: /* and what is wrong with these two is the end of their peer */
    case RBUF_MESSAGE_FRAGMENT:
        return false;
    case RBUF_MESSAGE_LONG:
        return channel != RBUF_BULK;
    case RBUF_MESSAGE_ANSWER:
        return channel != RBUF_CONTROL;
    case RBUF_MESSAGE_RECALL:
    case RBUF_MESSAGE_RETURN:
        return header->tag > RBUF_LEASE_EARLY;
    case RBUF_MESSAGE_LEASE:
        return bytes != sizeof(*header) + lease_bytes(header->tag);
    case RBUF_MESSAGE_EARLY:
        return bytes != sizeof(*header) + sizeof(uint32_t);
    case RBUF_MESSAGE_RTR:
        return bytes != sizeof(*header) + sizeof(struct rbuf_offer);
    default:
        return true;
    }
}

static uint32_t event_count(const struct rbuf_core *core)
{
    return core->events.tail - core->events.head;
}

/* What owns the buffer: events that wait for a delivery. */
static unsigned owners(const struct rbuf_core *core, const struct rbuf_buffer *buffer)
{
    const struct rbuf_events *events = &core->events;
    unsigned count = 0;

    for (uint32_t i = events->head; i != events->tail; i++) {
        const struct rbuf_event *event = &events->ring[i & (events->size - 1)];

        count += event->kind == RBUF_EVENT_DELIVER && event->delivery.buffer == buffer;
    }
    return count;
}

/* A message whose form is right. Those of the peer's ring that were sent before it may be taken
 * with it, and the peer may be invited, or be lost. */
static bool receive_formed(struct rbuf_core *core, enum rbuf_channel_id channel,
                           struct rbuf_buffer *buffer, void *data, uint32_t bytes)
{
    const struct rbuf_message_header *header = data;
    const struct rbuf_peer *peer = core->peers[header->peer];
    bool unknown = unknown_kind(channel, data, bytes);
    bool alone = channel == RBUF_BULK || rbuf_ring_in_of(peer) == NULL;
    bool in_turn = channel == RBUF_BULK || header->sequence == peer->sequence_in;
    uint64_t refusals = core->stats.messages_refused;
    uint32_t events = event_count(core);
    bool kept = __real_rbuf_core_received(core, channel, buffer, data, bytes);
    uint64_t refused = core->stats.messages_refused - refusals;

    fuzz_require(owners(core, buffer) == kept, "a buffer that is kept has one owner");
    fuzz_require(!kept || header->kind == RBUF_MESSAGE_USER || header->kind == RBUF_MESSAGE_LONG ||
                     header->kind == RBUF_MESSAGE_RTS || header->kind == RBUF_MESSAGE_FRAGMENT ||
                     header->kind == RBUF_MESSAGE_ANSWER,
                 "what is delivered is for the user");
    if (!in_turn && alone) {
        fuzz_require(!kept && refused == 1 && rbuf_peer_is_lost(peer),
                     "what is out of turn is the end of its peer");
    }
    if (in_turn && unknown) {
        fuzz_require(!kept && refused == 1, "a message of no known kind is refused, once");
        fuzz_require(event_count(core) == events, "and raises no event");
    }
    fuzz_require(refused <= 1 || !alone, "a refusal is counted once");
    fuzz_require(event_count(core) - events <= 2u + core->options.ring.slots +
                                                   2 * (unsigned) user_open_items() +
                                                   core->options.window[RBUF_BULK] ||
                     rbuf_peer_is_lost(peer),
                 "a message raises few events");
    return kept;
}

bool __wrap_rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                               struct rbuf_buffer *buffer, void *data, uint32_t bytes)
{
    uint64_t refusals = core->stats.messages_refused;
    uint64_t received = core->stats.messages_received;
    uint64_t held = core->stats.messages_held;
    uint32_t events = event_count(core);
    size_t heap = fuzz_heap();
    bool kept;

    if (!malformed(core, data, bytes)) {
        return receive_formed(core, channel, buffer, data, bytes);
    }
    kept = __real_rbuf_core_received(core, channel, buffer, data, bytes);
    fuzz_require(!kept && core->stats.messages_refused == refusals + 1,
                 "a refused message is counted once and its buffer given back");
    fuzz_require(event_count(core) == events, "a refused message raises no event");
    fuzz_require(fuzz_heap() == heap, "a refused message allocates nothing");
    fuzz_require(core->stats.messages_received == received && core->stats.messages_held == held,
                 "a refused message counts as nothing else");
    return kept;
}

void __wrap_rbuf_core_immediate(struct rbuf_core *core, uint32_t immediate)
{
    uint64_t refusals = core->stats.messages_refused;
    uint64_t before = inspect_announced(core, immediate);
    uint32_t events = event_count(core);
    size_t heap = fuzz_heap();

    __real_rbuf_core_immediate(core, immediate);
    fuzz_require(
        core->stats.messages_refused - refusals + inspect_announced(core, immediate) - before == 1,
        "an arrival counts for one message, or is refused");
    fuzz_require(event_count(core) == events && fuzz_heap() == heap,
                 "an arrival raises no event and allocates nothing");
}

/* --- the state of core --- */

static uint64_t taken_blocks(const struct rbuf_arena *arena)
{
    uint64_t taken = 0;

    for (uint32_t i = 0; i < arena->blocks / 64 + 1; i++) {
        taken += (uint64_t) __builtin_popcountll(arena->taken[i]);
    }
    return taken;
}

static void watch_arena(const struct rbuf_arena *arena)
{
    fuzz_require(arena->free_blocks <= arena->blocks &&
                     taken_blocks(arena) == arena->blocks - arena->free_blocks,
                 "an arena's blocks are counted right");
}

/* NULL, or what does not hold. */
static void holds(const char *fault)
{
    fuzz_require(fault == NULL, fault);
}

/* Events that may be there at a time: one an open item, and a delivery for each buffer and each
 * held message. */
static void watch_events(const struct rbuf_core *core)
{
    uint64_t most = 4 * NODES + 5 * user_open_items() + core->stats.messages_held +
                    4 * dealings.world->next_seed;

    for (int id = 0; id < RBUF_CHANNELS; id++) {
        most += (uint64_t) core->options.window[id] * (NODES - 1);
    }
    most += (uint64_t) core->options.ring.slots * core->options.ring.set + 1;
    fuzz_require(event_count(core) <= most, "the queue of events is bounded");
}

static void watch_core(const struct rbuf_core *core)
{
    watch_arena(&core->send_arena);
    watch_arena(&core->receive_arena);
    holds(inspect_rendezvous_fault(core));
    watch_events(core);
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i] != NULL) {
            holds(inspect_credits_fault(core->peers[i]));
            holds(inspect_onesided_fault(core->peers[i]));
        }
    }
}

void watch_all(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        const struct world_node *node = &dealings.world->nodes[i];

        watch_core(&node->core);
        holds(inspect_rings_fault(&node->core, node->ring_memory_count));
    }
}

int __wrap_rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns)
{
    uint64_t copied = core->stats.staged_received;
    uint32_t block = core->options.schedule.block_bytes;
    int done = __real_rbuf_core_progress(core, now_ns);

    fuzz_require(core->stats.staged_received - copied <= (uint64_t) core->options.quantum + block,
                 "copying in one call is bounded");
    if (core == dealings.core) {
        user_progressed();
    }
    return done;
}
