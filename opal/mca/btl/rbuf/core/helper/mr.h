/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The memory regions that are registered, or are to be, and the list of those that were given back
 * (the deregistration queue of the paper that predictor.h cites, section 4.1).
 *
 * The state, the number of users and a generation are one word, which changes by compare-and-swap
 * alone:
 *
 *     ABSENT            a free slot
 *     PLANNED           not registered, and the helper means to; watched
 *     REGISTERING       by a taker, or by the helper
 *     IDLE              registered, no users
 *     IN_USE            registered, users
 *     DEREGISTERING     by the helper; becomes PLANNED
 *     REGISTERING_STALE, STALE, DEREGISTERING_STALE
 *                       as REGISTERING, IDLE or IN_USE, DEREGISTERING, and memory of it was given
 *                       back to the system meanwhile; is never taken again and becomes ABSENT
 *
 *     take   IDLE, IN_USE -> IN_USE   or   PLANNED, ABSENT -> REGISTERING -> IN_USE
 *     give   IN_USE -> IDLE, and onto the list; STALE too, with its last user
 *     helper PLANNED -> REGISTERING -> IDLE -> DEREGISTERING -> PLANNED or ABSENT
 *     hook   PLANNED -> ABSENT, and X -> X_STALE
 *
 * Invariants:
 * - A region is whole pages, so that a hook that sees a page go sees all that is registered in it.
 * - begin, end and access are written by who claimed an ABSENT slot, before it publishes, and by
 *   nobody else.
 * - The helper registers only what is PLANNED, and the hooks have watched that without a gap since
 *   a taker had it. A hook runs before its memory goes, so to compare a count of releases before
 *   and after a registration would not do: the hook may come before, and the munmap() after. What
 *   was marked is registered again only when the application uses it again, which shows that
 *   it is there.
 * - What is registered is in use, or on the list, or the helper's concern: nothing is lost, however
 *   many are given back.
 *
 * A region is on the list at most once: `listing` says so, and `next` belongs to who made it
 * LISTED, until the helper takes the whole list. The helper may keep a region that is used again
 * and again: it is not listed then, and looks at it by its own clock. Who gives and the helper
 * change `listing` by read-modify-writes with acquire and release, each behind its change of the
 * word or before its look at it: either the giver lists the region, or the helper sees that it was
 * given back.
 *
 * Memory order: who registers writes bounds and handle, then publishes with release; who takes
 * reads them behind its compare-and-swap with acquire. A giver releases, and the helper acquires
 * by the change to DEREGISTERING: all uses are over then. Bounds that are read before a
 * compare-and-swap that succeeds are those of its generation. A hook may read those of another one,
 * which marks in vain: that costs a registration.
 *
 * Threads: take, claim, publish, abandon and give in any thread; stale in any, also within malloc()
 * and munmap(): no lock, no allocation, and what it waits for is never a thread that was stopped.
 * The rest in the helper.
 */
#ifndef RBUF_CORE_HELPER_MR_H
#define RBUF_CORE_HELPER_MR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RBUF_MR_PAGE 4096u /* the unit of regions */

enum rbuf_mr_listing {
    RBUF_MR_UNLISTED,   /* goes onto the list when it is given back */
    RBUF_MR_LISTED,     /* is there */
    RBUF_MR_KEPT,       /* does not: the helper will look at it */
    RBUF_MR_KEPT_GIVEN, /* the same, and it was given back since */
};

enum rbuf_mr_state {
    RBUF_MR_ABSENT,
    RBUF_MR_PLANNED,
    RBUF_MR_REGISTERING,
    RBUF_MR_REGISTERING_STALE,
    RBUF_MR_IDLE,
    RBUF_MR_IN_USE,
    RBUF_MR_STALE,
    RBUF_MR_DEREGISTERING,
    RBUF_MR_DEREGISTERING_STALE
};

struct rbuf_mr {
    _Atomic uint64_t word;
    _Atomic uint64_t begin;
    _Atomic uint64_t end;
    _Atomic uint32_t access; /* bits of the caller's: what it is registered for */
    _Atomic enum rbuf_mr_listing listing;
    struct rbuf_mr *next;
    void *handle; /* the caller's registration */
};

/* How takes went. */
struct rbuf_mr_counters {
    _Atomic uint64_t registered; /* it was registered */
    _Atomic uint64_t planned;    /* the helper would have registered it later: mispredicted */
    _Atomic uint64_t late;    /* another thread was registering it: mispredicted, or used by two */
    _Atomic uint64_t unknown; /* nobody had foreseen it */
    _Atomic uint64_t full;    /* there was no slot, and it was not foreseen */
    _Atomic uint64_t stale;   /* regions that a hook has marked */
};

struct rbuf_mrs {
    struct rbuf_mr *mr;
    uint32_t slots;
    _Atomic uint32_t used;          /* no slot from here on was ever claimed */
    _Atomic(struct rbuf_mr *) list; /* given back, the last one first */
    struct rbuf_mr *taken;          /* the helper's part of it, the first one first */
    struct rbuf_mr_counters counters;
};

enum rbuf_mr_taken {
    RBUF_MR_TAKEN,       /* use it */
    RBUF_MR_TO_REGISTER, /* register [begin, end), then rbuf_mr_publish() or rbuf_mr_abandon() */
    RBUF_MR_COMING,      /* another one is registering *mr: wait while that is its state, as long as
                            registering takes at most, then ask again, and at last claim */
    RBUF_MR_NO_SLOT      /* no region: register without */
};

/* -ENOMEM, else 0. */
int rbuf_mrs_open(struct rbuf_mrs *mrs, uint32_t slots);

/* All are ABSENT, or the registrations are lost. */
void rbuf_mrs_close(struct rbuf_mrs *mrs);

/* A region that contains [base, base + bytes) and may be used for `access`, for the caller, who
 * gives it back; or one that the caller is to register at once. Does not wait. */
enum rbuf_mr_taken rbuf_mr_take(struct rbuf_mrs *mrs, uint64_t base, uint64_t bytes,
                                uint32_t access, struct rbuf_mr **mr);

/* The same behind RBUF_MR_COMING, for who has waited long enough: TO_REGISTER or NO_SLOT. */
enum rbuf_mr_taken rbuf_mr_claim(struct rbuf_mrs *mrs, uint64_t base, uint64_t bytes,
                                 uint32_t access, struct rbuf_mr **mr);

/* A taker has registered the region, and has it now. `access` may be less than was asked for. */
void rbuf_mr_publish(struct rbuf_mr *mr, void *handle, uint32_t access);

/* It could not be registered, or is not to be any more (a taker, or the helper). */
void rbuf_mr_abandon(struct rbuf_mr *mr);

/* A use is over. True: the list was empty, and the helper may want to be woken. A region that is
 * kept wakes nobody. */
bool rbuf_mr_give(struct rbuf_mrs *mrs, struct rbuf_mr *mr);

/* For memory hooks: [base, base + bytes) is about to go back to the system. True: the list was
 * empty, and the caller wakes the helper. It must: as long as the list is not empty, no later call
 * of this or of rbuf_mr_give() returns true. A region that the helper keeps stays pinned until it
 * looks at it. */
bool rbuf_mr_stale(struct rbuf_mrs *mrs, uint64_t base, uint64_t bytes);

/* The region that was given back the longest ago, or NULL. It may have been taken again. */
struct rbuf_mr *rbuf_mr_returned(struct rbuf_mrs *mrs);

/* It would not be NULL. */
bool rbuf_mr_any_returned(const struct rbuf_mrs *mrs);

/* It stays as it is until rbuf_mr_unkeep(), and is not listed when it is given back. Nothing is
 * done if it is on the list already. */
void rbuf_mr_keep(struct rbuf_mr *mr);

/* It is listed again when it is given back. True: it was given back since rbuf_mr_keep(). */
bool rbuf_mr_unkeep(struct rbuf_mr *mr);

/* Makes an IDLE region, or a STALE one without users, the helper's to deregister, and then
 * rbuf_mr_deregistered(). False: it is in use, or not registered. */
bool rbuf_mr_deregister(struct rbuf_mr *mr);

/* It is deregistered. True: it is PLANNED now if `plan`, since no hook has marked it; else it is
 * ABSENT. */
bool rbuf_mr_deregistered(struct rbuf_mr *mr, bool plan);

/* Makes a PLANNED region the helper's to register. False: it is not PLANNED any more. */
bool rbuf_mr_register(struct rbuf_mr *mr);

/* The helper has registered it: IDLE, or STALE and on the list. */
void rbuf_mr_registered(struct rbuf_mrs *mrs, struct rbuf_mr *mr, void *handle);

struct rbuf_mr_bytes {
    uint64_t registered;
    uint64_t used; /* of these, in use, or given back and not yet rbuf_mr_returned() */
};

struct rbuf_mr_bytes rbuf_mrs_bytes(const struct rbuf_mrs *mrs);

/* Another region, planned or registered, is good for all that this one is. */
bool rbuf_mr_covered(const struct rbuf_mrs *mrs, const struct rbuf_mr *mr);

enum rbuf_mr_state rbuf_mr_state(const struct rbuf_mr *mr);

/* It was given back, and is not yet rbuf_mr_returned(). */
static inline bool rbuf_mr_is_listed(const struct rbuf_mr *mr)
{
    return atomic_load_explicit(&mr->listing, memory_order_relaxed) == RBUF_MR_LISTED;
}

static inline uint64_t rbuf_mr_begin(const struct rbuf_mr *mr)
{
    return atomic_load_explicit(&mr->begin, memory_order_relaxed);
}

static inline uint64_t rbuf_mr_end(const struct rbuf_mr *mr)
{
    return atomic_load_explicit(&mr->end, memory_order_relaxed);
}

#endif
