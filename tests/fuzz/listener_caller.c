/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * See listener_fuzz.h. The order of events is the one that connect/listener.h promises, written
 * down here once more.
 */
#include "listener_fuzz.h"

#include <errno.h>

#define CALLS      16u
#define EVENTS_MAX 3u /* that one call may have waiting: an offer, an answer, an end */

enum stage {
    STAGE_NONE,
    STAGE_CALLING,   /* ours: ACCEPTED, REFUSED or FAILED are due */
    STAGE_OFFERED,   /* ours, ACCEPTED: not answered yet */
    STAGE_REQUESTED, /* theirs: not answered yet */
    STAGE_ACCEPTED,  /* theirs: RTU is due */
    STAGE_CONNECTED, /* DREQ or LOST may come */
    STAGE_OVER       /* nothing comes any more */
};

struct call {
    struct rbuf_connection *call;
    enum stage stage;
    bool leaving;    /* we said DREQ, once */
    bool unanswered; /* it told us so, once */
};

static struct call calls[CALLS];

static struct call *place_of(const struct rbuf_connection *call)
{
    for (unsigned i = 0; i < CALLS; i++) {
        if (calls[i].stage != STAGE_NONE && calls[i].call == call) {
            return &calls[i];
        }
    }
    return NULL;
}

static struct call *free_place(void)
{
    for (unsigned i = 0; i < CALLS; i++) {
        if (calls[i].stage == STAGE_NONE) {
            return &calls[i];
        }
    }
    return NULL;
}

void caller_call(struct rbuf_listener *listener, struct fuzz_input *input)
{
    uint8_t shape = (uint8_t) fuzz_take(input, 1);
    struct rbuf_address_list list = {.machine = shape & 1 ? listener->machine : 1,
                                     .count = shape >> 1 & 3};
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, listener->token, shape);
    struct call *place = free_place();
    bool valid;
    int error;

    if (place == NULL) {
        return;
    }
    for (unsigned i = 0; i < list.count; i++) {
        list.address[i] = (struct rbuf_address){
            .family = (uint8_t) (shape & 8 ? RBUF_ADDRESS_IPV4 : RBUF_ADDRESS_IPV6),
            .scope = shape >> 4 & 1,
            .port = (uint16_t) fuzz_take(input, 1),
            .address = {10, 0, 0, (uint8_t) (i + (shape >> 5))}};
    }
    valid = rbuf_addresses_valid(&list);
    error = rbuf_listener_connect(listener, &list, &hello, place, &place->call);
    fuzz_require(error == (valid ? 0 : -EINVAL), "a list that is malformed is refused");
    if (error == 0) {
        place->stage = STAGE_CALLING;
        place->leaving = false;
        place->unanswered = false;
    }
}

static void take_answer(struct call *place, const struct rbuf_connect_event *event)
{
    fuzz_require(place != NULL && place->stage == STAGE_CALLING, "an answer follows a call, once");
    if (event->kind != RBUF_CONNECT_RESPONSE) {
        place->stage = STAGE_OVER;
        fuzz_require(event->error < 0 && event->text[0] != '\0', "a failure has a cause");
        return;
    }
    place->stage = STAGE_OFFERED;
    fuzz_require(event->theirs.header.kind == RBUF_EXCHANGE_REP && event->theirs.side.window[0] > 0,
                 "an answer is valid");
}

static struct call *take_hello(const struct rbuf_connect_event *event)
{
    struct call *place = free_place();

    fuzz_require(event->user == NULL && place_of(event->connection) == NULL, "a caller is new");
    fuzz_require(event->theirs.header.kind == RBUF_EXCHANGE_REQ &&
                     memcmp(event->theirs.side.token, event->connection->listener->token,
                            RBUF_TOKEN_BYTES) == 0,
                 "a caller has our token");
    if (place == NULL) {
        rbuf_connection_reject(event->connection, RBUF_REJECT_RESOURCES);
        return NULL;
    }
    *place = (struct call){.call = event->connection, .stage = STAGE_REQUESTED};
    return place;
}

/* What the event says of the call; NULL if the call is ended already. */
static struct call *judge(const struct rbuf_connect_event *event)
{
    struct call *place = place_of(event->connection);

    if (event->kind == RBUF_CONNECT_REQUEST) {
        return take_hello(event);
    }
    fuzz_require(place != NULL, "no event mentions a call that was ended");
    fuzz_require(place->stage != STAGE_OVER, "nothing comes after the end");
    switch (event->kind) {
    case RBUF_CONNECT_RESPONSE:
    case RBUF_CONNECT_REJECTED:
    case RBUF_CONNECT_FAILED:
        take_answer(place, event);
        break;
    case RBUF_CONNECT_UNANSWERED:
        fuzz_require(place->stage == STAGE_CALLING && !place->unanswered,
                     "silence comes before an answer, once");
        place->unanswered = true;
        break;
    case RBUF_CONNECT_ESTABLISHED:
        fuzz_require(place->stage == STAGE_ACCEPTED, "RTU follows our answer");
        place->stage = STAGE_CONNECTED;
        break;
    case RBUF_CONNECT_ABANDONED:
        fuzz_require(place->stage == STAGE_REQUESTED || place->stage == STAGE_ACCEPTED,
                     "a caller is lost before RTU");
        place->stage = STAGE_OVER;
        break;
    default:
        fuzz_require(event->kind == RBUF_PEER_DISCONNECTED || event->kind == RBUF_PEER_LOST,
                     "an event has a kind");
        fuzz_require(place->stage == STAGE_OFFERED || place->stage == STAGE_CONNECTED,
                     "a peer ends after it was connected");
        place->stage = STAGE_OVER;
        break;
    }
    return place;
}

static void respond(struct call *place, unsigned how)
{
    struct rbuf_exchange mine;

    if (place->stage == STAGE_OFFERED && how % 4 < 3) {
        rbuf_connection_establish(place->call);
        place->stage = STAGE_CONNECTED;
    } else if (place->stage == STAGE_REQUESTED && how % 4 < 2) {
        mine = message_make(RBUF_EXCHANGE_REP, place->call->listener->token, how);
        rbuf_connection_accept(place->call, &mine, place);
        place->stage = STAGE_ACCEPTED;
    } else if (place->stage == STAGE_CONNECTED && how % 4 == 3 && !place->leaving) {
        rbuf_connection_disconnect(place->call);
        place->leaving = true;
    } else if (place->stage == STAGE_REQUESTED && how % 4 == 2) {
        rbuf_connection_reject(place->call,
                               (enum rbuf_reject_reason)(1 + how % (RBUF_REJECT_REASONS - 1)));
        place->stage = STAGE_NONE;
    }
}

void caller_event(struct rbuf_listener *listener, unsigned how)
{
    struct rbuf_connect_event *event = rbuf_listener_next(listener);
    struct call *place;

    if (event == NULL) {
        respond(&calls[how % CALLS], how);
        return;
    }
    place = judge(event);
    fuzz_require(memchr(event->text, 0, sizeof(event->text)) != NULL, "a text ends");
    free(event);
    if (place != NULL) {
        respond(place, how);
    }
}

void caller_end(unsigned which, bool refuse)
{
    struct call *place = &calls[which % CALLS];

    if (place->stage == STAGE_NONE) {
        return;
    }
    if (refuse && place->stage == STAGE_REQUESTED) {
        rbuf_connection_reject(place->call, RBUF_REJECT_CLOSING);
    } else {
        rbuf_connection_close(place->call);
    }
    place->stage = STAGE_NONE;
}

void caller_end_all(void)
{
    for (unsigned i = 0; i < CALLS; i++) {
        caller_end(i, false);
    }
}

void caller_forget(void)
{
    memset(calls, 0, sizeof(calls));
}

void caller_check(const struct rbuf_listener *listener)
{
    const struct rbuf_connect_event *event;
    unsigned known = 0;
    unsigned waiting = 0;

    TAILQ_FOREACH(event, &listener->queue.events, link)
    {
        waiting++;
        known += event->kind == RBUF_CONNECT_REQUEST;
    }
    for (unsigned i = 0; i < CALLS; i++) {
        known += calls[i].stage != STAGE_NONE;
    }
    fuzz_require(waiting == listener->queue.pending, "events are counted right");
    fuzz_require(waiting <= EVENTS_MAX * known, "the queue of events is bounded");
}
