/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Carries out the plan of an exchange: sends and receives of every mode, some of them cancelled, in
 * buffers of every kind, and every byte compared.
 */
#include "buffer.h"
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY_MOST = 3, PAUSE_SLICE_NS = 1000000 };

/* One message at one of its ends. */
struct half {
    struct message *message;
    struct buffer buffer;
    struct layout layout;
    MPI_Datatype type;
    int count; /* of type */
    MPI_Request request;
    MPI_Status status;
};

/* An exchange as one rank has it. */
struct exchange {
    const struct group *group;
    struct plan plan;
    struct dice dice; /* of this rank alone */
    struct half *out, *in;
    int outs, ins;
    struct half nobody[NOBODY_MOST]; /* receives that nobody sends to */
    int nobodies;
};

static const char *describe(const struct half *half)
{
    static char text[160];
    const struct message *message = half->message;

    snprintf(text, sizeof(text),
             "message %d to %d, tag %d, %zu bytes, send mode %d, receive mode %d, layouts %d %d",
             message->from, message->to, message->tag, message->bytes, (int) message->send_mode,
             (int) message->receive_mode, (int) message->out.kind, (int) message->in.kind);
    return text;
}

/* ---- sending ---- */

static void start_persistent(struct half *half, MPI_Comm comm)
{
    const struct message *message = half->message;

    MPI_Send_init(half->buffer.bytes, half->count, half->type, message->to, message->tag, comm,
                  &half->request);
    soak_mpi(MPI_Start(&half->request), "MPI_Start of a send");
}

static void send_one(struct half *half, MPI_Comm comm)
{
    const struct message *message = half->message;
    const void *bytes = half->buffer.bytes;
    const int to = message->to, tag = message->tag;
    int code = MPI_SUCCESS;

    half->request = MPI_REQUEST_NULL;
    switch (message->send_mode) {
    case SEND_ISEND:
        code = MPI_Isend(bytes, half->count, half->type, to, tag, comm, &half->request);
        break;
    case SEND_ISSEND:
        code = MPI_Issend(bytes, half->count, half->type, to, tag, comm, &half->request);
        break;
    case SEND_IBSEND:
        code = MPI_Ibsend(bytes, half->count, half->type, to, tag, comm, &half->request);
        break;
    case SEND_PERSISTENT:
        start_persistent(half, comm);
        break;
    case SEND_SEND:
        code = MPI_Send(bytes, half->count, half->type, to, tag, comm);
        break;
    case SEND_SSEND:
        code = MPI_Ssend(bytes, half->count, half->type, to, tag, comm);
        break;
    case SEND_BSEND:
        code = MPI_Bsend(bytes, half->count, half->type, to, tag, comm);
        break;
    case SEND_READY:
        code = MPI_Rsend(bytes, half->count, half->type, to, tag, comm);
        break;
    case SEND_IREADY:
        code = MPI_Irsend(bytes, half->count, half->type, to, tag, comm, &half->request);
        break;
    }
    soak_mpi(code, "a send");
}

static void send_all(struct exchange *exchange)
{
    for (int i = 0; i < exchange->outs; i++) {
        struct half *half = &exchange->out[i];

        soak_at("sending", (int) (half->message - exchange->plan.message));
        half->layout = half->message->out;
        half->type = layout_type(&half->layout, &half->count);
        half->buffer = buffer_take(&exchange->dice, layout_extent(&half->layout));
        layout_fill(&half->layout, half->buffer.bytes, half->message->key);
        send_one(half, exchange->group->comm);
    }
}

/* ---- receiving ---- */

static void wanted(const struct exchange *exchange, const struct message *message, int *source,
                   int *tag)
{
    const enum match match = exchange->plan.match[message->to];

    *source = match == MATCH_ANY || match == MATCH_ANY_SOURCE ? MPI_ANY_SOURCE : message->from;
    *tag = match == MATCH_ANY || match == MATCH_ANY_TAG ? MPI_ANY_TAG : message->tag;
}

static void prepare_receive(struct exchange *exchange, struct half *half)
{
    half->type = layout_type(&half->layout, &half->count);
    half->buffer = buffer_take(&exchange->dice, layout_extent(&half->layout));
}

/* Cancelled, unless a message has been faster; then posted again. */
static void race(struct exchange *exchange, struct half *half, int source, int tag)
{
    MPI_Comm comm = exchange->group->comm;
    int cancelled, flag;

    MPI_Irecv(half->buffer.bytes, half->count, half->type, source, tag, comm, &half->request);
    for (size_t i = dice_below(&exchange->dice, 20); i > 0; i--) {
        MPI_Iprobe(source, PLAN_TAG_NOBODY, comm, &flag, MPI_STATUS_IGNORE);
    }
    soak_mpi(MPI_Cancel(&half->request), "MPI_Cancel");
    soak_mpi(MPI_Wait(&half->request, &half->status), "MPI_Wait for a cancelled receive");
    MPI_Test_cancelled(&half->status, &cancelled);
    if (cancelled) {
        MPI_Irecv(half->buffer.bytes, half->count, half->type, source, tag, comm, &half->request);
    }
}

/* Makes room for exactly what the probe has found. */
static void room_for(struct exchange *exchange, struct half *half)
{
    int bytes;

    MPI_Get_count(&half->status, MPI_BYTE, &bytes);
    if (bytes < 0 || (size_t) bytes > half->message->room) {
        soak_wrong("a probe for %s finds %d bytes", describe(half), bytes);
    }
    half->layout = layout_choose(&exchange->dice, (size_t) bytes, 65);
    prepare_receive(exchange, half);
}

static void probe(struct exchange *exchange, struct half *half, int source, int tag)
{
    MPI_Comm comm = exchange->group->comm;
    int flag = half->message->receive_mode == RECEIVE_PROBE;
    MPI_Status found;

    if (flag) {
        soak_mpi(MPI_Probe(source, tag, comm, &half->status), "MPI_Probe");
    }
    while (!flag) {
        soak_mpi(MPI_Iprobe(source, tag, comm, &flag, &half->status), "MPI_Iprobe");
    }
    found = half->status;
    room_for(exchange, half);
    soak_mpi(MPI_Recv(half->buffer.bytes, half->count, half->type, found.MPI_SOURCE, found.MPI_TAG,
                      comm, &half->status),
             "MPI_Recv of what was probed");
}

static void probe_matched(struct exchange *exchange, struct half *half, int source, int tag)
{
    MPI_Comm comm = exchange->group->comm;
    int flag = half->message->receive_mode == RECEIVE_MPROBE;
    MPI_Message matched = MPI_MESSAGE_NULL;

    if (flag) {
        soak_mpi(MPI_Mprobe(source, tag, comm, &matched, &half->status), "MPI_Mprobe");
    }
    while (!flag) {
        soak_mpi(MPI_Improbe(source, tag, comm, &flag, &matched, &half->status), "MPI_Improbe");
    }
    room_for(exchange, half);
    if (dice_percent(&exchange->dice, 50)) {
        soak_mpi(MPI_Imrecv(half->buffer.bytes, half->count, half->type, &matched, &half->request),
                 "MPI_Imrecv");
        return;
    }
    soak_mpi(MPI_Mrecv(half->buffer.bytes, half->count, half->type, &matched, &half->status),
             "MPI_Mrecv");
}

static void receive_one(struct exchange *exchange, struct half *half)
{
    MPI_Comm comm = exchange->group->comm;
    const enum receive_mode mode = half->message->receive_mode;
    int source, tag;

    wanted(exchange, half->message, &source, &tag);
    half->layout = half->message->in;
    half->request = MPI_REQUEST_NULL;
    if (mode == RECEIVE_PROBE || mode == RECEIVE_IPROBE) {
        probe(exchange, half, source, tag);
        return;
    }
    if (mode == RECEIVE_MPROBE || mode == RECEIVE_IMPROBE) {
        probe_matched(exchange, half, source, tag);
        return;
    }
    prepare_receive(exchange, half);
    if (mode == RECEIVE_RACING) {
        race(exchange, half, source, tag);
    } else if (mode == RECEIVE_RECV) {
        soak_mpi(
            MPI_Recv(half->buffer.bytes, half->count, half->type, source, tag, comm, &half->status),
            "MPI_Recv");
    } else if (mode == RECEIVE_PERSISTENT) {
        MPI_Recv_init(half->buffer.bytes, half->count, half->type, source, tag, comm,
                      &half->request);
        soak_mpi(MPI_Start(&half->request), "MPI_Start of a receive");
    } else {
        soak_mpi(MPI_Irecv(half->buffer.bytes, half->count, half->type, source, tag, comm,
                           &half->request),
                 "MPI_Irecv");
    }
}

static void receive_all(struct exchange *exchange)
{
    for (int i = 0; i < exchange->ins; i++) {
        struct half *half = &exchange->in[i];

        soak_at("receiving", (int) (half->message - exchange->plan.message));
        receive_one(exchange, half);
    }
}

/* ---- receives that nobody sends to ---- */

static void await_nobody(struct exchange *exchange)
{
    exchange->nobodies =
        dice_percent(&exchange->dice, 30) ? (int) dice_between(&exchange->dice, 1, NOBODY_MOST) : 0;
    for (int i = 0; i < exchange->nobodies; i++) {
        struct half *half = &exchange->nobody[i];

        *half = (struct half){.message = NULL};
        half->buffer = buffer_take(&exchange->dice, dice_bytes(&exchange->dice, SOAK_M));
        MPI_Irecv(half->buffer.bytes, (int) half->buffer.count, MPI_BYTE, MPI_ANY_SOURCE,
                  PLAN_TAG_NOBODY + i, exchange->group->comm, &half->request);
    }
}

static void cancel_nobody(struct exchange *exchange)
{
    for (int i = 0; i < exchange->nobodies; i++) {
        struct half *half = &exchange->nobody[i];
        int cancelled;

        soak_at("cancelling", i);
        soak_mpi(MPI_Cancel(&half->request), "MPI_Cancel");
        soak_mpi(MPI_Wait(&half->request, &half->status), "MPI_Wait for a cancelled receive");
        MPI_Test_cancelled(&half->status, &cancelled);
        if (!cancelled) {
            soak_wrong("a receive that nobody sends to is not cancelled");
        }
        if (untouched_match(half->buffer.bytes, half->buffer.count) != half->buffer.count) {
            soak_wrong("a receive that nobody sends to is written");
        }
        buffer_give(&half->buffer, "a cancelled receive");
    }
}

/* ---- the end ---- */

/* Puts the requests that are under way into an array; `halves` says whose they are. */
static int collect(struct exchange *exchange, MPI_Request *requests, struct half **halves)
{
    int count = 0;

    for (int i = 0; i < exchange->outs + exchange->ins; i++) {
        struct half *half =
            i < exchange->outs ? &exchange->out[i] : &exchange->in[i - exchange->outs];

        if (half->request != MPI_REQUEST_NULL) {
            requests[count] = half->request;
            halves[count++] = half;
        }
    }
    for (int i = count - 1; i > 0; i--) { /* in any order */
        const size_t j = dice_below(&exchange->dice, (size_t) i + 1);
        const MPI_Request request = requests[i];
        struct half *half = halves[i];

        requests[i] = requests[j];
        requests[j] = request;
        halves[i] = halves[j];
        halves[j] = half;
    }
    return count;
}

/* MPI_Waitsome or MPI_Testsome until all have ended. */
static void complete_some(struct dice *dice, int count, MPI_Request *requests, struct half **halves)
{
    int *indices = soak_memory((size_t) count * sizeof(*indices));
    MPI_Status *statuses = soak_memory((size_t) count * sizeof(*statuses));
    int left = count;

    while (left > 0) {
        int ended;

        if (dice_percent(dice, 50)) {
            soak_mpi(MPI_Waitsome(count, requests, &ended, indices, statuses), "MPI_Waitsome");
        } else {
            soak_mpi(MPI_Testsome(count, requests, &ended, indices, statuses), "MPI_Testsome");
        }
        if (ended == MPI_UNDEFINED) {
            break; /* persistent ones are inactive, the others null */
        }
        for (int i = 0; i < ended; i++) {
            halves[indices[i]]->status = statuses[i];
        }
        left -= ended;
    }
    free(indices);
    free(statuses);
}

static void complete_all(struct exchange *exchange)
{
    const size_t most = (size_t) (exchange->outs + exchange->ins);
    MPI_Request *requests = soak_memory(most * sizeof(MPI_Request));
    struct half **halves = soak_memory(most * sizeof(struct half *));
    MPI_Status *statuses = soak_memory(most * sizeof(MPI_Status));
    const int count = collect(exchange, requests, halves);

    soak_at("completing", count);
    if (count > 0 && count < 500 && dice_percent(&exchange->dice, 50)) {
        complete_some(&exchange->dice, count, requests, halves);
    } else {
        soak_mpi(MPI_Waitall(count, requests, statuses), "MPI_Waitall");
        for (int i = 0; i < count; i++) {
            halves[i]->status = statuses[i];
        }
    }
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            MPI_Request_free(&requests[i]); /* persistent */
        }
    }
    free(requests);
    free(halves);
    free(statuses);
}

/* Says what is there instead of byte `at` of the message, which may tell how it came there. */
static void wrong_bytes(const struct exchange *exchange, const struct half *half, size_t at)
{
    const struct plan *plan = &exchange->plan;
    const size_t left = half->message->bytes - at;
    const char *bytes = layout_byte(&half->layout, half->buffer.bytes, at);
    const bool in_one_piece =
        half->layout.kind == LAYOUT_PLAIN || half->layout.kind == LAYOUT_WRAPPED;
    char whose[64] = "not known";
    size_t first;

    if (untouched_match(bytes, 1) == 1) {
        snprintf(whose, sizeof(whose), "untouched");
    } else if (in_one_piece && left >= PATTERN_TELLING) {
        snprintf(whose, sizeof(whose), "of no message of this exchange");
    }
    for (int i = 0; in_one_piece && i < plan->count; i++) {
        if (pattern_locate(bytes, left, plan->message[i].key, &first)) {
            snprintf(whose, sizeof(whose), "of message %d, from byte %zu on", i, first);
        }
    }
    soak_wrong("%s: wrong from byte %zu on, at %p; what is there is %s", describe(half), at,
               (const void *) bytes, whose);
}

static void check_one(struct exchange *exchange, struct half *half)
{
    const MPI_Status *status = &half->status;
    size_t at;
    int bytes;

    soak_at("checking", (int) (half->message - exchange->plan.message));
    half->message =
        plan_identify(&exchange->plan, half->message, status->MPI_SOURCE, status->MPI_TAG);
    MPI_Get_elements(status, half->type, &bytes);
    if (bytes < 0 || (size_t) bytes != half->message->bytes) {
        soak_wrong("%s: %d bytes received", describe(half), bytes);
    }
    at = layout_match(&half->layout, half->buffer.bytes, half->message->bytes, half->message->key,
                      describe(half));
    if (at != half->message->bytes) {
        wrong_bytes(exchange, half, at);
    }
    soak.checked += at;
    soak.messages++;
    buffer_give(&half->buffer, describe(half));
    layout_type_free(&half->type);
}

/* ---- the whole ---- */

/* Computes, that is, does not call MPI. */
static void compute(unsigned ms)
{
    const double end = MPI_Wtime() + ms * 1e-3;

    soak_at("computing", (int) ms);
    while (MPI_Wtime() < end) {
    }
}

static void open_halves(struct exchange *exchange)
{
    const struct plan *plan = &exchange->plan;
    const int me = exchange->group->rank;

    exchange->out = soak_memory((size_t) plan->count * sizeof(struct half));
    exchange->in = soak_memory((size_t) plan->count * sizeof(struct half));
    for (int i = 0; i < plan->count; i++) {
        if (plan->message[i].from == me) {
            exchange->out[exchange->outs++] = (struct half){.message = &plan->message[i]};
        }
        if (plan->message[i].to == me) {
            exchange->in[exchange->ins++] = (struct half){.message = &plan->message[i]};
        }
    }
}

static void close_halves(struct exchange *exchange)
{
    for (int i = 0; i < exchange->ins; i++) {
        check_one(exchange, &exchange->in[i]);
    }
    for (int i = 0; i < exchange->outs; i++) {
        struct half *half = &exchange->out[i];

        buffer_give(&half->buffer, describe(half));
        layout_type_free(&half->type);
    }
    free(exchange->out);
    free(exchange->in);
}

static void carry_out(void *context)
{
    struct exchange *exchange = context;
    const int me = exchange->group->rank;

    open_halves(exchange);
    if (exchange->plan.entry[me] == ENTRY_EARLY) {
        receive_all(exchange);
        await_nobody(exchange);
        if (exchange->plan.ready) {
            soak_at("waiting for receives to be posted", -1);
            MPI_Barrier(exchange->group->comm);
        }
        compute(exchange->plan.pause[me]);
        send_all(exchange);
    } else {
        send_all(exchange);
        compute(exchange->plan.pause[me]);
        await_nobody(exchange);
        receive_all(exchange);
    }
    complete_all(exchange);
    cancel_nobody(exchange);
    close_halves(exchange);
    if (exchange->plan.wild) { /* the next round's messages must not be taken for this one's */
        soak_at("waiting for the end of wildcards", -1);
        MPI_Barrier(exchange->group->comm);
    }
}

static void carry_out_plan(const struct group *group, struct dice *dice, struct plan plan)
{
    const uint64_t own = dice_roll(dice) + (uint64_t) group->rank;
    struct exchange exchange = {.group = group, .plan = plan, .dice = {own}};

    buffers_round(carry_out, &exchange);
    plan_free(&exchange.plan);
}

void exchange_round(const struct group *group, struct dice dice)
{
    const struct plan plan = plan_exchange(&dice, group->ranks);

    carry_out_plan(group, &dice, plan);
}

void flood_round(const struct group *group, struct dice dice)
{
    const struct plan plan = plan_flood(&dice, group->ranks);

    carry_out_plan(group, &dice, plan);
}
