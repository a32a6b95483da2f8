/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4(), pthread_setname_np() */
#endif
#include "connect/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "connect/call.h"
#include "connect/descriptors.h"

#define STRANGERS_DEFAULT 256u
#define ACCEPTS_AT_ONCE   64 /* connections taken in before other events get their turn */
#define PAUSE_MS          100
#define DOOR_PAUSE_MS     20

static int problem_call(const char *call, int error, struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "listener", error, "%s", call);
    rbuf_problem_errno(problem, error);
    if (error == -EMFILE || error == -ENFILE) {
        rbuf_problem_remedy(problem, "raise the limit of open files (ulimit -n)");
    }
    return error;
}

/* --- the thread --- */

static void peer_text(const struct sockaddr_storage *name, char text[RBUF_ADDRESS_TEXT_MAX])
{
    struct rbuf_address address = {.family = RBUF_ADDRESS_IPV4};

    if (name->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *) name;

        address.family = RBUF_ADDRESS_IPV6;
        address.port = ntohs(in6->sin6_port);
        memcpy(address.address, &in6->sin6_addr, 16);
    } else {
        const struct sockaddr_in *in = (const void *) name;

        address.port = ntohs(in->sin_port);
        memcpy(address.address, &in->sin_addr, 4);
    }
    rbuf_address_text(&address, text);
}

/* New connections wait in the backlog, and this thread does not spin. */
static void pause_accepting(struct rbuf_listener *listener, unsigned ms, _Atomic uint64_t *counter)
{
    struct timeval wait = {.tv_usec = (suseconds_t) ms * 1000};

    rbuf_count(counter);
    for (unsigned i = 0; i < listener->listening_count; i++) {
        (void) event_del(listener->listening[i].event);
    }
    (void) event_add(listener->resume, &wait);
}

static void on_resume(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;

    (void) fd;
    (void) what;
    for (unsigned i = 0; i < listener->listening_count; i++) {
        (void) event_add(listener->listening[i].event, NULL);
    }
}

static void on_connection(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;
    char text[RBUF_ADDRESS_TEXT_MAX];

    (void) what;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage name;
        socklen_t length = sizeof(name);
        int taken;

        if (!rbuf_call_make_room(listener)) {
            pause_accepting(listener, DOOR_PAUSE_MS, &listener->counters.door_pauses);
            return;
        }
        taken = accept4(fd, (struct sockaddr *) &name, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (taken >= 0) {
            peer_text(&name, text);
            rbuf_call_take_stranger(listener, taken, text);
        } else if (errno == EMFILE && listener->options.raise_descriptors &&
                   rbuf_descriptors_raise()) {
            continue;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(listener, PAUSE_MS, &listener->counters.accept_pauses);
            return;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        }
        /* All other errors are of the one connection, which is gone. */
    }
}

static void destroy_all(struct rbuf_listener *listener)
{
    struct rbuf_call *call, *next;

    for (call = TAILQ_FIRST(&listener->strangers); call != NULL; call = next) {
        next = TAILQ_NEXT(call, link);
        rbuf_call_destroy(call);
    }
    for (call = TAILQ_FIRST(&listener->calls); call != NULL; call = next) {
        next = TAILQ_NEXT(call, link);
        rbuf_call_destroy(call);
    }
    /* A few bytes that a full socket does not take at once are not waited for. */
    while ((call = TAILQ_FIRST(&listener->calls)) != NULL) {
        rbuf_call_destroy(call);
    }
}

static void start_tick(struct rbuf_listener *listener, unsigned ms)
{
    struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t) (ms % 1000) * 1000};

    (void) event_add(listener->tick, &wait);
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;
    unsigned next;

    (void) fd;
    (void) what;
    (void) atomic_exchange_explicit(&listener->armed, false, memory_order_acq_rel);
    next = listener->options.tick();
    if (next > 0) {
        atomic_store_explicit(&listener->armed, true, memory_order_relaxed);
        start_tick(listener, next);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;
    struct rbuf_command_list commands = STAILQ_HEAD_INITIALIZER(commands);
    struct rbuf_command *command;
    uint64_t count;
    bool closing;

    (void) what;
    (void) !read(fd, &count, sizeof(count));
    (void) pthread_mutex_lock(&listener->mutex);
    STAILQ_CONCAT(&commands, &listener->commands);
    closing = listener->closing;
    (void) pthread_mutex_unlock(&listener->mutex);

    while ((command = STAILQ_FIRST(&commands)) != NULL) {
        STAILQ_REMOVE_HEAD(&commands, link);
        rbuf_call_command(command->call, command->kind, command->refusal);
    }
    if (atomic_load_explicit(&listener->armed, memory_order_relaxed) &&
        !event_pending(listener->tick, EV_TIMEOUT, NULL)) {
        start_tick(listener, listener->options.tick_ms);
    }
    if (closing) {
        destroy_all(listener);
        (void) event_base_loopbreak(listener->base);
    }
}

static void *run(void *data)
{
    struct rbuf_listener *listener = data;

    (void) event_base_dispatch(listener->base);
    return NULL;
}

void rbuf_listener_push(struct rbuf_call_event *event)
{
    struct rbuf_listener *listener = event->call->listener;

    (void) pthread_mutex_lock(&listener->mutex);
    if (event->call->abandoned) {
        free(event);
    } else {
        event->next = NULL;
        if (listener->first_event == NULL) {
            listener->first_event = event;
        } else {
            listener->last_event->next = event;
        }
        listener->last_event = event;
        atomic_fetch_add_explicit(&listener->pending, 1, memory_order_release);
    }
    (void) pthread_mutex_unlock(&listener->mutex);
}

/* --- opening --- */

static int listen_on(const struct rbuf_address *address, unsigned port, int backlog, int *out)
{
    struct rbuf_address wanted = *address;
    struct sockaddr_storage name;
    socklen_t length;
    const int one = 1;
    int error;
    int fd;

    wanted.port = (uint16_t) port;
    length = rbuf_address_to_socket(&wanted, &name);
    fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    (void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (name.ss_family == AF_INET6) {
        (void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    }
    if (bind(fd, (struct sockaddr *) &name, length) != 0 || listen(fd, backlog) != 0) {
        error = -errno;
        (void) close(fd);
        return error;
    }
    *out = fd;
    return 0;
}

/* The first free port of the range. */
static int listen_in_range(const struct rbuf_listener_options *options,
                           const struct rbuf_address *address, int *out)
{
    int backlog = options->backlog > 0 ? options->backlog : SOMAXCONN;
    int error = -EADDRINUSE;

    for (unsigned port = options->port_min; port <= options->port_max && error == -EADDRINUSE;
         port++) {
        error = listen_on(address, port, backlog, out);
    }
    return error;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage name = {0};
    socklen_t length = sizeof(name);

    (void) getsockname(fd, (struct sockaddr *) &name, &length);
    return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *) &name)->sin6_port
                                            : ((struct sockaddr_in *) &name)->sin_port);
}

static int check_range(struct rbuf_listener_options *options, struct rbuf_problem *problem)
{
    if (options->port_max < options->port_min || options->port_max > UINT16_MAX ||
        (options->port_min == 0 && options->port_max != 0)) {
        rbuf_problem_set(problem, "listener-port", -EINVAL, "%u to %u", options->port_min,
                         options->port_max);
        rbuf_problem_value(problem, "not a range of ports");
        rbuf_problem_remedy(problem,
                            "give ports from 1 to 65535, the lower first, or 0 and 0 for any");
        return -EINVAL;
    }
    return 0;
}

/* Listens on every address of ours and publishes it. An address that went away in the meantime, or
 * is not ready yet, is left out. */
static int listen_on_all(struct rbuf_listener *listener, struct rbuf_address_list *published,
                         struct rbuf_problem *problem)
{
    const struct rbuf_listener_options *options = &listener->options;
    char text[RBUF_ADDRESS_TEXT_MAX];

    *published = (struct rbuf_address_list){.machine = listener->machine};
    for (unsigned i = 0; i < listener->local.count; i++) {
        const struct rbuf_address *address = &listener->local.all[i].address;
        struct rbuf_listening *listening = &listener->listening[listener->listening_count];
        int error = listen_in_range(options, address, &listening->fd);

        if (error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT) {
            continue;
        }
        if (error != 0) {
            rbuf_address_text(address, text);
            rbuf_problem_set(problem, "listener-port", error, "%u to %u on %s", options->port_min,
                             options->port_max, text);
            rbuf_problem_errno(problem, error);
            rbuf_problem_remedy(problem,
                                "every process of a machine needs a port of its own: widen "
                                "the range");
            return error;
        }
        listener->listening_count++;
        listening->event =
            event_new(listener->base, listening->fd, EV_READ | EV_PERSIST, on_connection, listener);
        if (listening->event == NULL || event_add(listening->event, NULL) != 0) {
            return problem_call("event_new", -ENOMEM, problem);
        }
        published->address[published->count] = *address;
        published->address[published->count].port = bound_port(listening->fd);
        published->count++;
    }
    if (published->count == 0) {
        rbuf_problem_set(problem, "listener-address", -EADDRNOTAVAIL, "any interface");
        rbuf_problem_value(problem, "none could be listened on");
        return -EADDRNOTAVAIL;
    }
    return 0;
}

/* The base is used by one thread at a time: libevent's own locks are not needed, and whether the
 * process has switched them on does not matter. */
static int make_base(struct rbuf_listener *listener, struct rbuf_problem *problem)
{
    struct event_config *config = event_config_new();
    int error;

    if (config != NULL) {
        (void) event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        listener->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (listener->base == NULL) {
        return problem_call("event_base_new", -ENOMEM, problem);
    }
    listener->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (listener->wake_fd < 0) {
        error = -errno;
        return problem_call("eventfd", error, problem);
    }
    listener->wake =
        event_new(listener->base, listener->wake_fd, EV_READ | EV_PERSIST, on_wake, listener);
    listener->resume = event_new(listener->base, -1, 0, on_resume, listener);
    listener->tick = event_new(listener->base, -1, 0, on_tick, listener);
    if (listener->wake == NULL || listener->resume == NULL || listener->tick == NULL ||
        event_add(listener->wake, NULL) != 0) {
        return problem_call("event_new", -ENOMEM, problem);
    }
    return 0;
}

/* Signals are the application's; its threads take them. */
static int start_thread(struct rbuf_listener *listener, struct rbuf_problem *problem)
{
    sigset_t all, before;
    int error;

    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&listener->thread, NULL, run, listener);
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        return problem_call("pthread_create", -error, problem);
    }
    (void) pthread_setname_np(listener->thread, "rbuf-listener");
    return 0;
}

/* Frees all but calls; the thread is not there. */
static void free_listener(struct rbuf_listener *listener)
{
    for (unsigned i = 0; i < listener->listening_count; i++) {
        if (listener->listening[i].event != NULL) {
            event_free(listener->listening[i].event);
        }
        (void) close(listener->listening[i].fd);
    }
    if (listener->wake != NULL) {
        event_free(listener->wake);
    }
    if (listener->resume != NULL) {
        event_free(listener->resume);
    }
    if (listener->tick != NULL) {
        event_free(listener->tick);
    }
    if (listener->wake_fd >= 0) {
        (void) close(listener->wake_fd);
    }
    if (listener->base != NULL) {
        event_base_free(listener->base);
    }
    (void) pthread_mutex_destroy(&listener->mutex);
    free(listener);
}

static struct rbuf_listener *allocate(const struct rbuf_listener_options *options)
{
    struct rbuf_listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL) {
        return NULL;
    }
    listener->options = *options;
    listener->options.interfaces = NULL;
    if (listener->options.max_strangers == 0) {
        listener->options.max_strangers = STRANGERS_DEFAULT;
    }
    listener->machine = rbuf_machine_id();
    listener->wake_fd = -1;
    TAILQ_INIT(&listener->calls);
    TAILQ_INIT(&listener->strangers);
    STAILQ_INIT(&listener->commands);
    (void) pthread_mutex_init(&listener->mutex, NULL);
    return listener;
}

int rbuf_listener_open(const struct rbuf_listener_options *options, uint8_t token[RBUF_TOKEN_BYTES],
                       struct rbuf_address_list *addresses, struct rbuf_listener **out,
                       struct rbuf_problem *problem)
{
    struct rbuf_listener *listener = allocate(options);
    struct rbuf_address_list published;
    int error;

    if (listener == NULL) {
        return problem_call("memory of its own", -ENOMEM, problem);
    }
    error = check_range(&listener->options, problem);
    if (error == 0 && getrandom(listener->token, RBUF_TOKEN_BYTES, 0) != RBUF_TOKEN_BYTES) {
        error = problem_call("getrandom", -errno, problem);
    }
    if (error == 0) {
        error = rbuf_addresses_local(options->interfaces, &listener->local, problem);
    }
    if (error == 0) {
        error = make_base(listener, problem);
    }
    if (error == 0) {
        error = listen_on_all(listener, &published, problem);
    }
    if (error == 0) {
        error = start_thread(listener, problem);
    }
    if (error != 0) {
        free_listener(listener);
        return error;
    }
    memcpy(token, listener->token, RBUF_TOKEN_BYTES);
    *addresses = published;
    *out = listener;
    return 0;
}

/* --- the user's side --- */

static void wake(struct rbuf_listener *listener)
{
    const uint64_t one = 1;

    (void) !write(listener->wake_fd, &one, sizeof(one));
}

/* The mutex is held. */
static void queue_command(struct rbuf_command *command, enum rbuf_command_kind kind)
{
    command->kind = kind;
    STAILQ_INSERT_TAIL(&command->call->listener->commands, command, link);
}

void rbuf_listener_arm(struct rbuf_listener *listener)
{
    if (!atomic_exchange_explicit(&listener->armed, true, memory_order_acq_rel)) {
        wake(listener);
    }
}

void rbuf_listener_close(struct rbuf_listener *listener)
{
    struct rbuf_call_event *event;

    if (listener == NULL) {
        return;
    }
    (void) pthread_mutex_lock(&listener->mutex);
    listener->closing = true;
    (void) pthread_mutex_unlock(&listener->mutex);
    wake(listener);
    (void) pthread_join(listener->thread, NULL);
    while ((event = listener->first_event) != NULL) {
        listener->first_event = event->next;
        free(event);
    }
    free_listener(listener);
}

const struct rbuf_listener_counters *rbuf_listener_counters(const struct rbuf_listener *listener)
{
    return &listener->counters;
}

bool rbuf_listener_pending(const struct rbuf_listener *listener)
{
    return atomic_load_explicit(&listener->pending, memory_order_acquire) != 0;
}

struct rbuf_call_event *rbuf_listener_pick(struct rbuf_listener *listener,
                                           bool (*wanted)(const struct rbuf_call_event *event,
                                                          void *context),
                                           void *context)
{
    struct rbuf_call_event *before = NULL;
    struct rbuf_call_event *event;

    if (!rbuf_listener_pending(listener)) {
        return NULL;
    }
    (void) pthread_mutex_lock(&listener->mutex);
    for (event = listener->first_event; event != NULL; event = event->next) {
        /* As of now: a caller may have been lost before it was accepted. */
        event->user = event->call->user;
        if (wanted(event, context)) {
            break;
        }
        before = event;
    }
    if (event != NULL) {
        *(before != NULL ? &before->next : &listener->first_event) = event->next;
        listener->last_event = event == listener->last_event ? before : listener->last_event;
        event->next = NULL;
        atomic_fetch_sub_explicit(&listener->pending, 1, memory_order_relaxed);
    }
    (void) pthread_mutex_unlock(&listener->mutex);
    return event;
}

static bool any(const struct rbuf_call_event *event, void *context)
{
    (void) event;
    (void) context;
    return true;
}

struct rbuf_call_event *rbuf_listener_next(struct rbuf_listener *listener)
{
    return rbuf_listener_pick(listener, any, NULL);
}

void rbuf_call_event_free(struct rbuf_call_event *event)
{
    free(event);
}

int rbuf_listener_call(struct rbuf_listener *listener, const struct rbuf_address_list *addresses,
                       const struct rbuf_exchange *hello, void *user, struct rbuf_call **out)
{
    struct rbuf_call *call;

    if (!rbuf_addresses_valid(addresses)) {
        return -EINVAL;
    }
    call = rbuf_call_new(listener);
    if (call == NULL) {
        return -ENOMEM;
    }
    call->trying_count =
        rbuf_addresses_order(&listener->local, listener->machine, addresses, call->trying);
    call->mine = *hello;
    call->user = user;
    *out = call;
    (void) pthread_mutex_lock(&listener->mutex);
    queue_command(&call->start, RBUF_COMMAND_START);
    (void) pthread_mutex_unlock(&listener->mutex);
    wake(listener);
    return 0;
}

void rbuf_call_ready(struct rbuf_call *call)
{
    struct rbuf_listener *listener = call->listener;

    (void) pthread_mutex_lock(&listener->mutex);
    queue_command(&call->answer, RBUF_COMMAND_READY);
    (void) pthread_mutex_unlock(&listener->mutex);
    wake(listener);
}

void rbuf_call_accept(struct rbuf_call *call, const struct rbuf_exchange *mine, void *user)
{
    struct rbuf_listener *listener = call->listener;

    (void) pthread_mutex_lock(&listener->mutex);
    call->mine = *mine;
    call->user = user;
    queue_command(&call->answer, RBUF_COMMAND_ACCEPT);
    (void) pthread_mutex_unlock(&listener->mutex);
    wake(listener);
}

/* Takes the call's events out of the queue; the mutex is held. */
static void drop_events(struct rbuf_listener *listener, const struct rbuf_call *call)
{
    struct rbuf_call_event **place = &listener->first_event;
    struct rbuf_call_event *last = NULL;

    while (*place != NULL) {
        struct rbuf_call_event *event = *place;

        if (event->call == call) {
            *place = event->next;
            atomic_fetch_sub_explicit(&listener->pending, 1, memory_order_relaxed);
            free(event);
        } else {
            last = event;
            place = &event->next;
        }
    }
    listener->last_event = last;
}

void rbuf_call_leave(struct rbuf_call *call)
{
    struct rbuf_listener *listener = call->listener;

    (void) pthread_mutex_lock(&listener->mutex);
    queue_command(&call->leave, RBUF_COMMAND_LEAVE);
    (void) pthread_mutex_unlock(&listener->mutex);
    wake(listener);
}

static void abandon(struct rbuf_call *call, enum rbuf_command_kind kind, enum rbuf_refusal refusal)
{
    struct rbuf_listener *listener = call->listener;

    (void) pthread_mutex_lock(&listener->mutex);
    call->abandoned = true;
    call->end.refusal = refusal;
    drop_events(listener, call);
    queue_command(&call->end, kind);
    (void) pthread_mutex_unlock(&listener->mutex);
    wake(listener);
}

void rbuf_call_refuse(struct rbuf_call *call, enum rbuf_refusal reason)
{
    abandon(call, RBUF_COMMAND_REFUSE, reason);
}

void rbuf_call_close(struct rbuf_call *call)
{
    abandon(call, RBUF_COMMAND_CLOSE, RBUF_REFUSAL_NONE);
}
