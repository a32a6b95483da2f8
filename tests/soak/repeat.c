/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Rounds of two neighbours: persistent requests that are started again, and truncated receives. */
#include "buffer.h"
#include "layout.h"

enum { TAG_REPEAT = 20000, TAG_TRUNCATE = 20001, TAG_TURN = 20002 };

struct neighbours {
    const struct group *group;
    struct dice dice; /* alike at all ranks */
    struct dice own;
};

static struct neighbours neighbours(const struct group *group, struct dice dice)
{
    const uint64_t own = dice_roll(&dice) + (uint64_t) group->rank;

    return (struct neighbours){.group = group, .dice = dice, .own = {own}};
}

/* ---- persistent requests ---- */

/* One start of both; the send's bytes are new each time. */
static void turn(const struct layout *out, const struct layout *in, struct buffer *send,
                 struct buffer *receive, MPI_Request *requests, uint64_t keys[2])
{
    MPI_Status statuses[2];

    layout_fill(out, send->bytes, keys[0]);
    for (size_t i = 0; i < receive->count; i++) {
        receive->bytes[i] = SOAK_UNTOUCHED;
    }
    soak_mpi(MPI_Startall(2, requests), "MPI_Startall");
    soak_mpi(MPI_Waitall(2, requests, statuses), "MPI_Waitall");
    layout_check(in, receive->bytes, in->bytes, keys[1], "a persistent receive");
}

static void repeat(void *context)
{
    struct neighbours *n = context;
    const struct group *group = n->group;
    const int next = (group->rank + 1) % group->ranks;
    const int last = (group->rank + group->ranks - 1) % group->ranks;
    const size_t bytes = dice_bytes(&n->dice, 2 * SOAK_M);
    const int times = (int) dice_between(&n->dice, 2, bytes > 100000 ? 5 : 30);
    const uint64_t key = dice_roll(&n->dice);
    const struct layout out = layout_choose(&n->own, bytes, 70);
    const struct layout in = layout_choose(&n->own, bytes, 70);
    struct buffer send = buffer_take(&n->own, layout_extent(&out));
    struct buffer receive = buffer_take(&n->own, layout_extent(&in));
    int out_count, in_count;
    MPI_Datatype out_type = layout_type(&out, &out_count);
    MPI_Datatype in_type = layout_type(&in, &in_count);
    MPI_Request requests[2];

    MPI_Recv_init(receive.bytes, in_count, in_type, last, TAG_REPEAT, group->comm, &requests[0]);
    MPI_Send_init(send.bytes, out_count, out_type, next, TAG_REPEAT, group->comm, &requests[1]);
    for (int i = 0; i < times; i++) {
        const uint64_t base = key + (uint64_t) i * SOAK_RANKS;
        uint64_t keys[2] = {base + (uint64_t) group->rank, base + (uint64_t) last};

        soak_at("starting persistent requests", i);
        turn(&out, &in, &send, &receive, requests, keys);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    layout_type_free(&out_type);
    layout_type_free(&in_type);
    buffer_give(&send, "a persistent send");
    buffer_give(&receive, "a persistent receive");
}

void repeat_round(const struct group *group, struct dice dice)
{
    struct neighbours n = neighbours(group, dice);

    buffers_round(repeat, &n);
}

/* ---- truncation ---- */

struct cut {
    size_t sent, wanted;
    bool posted_first;
    uint64_t key;
};

static void send_cut(struct neighbours *n, const struct cut *cut, int to)
{
    MPI_Comm comm = n->group->comm;
    struct buffer buffer = buffer_take(&n->own, cut->sent);
    MPI_Request request;

    pattern_fill(buffer.bytes, cut->sent, cut->key, 0);
    if (cut->posted_first) {
        MPI_Recv(NULL, 0, MPI_BYTE, to, TAG_TURN, comm, MPI_STATUS_IGNORE);
    }
    MPI_Isend(buffer.bytes, (int) cut->sent, MPI_BYTE, to, TAG_TRUNCATE, comm, &request);
    if (!cut->posted_first) {
        MPI_Send(NULL, 0, MPI_BYTE, to, TAG_TURN, comm);
    }
    soak_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait for a send that is truncated");
    buffer_give(&buffer, "a send that is truncated");
}

/* The guards of a buffer of the receive's own length show whether more was written. */
static void receive_cut(struct neighbours *n, const struct cut *cut, int from)
{
    MPI_Comm comm = n->group->comm;
    struct buffer buffer = buffer_take(&n->own, cut->wanted);
    MPI_Request request;
    int code, class;

    if (!cut->posted_first) {
        MPI_Recv(NULL, 0, MPI_BYTE, from, TAG_TURN, comm, MPI_STATUS_IGNORE);
    }
    MPI_Irecv(buffer.bytes, (int) cut->wanted, MPI_BYTE, from, TAG_TRUNCATE, comm, &request);
    if (cut->posted_first) {
        MPI_Send(NULL, 0, MPI_BYTE, from, TAG_TURN, comm);
    }
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_TRUNCATE) {
        soak_wrong("%zu bytes into %zu: error class %d", cut->sent, cut->wanted, class);
    }
    buffer_give(&buffer, "a truncated receive");
}

static void truncate_all(void *context)
{
    struct neighbours *n = context;
    const int times = (int) dice_between(&n->dice, 1, 6);
    const int me = n->group->rank;

    for (int i = 0; i < times; i++) {
        const size_t sent = 1 + dice_bytes(&n->dice, 3 * SOAK_M);
        const struct cut cut = {.sent = sent,
                                .wanted = dice_percent(&n->dice, 50) ? sent - 1
                                                                     : dice_below(&n->dice, sent),
                                .posted_first = dice_percent(&n->dice, 50),
                                .key = dice_roll(&n->dice)};
        const int from = (int) dice_below(&n->dice, (size_t) n->group->ranks);
        const int to = (from + 1) % n->group->ranks;

        soak_at("truncating", i);
        if (from != to && me == from) {
            send_cut(n, &cut, to);
        } else if (from != to && me == to) {
            receive_cut(n, &cut, from);
        }
    }
}

void truncate_round(const struct group *group, struct dice dice)
{
    struct neighbours n = neighbours(group, dice);

    buffers_round(truncate_all, &n);
}
