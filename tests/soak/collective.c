/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Collectives, blocking and not, with results that every rank can compute. */
#include "buffer.h"

#include <stdlib.h>

/* One collective: all that it needs is known from the dice. */
struct collective {
    const struct group *group;
    struct dice dice; /* alike at all ranks */
    struct dice own;
    int root;
    bool immediate; /* the non-blocking form */
};

static void finish(MPI_Request *request, int code)
{
    soak_mpi(code, "a collective");
    soak_mpi(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait for a collective");
}

static void expect(const struct buffer *buffer, size_t from, size_t bytes, uint64_t key,
                   const char *what)
{
    const size_t at = pattern_match(buffer->bytes + from, bytes, key, 0);

    if (at != bytes) {
        soak_wrong("%s of %zu bytes: wrong from byte %zu on", what, bytes, at);
    }
    soak.checked += bytes;
    soak.messages++;
}

static void broadcast(struct collective *c)
{
    const size_t bytes = dice_bytes(&c->dice, 4 * SOAK_M);
    const uint64_t key = dice_roll(&c->dice);
    struct buffer buffer = buffer_take(&c->own, bytes);
    MPI_Request request = MPI_REQUEST_NULL;

    if (c->group->rank == c->root) {
        pattern_fill(buffer.bytes, bytes, key, 0);
    }
    finish(&request,
           c->immediate
               ? MPI_Ibcast(buffer.bytes, (int) bytes, MPI_BYTE, c->root, c->group->comm, &request)
               : MPI_Bcast(buffer.bytes, (int) bytes, MPI_BYTE, c->root, c->group->comm));
    expect(&buffer, 0, bytes, key, "a broadcast");
    buffer_give(&buffer, "a broadcast");
}

/* Element i of rank r is (r + 1) * i; sums are known. */
static void reduce(struct collective *c)
{
    const size_t count = dice_bytes(&c->dice, SOAK_M) / sizeof(int64_t);
    const bool everywhere = dice_percent(&c->dice, 60);
    const int64_t ranks = c->group->ranks, me = c->group->rank;
    int64_t *mine = soak_memory((count + 1) * sizeof(*mine));
    int64_t *sum = soak_memory((count + 1) * sizeof(*sum));
    MPI_Request request = MPI_REQUEST_NULL;

    for (size_t i = 0; i < count; i++) {
        mine[i] = (me + 1) * (int64_t) i;
        sum[i] = -1;
    }
    if (everywhere) {
        finish(&request, c->immediate ? MPI_Iallreduce(mine, sum, (int) count, MPI_INT64_T, MPI_SUM,
                                                       c->group->comm, &request)
                                      : MPI_Allreduce(mine, sum, (int) count, MPI_INT64_T, MPI_SUM,
                                                      c->group->comm));
    } else {
        finish(&request,
               MPI_Reduce(mine, sum, (int) count, MPI_INT64_T, MPI_SUM, c->root, c->group->comm));
    }
    for (size_t i = 0; i < count && (everywhere || me == c->root); i++) {
        if (sum[i] != ranks * (ranks + 1) / 2 * (int64_t) i) {
            soak_wrong("a sum of %zu numbers: element %zu is wrong", count, i);
        }
    }
    free(mine);
    free(sum);
}

/* What rank `from` sends rank `to`; the lengths differ for every pair. */
struct portion {
    size_t bytes;
    uint64_t key;
};

static struct portion portion(uint64_t salt, int from, int to, size_t most)
{
    struct dice dice = {salt + (uint64_t) from * SOAK_RANKS + (uint64_t) to};
    const size_t bytes = dice_bytes(&dice, most);

    return (struct portion){.bytes = bytes, .key = dice_roll(&dice)};
}

struct table {
    int counts[SOAK_RANKS], places[SOAK_RANKS];
    size_t bytes;
};

static void table_add(struct table *table, int rank, size_t bytes)
{
    table->counts[rank] = (int) bytes;
    table->places[rank] = (int) table->bytes;
    table->bytes += bytes;
}

static void all_to_all(struct collective *c)
{
    const uint64_t salt = dice_roll(&c->dice);
    const size_t most = dice_percent(&c->dice, 50) ? SOAK_M : 20 * SOAK_K;
    const int me = c->group->rank;
    struct table out = {.bytes = 0}, in = {.bytes = 0};
    struct buffer send, receive;
    MPI_Request request = MPI_REQUEST_NULL;

    for (int rank = 0; rank < c->group->ranks; rank++) {
        table_add(&out, rank, portion(salt, me, rank, most).bytes);
        table_add(&in, rank, portion(salt, rank, me, most).bytes);
    }
    send = buffer_take(&c->own, out.bytes);
    receive = buffer_take(&c->own, in.bytes);
    for (int rank = 0; rank < c->group->ranks; rank++) {
        const struct portion to = portion(salt, me, rank, most);
        pattern_fill(send.bytes + out.places[rank], to.bytes, to.key, 0);
    }
    finish(&request,
           c->immediate
               ? MPI_Ialltoallv(send.bytes, out.counts, out.places, MPI_BYTE, receive.bytes,
                                in.counts, in.places, MPI_BYTE, c->group->comm, &request)
               : MPI_Alltoallv(send.bytes, out.counts, out.places, MPI_BYTE, receive.bytes,
                               in.counts, in.places, MPI_BYTE, c->group->comm));
    for (int rank = 0; rank < c->group->ranks; rank++) {
        const struct portion from = portion(salt, rank, me, most);
        expect(&receive, (size_t) in.places[rank], from.bytes, from.key, "an all-to-all");
    }
    buffer_give(&send, "an all-to-all's send");
    buffer_give(&receive, "an all-to-all's receive");
}

static void gather(struct collective *c)
{
    const uint64_t salt = dice_roll(&c->dice);
    const bool everywhere = dice_percent(&c->dice, 50);
    const int me = c->group->rank;
    const struct portion mine = portion(salt, me, 0, SOAK_M);
    const bool receives = everywhere || me == c->root;
    struct table in = {.bytes = 0};
    struct buffer send = buffer_take(&c->own, mine.bytes);
    struct buffer receive;

    for (int rank = 0; rank < c->group->ranks; rank++) {
        table_add(&in, rank, portion(salt, rank, 0, SOAK_M).bytes);
    }
    receive = buffer_take(&c->own, receives ? in.bytes : 0);
    pattern_fill(send.bytes, mine.bytes, mine.key, 0);
    if (everywhere) {
        soak_mpi(MPI_Allgatherv(send.bytes, (int) mine.bytes, MPI_BYTE, receive.bytes, in.counts,
                                in.places, MPI_BYTE, c->group->comm),
                 "MPI_Allgatherv");
    } else {
        soak_mpi(MPI_Gatherv(send.bytes, (int) mine.bytes, MPI_BYTE, receive.bytes, in.counts,
                             in.places, MPI_BYTE, c->root, c->group->comm),
                 "MPI_Gatherv");
    }
    for (int rank = 0; rank < c->group->ranks && receives; rank++) {
        const struct portion from = portion(salt, rank, 0, SOAK_M);
        expect(&receive, (size_t) in.places[rank], from.bytes, from.key, "a gather");
    }
    buffer_give(&send, "a gather's send");
    buffer_give(&receive, "a gather's receive");
}

static void scatter(struct collective *c)
{
    const size_t bytes = dice_bytes(&c->dice, SOAK_M);
    const uint64_t key = dice_roll(&c->dice);
    const bool is_root = c->group->rank == c->root;
    struct buffer send = buffer_take(&c->own, is_root ? bytes * (size_t) c->group->ranks : 0);
    struct buffer receive = buffer_take(&c->own, bytes);

    for (int rank = 0; rank < c->group->ranks && is_root; rank++) {
        pattern_fill(send.bytes + (size_t) rank * bytes, bytes, key + (uint64_t) rank, 0);
    }
    soak_mpi(MPI_Scatter(send.bytes, (int) bytes, MPI_BYTE, receive.bytes, (int) bytes, MPI_BYTE,
                         c->root, c->group->comm),
             "MPI_Scatter");
    expect(&receive, 0, bytes, key + (uint64_t) c->group->rank, "a scatter");
    buffer_give(&send, "a scatter's send");
    buffer_give(&receive, "a scatter's receive");
}

static void barrier(struct collective *c)
{
    MPI_Request request = MPI_REQUEST_NULL;

    finish(&request,
           c->immediate ? MPI_Ibarrier(c->group->comm, &request) : MPI_Barrier(c->group->comm));
}

static void collect_some(void *context)
{
    static void (*const kinds[])(struct collective *) = {broadcast, reduce,  all_to_all,
                                                         gather,    scatter, barrier};
    struct collective *c = context;
    const int times = (int) dice_between(&c->dice, 1, 8);

    for (int i = 0; i < times; i++) {
        const size_t kind = dice_below(&c->dice, sizeof(kinds) / sizeof(kinds[0]));

        soak_at("collective", (int) kind);
        c->root = (int) dice_below(&c->dice, (size_t) c->group->ranks);
        c->immediate = dice_percent(&c->dice, 40);
        kinds[kind](c);
    }
}

void collective_round(const struct group *group, struct dice dice)
{
    const uint64_t own = dice_roll(&dice) + (uint64_t) group->rank;
    struct collective c = {.group = group, .dice = dice, .own = {own}};

    buffers_round(collect_some, &c);
}
