/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Grants: the receiver's side of a staged put.
 *
 * A grant is opened when the user says where a message shall go. With room in the receive arena it
 * is STAGED at once: a lane of N buffers, a range of flag values, and an acknowledgement word if
 * the message has more chunks than buffers. Without, it is DEFERRED and gets its lane in order of
 * age, or a registration of the user's buffer: after grant_wait_ns in which no staging was copied
 * out of, or STUCK_WAITS times as long in any case. A grant is never revoked.
 *
 * Registrations so made pin no more than direct_limit at once, or one message if that is longer:
 * where much is sent, waiting for staging costs nothing, and memory would be pinned without bound.
 * Should nothing move (peers that have lanes compute) one more is made every STUCK_WAITS waits.
 *
 * Early data (core/rendezvous/early.h) come first: then the lane is for what is behind them. A
 * grant claims those of the RTS that is being delivered, asks the peer for others, and waits for
 * the answer before it reads anything.
 *
 * The lane is as large as the message needs, at most N times the largest chunk; it is free again
 * when the last block is copied out. Messages that name the grant are held until then.
 */
#ifndef RBUF_CORE_GRANT_H
#define RBUF_CORE_GRANT_H

#include <stdlib.h>

#include "core/state/state.h"

/* What a grant waits for. */
#define RBUF_GRANT_STATES(STATE)                                                                   \
    STATE(RBUF_GRANT_, FREE)        /* the next message */                                         \
    STATE(RBUF_GRANT_, DEFERRED)    /* a lane; on the list `deferred` */                           \
    STATE(RBUF_GRANT_, REGISTERING) /* the answer to RBUF_EVENT_REGISTER */                        \
    STATE(RBUF_GRANT_, STAGED)      /* the peer's blocks; on the list `receiving` */               \
    STATE(RBUF_GRANT_, DIRECT)      /* the peer, which writes in place, and its user's close */    \
    STATE(RBUF_GRANT_, PLACED)      /* its user's close: all of it is in the buffer */

enum rbuf_grant_state { RBUF_GRANT_STATES(RBUF_STATE) };

/* What a grant knows of the early data of its message. */
enum rbuf_grant_early {
    RBUF_GRANT_EARLY_NONE,    /* there are none */
    RBUF_GRANT_EARLY_ASKED,   /* the peer will say */
    RBUF_GRANT_EARLY_CLAIMED, /* those of the RTS that was delivered; the peer may correct that */
    RBUF_GRANT_EARLY_NAMED    /* the peer has said */
};

/* Parts of a message, each cut by a schedule as if it was one. */
enum rbuf_grant_part { RBUF_GRANT_PART_EARLY, RBUF_GRANT_PART_LANE };

/* Early data of a message in whose delivery no grant is opened: the peer is asked. */
#define RBUF_EARLY_UNKNOWN UINT32_MAX

struct rbuf_held {
    STAILQ_ENTRY(rbuf_held) link;
    struct rbuf_delivery delivery; /* of what stands in `data` */
    _Alignas(8) unsigned char data[];
};

STAILQ_HEAD(rbuf_held_list, rbuf_held);

/* The message of this HELD delivery was dealt with. */
static inline void rbuf_held_free(const struct rbuf_delivery *delivery)
{
    free((char *) delivery->data - offsetof(struct rbuf_held, data));
}

struct rbuf_grant {
    enum rbuf_grant_state state;
    uint32_t index;
    uint32_t generation; /* of the index: with it the id, which does not come again */
    struct rbuf_peer *peer;
    void *user; /* glue's registration handle */
    unsigned char *base;
    uint64_t bytes;
    struct rbuf_schedule schedule; /* ours, with chunks that the peer can stage */
    uint64_t deferred_ns;          /* since when */

    enum rbuf_grant_early early;
    uint32_t early_seq;   /* CLAIMED, NAMED */
    uint64_t early_bytes; /* of the message, which they are; likewise */

    uint32_t lane_first; /* block of the receive arena */
    uint32_t lane_blocks;
    uint32_t stride_blocks;
    uint8_t slot;         /* acknowledgement word, if acks_wanted > 0 */
    uint64_t acks_first;  /* value of that word before this message */
    uint64_t acks_wanted; /* chunks that some later chunk waits for */
    uint64_t lane_flag;   /* of the lane's first block */

    enum rbuf_grant_part part; /* that is copied out next */
    struct rbuf_chunk chunk;   /* of that part */
    uint32_t block;            /* of that chunk, likewise */
    uint64_t flag;             /* that this block will carry */
    unsigned char *to;         /* where its payload goes */
    uint64_t chunks_arrived;   /* RBUF_ARRIVAL_IMMEDIATE: announced so far, in the lane */

    struct rbuf_held_list held;
    uint64_t held_ns; /* since when one is */
    TAILQ_ENTRY(rbuf_grant) link;
};

/* Its wire id, which is never 0. */
static inline uint64_t rbuf_grant_id(const struct rbuf_grant *grant)
{
    return (uint64_t) grant->generation << 32 | grant->index;
}

/* Opens a grant for `bytes` > 0 bytes at `base` from `peer`, and describes it in `offer` (STAGED or
 * DEFERRED). `early`: the sequence number of the early data that the message has; 0: it has none;
 * RBUF_EARLY_UNKNOWN. NULL only without memory or with 2^19 open; `offer` is then unchanged. */
struct rbuf_grant *rbuf_grant_open(struct rbuf_peer *peer, void *base, uint64_t bytes, void *user,
                                   uint32_t early, struct rbuf_offer *offer);

/* Answers RBUF_EVENT_REGISTER: the buffer is registered under `rkey`. */
void rbuf_grant_direct(struct rbuf_grant *grant, uint32_t rkey);

/* Answers RBUF_EVENT_REGISTER: it could not be registered. The grant waits on for a lane. */
void rbuf_grant_not_direct(struct rbuf_grant *grant);

/* The peer says which early data are the message's; 0: none. */
void rbuf_grant_named(struct rbuf_peer *peer, uint64_t id, uint32_t seq);

/* The user is done with the grant. */
void rbuf_grant_close(struct rbuf_grant *grant);

/* The grant named by a wire id, or NULL if that one is closed. */
struct rbuf_grant *rbuf_grant_find(struct rbuf_core *core, uint64_t id);

/* The STAGED grant that the immediate value of an arriving chunk names, or NULL. */
struct rbuf_grant *rbuf_grant_announced(struct rbuf_core *core, uint32_t immediate);

/* For core's own files. */
struct rbuf_grant *rbuf_grant_take(struct rbuf_core *core); /* a FREE one; NULL as of _open() */
void rbuf_grant_discard_held(struct rbuf_grant *grant);
void rbuf_grant_begin(struct rbuf_grant *grant, enum rbuf_grant_part part);
uint64_t rbuf_grant_part_bytes(const struct rbuf_grant *grant); /* with the peer's, if more */
void rbuf_grant_early_over(struct rbuf_grant *grant); /* nobody reads its early data any more */
bool rbuf_grant_early_is_there(const struct rbuf_grant *grant); /* what it claimed is in a slot */
bool rbuf_grants_are_open(const struct rbuf_peer *peer);        /* the peer has one */
void rbuf_grants_remove(struct rbuf_peer *peer);                /* closes those of the peer */
void rbuf_grants_open(struct rbuf_core *core);
void rbuf_grants_grown(struct rbuf_core *core);   /* the receive arena has grown */
int rbuf_grants_progress(struct rbuf_core *core); /* serves deferred grants */

/* True if a grant is STAGED: its blocks are looked for. */
static inline bool rbuf_grants_receive(const struct rbuf_core *core)
{
    return !TAILQ_EMPTY(&core->rendezvous.receiving);
}

/* True if a grant is DEFERRED. */
static inline bool rbuf_grants_wait(const struct rbuf_core *core)
{
    return !TAILQ_EMPTY(&core->rendezvous.deferred);
}

void rbuf_grant_placed(struct rbuf_grant *grant); /* the last block was copied out */
void rbuf_grants_close(struct rbuf_core *core);

#endif
