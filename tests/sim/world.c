/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The nodes of a world (see world.h): their memory, their processors that poll, the run, and the
 * watch over every write into receive staging.
 */
#include "world.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/copy.h"
#include "core/eager/ring_long.h"
#include "inspect/rendezvous.h"
#include "softhca/profile_figures.h"

#define PAGE        4096u
#define DEADLOCK_NS 2000000000ull /* of ticks alone */
#define IDLE_POLLS  2u            /* that find nothing before a node sleeps */

/* Whose processor is running; copies are charged to it. */
static struct world_node *running;

/* The linker puts these in the place of rbuf_copy() and rbuf_copy_checksum() (-Wl,--wrap=...). */
void __real_rbuf_copy(void *to, const void *from, size_t bytes);
void __wrap_rbuf_copy(void *to, const void *from, size_t bytes);
uint64_t __real_rbuf_copy_checksum(void *to, const void *from, size_t bytes);
uint64_t __wrap_rbuf_copy_checksum(void *to, const void *from, size_t bytes);

void __wrap_rbuf_copy(void *to, const void *from, size_t bytes)
{
    if (running != NULL) {
        running->nic.local_ns += world_copy_ns(running, to, from, bytes);
    }
    __real_rbuf_copy(to, from, bytes);
}

/* With a checksum at four fifths of the speed (tests/cost/checksum_time: beyond the first level of
 * a cache). */
uint64_t __wrap_rbuf_copy_checksum(void *to, const void *from, size_t bytes)
{
    if (running != NULL) {
        running->nic.local_ns += world_copy_ns(running, to, from, bytes) * 5 / 4;
    }
    return __real_rbuf_copy_checksum(to, from, bytes);
}

struct world_options world_defaults(void)
{
    return (struct world_options){
        .nodes = 2,
        .model = {.bytes_per_ns = SOFTHCA_GRAPHENE_BANDWIDTH / 1e9,
                  .latency_ns = SOFTHCA_GRAPHENE_LATENCY,
                  .packet_bytes = 4096},
        .faults = {.seed = 1},
        .core = {.schedule = {.block_bytes = 4096,
                              .growth = RBUF_GROWTH_ONE * 3 / 2,
                              .first_blocks = 3,
                              .buffer_blocks = 64,
                              .buffers = 3},
                 .arrival = RBUF_ARRIVAL_BLOCK,
                 .quantum = 16384,
                 .window = {64, 64},
                 .ring = {.slots = 16, .slot_bytes = 2048, .set = 4, .threshold = 8},
                 .early = {.peers = 4, .slot_blocks = 10, .opening_blocks = 1},
                 .max_message = 1u << 30,
                 .reads = 16},
        .send_bytes = 16u << 20,
        .receive_bytes = 16u << 20,
        .depth = 128,
        .room = 4096,
        .inline_max = 128,
        .bounces = 4,
        .message_bytes = 16384,
        .copy_bytes_per_ns = 6.0,
        .poll_ns = 50,
        .post_ns = 50,
        .packed_early = true,
        .fragment_bytes = 16000,
        .ring_memory = WORLD_RINGS_MAX,
        .growths = UINT_MAX,
    };
}

uint64_t world_now(const struct world *world)
{
    return world->net.clock.now_ns;
}

static void schedule(struct world_node *node, uint64_t at_ns);

/* Takes what the adapter has to say to core. Returns how much it was. */
static int take_completions(struct world_node *node)
{
    struct sim_completion *completion;
    int done = 0;

    while ((completion = sim_poll(&node->nic)) != NULL) {
        struct sim_pair_end *end = completion->queue->qp;
        unsigned other = ((struct world_node *) end->peer->nic->user)->index;
        struct rbuf_buffer *buffer =
            completion->receive != NULL ? completion->receive->owner : NULL;

        switch (completion->kind) {
        case SIM_COMPLETED:
            rbuf_fab_retire(completion->work);
            rbuf_core_completed(completion->work, completion->status);
            if (completion->status != 0) {
                world_lose(node, other, completion->status);
            }
            break;
        case SIM_FLUSHED:
            world_lose(node, other, completion->status);
            break;
        case SIM_RECEIVED:
            if (!rbuf_core_received(&node->core, completion->channel, buffer, buffer->data,
                                    completion->bytes)) {
                sim_post_receive(&node->nic, buffer->channel, &buffer->receive);
            }
            break;
        case SIM_IMMEDIATE:
            sim_post_receive(&node->nic, buffer->channel, &buffer->receive);
            rbuf_core_immediate(&node->core, completion->immediate);
            break;
        }
        free(completion);
        done++;
    }
    return done;
}

static void poll_node(void *subject)
{
    struct world_node *node = subject;
    struct world *world = node->world;
    uint64_t now = world->net.clock.now_ns;
    int done, events;

    if (!node->scheduled || node->poll_ns != now) {
        return; /* an earlier poll took its place */
    }
    node->scheduled = false;
    node->nic.running = true;
    node->nic.local_ns = now;
    running = node;
    done = rbuf_core_poll(&node->core);
    done += take_completions(node);
    rbuf_core_swept(&node->core);
    done += rbuf_core_progress(&node->core, node->nic.local_ns);
    done += world_packed_progress(node) + world_prestage_progress(node);
    events = world_user_events(node);
    running = NULL;
    node->nic.running = false;
    node->free_ns = node->nic.local_ns + world->options.poll_ns;
    if (done + events > 0) {
        world->active_ns = now;
    }
    node->idle = done + events > 0 ? 0 : node->idle + 1;
    if (node->idle < IDLE_POLLS) {
        schedule(node, node->free_ns);
    } else if (world->ticking) {
        schedule(node, now + world->options.tick_ns);
    }
}

static void schedule(struct world_node *node, uint64_t at_ns)
{
    if (at_ns < node->free_ns) {
        at_ns = node->free_ns;
    }
    if (node->scheduled && node->poll_ns <= at_ns) {
        return;
    }
    node->scheduled = true;
    node->poll_ns = at_ns;
    sim_at(&node->world->net.clock, at_ns, poll_node, node);
}

void world_wake(struct world_node *node)
{
    if (running != node) { /* else it is polling, and will again */
        node->idle = 0;
        schedule(node, node->world->net.clock.now_ns);
    }
}

static void wake_action(void *subject)
{
    world_wake(subject);
}

void world_compute(struct world *world, unsigned index, uint64_t ns)
{
    struct world_node *node = &world->nodes[index];

    node->free_ns = world_now(world) + ns;
    node->scheduled = false;
    schedule(node, node->free_ns);
}

/* A write into receive staging: what is there must be free, by the receiver's own account. */
static void watch_staging(void *user, struct sim_pair_end *to, uint64_t remote, uint32_t bytes)
{
    struct world *world = user;
    const struct world_node *node = to->nic->user;
    const struct rbuf_core *core = &node->core;
    uint64_t base = (uintptr_t) core->receive_arena.base;
    uint64_t block_bytes = core->receive_arena.block_bytes;
    uint32_t first = (uint32_t) ((remote - base) / block_bytes);
    uint32_t last = (uint32_t) ((remote - base + bytes - 1) / block_bytes);
    /* Unless threads match messages in another order than they are delivered in. */
    const bool claims_are_right = world->options.late == 0 || world->options.aside;

    if (bytes == 0 || remote < base ||
        (remote - base) / block_bytes >= core->receive_arena.blocks) {
        return;
    }
    world->overwrites += !inspect_may_be_written(core, first, last, claims_are_right);
}

static void open_buffers(struct world_node *node)
{
    const struct world_options *options = &node->world->options;
    unsigned others = options->nodes - 1;

    node->buffer_count = (options->core.window[0] + options->core.window[1]) * others;
    node->buffers = sim_allocate(node->buffer_count * sizeof(*node->buffers));
    for (unsigned i = 0; i < node->buffer_count; i++) {
        struct rbuf_buffer *buffer = sim_allocate(sizeof(*buffer) + options->message_bytes);

        buffer->channel = i < options->core.window[0] * others ? RBUF_CONTROL : RBUF_BULK;
        buffer->receive = (struct sim_receive){
            .owner = buffer, .data = buffer->data, .bytes = options->message_bytes};
        node->buffers[i] = buffer;
        sim_post_receive(&node->nic, buffer->channel, &buffer->receive);
    }
}

/* Memory for one more ring, or word that there is none. */
void world_ring_memory(struct world_node *node)
{
    const struct rbuf_ring_options *options = &node->core.options.ring;
    size_t bytes = rbuf_ring_memory_bytes(options);
    struct rbuf_ring_memory *memory;

    if (node->ring_memory_count == node->world->options.ring_memory) {
        rbuf_ring_memory_give(&node->core, NULL);
        return;
    }
    memory = sim_allocate(sizeof(*memory));
    memory->base = sim_map(bytes);
    memory->lkey = memory->rkey = sim_register(&node->nic, memory->base, bytes);
    node->ring_memory[node->ring_memory_count++] = memory;
    rbuf_ring_memory_give(&node->core, memory);
}

/* `most` bytes, the first of which are registered. */
static struct rbuf_region open_staging(struct world_node *node, size_t bytes, size_t most)
{
    struct rbuf_region region = {
        .base = sim_map(most > bytes ? most : bytes), .bytes = bytes, .most_bytes = most};

    region.lkey = region.rkey = sim_register(&node->nic, region.base, bytes);
    return region;
}

/* One more extent of an arena, or word that there is none. */
void world_staging(struct world_node *node, struct rbuf_arena *arena)
{
    size_t bytes = (size_t) rbuf_arena_step(arena) * arena->block_bytes;
    uint32_t key;

    if (node->growths == node->world->options.growths) {
        rbuf_staging_refuse(arena);
        return;
    }
    node->growths++;
    key = sim_register(&node->nic, rbuf_arena_block(arena, arena->blocks), bytes);
    rbuf_core_grow(&node->core, arena, key, key);
}

bool world_receive_staging_free(const struct rbuf_core *core)
{
    uint32_t leased = inspect_windows_out(core) * rbuf_early_window_blocks(&core->options.early);

    return core->receive_arena.free_blocks + leased == core->receive_arena.blocks;
}

static struct rbuf_region open_bounces(struct world_node *node)
{
    const struct world_options *options = &node->world->options;
    struct rbuf_region region = {.bytes = (size_t) options->bounces * RBUF_BOUNCE_BYTES};

    if (options->inline_max >= RBUF_INLINE_ENOUGH || region.bytes == 0) {
        return (struct rbuf_region){0};
    }
    region.base = node->bounce_memory = sim_map(region.bytes);
    region.lkey = region.rkey = sim_register(&node->nic, region.base, region.bytes);
    return region;
}

static void open_node(struct world *world, unsigned index)
{
    const struct world_options *options = &world->options;
    struct rbuf_core_options core_options = options->core;
    struct world_node *node = &world->nodes[index];
    struct rbuf_region send, receive;

    node->world = world;
    node->index = index;
    STAILQ_INIT(&node->beginning);
    STAILQ_INIT(&node->expected);
    sim_nic_open(&node->nic, &world->net, options->room, wake_action, node);
    node->nic.post_ns = options->post_ns;
    send = open_staging(node, options->send_bytes, options->send_most);
    receive = open_staging(node, options->receive_bytes, options->receive_most);
    node->send_memory = send.base;
    node->receive_memory = receive.base;
    core_options.bounce = open_bounces(node);
    if (rbuf_core_open(&node->core, &core_options, &send, &receive) != 0) {
        perror("simulator");
        exit(EXIT_FAILURE);
    }
    open_buffers(node);
    for (unsigned other = 0; other < options->nodes; other++) {
        struct world_link *link = &node->links[other];

        if (other == index) {
            continue;
        }
        link->mailbox = sim_map(PAGE);
        link->mailbox_key = sim_register(&node->nic, link->mailbox, sizeof(*link->mailbox));
        if (rbuf_peer_add(&node->core, link->mailbox, link, &link->peer) != 0) {
            perror("simulator");
            exit(EXIT_FAILURE);
        }
    }
}

static void connect_nodes(struct world *world, unsigned one, unsigned other)
{
    const struct world_options *options = &world->options;

    for (unsigned id = 0; id < RBUF_CHANNELS; id++) {
        sim_pair_open(&world->nodes[one].links[other].end[id], &world->nodes[one].nic,
                      &world->nodes[other].links[one].end[id], &world->nodes[other].nic, id,
                      options->depth, options->inline_max);
    }
    for (int side = 0; side < 2; side++) {
        struct world_link *here =
            &world->nodes[side == 0 ? one : other].links[side == 0 ? other : one];
        struct world_link *there =
            &world->nodes[side == 0 ? other : one].links[side == 0 ? one : other];
        struct rbuf_peer_link link = {
            .queue = {&here->end[0].queue, &here->end[1].queue},
            .their_mailbox = (uintptr_t) there->mailbox,
            .their_mailbox_rkey = there->mailbox_key,
            .their_index = there->peer->index,
            .proof = options->unordered ? RBUF_PROOF_CHECKSUM : RBUF_PROOF_ORDER,
            .words = options->unordered ? RBUF_WORDS_ONE_BY_ONE : RBUF_WORDS_IN_ORDER,
            .window = {options->core.window[0], options->core.window[1]}};

        for (int id = 0; id < RBUF_CHANNELS && options->granted != 0; id++) {
            link.window[id] = link.granted[id] = options->granted;
        }
        rbuf_peer_connected(here->peer, &link);
    }
}

struct world *world_open(const struct world_options *options)
{
    struct world *world = sim_allocate(sizeof(*world));

    world->options = *options;
    world->next_seed = 1;
    world->ticking = options->tick_ns != 0;
    sim_net_open(&world->net, &options->model, &options->faults);
    world->net.placing = watch_staging;
    world->net.placing_user = world;
    for (unsigned i = 0; i < options->nodes; i++) {
        open_node(world, i);
        if (world->ticking) {
            world_wake(&world->nodes[i]);
        }
    }
    if (!options->apart) {
        world_connect(world);
    }
    return world;
}

void world_connect(struct world *world)
{
    for (unsigned i = 0; i < world->options.nodes; i++) {
        for (unsigned other = i + 1; other < world->options.nodes; other++) {
            connect_nodes(world, i, other);
        }
    }
}

static void close_node(struct world_node *node)
{
    for (unsigned other = 0; other < node->world->options.nodes; other++) {
        struct world_link *link = &node->links[other];

        if (link->peer != NULL) {
            rbuf_peer_remove(link->peer);
            sim_unmap(link->mailbox);
        }
    }
    rbuf_core_close(&node->core);
    for (unsigned i = 0; i < node->buffer_count; i++) {
        free(node->buffers[i]);
    }
    free(node->buffers);
    for (unsigned i = 0; i < node->ring_memory_count; i++) {
        sim_unmap(node->ring_memory[i]->base);
        free(node->ring_memory[i]);
    }
    sim_unmap(node->send_memory);
    sim_unmap(node->receive_memory);
    sim_unmap(node->bounce_memory);
}

void world_close(struct world *world)
{
    world->ticking = false;
    sim_net_close(&world->net);
    world_user_close(world);
    for (unsigned i = 0; i < world->options.nodes; i++) {
        close_node(&world->nodes[i]);
    }
    free(world);
}

enum world_outcome world_run(struct world *world)
{
    while (world->open > 0) {
        if (!sim_step(&world->net.clock) ||
            (world->ticking && world_now(world) > world->active_ns + DEADLOCK_NS)) {
            return WORLD_DEADLOCK;
        }
    }
    return WORLD_DONE;
}

void world_settle(struct world *world)
{
    bool ticking = world->ticking;

    world->ticking = false;
    while (sim_step(&world->net.clock)) {
    }
    world->ticking = ticking;
}
