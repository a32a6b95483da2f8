/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Processes on the fabric that costs nothing: their memory, their rings and their peers. */
#include "side.h"

#include "inspect/eager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE          4096u
#define STAGING_BYTES (1u << 20)

void side_die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(EXIT_FAILURE);
}

void *side_allocate(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, PAGE, bytes) != 0) {
        side_die("no memory");
    }
    return memset(memory, 0, bytes);
}

void side_open_core(struct rbuf_core *core, uint32_t rings)
{
    const struct rbuf_core_options options = {
        .schedule = {.block_bytes = 4096,
                     .growth = RBUF_GROWTH_ONE,
                     .first_blocks = 3,
                     .buffer_blocks = 16,
                     .buffers = 3},
        .quantum = 16384,
        .window = {64, 16},
        .ring = {.slots = SIDE_SLOTS, .slot_bytes = SIDE_SLOT_BYTES, .set = rings, .threshold = 1},
        .max_message = 1u << 30};
    const struct rbuf_region region = {.base = side_allocate(STAGING_BYTES),
                                       .bytes = STAGING_BYTES};
    const struct rbuf_region other = {.base = side_allocate(STAGING_BYTES), .bytes = STAGING_BYTES};

    if (rbuf_core_open(core, &options, &region, &other) != 0) {
        side_die("a core cannot be opened");
    }
}

void side_give_ring(struct rbuf_core *core)
{
    struct rbuf_ring_memory *memory = side_allocate(sizeof(*memory));
    static unsigned rings;

    memory->base = (unsigned char *) side_allocate(SIDE_SLOTS * SIDE_SLOT_BYTES + PAGE) +
                   rings++ % RBUF_RING_STEPS * RBUF_RING_STAGGER;
    rbuf_ring_memory_give(core, memory);
}

struct rbuf_core *side_idle_rings(uint32_t rings)
{
    struct rbuf_core *core = side_allocate(sizeof(*core));
    struct rbuf_event event;

    side_open_core(core, rings);
    for (uint32_t i = 0; i < rings; i++) {
        struct side *side = side_allocate(sizeof(*side));
        struct rbuf_peer_link link = {.queue = {&side->queue[0], &side->queue[1]},
                                      .their_mailbox =
                                          (uintptr_t) side_allocate(sizeof(side->mailbox)),
                                      .window = {64, 16},
                                      .words = RBUF_WORDS_IN_ORDER};

        side->queue[0].other = &side->queue[1]; /* where the invitation goes */
        if (rbuf_peer_add(core, &side->mailbox, NULL, &side->peer) != 0) {
            side_die("a peer cannot be added");
        }
        rbuf_peer_connected(side->peer, &link);
        side_give_ring(core);
        rbuf_polling_set_received(side->peer, 8);
    }
    while (rbuf_events_pop(&core->events, &event)) {
    }
    if (inspect_polled(core) != rings) {
        side_die("not all rings are polled");
    }
    return core;
}
