/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The real core over the simulated fabric, with a hostile peer (see core_fuzz.h). The first record
 * of an input chooses the options, each further one is a step. At the end the foe is lost; then all
 * that is honest must have arrived with the right bytes, and everything must be given back.
 */
#include <errno.h>

#include "core_fuzz.h"

#define STAGING_BYTES (48u * 512u)
#define HONEST_MAX    6u      /* messages of the honest node that are open at a time */
#define STEPS_MAX     200u    /* of one input */
#define PATIENCE      400000u /* actions of the simulator until all must be over */

enum step {
    STEP_RUN,
    STEP_HONEST,
    STEP_FOE_MESSAGE,
    STEP_FOE_GRANT,
    STEP_FOE_BLOCK,
    STEP_FOE_IMMEDIATE,
    STEP_FOE_MAILBOX,
    STEP_FOE_OFFER, /* a real one */
    STEP_GRANT,
    STEP_CLOSE_GRANT,
    STEP_PUT,
    STEP_SEND,
    STEP_SEND_NOW,
    STEP_RMA,
    STEP_ANNOUNCE,
    STEP_RELEASE,
    STEP_TIME,
    STEP_ANSWER,
    STEP_KILL, /* the foe's queue pair */
    STEP_FAIL, /* the victim gives the foe up */
    STEP_RELEASE_ONE,
    STEP_FOE_RING_MESSAGE,
    STEP_FOE_RING_WORD,
    STEP_FOE_RING_OFFER,
    STEP_FOE_RING_STEP,
    STEP_FOE_FLOOD, /* small messages, so that the victim leases it a ring */
    STEP_FLOOD,     /* likewise of the victim */
    STEP_FOE_LOAN,
    STEP_FOE_EARLY,
    STEP_PACKED,
    STEPS
};

struct dealings dealings;

/* A set of 0 is for three in sixteen. */
static void choose_rings(struct world_options *options, uint32_t bits)
{
    static const uint32_t slots[] = {2, 3, 5, 16};
    static const uint32_t slot_bytes[] = {1024, 128, 192, 512};
    static const uint32_t thresholds[] = {1, 2, 4, 8};
    static const unsigned memory[] = {WORLD_RINGS_MAX, WORLD_RINGS_MAX, 1, 2};

    options->core.ring = (struct rbuf_ring_options){.slots = slots[bits & 3],
                                                    .slot_bytes = slot_bytes[bits >> 2 & 3],
                                                    .set = 1 + (bits >> 4 & 1),
                                                    .threshold = thresholds[bits >> 5 & 3],
                                                    .longest = (bits >> 22 & 3) * 1500};
    options->ring_memory = memory[bits >> 7 & 3];
    if ((bits >> 9 & 15) > 12) {
        options->core.ring = (struct rbuf_ring_options){0};
    }
}

static struct world_options choose_options(const struct record *record)
{
    struct world_options options = world_defaults();
    uint64_t bits = record->value;

    options.nodes = NODES;
    options.send_bytes = STAGING_BYTES;
    options.receive_bytes = STAGING_BYTES;
    options.message_bytes = MESSAGE_BYTES;
    options.fragment_bytes = MESSAGE_BYTES / 2;
    options.model.packet_bytes = 1024;
    options.faults.refuse_when_dead = bits & 1;
    options.packed_early = bits & 2;
    options.core.schedule = (struct rbuf_schedule){
        .block_bytes = 512,
        .growth = RBUF_GROWTH_ONE + (uint32_t) (bits >> 8 & 3) * RBUF_GROWTH_ONE / 2,
        .first_blocks = (uint16_t) (1 + (bits >> 10 & 1)),
        .buffer_blocks = (uint16_t) (2 + (bits >> 11 & 3)),
        .buffers = (uint8_t) (1 + (bits >> 13 & 3)),
        .taper = bits >> 15 & 1};
    options.core.arrival = (enum rbuf_arrival)((bits >> 16 & 3) % 3);
    options.core.quantum = 512u << (bits >> 18 & 3);
    options.core.grant_wait_ns = (bits >> 20 & 1) * 50000;
    options.core.probe_interval_ns = (bits >> 21 & 1) * 1000000;
    options.core.window[RBUF_CONTROL] = (uint16_t) (4 + (bits >> 22 & 7));
    options.core.window[RBUF_BULK] = (uint16_t) (2 + (bits >> 25 & 7));
    options.core.max_message = bits >> 28 & 1 ? 1u << 30 : 1000;
    options.depth = 8u << (bits >> 29 & 3);
    options.inline_max = bits >> 31 & 1 ? 256 : bits & 1 ? RBUF_INLINE_ENOUGH : 64;
    options.followers = bits >> 32 & 1;
    options.refuse_registration = bits >> 33 & 1;
    choose_rings(&options, (uint32_t) (bits >> 34));
    options.core.early = (struct rbuf_early_options){.peers = bits >> 48 & 3,
                                                     .slot_blocks = 1 + (bits >> 50 & 7),
                                                     .opening_blocks = bits >> 53 & 1};
    options.late = bits >> 54 & 3;
    options.aside = bits >> 56 & 1;
    options.core.rma_order = (enum rbuf_rma_order)(bits >> 57 & 3);
    return options;
}

static void run(unsigned actions)
{
    while (actions > 0 && sim_step(&dealings.world->net.clock)) {
        actions--;
    }
}

static void send_honest(const struct record *record)
{
    static const enum world_kind kinds[] = {WORLD_EAGER, WORLD_PUT,  WORLD_PUT, WORLD_PACKED,
                                            WORLD_WRITE, WORLD_READ, WORLD_ADD, WORLD_GET};
    enum world_kind kind = kinds[record->which % 8];
    unsigned from = record->which >> 3 & 1 ? HONEST : VICTIM;
    uint64_t most = kind == WORLD_EAGER ? 900 : 20000;

    if (dealings.world->open < HONEST_MAX) {
        world_send(dealings.world, kind, from, from == HONEST ? VICTIM : HONEST,
                   1 + record->value % most);
    }
}

static void nothing(void *subject)
{
    world_wake(subject);
}

/* Lets time go by, and the victim look at it. */
static void pass_time(const struct record *record)
{
    struct sim_clock *clock = &dealings.world->net.clock;
    uint64_t until = clock->now_ns + record->value % 10000000;

    sim_at(clock, until, nothing, &dealings.world->nodes[VICTIM]);
    for (unsigned i = 0; i < 2000 && clock->now_ns < until && sim_step(clock); i++) {
    }
}

/* Enough of what counts for the polling set of the receiver. */
static void flood(const struct record *record, bool of_foe)
{
    for (unsigned i = 0; i <= record->amount % 16; i++) {
        struct record one = {.amount = (uint16_t) (record->value % 96)};
        const uint8_t *data = NULL;
        size_t left = 0;

        if (of_foe) {
            foe_message(&one, &data, &left);
        } else {
            one.which = (uint8_t) i;
            user_send(&one);
        }
        run(1 + record->spare % 64);
    }
}

static void put(const struct record *record)
{
    struct rbuf_offer offer = foe_offer(record);

    user_put(record, &offer);
}

/* What the foe does. False: the step is another's. */
static bool foe_step(enum step step, const struct record *record, const uint8_t **data,
                     size_t *left)
{
    switch (step) {
    case STEP_FOE_MESSAGE:
        foe_message(record, data, left);
        break;
    case STEP_FOE_GRANT:
        foe_grant(record);
        break;
    case STEP_FOE_BLOCK:
        foe_block(record);
        break;
    case STEP_FOE_IMMEDIATE:
        foe_immediate(record);
        break;
    case STEP_FOE_MAILBOX:
        foe_mailbox(record);
        break;
    case STEP_FOE_OFFER:
        user_offer(record);
        break;
    case STEP_FOE_RING_MESSAGE:
        foe_ring_message(record);
        break;
    case STEP_FOE_RING_WORD:
        foe_ring_word(record);
        break;
    case STEP_FOE_RING_OFFER:
        foe_ring_offer(record);
        break;
    case STEP_FOE_RING_STEP:
        foe_ring_step(record);
        break;
    case STEP_FOE_FLOOD:
        flood(record, true);
        break;
    case STEP_FOE_LOAN:
        foe_lease(record);
        break;
    case STEP_FOE_EARLY:
        foe_early(record);
        break;
    case STEP_KILL:
        sim_kill(&dealings.world->nodes[FOE].links[VICTIM].end[record->which % RBUF_CHANNELS]);
        break;
    default:
        return false;
    }
    return true;
}

/* What the victim, the honest node and time do. */
static void other_step(enum step step, const struct record *record)
{
    switch (step) {
    case STEP_RUN:
        run(1 + record->amount % 512);
        break;
    case STEP_HONEST:
        send_honest(record);
        break;
    case STEP_GRANT:
        user_grant(record);
        break;
    case STEP_CLOSE_GRANT:
        user_close_grant(record);
        break;
    case STEP_PUT:
        put(record);
        break;
    case STEP_SEND:
        user_send(record);
        break;
    case STEP_SEND_NOW:
        user_send_now(record);
        break;
    case STEP_RMA:
        user_rma(record);
        break;
    case STEP_ANNOUNCE:
        user_announce(record);
        break;
    case STEP_PACKED:
        user_packed(record);
        break;
    case STEP_RELEASE:
        user_release(record->which % ITEMS);
        break;
    case STEP_TIME:
        pass_time(record);
        break;
    case STEP_ANSWER:
        dealings.answer = (enum answer)(record->which % 3);
        break;
    case STEP_RELEASE_ONE:
        user_release_one(record->which % ITEMS);
        break;
    case STEP_FLOOD:
        flood(record, false);
        break;
    default:
        rbuf_peer_fail(dealings.foe, -ECONNRESET);
        world_wake(&dealings.world->nodes[VICTIM]);
        break;
    }
}

static void do_step(const struct record *record, const uint8_t **data, size_t *left)
{
    enum step step = (enum step)(record->code % STEPS);

    if (!foe_step(step, record, data, left)) {
        other_step(step, record);
    }
}

static void begin(const struct world_options *options)
{
    struct world *world = world_open(options);

    dealings = (struct dealings){.world = world,
                                 .core = &world->nodes[VICTIM].core,
                                 .foe = world->nodes[VICTIM].links[FOE].peer,
                                 .victim = world->nodes[FOE].links[VICTIM].peer,
                                 .scratch = calloc(1, SCRATCH_BYTES)};
    fuzz_require(dealings.scratch != NULL, "there is memory");
    watch_writes(world);
    dealings.scratch_key = sim_register(&world->nodes[FOE].nic, dealings.scratch, SCRATCH_BYTES);
}

/* Answers the rendezvous that were not expected; false: there was none. */
static bool expect_late(void)
{
    bool any = false;

    for (unsigned i = 0; i < NODES; i++) {
        if (dealings.world->nodes[i].unexpected != NULL) {
            world_expect(dealings.world, i);
            any = true;
        }
    }
    return any;
}

/* Both sides give each other up, and the foe is gone for the honest node too. */
static void part(void)
{
    struct world *world = dealings.world;

    rbuf_peer_fail(dealings.foe, -ECONNRESET);
    rbuf_peer_fail(dealings.victim, -ECONNRESET);
    for (unsigned i = 0; i < NODES; i++) {
        world_wake(&world->nodes[i]);
    }
    user_end();
    for (unsigned i = 0; i < PATIENCE && (world->open > 0 || !user_idle()); i++) {
        if (!sim_step(&world->net.clock) && !expect_late()) {
            break;
        }
        user_release(0);
    }
    world->options.core.probe_interval_ns = 0;
    for (unsigned i = 0; i < NODES; i++) {
        world->nodes[i].core.options.probe_interval_ns = 0;
    }
    run(PATIENCE);
    user_end();
    run(PATIENCE);
}

static void judge_end(void)
{
    struct world *world = dealings.world;
    const struct world_message *message;
    const struct rbuf_peer *honest = world->nodes[VICTIM].links[HONEST].peer;

    fuzz_require(honest->state == RBUF_PEER_CONNECTED, "the honest node stays connected");
    fuzz_require(world->corrupt == 0 || dealings.collided,
                 "what is honest arrives with the right bytes");
    if (dealings.collided && world->open > 0) {
        return; /* its flags may be lost for good */
    }
    fuzz_require(world->open == 0, "what is honest arrives");
    for (message = world->messages; message != NULL; message = message->next) {
        fuzz_require((message->state == WORLD_ARRIVED || dealings.collided) &&
                         message->pending == 0,
                     "every honest operation ends well");
    }
    fuzz_require(user_idle(), "every operation with the foe ends in an event");
    for (unsigned i = 0; i < NODES; i++) {
        const struct rbuf_core *core = &world->nodes[i].core;

        fuzz_require(world_receive_staging_free(core), "receive staging is given back");
        fuzz_require(core->send_arena.free_blocks == core->send_arena.blocks,
                     "send staging is given back");
        fuzz_require(core->events.head == core->events.tail, "all events were taken");
    }
    fuzz_require(rbuf_peer_drained(dealings.foe) && rbuf_peer_drained(honest),
                 "every request comes back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world_options options;
    struct record record;
    size_t heap = fuzz_heap();

    if (!record_take(&data, &size, &record)) {
        return 0;
    }
    options = choose_options(&record);
    begin(&options);
    for (unsigned i = 0; i < STEPS_MAX && record_take(&data, &size, &record); i++) {
        do_step(&record, &data, &size);
        watch_all();
    }
    part();
    judge_end();
    world_close(dealings.world);
    user_free();
    fuzz_require(fuzz_heap() == heap, "nothing is left on the heap");
    return 0;
}
