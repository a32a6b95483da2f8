/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core/stage keeps of a peer: the copied puts to it, and the copied gets from it, that have
 * begun (core/stage/copies.h). Files of core/stage change it; core/onesided counts the chunks of an
 * operation down when they are back.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_STATE_STAGE_H
#define RBUF_CORE_STATE_STAGE_H

#include <stdint.h>
#include <sys/queue.h>

struct rbuf_tx_chunk;

STAILQ_HEAD(rbuf_tx_chunk_list, rbuf_tx_chunk);

/* What a copied put and a copied get have in common; each contains one. */
struct rbuf_copy {
    uint32_t chunks;              /* under way; of a get, or to be copied out */
    STAILQ_ENTRY(rbuf_copy) link; /* it waits */
};

/* The copied puts of a peer, or its copied gets. */
struct rbuf_copies {
    uint32_t begun;                   /* of them */
    uint64_t bytes;                   /* of all their chunks */
    STAILQ_HEAD(, rbuf_copy) waiting; /* to begin, in order of their start */
};

struct rbuf_stage_of_core {
    struct rbuf_tx_chunk_list chunks_free;
};

#endif
