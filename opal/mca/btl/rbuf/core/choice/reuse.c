/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of buffers (core/choice/reuse.h): set-associative by the first page. All words that
 * rbuf_reuse_release() shares with the owner are relaxed atomics: none guards anything else.
 */
#include "core/choice/reuse.h"

#include <string.h>

#define COME_AGAIN_BONUS                                                                           \
    4096u               /* uses of the table that a buffer which came again outlives others */
#define SWEEP_AFTER 32u /* releases */
#define SHRINK      8u  /* each shorter message takes this part of what it leaves over */

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static bool is_released(const struct rbuf_buffer_use *use)
{
    return atomic_load_explicit(&use->released, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

void rbuf_reuse_open(struct rbuf_reuse *reuse)
{
    memset(reuse, 0, sizeof(*reuse));
    store(&reuse->lowest, UINT64_MAX);
}

static struct rbuf_buffer_use *set_of(struct rbuf_reuse *reuse, uint64_t begin)
{
    uint64_t hash = begin / RBUF_REUSE_PAGE * UINT64_C(0x9e3779b97f4a7c15);

    return &reuse->place[(hash >> 32) % RBUF_REUSE_SETS * RBUF_REUSE_WAYS];
}

/* Up to when the buffer is worth its place, in uses of the table. */
static uint64_t worth(const struct rbuf_buffer_use *use)
{
    if (load(&use->begin) == 0 || is_released(use)) {
        return 0;
    }
    return use->stamp + (use->uses > 1 ? COME_AGAIN_BONUS : 0);
}

/* The range in which releases are of interest. */
static void widen(struct rbuf_reuse *reuse, uint64_t begin, uint64_t end)
{
    if (begin < load(&reuse->lowest)) {
        store(&reuse->lowest, begin);
    }
    if (end > load(&reuse->highest)) {
        store(&reuse->highest, end);
    }
}

struct rbuf_lives *rbuf_reuse_lives(struct rbuf_reuse *reuse, uint64_t bytes)
{
    uint32_t octave = 63 - (uint32_t) __builtin_clzll(bytes | 1);

    return &reuse->lives[octave < RBUF_REUSE_OCTAVES ? octave : RBUF_REUSE_OCTAVES - 1];
}

void rbuf_reuse_end(struct rbuf_reuse *reuse, struct rbuf_buffer_use *use)
{
    if (use->uses > 0) {
        rbuf_lives_end(rbuf_reuse_lives(reuse, load(&use->end) - load(&use->begin)), use->uses);
    }
    store(&use->end, load(&use->begin));
    atomic_store_explicit(&use->released, false, memory_order_relaxed);
    use->state = RBUF_BUFFER_UNREGISTERED;
    use->invited = false;
    use->uses = 0;
    use->rent_ns = 0;
}

static struct rbuf_buffer_use *enter(struct rbuf_reuse *reuse, uint64_t begin)
{
    struct rbuf_buffer_use *set = set_of(reuse, begin);
    struct rbuf_buffer_use *least = set;

    for (uint32_t i = 1; i < RBUF_REUSE_WAYS; i++) {
        if (worth(&set[i]) < worth(least)) {
            least = &set[i];
        }
    }
    rbuf_reuse_end(reuse, least);
    store(&least->begin, begin);
    store(&least->end, begin);
    return least;
}

/* The buffer whose first page begins there, released or not; NULL: there is none. */
static struct rbuf_buffer_use *look_up(struct rbuf_reuse *reuse, uint64_t begin)
{
    struct rbuf_buffer_use *set = set_of(reuse, begin);

    for (uint32_t i = 0; i < RBUF_REUSE_WAYS; i++) {
        if (load(&set[i].begin) == begin) {
            return &set[i];
        }
    }
    return NULL;
}

struct rbuf_buffer_use *rbuf_reuse_known(struct rbuf_reuse *reuse, uint64_t base)
{
    struct rbuf_buffer_use *use = look_up(reuse, base / RBUF_REUSE_PAGE * RBUF_REUSE_PAGE);

    return use != NULL && !is_released(use) ? use : NULL;
}

struct rbuf_buffer_use *rbuf_reuse_find(struct rbuf_reuse *reuse, uint64_t base)
{
    const uint64_t begin = base / RBUF_REUSE_PAGE * RBUF_REUSE_PAGE;
    struct rbuf_buffer_use *use = look_up(reuse, begin);

    return use != NULL ? use : enter(reuse, begin);
}

/* Ends the lives of those that were released. */
static void sweep(struct rbuf_reuse *reuse)
{
    atomic_store_explicit(&reuse->releases, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < RBUF_REUSE_BUFFERS; i++) {
        if (is_released(&reuse->place[i])) {
            rbuf_reuse_end(reuse, &reuse->place[i]);
        }
    }
}

void rbuf_reuse_use(struct rbuf_reuse *reuse, struct rbuf_buffer_use *use, uint64_t base,
                    uint64_t bytes)
{
    uint64_t begin = load(&use->begin);
    uint64_t end = base + bytes;

    if (is_released(use)) {
        rbuf_reuse_end(reuse, use);
    }
    if (atomic_load_explicit(&reuse->releases, memory_order_relaxed) >= SWEEP_AFTER) {
        sweep(reuse);
    }
    if (end < load(&use->end)) {
        end = load(&use->end) - (load(&use->end) - end) / SHRINK;
    }
    store(&use->end, end);
    widen(reuse, begin, end);
    use->stamp = ++reuse->uses;
    rbuf_lives_use(rbuf_reuse_lives(reuse, end - begin), ++use->uses);
}

void rbuf_reuse_release(struct rbuf_reuse *reuse, uint64_t base, uint64_t bytes)
{
    uint64_t end = base + bytes;

    if (end <= load(&reuse->lowest) || base >= load(&reuse->highest)) {
        return;
    }
    for (uint32_t i = 0; i < RBUF_REUSE_BUFFERS; i++) {
        struct rbuf_buffer_use *use = &reuse->place[i];
        uint64_t begin = load(&use->begin);

        if (begin != 0 && begin < end && load(&use->end) > base &&
            !atomic_exchange_explicit(&use->released, true, memory_order_relaxed)) {
            atomic_fetch_add_explicit(&reuse->releases, 1, memory_order_relaxed);
        }
    }
}
