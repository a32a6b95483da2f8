/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The listener and its connections: unauthenticated ones, active and passive peers that send
 * anything in any pieces, and a user who answers, refuses, calls and gives up at any time but
 * always by the rules.
 *
 * The listener's thread is not started (-Wl,--wrap): its event loop runs here, a turn at a time, so
 * that an input always means the same. Sockets are socket pairs, whose other end is the input's;
 * connect() and send() do what the input says.
 */
#include "fuzz.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/close_on_fork.h"
#include "listener_fuzz.h"

#define TURNS     4u /* of the loop: a command, its event, its answer */
#define STEPS_MAX 300u
#define ENDS      8u

enum connect_plan { CONNECT_NOW, CONNECT_LATER, CONNECT_FAILS, CONNECT_FAILS_LATER, NO_SOCKET };

static struct rbuf_listener *listener;
static int ends[ENDS]; /* the input's ends of connections; -1: free */
static enum connect_plan connect_plan;
static unsigned send_plan; /* bytes that the next send takes before it would block; 0: all */
static bool opening;       /* sockets are real, and the thread is not */
static bool closing;       /* the thread is joined */
static bool late_error;

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t length);
int __real_getsockopt(int fd, int level, int option, void *value, socklen_t *length);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *length);
ssize_t __real_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *data);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);

/* --- the system as the listener sees it --- */

static int *free_end(void)
{
    for (unsigned i = 0; i < ENDS; i++) {
        if (ends[i] < 0) {
            return &ends[i];
        }
    }
    return NULL;
}

/* One end of a new connection; the other is kept in ends[]. */
static int connection(void)
{
    int *end = free_end();
    int pair[2];

    if (end == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) {
        return -1;
    }
    *end = pair[1];
    return pair[0];
}

int __wrap_socket(int domain, int type, int protocol)
{
    int fd;

    if (opening) {
        return __real_socket(domain, type, protocol);
    }
    fd = connect_plan == NO_SOCKET ? -1 : connection();
    if (fd < 0) {
        errno = EMFILE;
    }
    return fd;
}

int __wrap_connect(int fd, const struct sockaddr *name, socklen_t length)
{
    (void) fd;
    (void) name;
    (void) length;
    late_error = connect_plan == CONNECT_FAILS_LATER;
    if (connect_plan == CONNECT_NOW) {
        return 0;
    }
    errno = connect_plan == CONNECT_FAILS ? ECONNREFUSED : EINPROGRESS;
    return -1;
}

int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
    int status = __real_getsockopt(fd, level, option, value, length);

    if (level == SOL_SOCKET && option == SO_ERROR && late_error) {
        *(int *) value = EHOSTUNREACH;
        late_error = false;
    }
    return status;
}

ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags)
{
    static bool blocked;

    if (blocked) {
        blocked = false;
        errno = EAGAIN;
        return -1;
    }
    if (send_plan != 0 && send_plan <= bytes) {
        bytes = send_plan - 1;
        blocked = true;
        send_plan = 0;
        if (bytes == 0) {
            blocked = false;
            errno = EAGAIN;
            return -1;
        }
    }
    return __real_send(fd, data, bytes, flags);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *data)
{
    if (!opening) { /* libFuzzer's own */
        return __real_pthread_create(thread, attributes, start, data);
    }
    *thread = pthread_self();
    return 0;
}

/* What the thread would do until it is joined. */
int __wrap_pthread_join(pthread_t thread, void **result)
{
    if (!closing) {
        return __real_pthread_join(thread, result);
    }
    (void) event_base_dispatch(listener->base);
    return 0;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
    (void) thread;
    (void) name;
    return 0;
}

static void turn(void)
{
    for (unsigned i = 0; i < TURNS; i++) {
        (void) event_base_loop(listener->base, EVLOOP_NONBLOCK);
    }
}

/* --- what the other side does --- */

/* Who finds no place waits outside, for ever. The oldest have had their moment. */
static void come_in(void)
{
    struct rbuf_connection *oldest = TAILQ_FIRST(&listener->unauthenticated);
    int fd = connection();

    if (oldest != NULL) {
        oldest->began_ms = 0;
    }
    if (fd >= 0 && rbuf_handshake_make_room(listener)) {
        rbuf_close_on_fork_begin();
        rbuf_close_on_fork_mark(fd);
        rbuf_close_on_fork_end();
        rbuf_handshake_take_incoming(listener, fd, "anybody");
    } else if (fd >= 0) {
        close(fd);
    }
}

static void write_bytes(int fd, const void *data, size_t bytes)
{
    if (fd >= 0 && bytes > 0) {
        (void) !__real_send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* A good message of some kind, with up to one byte turned, in up to two pieces. */
static void write_message(struct fuzz_input *input, int fd)
{
    uint8_t what = (uint8_t) fuzz_take(input, 1);
    enum rbuf_exchange_kind kind = (enum rbuf_exchange_kind)(1 + what % 6);
    struct rbuf_exchange message = message_make(kind, listener->token, what);
    size_t bytes = message.header.bytes;
    size_t first = bytes;

    if (what & 0x40) {
        size_t place = fuzz_take(input, 1) % bytes;

        ((uint8_t *) &message)[place] ^= (uint8_t) fuzz_take(input, 1);
    }
    if (what & 0x80) {
        first = fuzz_take(input, 1) % bytes;
    }
    write_bytes(fd, &message, first);
    if (first < bytes) {
        turn();
        write_bytes(fd, (uint8_t *) &message + first, bytes - first);
    }
}

static void write_raw(struct fuzz_input *input, int fd)
{
    size_t bytes = fuzz_take(input, 1);

    bytes = bytes < input->left ? bytes : input->left;
    write_bytes(fd, input->data, bytes);
    input->data += bytes;
    input->left -= bytes;
}

/* All that the listener says is well-formed. */
static void read_all(int fd)
{
    uint8_t bytes[4096];
    ssize_t got = fd >= 0 ? recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) : 0;
    size_t at = 0;

    while (got > 0 && at < (size_t) got) {
        struct rbuf_exchange message;
        enum rbuf_exchange_fault fault =
            rbuf_exchange_parse(bytes + at, (size_t) got - at, &message);

        if (fault == RBUF_FAULT_INCOMPLETE) {
            return; /* the rest is still to be sent, and is not looked at */
        }
        fuzz_require(fault == RBUF_FAULT_NONE || at == 0, "what is sent is well-formed");
        at += fault == RBUF_FAULT_NONE ? message.header.bytes : (size_t) got;
    }
}

static void hang_up(int *fd)
{
    if (*fd >= 0) {
        (void) close(*fd);
        *fd = -1;
    }
}

/* The time of a call that waits for something is up. */
static void fire_timer(unsigned which)
{
    struct rbuf_connection_list *lists[] = {&listener->unauthenticated, &listener->connections};

    for (unsigned i = 0; i < 2; i++) {
        struct rbuf_connection *call;

        TAILQ_FOREACH(call, lists[i], link)
        {
            if (event_pending(&call->timer, EV_TIMEOUT, NULL) && which-- == 0) {
                (void) event_del(&call->timer);
                event_active(&call->timer, EV_TIMEOUT, 1);
                return;
            }
        }
    }
}

/* --- the input --- */

enum step {
    STEP_COME_IN,
    STEP_MESSAGE,
    STEP_RAW,
    STEP_HANG_UP,
    STEP_READ,
    STEP_TIMER,
    STEP_TURN,
    STEP_SEND_PLAN,
    STEP_CONNECT_PLAN,
    STEP_CALL,
    STEP_EVENT,
    STEP_END_CALL,
    STEPS
};

static void do_step(struct fuzz_input *input)
{
    uint8_t code = (uint8_t) fuzz_take(input, 1);
    int *end = &ends[code / 16 % ENDS];

    switch ((enum step)(code % 16 % STEPS)) {
    case STEP_COME_IN:
        come_in();
        break;
    case STEP_MESSAGE:
        write_message(input, *end);
        break;
    case STEP_RAW:
        write_raw(input, *end);
        break;
    case STEP_HANG_UP:
        hang_up(end);
        break;
    case STEP_READ:
        read_all(*end);
        break;
    case STEP_TIMER:
        fire_timer(code / 16);
        break;
    case STEP_TURN:
        turn();
        break;
    case STEP_SEND_PLAN:
        send_plan = (unsigned) fuzz_take(input, 1);
        break;
    case STEP_CONNECT_PLAN:
        connect_plan = (enum connect_plan)(code / 16 % 5);
        break;
    case STEP_CALL:
        caller_call(listener, input);
        break;
    case STEP_EVENT:
        caller_event(listener, code / 16);
        break;
    default:
        caller_end(code / 16, fuzz_take(input, 1) & 1);
        break;
    }
}

/* Every connection that came in is unauthenticated still, or was dealt with in one way. */
static void check_counters(void)
{
    const struct rbuf_listener_counters *counters = rbuf_listener_counters(listener);
    uint64_t settled = listener->unauthenticated_count + counters->authenticated + counters->slow +
                       counters->closed_early + counters->evicted + counters->wordless +
                       counters->withdrawn;
    uint64_t faults = 0;

    for (unsigned i = 0; i < RBUF_FAULTS; i++) {
        faults += counters->fault[i];
    }
    fuzz_require(counters->connections >= settled && counters->connections - settled <= faults,
                 "every unauthenticated connection is counted once");
    fuzz_require(listener->unauthenticated_count <= listener->options.max_unauthenticated,
                 "there are not too many unauthenticated connections");
    fuzz_require(counters->fault[RBUF_FAULT_NONE] == 0 &&
                     counters->fault[RBUF_FAULT_INCOMPLETE] == 0,
                 "only faults are counted as faults");
}

static void open_listener(void)
{
    const struct rbuf_listener_options options = {.timeout_ms = 3600000, .max_unauthenticated = 3};
    struct rbuf_address_list addresses;
    struct rbuf_problem problem;
    uint8_t token[RBUF_TOKEN_BYTES];

    opening = true;
    fuzz_require(rbuf_listener_open(&options, token, &addresses, &listener, &problem) == 0,
                 "the listener opens");
    opening = false;
    memset(listener->token, 7, RBUF_TOKEN_BYTES); /* the same in every run */
    for (unsigned i = 0; i < ENDS; i++) {
        ends[i] = -1;
    }
    connect_plan = CONNECT_NOW;
    send_plan = 0;
}

static int lowest_free_descriptor(void)
{
    int fd = dup(STDERR_FILENO);

    (void) close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t heap = fuzz_heap();
    int descriptor = lowest_free_descriptor();
    bool orderly = fuzz_take(&input, 1) & 1;

    open_listener();
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++) {
        do_step(&input);
        if (input.data[-1] & 0x80 || input.left == 0) {
            turn();
        }
        check_counters();
        caller_check(listener);
    }
    if (orderly) {
        caller_end_all();
        turn();
    }
    closing = true;
    rbuf_listener_close(listener);
    closing = false;
    caller_forget();
    for (unsigned i = 0; i < ENDS; i++) {
        read_all(ends[i]);
        hang_up(&ends[i]);
    }
    fuzz_require(lowest_free_descriptor() == descriptor, "every descriptor is closed");
    fuzz_require(fuzz_heap() == heap, "nothing is left on the heap");
    return 0;
}
