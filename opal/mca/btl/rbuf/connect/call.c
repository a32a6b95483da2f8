/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One call: its state, what goes out and what comes in. Everything here runs in the
 * listener's thread, but for rbuf_call_new().
 *
 * Functions that may close the socket or free the call return whether it is still there to be read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the form of strerror_r() that needs no lock */
#endif
#include "connect/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connect/descriptors.h"

#define STRANGER_MS      250u /* that a stranger has to say something when its place is wanted */
#define BACK_OFF_MS      20u  /* before the second try, on average; then twice as long each time */
#define BACK_OFF_MOST_MS 2000u

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static bool try_next(struct rbuf_call *call);
static bool lose(struct rbuf_call *call, int error, const char *text);

struct rbuf_call *rbuf_call_new(struct rbuf_listener *listener)
{
    struct rbuf_call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        return NULL;
    }
    call->last_event = calloc(1, sizeof(*call->last_event));
    if (call->last_event == NULL) {
        free(call);
        return NULL;
    }
    call->listener = listener;
    call->fd = -1;
    call->start.call = call;
    call->answer.call = call;
    call->leave.call = call;
    call->end.call = call;
    return call;
}

static void free_call(struct rbuf_call *call)
{
    struct rbuf_listener *listener = call->listener;

    rbuf_call_close_socket(call);
    if (call->retry != NULL) {
        event_free(call->retry);
    }
    if (call->state == RBUF_CALL_STRANGER) {
        TAILQ_REMOVE(&listener->strangers, call, link);
        listener->stranger_count--;
    } else {
        TAILQ_REMOVE(&listener->calls, call, link);
    }
    free(call->last_event);
    free(call);
}

/* The user's part is over: free it now, or when the last bytes are out. */
static void finish(struct rbuf_call *call)
{
    if (call->out_bytes == 0) {
        free_call(call);
    } else {
        call->state = RBUF_CALL_DRAINING;
        rbuf_call_start_timer(call);
    }
}

void rbuf_call_destroy(struct rbuf_call *call)
{
    switch (call->state) {
    case RBUF_CALL_HEARD:
    case RBUF_CALL_ANSWERED:
    case RBUF_CALL_WAITING:
    case RBUF_CALL_DECIDING:
    case RBUF_CALL_CONNECTED:
        rbuf_call_send(call, RBUF_EXCHANGE_BYE, RBUF_REFUSAL_NONE);
        finish(call);
        return;
    default:
        free_call(call);
    }
}

static void push(struct rbuf_call *call, struct rbuf_call_event *event,
                 enum rbuf_call_event_kind kind)
{
    event->kind = kind;
    event->call = call;
    rbuf_listener_push(event);
}

/* Tells the user, for the last time, and closes the socket. */
static bool end_call(struct rbuf_call *call, enum rbuf_call_event_kind kind, int error,
                     enum rbuf_refusal refusal, const char *text)
{
    struct rbuf_call_event *event = call->last_event;

    call->state = RBUF_CALL_ENDED;
    if (event != NULL) {
        call->last_event = NULL;
        event->error = error;
        event->refusal = refusal;
        (void) snprintf(event->text, sizeof(event->text), "%s: %s", call->peer, text);
        push(call, event, kind);
    }
    /* After the event: a peer that leaves takes the closing for a sign that its BYE is here. */
    rbuf_call_close_socket(call);
    return false;
}

/* NULL: no memory. */
static struct rbuf_call_event *new_event(const struct rbuf_call *call,
                                         const struct rbuf_exchange *theirs)
{
    struct rbuf_call_event *event = calloc(1, sizeof(*event));

    if (event != NULL) {
        if (theirs != NULL) {
            event->theirs = *theirs;
        }
        (void) snprintf(event->text, sizeof(event->text), "%s", call->peer);
    }
    return event;
}

static bool tell(struct rbuf_call *call, enum rbuf_call_event_kind kind,
                 const struct rbuf_exchange *theirs)
{
    struct rbuf_call_event *event = new_event(call, theirs);

    if (event == NULL) {
        return lose(call, -ENOMEM, "no memory");
    }
    push(call, event, kind);
    return true;
}

static bool fail_address(struct rbuf_call *call, int error, const char *text)
{
    (void) snprintf(call->failure, sizeof(call->failure), "%s", text);
    call->failure_error = error;
    return try_next(call);
}

/* The connection is over before its time. */
static bool lose(struct rbuf_call *call, int error, const char *text)
{
    switch (call->state) {
    case RBUF_CALL_CONNECTING:
    case RBUF_CALL_GREETING:
        return fail_address(call, error, text);
    case RBUF_CALL_WAITING:
        rbuf_count(&call->listener->counters.calls_failed);
        return end_call(call, RBUF_CALL_FAILED, error, RBUF_REFUSAL_NONE, text);
    case RBUF_CALL_HEARD:
    case RBUF_CALL_ANSWERED:
        return end_call(call, RBUF_INCOMING_LOST, error, RBUF_REFUSAL_NONE, text);
    case RBUF_CALL_DECIDING:
    case RBUF_CALL_CONNECTED:
        rbuf_count(&call->listener->counters.peers_lost);
        return end_call(call, RBUF_PEER_LOST, error, RBUF_REFUSAL_NONE, text);
    case RBUF_CALL_LEAVING:
        return end_call(call, RBUF_PEER_BYE, 0, RBUF_REFUSAL_NONE, text);
    case RBUF_CALL_STRANGER:
    case RBUF_CALL_DRAINING:
        free_call(call);
        return false;
    case RBUF_CALL_BACK_OFF: /* has no socket */
    case RBUF_CALL_ENDED:
        break;
    }
    return false;
}

static bool reject(struct rbuf_call *call, enum rbuf_exchange_fault fault)
{
    rbuf_count(&call->listener->counters.fault[fault]);
    return lose(call, -EPROTO, rbuf_exchange_fault_text(fault));
}

static bool token_is(const struct rbuf_exchange *message, const uint8_t token[RBUF_TOKEN_BYTES])
{
    return memcmp(message->side.token, token, RBUF_TOKEN_BYTES) == 0;
}

static bool handle_hello(struct rbuf_call *call, const struct rbuf_exchange *message)
{
    struct rbuf_listener *listener = call->listener;
    struct rbuf_call_event *event;

    if (message->header.kind != RBUF_EXCHANGE_HELLO) {
        return reject(call, RBUF_FAULT_KIND);
    }
    if (!token_is(message, listener->token)) {
        return reject(call, RBUF_FAULT_TOKEN);
    }
    event = new_event(call, message);
    if (event == NULL) {
        free_call(call);
        return false;
    }
    TAILQ_REMOVE(&listener->strangers, call, link);
    listener->stranger_count--;
    TAILQ_INSERT_TAIL(&listener->calls, call, link);
    call->state = RBUF_CALL_HEARD;
    (void) event_del(call->timer);
    rbuf_count(&listener->counters.hellos);
    rbuf_call_send(call, RBUF_EXCHANGE_HEARD, RBUF_REFUSAL_NONE);
    push(call, event, RBUF_INCOMING_HELLO);
    return true;
}

static bool handle_answer(struct rbuf_call *call, const struct rbuf_exchange *message)
{
    switch (message->header.kind) {
    case RBUF_EXCHANGE_ACCEPT:
        if (!token_is(message, call->mine.side.token)) {
            return reject(call, RBUF_FAULT_TOKEN);
        }
        call->state = RBUF_CALL_DECIDING;
        return tell(call, RBUF_CALL_ACCEPTED, message);
    case RBUF_EXCHANGE_REFUSE: {
        enum rbuf_refusal refusal = (enum rbuf_refusal) message->header.reason;

        return end_call(call, RBUF_CALL_REFUSED, -ECONNREFUSED, refusal,
                        rbuf_refusal_text(refusal));
    }
    case RBUF_EXCHANGE_BYE:
        return lose(call, -ECONNRESET, "the process called is finishing");
    default:
        return reject(call, RBUF_FAULT_KIND);
    }
}

/* A message in a state in which only one kind and BYE may come. */
static bool handle_message(struct rbuf_call *call, const struct rbuf_exchange *message)
{
    bool bye = message->header.kind == RBUF_EXCHANGE_BYE;

    switch (call->state) {
    case RBUF_CALL_STRANGER:
        return handle_hello(call, message);
    case RBUF_CALL_GREETING:
        if (message->header.kind != RBUF_EXCHANGE_HEARD) {
            return reject(call, RBUF_FAULT_KIND);
        }
        call->state = RBUF_CALL_WAITING;
        (void) event_del(call->timer);
        return true;
    case RBUF_CALL_WAITING:
        return handle_answer(call, message);
    case RBUF_CALL_ANSWERED:
        if (message->header.kind == RBUF_EXCHANGE_READY) {
            call->state = RBUF_CALL_CONNECTED;
            return tell(call, RBUF_INCOMING_READY, NULL);
        }
        /* fall through */
    case RBUF_CALL_HEARD:
        return bye ? lose(call, -ECONNRESET, "the caller withdrew") : reject(call, RBUF_FAULT_KIND);
    case RBUF_CALL_DECIDING:
    case RBUF_CALL_CONNECTED:
    case RBUF_CALL_LEAVING: /* at once with ours */
        return bye ? end_call(call, RBUF_PEER_BYE, 0, RBUF_REFUSAL_NONE, "finished")
                   : reject(call, RBUF_FAULT_KIND);
    default:
        return true; /* draining: nobody listens any more */
    }
}

static bool consume(struct rbuf_call *call)
{
    struct rbuf_exchange message;
    size_t needed;

    if (call->state == RBUF_CALL_DRAINING) {
        call->in_bytes = 0;
    }
    while (call->in_bytes > 0) {
        enum rbuf_exchange_fault fault =
            rbuf_exchange_parse(call->in, call->in_bytes, &message, &needed);

        if (fault == RBUF_FAULT_INCOMPLETE) {
            return true;
        }
        if (fault != RBUF_FAULT_NONE) {
            return reject(call, fault);
        }
        call->in_bytes -= message.header.bytes;
        memmove(call->in, call->in + message.header.bytes, call->in_bytes);
        if (!handle_message(call, &message)) {
            return false;
        }
    }
    return true;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_call *call = data;
    char buffer[128];
    bool there = true;

    (void) what;
    while (there) {
        ssize_t got =
            recv(fd, call->in + call->in_bytes, sizeof(call->in) - call->in_bytes, MSG_DONTWAIT);

        if (got > 0) {
            call->in_bytes += (size_t) got;
            there = consume(call);
        } else if (got == 0) {
            if (call->state == RBUF_CALL_STRANGER) {
                rbuf_count(&call->listener->counters.closed_early);
            }
            there = lose(call, -ECONNRESET, "the connection was closed by the other side");
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            int error = errno;

            if (call->state == RBUF_CALL_STRANGER) {
                rbuf_count(&call->listener->counters.closed_early);
            }
            (void) lose(call, -error, strerror_r(error, buffer, sizeof(buffer)));
            return;
        }
    }
}

static void greet(struct rbuf_call *call)
{
    call->state = RBUF_CALL_GREETING;
    rbuf_call_start_timer(call);
    rbuf_call_send(call, RBUF_EXCHANGE_HELLO, RBUF_REFUSAL_NONE);
    (void) event_add(call->readable, NULL);
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_call *call = data;
    char buffer[128];
    int error = 0;
    socklen_t length = sizeof(error);

    (void) what;
    if (call->state == RBUF_CALL_CONNECTING) {
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
            error = errno;
        }
        if (error != 0) {
            (void) lose(call, -error, strerror_r(error, buffer, sizeof(buffer)));
        } else {
            greet(call);
        }
        return;
    }
    rbuf_call_flush(call);
    if (call->state == RBUF_CALL_DRAINING && call->out_bytes == 0) {
        free_call(call);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_call *call = data;

    (void) fd;
    (void) what;
    if (call->state == RBUF_CALL_STRANGER) {
        rbuf_count(&call->listener->counters.slow);
    }
    (void) lose(call, -ETIMEDOUT,
                call->state == RBUF_CALL_CONNECTING ? "no connection within the time-out"
                                                    : "no answer within the time-out");
}

static const struct rbuf_call_handlers handlers = {on_readable, on_writable, on_timer};

/* 0: connected or on the way. */
static int try_address(struct rbuf_call *call, const struct rbuf_address *address)
{
    struct sockaddr_storage name;
    socklen_t length = rbuf_address_to_socket(address, &name);
    int fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 && errno == EMFILE && call->listener->options.raise_descriptors &&
        rbuf_descriptors_raise()) {
        fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    rbuf_address_text(address, call->peer);
    if (fd < 0) {
        return -errno;
    }
    if (!rbuf_call_adopt_socket(call, fd, &handlers)) {
        return -ENOMEM;
    }
    if (connect(fd, (struct sockaddr *) &name, length) == 0) {
        greet(call);
        return 0;
    }
    if (errno != EINPROGRESS) {
        int error = -errno;

        rbuf_call_close_socket(call);
        return error;
    }
    call->state = RBUF_CALL_CONNECTING;
    rbuf_call_start_timer(call);
    (void) event_add(call->writable, NULL);
    return 0;
}

static void on_retry(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_call *call = data;

    (void) fd;
    (void) what;
    rbuf_count(&call->listener->counters.calls_retried);
    call->trying_next = 0;
    (void) try_next(call);
}

/* How long to wait before all addresses are tried again: from half of the average to one and a
 * half, so that callers that failed together do not come back together. */
static unsigned back_off_ms(const struct rbuf_call *call)
{
    const unsigned doublings = call->tries - 1 < 10 ? call->tries - 1 : 10;
    const unsigned most = BACK_OFF_MOST_MS;
    const unsigned average = BACK_OFF_MS << doublings < most ? BACK_OFF_MS << doublings : most;
    uint32_t chance;

    evutil_secure_rng_get_bytes(&chance, sizeof(chance));
    return average / 2 + chance % (average + 1);
}

/* All addresses have failed. False: that is final. */
static bool back_off(struct rbuf_call *call)
{
    struct timeval wait;
    unsigned ms;

    call->tries++;
    ms = back_off_ms(call);
    if (now_ms() + ms >= call->began_ms + call->listener->options.retry_ms) {
        return false;
    }
    if (call->retry == NULL) {
        call->retry = event_new(call->listener->base, -1, 0, on_retry, call);
    }
    wait = (struct timeval){.tv_sec = ms / 1000, .tv_usec = (suseconds_t) (ms % 1000) * 1000};
    if (call->retry == NULL || event_add(call->retry, &wait) != 0) {
        return false;
    }
    call->state = RBUF_CALL_BACK_OFF;
    return true;
}

/* False always: the socket that was being read is gone. */
static bool try_next(struct rbuf_call *call)
{
    char buffer[128];

    rbuf_call_close_socket(call);
    while (call->trying_next < call->trying_count) {
        int error = try_address(call, &call->trying[call->trying_next++]);

        if (error == 0) {
            return false;
        }
        if (error == -EMFILE) {
            (void) snprintf(call->failure, sizeof(call->failure),
                            "no file descriptor is left, of %llu (raise the limit: ulimit -n)",
                            (unsigned long long) rbuf_descriptors_limit());
        } else {
            (void) snprintf(call->failure, sizeof(call->failure), "%s",
                            strerror_r(-error, buffer, sizeof(buffer)));
        }
        call->failure_error = error;
    }
    if (back_off(call)) {
        return false;
    }
    rbuf_count(&call->listener->counters.calls_failed);
    return end_call(call, RBUF_CALL_FAILED, call->failure_error, RBUF_REFUSAL_NONE, call->failure);
}

static void start_call(struct rbuf_call *call)
{
    TAILQ_INSERT_TAIL(&call->listener->calls, call, link);
    call->state = RBUF_CALL_CONNECTING;
    call->began_ms = now_ms();
    rbuf_count(&call->listener->counters.calls);
    (void) snprintf(call->peer, sizeof(call->peer), "the process called");
    (void) snprintf(call->failure, sizeof(call->failure),
                    "none of its addresses can be reached from here");
    call->failure_error = -EHOSTUNREACH;
    (void) try_next(call);
}

bool rbuf_call_make_room(struct rbuf_listener *listener)
{
    struct rbuf_call *call, *next;

    if (listener->stranger_count < listener->options.max_strangers) {
        return true;
    }
    for (call = TAILQ_FIRST(&listener->strangers); call != NULL; call = next) {
        next = TAILQ_NEXT(call, link);
        on_readable(call->fd, EV_READ, call); /* it may be a stranger no more, or gone */
    }
    call = TAILQ_FIRST(&listener->strangers);
    if (listener->stranger_count < listener->options.max_strangers) {
        return true;
    }
    if (now_ms() - call->began_ms < STRANGER_MS) {
        return false;
    }
    rbuf_count(&listener->counters.crowded_out);
    free_call(call);
    return true;
}

void rbuf_call_take_stranger(struct rbuf_listener *listener, int fd, const char *peer)
{
    struct rbuf_call *call;

    rbuf_count(&listener->counters.connections);
    call = rbuf_call_new(listener);
    if (call == NULL) {
        (void) close(fd);
        return;
    }
    call->state = RBUF_CALL_STRANGER;
    call->began_ms = now_ms();
    (void) snprintf(call->peer, sizeof(call->peer), "%s", peer);
    TAILQ_INSERT_TAIL(&listener->strangers, call, link);
    listener->stranger_count++;
    if (!rbuf_call_adopt_socket(call, fd, &handlers)) {
        free_call(call);
        return;
    }
    rbuf_call_start_timer(call);
    (void) event_add(call->readable, NULL);
}

/* An answer to a call that has ended in the meantime is dropped. */
void rbuf_call_command(struct rbuf_call *call, enum rbuf_command_kind kind,
                       enum rbuf_refusal refusal)
{
    switch (kind) {
    case RBUF_COMMAND_START:
        start_call(call);
        break;
    case RBUF_COMMAND_ACCEPT:
        if (call->state == RBUF_CALL_HEARD) {
            memcpy(call->mine.side.token, call->listener->token, RBUF_TOKEN_BYTES);
            rbuf_call_send(call, RBUF_EXCHANGE_ACCEPT, RBUF_REFUSAL_NONE);
            call->state = RBUF_CALL_ANSWERED;
        }
        break;
    case RBUF_COMMAND_READY:
        if (call->state == RBUF_CALL_DECIDING) {
            rbuf_call_send(call, RBUF_EXCHANGE_READY, RBUF_REFUSAL_NONE);
            call->state = RBUF_CALL_CONNECTED;
        }
        break;
    case RBUF_COMMAND_LEAVE:
        if (call->state == RBUF_CALL_CONNECTED) {
            call->state = RBUF_CALL_LEAVING;
            rbuf_call_start_timer(call);
            rbuf_call_send(call, RBUF_EXCHANGE_BYE, RBUF_REFUSAL_NONE);
        }
        break;
    case RBUF_COMMAND_REFUSE:
        if (call->state == RBUF_CALL_HEARD) {
            rbuf_call_send(call, RBUF_EXCHANGE_REFUSE, refusal);
            finish(call);
        } else {
            rbuf_call_destroy(call);
        }
        break;
    case RBUF_COMMAND_CLOSE:
        rbuf_call_destroy(call);
        break;
    case RBUF_COMMAND_NONE:
        break;
    }
}
