/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One-sided communication: windows in memory of every kind, put, get and sums within every way to
 * synchronise.
 *
 * A window has a part for each rank, which writes it and nobody else, and a word that all add to.
 */
#include "buffer.h"

#include <string.h>

enum sync { SYNC_FENCE, SYNC_LOCK, SYNC_LOCK_ALL, SYNC_POST, SYNCS };

struct window {
    const struct group *group;
    struct dice dice; /* alike at all ranks */
    struct dice own;
    size_t part; /* bytes of each rank's part */
    struct buffer memory;
    char *base; /* of the window: aligned for sums */
    MPI_Win win;
    enum sync sync;
    uint64_t key; /* of the epoch */
};

static size_t part_at(const struct window *w, int rank)
{
    return (size_t) rank * w->part;
}

static size_t word_at(const struct window *w)
{
    return (part_at(w, w->group->ranks) + 7) / 8 * 8;
}

static uint64_t part_key(const struct window *w, int from, int to)
{
    return w->key + (uint64_t) (from * SOAK_RANKS + to);
}

/* ---- epochs ---- */

static void begin(struct window *w, MPI_Group all)
{
    switch (w->sync) {
    case SYNC_FENCE:
        soak_mpi(MPI_Win_fence(0, w->win), "MPI_Win_fence");
        break;
    case SYNC_LOCK_ALL:
        soak_mpi(MPI_Win_lock_all(0, w->win), "MPI_Win_lock_all");
        break;
    case SYNC_POST:
        soak_mpi(MPI_Win_post(all, 0, w->win), "MPI_Win_post");
        soak_mpi(MPI_Win_start(all, 0, w->win), "MPI_Win_start");
        break;
    case SYNC_LOCK: /* one target at a time */
    case SYNCS:
        break;
    }
}

static void end(struct window *w)
{
    switch (w->sync) {
    case SYNC_FENCE:
        soak_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win), "MPI_Win_fence");
        break;
    case SYNC_LOCK_ALL:
        soak_mpi(MPI_Win_unlock_all(w->win), "MPI_Win_unlock_all");
        MPI_Barrier(w->group->comm);
        break;
    case SYNC_POST:
        soak_mpi(MPI_Win_complete(w->win), "MPI_Win_complete");
        soak_mpi(MPI_Win_wait(w->win), "MPI_Win_wait");
        break;
    case SYNC_LOCK:
    case SYNCS:
        MPI_Barrier(w->group->comm);
        break;
    }
}

/* ---- what is done in them ---- */

static void put_to(struct window *w, int rank, const char *bytes)
{
    const int64_t one = 1;
    const bool locks = w->sync == SYNC_LOCK;

    if (locks) {
        soak_mpi(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win), "MPI_Win_lock");
    }
    soak_mpi(MPI_Put(bytes, (int) w->part, MPI_BYTE, rank, (MPI_Aint) part_at(w, w->group->rank),
                     (int) w->part, MPI_BYTE, w->win),
             "MPI_Put");
    soak_mpi(MPI_Accumulate(&one, 1, MPI_INT64_T, rank, (MPI_Aint) word_at(w), 1, MPI_INT64_T,
                            MPI_SUM, w->win),
             "MPI_Accumulate");
    if (locks) {
        soak_mpi(MPI_Win_unlock(rank, w->win), "MPI_Win_unlock");
    }
}

static void get_from(struct window *w, int rank, char *bytes)
{
    const bool locks = w->sync == SYNC_LOCK;

    if (locks) {
        soak_mpi(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win), "MPI_Win_lock");
    }
    soak_mpi(MPI_Get(bytes, (int) w->part, MPI_BYTE, rank, (MPI_Aint) part_at(w, w->group->rank),
                     (int) w->part, MPI_BYTE, w->win),
             "MPI_Get");
    if (locks) {
        soak_mpi(MPI_Win_unlock(rank, w->win), "MPI_Win_unlock");
    }
}

static void expect(const struct window *w, const char *bytes, uint64_t key, const char *what)
{
    const size_t at = pattern_match(bytes, w->part, key, 0);

    if (at != w->part) {
        soak_wrong("%s, %zu bytes, synchronisation %d: wrong from byte %zu on", what, w->part,
                   (int) w->sync, at);
    }
    soak.checked += w->part;
    soak.messages++;
}

/* What the others have put here, and how often they added. */
static void check_window(struct window *w)
{
    int64_t sum;

    soak_mpi(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->group->rank, 0, w->win), "MPI_Win_lock");
    for (int rank = 0; rank < w->group->ranks; rank++) {
        expect(w, w->base + part_at(w, rank), part_key(w, rank, w->group->rank), "a put");
    }
    memcpy(&sum, w->base + word_at(w), sizeof(sum));
    memset(w->base + word_at(w), 0, sizeof(sum));
    soak_mpi(MPI_Win_unlock(w->group->rank, w->win), "MPI_Win_unlock");
    if (sum != w->group->ranks) {
        soak_wrong("%d ranks have added 1: the sum is %lld", w->group->ranks, (long long) sum);
    }
}

static void move(struct window *w, MPI_Group all)
{
    const int ranks = w->group->ranks, me = w->group->rank;
    struct buffer out = buffer_take(&w->own, (size_t) ranks * w->part);
    struct buffer in = buffer_take(&w->own, (size_t) ranks * w->part);

    for (int rank = 0; rank < ranks; rank++) {
        pattern_fill(out.bytes + part_at(w, rank), w->part, part_key(w, me, rank), 0);
    }
    soak_at("putting", (int) w->sync);
    begin(w, all);
    for (int i = 0; i < ranks; i++) {
        const int rank = (me + i) % ranks;
        put_to(w, rank, out.bytes + part_at(w, rank));
    }
    end(w);
    soak_at("getting", (int) w->sync);
    begin(w, all);
    for (int i = 0; i < ranks; i++) {
        const int rank = (me + i) % ranks;
        get_from(w, rank, in.bytes + part_at(w, rank));
    }
    end(w);
    for (int rank = 0; rank < ranks; rank++) {
        expect(w, in.bytes + part_at(w, rank), part_key(w, me, rank), "a get");
    }
    check_window(w);
    MPI_Barrier(w->group->comm);
    buffer_give(&out, "the source of puts");
    buffer_give(&in, "the destination of gets");
}

static void use_window(void *context)
{
    struct window *w = context;
    const int times = (int) dice_between(&w->dice, 1, 4);
    MPI_Group all;
    size_t size;

    w->part = dice_bytes(&w->dice, dice_percent(&w->dice, 30) ? SOAK_M : 30 * SOAK_K);
    size = word_at(w) + sizeof(int64_t);
    w->memory = buffer_take(&w->own, size + 7);
    w->base = (char *) (((uintptr_t) w->memory.bytes + 7) / 8 * 8);
    memset(w->base + word_at(w), 0, sizeof(int64_t));
    soak_at("creating a window", -1);
    soak_mpi(MPI_Win_create(w->base, (MPI_Aint) size, 1, MPI_INFO_NULL, w->group->comm, &w->win),
             "MPI_Win_create");
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    MPI_Comm_group(w->group->comm, &all);
    for (int i = 0; i < times; i++) {
        w->sync = (enum sync) dice_below(&w->dice, SYNCS);
        w->key = dice_roll(&w->dice);
        move(w, all);
    }
    MPI_Group_free(&all);
    soak_at("freeing a window", -1);
    soak_mpi(MPI_Win_free(&w->win), "MPI_Win_free");
    buffer_give(&w->memory, "a window");
}

void window_round(const struct group *group, struct dice dice)
{
    const uint64_t own = dice_roll(&dice) + (uint64_t) group->rank;
    struct window w = {.group = group, .dice = dice, .own = {own}};

    buffers_round(use_window, &w);
}
