/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The word of state, users and generation of each memory region, and its changes by compare-and-
 * swap (core/helper/mr.h has the states).
 */
#include "core/helper/mr.h"

#include <errno.h>
#include <stdlib.h>

/* The word: state, users, generation, from the lowest bits on. */
#define USER        (UINT64_C(1) << 8)
#define USERS       (UINT64_C(0xffffff) << 8)
#define GENERATION  (UINT64_C(1) << 32)
#define GENERATIONS (UINT64_C(0xffffffff) << 32)

struct wanted {
    uint64_t begin;
    uint64_t end;
    uint32_t access;
};

static enum rbuf_mr_state state_of(uint64_t word)
{
    return (enum rbuf_mr_state)(word & (USER - 1));
}

static uint64_t with_state(uint64_t word, enum rbuf_mr_state state)
{
    return (word & ~(USER - 1)) | state;
}

static uint64_t load(const struct rbuf_mr *mr)
{
    return atomic_load_explicit(&mr->word, memory_order_acquire);
}

static bool change(struct rbuf_mr *mr, uint64_t *from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(&mr->word, from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

/* From one state to another, if it is in that one. */
static bool step(struct rbuf_mr *mr, enum rbuf_mr_state from, enum rbuf_mr_state to)
{
    uint64_t word = load(mr);

    while (state_of(word) == from) {
        if (change(mr, &word, with_state(word, to))) {
            return true;
        }
    }
    return false;
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

int rbuf_mrs_open(struct rbuf_mrs *mrs, uint32_t slots)
{
    *mrs = (struct rbuf_mrs){.mr = calloc(slots, sizeof(mrs->mr[0])), .slots = slots};
    return mrs->mr == NULL ? -ENOMEM : 0;
}

void rbuf_mrs_close(struct rbuf_mrs *mrs)
{
    free(mrs->mr);
    *mrs = (struct rbuf_mrs){0};
}

enum rbuf_mr_state rbuf_mr_state(const struct rbuf_mr *mr)
{
    return state_of(load(mr));
}

static uint32_t used(const struct rbuf_mrs *mrs)
{
    return atomic_load_explicit(&mrs->used, memory_order_acquire);
}

static bool contains(const struct rbuf_mr *mr, const struct wanted *wanted)
{
    uint32_t access = atomic_load_explicit(&mr->access, memory_order_relaxed);

    return rbuf_mr_begin(mr) <= wanted->begin && wanted->end <= rbuf_mr_end(mr) &&
           (access & wanted->access) == wanted->access;
}

/* One more user, if it is registered and good for this. */
static bool join(struct rbuf_mr *mr, const struct wanted *wanted)
{
    uint64_t word = load(mr);

    while ((state_of(word) == RBUF_MR_IDLE || state_of(word) == RBUF_MR_IN_USE) &&
           (word & USERS) != USERS && contains(mr, wanted)) {
        if (change(mr, &word, with_state(word + USER, RBUF_MR_IN_USE))) {
            return true;
        }
    }
    return false;
}

static struct wanted wanted_of(uint64_t base, uint64_t bytes, uint32_t access)
{
    return (struct wanted){.begin = base / RBUF_MR_PAGE * RBUF_MR_PAGE,
                           .end = (base + bytes + RBUF_MR_PAGE - 1) / RBUF_MR_PAGE * RBUF_MR_PAGE,
                           .access = access};
}

static void raise_used(struct rbuf_mrs *mrs, uint32_t slots)
{
    uint32_t known = used(mrs);

    while (known < slots &&
           !atomic_compare_exchange_weak_explicit(&mrs->used, &known, slots, memory_order_acq_rel,
                                                  memory_order_acquire)) {
    }
}

enum rbuf_mr_taken rbuf_mr_claim(struct rbuf_mrs *mrs, uint64_t base, uint64_t bytes,
                                 uint32_t access, struct rbuf_mr **mr)
{
    const struct wanted wanted = wanted_of(base, bytes, access);

    for (uint32_t i = 0; i < mrs->slots; i++) {
        uint64_t word;

        *mr = &mrs->mr[i];
        word = load(*mr);
        raise_used(mrs, i + 1);
        if (state_of(word) == RBUF_MR_ABSENT &&
            change(*mr, &word, ((word & GENERATIONS) + GENERATION) | RBUF_MR_REGISTERING)) {
            atomic_store_explicit(&(*mr)->begin, wanted.begin, memory_order_relaxed);
            atomic_store_explicit(&(*mr)->end, wanted.end, memory_order_relaxed);
            atomic_store_explicit(&(*mr)->access, wanted.access, memory_order_relaxed);
            count(&mrs->counters.unknown);
            return RBUF_MR_TO_REGISTER;
        }
    }
    count(&mrs->counters.full);
    *mr = NULL;
    return RBUF_MR_NO_SLOT;
}

/* Whoever calls this owns the region: but for hooks, nobody changes the word. */
void rbuf_mr_abandon(struct rbuf_mr *mr)
{
    atomic_store_explicit(&mr->word, with_state(load(mr), RBUF_MR_ABSENT), memory_order_release);
}

/* Makes a region REGISTERING that is planned for this. */
static bool claim_planned(struct rbuf_mr *mr, const struct wanted *wanted)
{
    if (!contains(mr, wanted) || !step(mr, RBUF_MR_PLANNED, RBUF_MR_REGISTERING)) {
        return false;
    }
    if (!contains(mr, wanted)) { /* it became another one before it was ours */
        rbuf_mr_abandon(mr);
        return false;
    }
    return true;
}

enum rbuf_mr_taken rbuf_mr_take(struct rbuf_mrs *mrs, uint64_t base, uint64_t bytes,
                                uint32_t access, struct rbuf_mr **mr)
{
    const struct wanted wanted = wanted_of(base, bytes, access);
    struct rbuf_mr *coming = NULL;

    for (uint32_t i = 0; i < used(mrs); i++) {
        *mr = &mrs->mr[i];
        if (join(*mr, &wanted)) {
            count(&mrs->counters.registered);
            return RBUF_MR_TAKEN;
        }
        if (rbuf_mr_state(*mr) == RBUF_MR_REGISTERING && contains(*mr, &wanted)) {
            coming = *mr;
        }
    }
    if (coming != NULL) {
        count(&mrs->counters.late);
        *mr = coming;
        return RBUF_MR_COMING;
    }
    for (uint32_t i = 0; i < used(mrs); i++) {
        *mr = &mrs->mr[i];
        if (claim_planned(*mr, &wanted)) {
            count(&mrs->counters.planned);
            return RBUF_MR_TO_REGISTER;
        }
    }
    return rbuf_mr_claim(mrs, base, bytes, access, mr);
}

/* Onto the list, if it is not there and not kept. True: the list was empty. */
static bool list(struct rbuf_mrs *mrs, struct rbuf_mr *mr)
{
    static const enum rbuf_mr_listing given[] = {[RBUF_MR_UNLISTED] = RBUF_MR_LISTED,
                                                 [RBUF_MR_LISTED] = RBUF_MR_LISTED,
                                                 [RBUF_MR_KEPT] = RBUF_MR_KEPT_GIVEN,
                                                 [RBUF_MR_KEPT_GIVEN] = RBUF_MR_KEPT_GIVEN};
    enum rbuf_mr_listing listing = atomic_load_explicit(&mr->listing, memory_order_relaxed);
    struct rbuf_mr *first;

    while (!atomic_compare_exchange_weak_explicit(&mr->listing, &listing, given[listing],
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (listing != RBUF_MR_UNLISTED) {
        return false; /* the helper changes it before it looks at the state, and will see ours */
    }
    first = atomic_load_explicit(&mrs->list, memory_order_relaxed);
    do {
        mr->next = first;
    } while (!atomic_compare_exchange_weak_explicit(&mrs->list, &first, mr, memory_order_release,
                                                    memory_order_relaxed));
    return first == NULL;
}

void rbuf_mr_publish(struct rbuf_mr *mr, void *handle, uint32_t access)
{
    uint64_t word = load(mr);
    uint64_t to;

    mr->handle = handle;
    atomic_store_explicit(&mr->access, access, memory_order_relaxed);
    do {
        to = with_state(word + USER,
                        state_of(word) == RBUF_MR_REGISTERING ? RBUF_MR_IN_USE : RBUF_MR_STALE);
    } while (!change(mr, &word, to));
}

bool rbuf_mr_give(struct rbuf_mrs *mrs, struct rbuf_mr *mr)
{
    uint64_t word = load(mr);
    uint64_t to;

    do {
        to = word - USER;
        if (state_of(word) == RBUF_MR_IN_USE && (to & USERS) == 0) {
            to = with_state(to, RBUF_MR_IDLE);
        }
    } while (!change(mr, &word, to));
    return (to & USERS) == 0 && list(mrs, mr);
}

/* What a region becomes when memory of it goes. */
static const enum rbuf_mr_state stale_of[] = {
    [RBUF_MR_ABSENT] = RBUF_MR_ABSENT,
    [RBUF_MR_PLANNED] = RBUF_MR_ABSENT,
    [RBUF_MR_REGISTERING] = RBUF_MR_REGISTERING_STALE,
    [RBUF_MR_REGISTERING_STALE] = RBUF_MR_REGISTERING_STALE,
    [RBUF_MR_IDLE] = RBUF_MR_STALE,
    [RBUF_MR_IN_USE] = RBUF_MR_STALE,
    [RBUF_MR_STALE] = RBUF_MR_STALE,
    [RBUF_MR_DEREGISTERING] = RBUF_MR_DEREGISTERING_STALE,
    [RBUF_MR_DEREGISTERING_STALE] = RBUF_MR_DEREGISTERING_STALE};

bool rbuf_mr_stale(struct rbuf_mrs *mrs, uint64_t base, uint64_t bytes)
{
    bool wake = false;

    for (uint32_t i = 0; i < used(mrs); i++) {
        struct rbuf_mr *mr = &mrs->mr[i];
        uint64_t word = load(mr);

        while (stale_of[state_of(word)] != state_of(word) && rbuf_mr_begin(mr) < base + bytes &&
               base < rbuf_mr_end(mr)) {
            if (change(mr, &word, with_state(word, stale_of[state_of(word)]))) {
                count(&mrs->counters.stale);
                /* An idle one nobody else gives back. */
                wake = (state_of(word) == RBUF_MR_IDLE && list(mrs, mr)) || wake;
                break;
            }
        }
    }
    return wake;
}

struct rbuf_mr *rbuf_mr_returned(struct rbuf_mrs *mrs)
{
    struct rbuf_mr *mr = mrs->taken;

    if (mr == NULL) {
        struct rbuf_mr *last =
            atomic_exchange_explicit(&mrs->list, (struct rbuf_mr *) NULL, memory_order_acquire);

        while (last != NULL) { /* now the first one first */
            struct rbuf_mr *before = last->next;

            last->next = mr;
            mr = last;
            last = before;
        }
    }
    if (mr != NULL) {
        mrs->taken = mr->next;
        (void) atomic_exchange_explicit(&mr->listing, RBUF_MR_UNLISTED, memory_order_acq_rel);
    }
    return mr;
}

bool rbuf_mr_any_returned(const struct rbuf_mrs *mrs)
{
    return mrs->taken != NULL || atomic_load_explicit(&mrs->list, memory_order_relaxed) != NULL;
}

void rbuf_mr_keep(struct rbuf_mr *mr)
{
    enum rbuf_mr_listing listing = RBUF_MR_UNLISTED;

    (void) atomic_compare_exchange_strong_explicit(&mr->listing, &listing, RBUF_MR_KEPT,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

bool rbuf_mr_unkeep(struct rbuf_mr *mr)
{
    enum rbuf_mr_listing listing = atomic_load_explicit(&mr->listing, memory_order_relaxed);

    while ((listing == RBUF_MR_KEPT || listing == RBUF_MR_KEPT_GIVEN) &&
           !atomic_compare_exchange_weak_explicit(&mr->listing, &listing, RBUF_MR_UNLISTED,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
    return listing == RBUF_MR_KEPT_GIVEN;
}

bool rbuf_mr_deregister(struct rbuf_mr *mr)
{
    uint64_t word = load(mr);

    while (state_of(word) == RBUF_MR_IDLE ||
           (state_of(word) == RBUF_MR_STALE && (word & USERS) == 0)) {
        if (change(mr, &word,
                   with_state(word, state_of(word) == RBUF_MR_IDLE
                                        ? RBUF_MR_DEREGISTERING
                                        : RBUF_MR_DEREGISTERING_STALE))) {
            return true;
        }
    }
    return false;
}

bool rbuf_mr_deregistered(struct rbuf_mr *mr, bool plan)
{
    if (plan && step(mr, RBUF_MR_DEREGISTERING, RBUF_MR_PLANNED)) {
        return true;
    }
    rbuf_mr_abandon(mr);
    return false;
}

bool rbuf_mr_register(struct rbuf_mr *mr)
{
    return step(mr, RBUF_MR_PLANNED, RBUF_MR_REGISTERING);
}

void rbuf_mr_registered(struct rbuf_mrs *mrs, struct rbuf_mr *mr, void *handle)
{
    mr->handle = handle;
    if (!step(mr, RBUF_MR_REGISTERING, RBUF_MR_IDLE)) {
        (void) step(mr, RBUF_MR_REGISTERING_STALE, RBUF_MR_STALE);
        (void) list(mrs, mr);
    }
}

struct rbuf_mr_bytes rbuf_mrs_bytes(const struct rbuf_mrs *mrs)
{
    struct rbuf_mr_bytes bytes = {0};

    for (uint32_t i = 0; i < used(mrs); i++) {
        const struct rbuf_mr *mr = &mrs->mr[i];
        const enum rbuf_mr_state state = rbuf_mr_state(mr);

        if (state != RBUF_MR_ABSENT && state != RBUF_MR_PLANNED) {
            bytes.registered += rbuf_mr_end(mr) - rbuf_mr_begin(mr);
        }
        if (state == RBUF_MR_IN_USE || rbuf_mr_is_listed(mr)) {
            bytes.used += rbuf_mr_end(mr) - rbuf_mr_begin(mr);
        }
    }
    return bytes;
}

bool rbuf_mr_covered(const struct rbuf_mrs *mrs, const struct rbuf_mr *mr)
{
    const struct wanted wanted = {rbuf_mr_begin(mr), rbuf_mr_end(mr),
                                  atomic_load_explicit(&mr->access, memory_order_relaxed)};

    for (uint32_t i = 0; i < used(mrs); i++) {
        const struct rbuf_mr *other = &mrs->mr[i];
        enum rbuf_mr_state state = rbuf_mr_state(other);

        if (other != mr && contains(other, &wanted) &&
            (state == RBUF_MR_PLANNED || state == RBUF_MR_IDLE || state == RBUF_MR_IN_USE)) {
            return true;
        }
    }
    return false;
}
