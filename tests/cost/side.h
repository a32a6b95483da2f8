/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Processes on the fabric that costs nothing, for the programs that count and time core. All end
 * the program when they cannot do what they are asked for.
 */
#ifndef RBUF_COST_SIDE_H
#define RBUF_COST_SIDE_H

#include "core/core.h"

#define SIDE_SLOTS      64u
#define SIDE_SLOT_BYTES 2112u

/* One process as another one has it. */
struct side {
    struct rbuf_core core;
    struct rbuf_fab_queue queue[RBUF_CHANNELS];
    struct rbuf_mailbox mailbox;
    struct rbuf_peer *peer;
};

void side_die(const char *why);

/* Zeroed, aligned to a page. */
void *side_allocate(size_t bytes);

/* A core with a polling set of `rings`. */
void side_open_core(struct rbuf_core *core, uint32_t rings);

/* Gives core memory for one more ring. */
void side_give_ring(struct rbuf_core *core);

/* A core with so many peers in its polling set, none of which writes. */
struct rbuf_core *side_idle_rings(uint32_t rings);

#endif
