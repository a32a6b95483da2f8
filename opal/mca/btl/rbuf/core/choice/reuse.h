/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The buffers that messages were lately sent from and received into: how often each came again,
 * and what staging it has cost.
 *
 * A buffer is named by its first page; a message that begins on the same page belongs to it and
 * makes it longer if need be, and shorter ones let it shrink slowly. The table is bounded: a buffer
 * has a few places where it can be, and the one there that is least worth remembering makes room.
 *
 * Threads: rbuf_reuse_release() may run in any thread, at any time, also inside malloc() and
 * munmap(): it takes no lock and changes nothing but `released` and `releases`. It reads `begin`
 * and `end`, which the owner writes; what it overlooks or marks wrongly while they change costs
 * time at most, since whether a registration still stands is not known from here. Everything else
 * is called under the module's lock.
 */
#ifndef RBUF_CORE_REUSE_H
#define RBUF_CORE_REUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RBUF_REUSE_PAGE    4096u /* the unit of the table; the adapter's may be larger */
#define RBUF_REUSE_WAYS    8u
#define RBUF_REUSE_SETS    32u
#define RBUF_REUSE_OCTAVES 48u /* of sizes, each with lives of its own */
#define RBUF_REUSE_BUFFERS (RBUF_REUSE_WAYS * RBUF_REUSE_SETS)
#define RBUF_LIFE_STEPS    8u /* the last one is 65 uses and more, and has no end */

/* Whether a buffer is registered, as far as is known here, and what that lets its next message do.
 */
enum rbuf_buffer_state {
    RBUF_BUFFER_UNREGISTERED,
    RBUF_BUFFER_REGISTERED,
    RBUF_BUFFER_PROBING /* registered; the next message is copied, too, and shows what that takes */
};

struct rbuf_buffer_use {
    _Atomic uint64_t begin; /* address of its first page; 0: a free place */
    _Atomic uint64_t end;   /* behind the furthest byte of its messages */
    _Atomic bool released;  /* memory of it was given back to the system */
    enum rbuf_buffer_state state;
    bool invited;     /* its last message was written to a registered buffer; in any state */
    uint32_t uses;    /* messages since it was first seen, or released */
    uint64_t stamp;   /* when it was used last, in uses of the table */
    uint64_t rent_ns; /* what staging has cost since the last registration, as reckoned */
};

/* How long buffers live (lives.c): those of each step of uses that went on, and that ended there.
 */
struct rbuf_lives {
    uint16_t passed[RBUF_LIFE_STEPS];
    uint16_t ended[RBUF_LIFE_STEPS];
};

struct rbuf_reuse {
    struct rbuf_buffer_use place[RBUF_REUSE_BUFFERS];
    struct rbuf_lives lives[RBUF_REUSE_OCTAVES];
    uint64_t uses;
    _Atomic uint64_t lowest; /* all buffers lie between these */
    _Atomic uint64_t highest;
    _Atomic uint32_t releases; /* buffers marked as released since the last sweep */
};

void rbuf_reuse_open(struct rbuf_reuse *reuse);

/* The place of the buffer at `base`, entered if it is new. */
struct rbuf_buffer_use *rbuf_reuse_find(struct rbuf_reuse *reuse, uint64_t base);

/* The same, NULL if it is new. */
struct rbuf_buffer_use *rbuf_reuse_known(struct rbuf_reuse *reuse, uint64_t base);

/* Counts a use of that buffer at [base, base + bytes): the first, if it was released before. */
void rbuf_reuse_use(struct rbuf_reuse *reuse, struct rbuf_buffer_use *use, uint64_t base,
                    uint64_t bytes);

/* [base, base + bytes) was given back to the system. Any thread. */
void rbuf_reuse_release(struct rbuf_reuse *reuse, uint64_t base, uint64_t bytes);

/* The buffer's life has ended: forgets what is known of it but where it is. */
void rbuf_reuse_end(struct rbuf_reuse *reuse, struct rbuf_buffer_use *use);

/* How long buffers of this size live. */
struct rbuf_lives *rbuf_reuse_lives(struct rbuf_reuse *reuse, uint64_t bytes);

/* A buffer is used for the `uses`-th time. */
void rbuf_lives_use(struct rbuf_lives *lives, uint32_t uses);

/* A buffer has ended after `uses` > 0 uses. */
void rbuf_lives_end(struct rbuf_lives *lives, uint32_t uses);

/* Whether a buffer is best registered at its `uses`-th use, at `price`, when each use from this one
 * on then saves `saving` (both ns). */
bool rbuf_lives_worth(const struct rbuf_lives *lives, uint32_t uses, double saving, double price);

#endif
