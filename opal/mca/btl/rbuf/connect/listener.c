/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The listener as its users see it (listener.h): opens and closes it, runs its thread, and turns
 * each call of a user into a command for that thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np() */
#endif
#include "connect/listener.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "connect/handshake.h"
#include "connect/listening.h"

#define UNAUTHENTICATED_DEFAULT 256u

/* --- the thread --- */

/* A few bytes that a full socket does not take at once are not waited for: what is draining then is
 * freed the second time. */
static void destroy_all(struct rbuf_connection_list *connections)
{
    struct rbuf_connection *connection;

    while ((connection = TAILQ_FIRST(connections)) != NULL) {
        rbuf_handshake_destroy(connection);
    }
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
        (void) rbuf_event_add_ms(&listener->tick, next);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;
    struct rbuf_command_list commands = STAILQ_HEAD_INITIALIZER(commands);
    struct rbuf_command *command;
    bool closing;

    (void) fd;
    (void) what;
    closing = rbuf_event_queue_take(&listener->queue, &commands);
    while ((command = STAILQ_FIRST(&commands)) != NULL) {
        STAILQ_REMOVE_HEAD(&commands, link);
        rbuf_handshake_command(command->connection, command->kind, command->reason);
    }
    if (atomic_load_explicit(&listener->armed, memory_order_relaxed) &&
        !event_pending(&listener->tick, EV_TIMEOUT, NULL)) {
        (void) rbuf_event_add_ms(&listener->tick, listener->options.tick_ms);
    }
    if (closing) {
        destroy_all(&listener->unauthenticated);
        destroy_all(&listener->connections);
        (void) event_base_loopbreak(listener->base);
    }
}

static void *run(void *data)
{
    struct rbuf_listener *listener = data;

    (void) event_base_dispatch(listener->base);
    return NULL;
}

/* --- opening --- */

/* The base is used by one thread at a time: libevent's own locks are not needed, and whether the
 * process has switched them on does not matter. Ticks are of 1 ms, and the coarse clock that
 * libevent 2.1 takes by default has steps of a few. libevent 2.0, which comes with Open MPI 4.1,
 * has no such clock. */
#if LIBEVENT_VERSION_NUMBER >= 0x02010000
#define BASE_FLAGS (EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_PRECISE_TIMER)
#else
#define BASE_FLAGS EVENT_BASE_FLAG_NOLOCK
#endif

static int make_base(struct rbuf_listener *listener, struct rbuf_problem *problem)
{
    struct event_config *config = event_config_new();

    if (config != NULL) {
        (void) event_config_set_flag(config, BASE_FLAGS);
        listener->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (listener->base == NULL) {
        return rbuf_listening_problem("event_base_new", -ENOMEM, problem);
    }
    (void) event_assign(&listener->tick, listener->base, -1, 0, on_tick, listener);
    (void) event_assign(&listener->wake, listener->base, listener->queue.wake_fd,
                        EV_READ | EV_PERSIST, on_wake, listener);
    if (event_add(&listener->wake, NULL) != 0) {
        return rbuf_listening_problem("event_add", -ENOMEM, problem);
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
        return rbuf_listening_problem("pthread_create", -error, problem);
    }
    (void) pthread_setname_np(listener->thread, "rbuf-listener");
    return 0;
}

/* Frees all but connections; the thread is not there. */
static void free_listener(struct rbuf_listener *listener)
{
    rbuf_listening_close(listener);
    if (listener->base != NULL) {
        event_base_free(listener->base);
    }
    rbuf_event_queue_close(&listener->queue);
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
    if (listener->options.max_unauthenticated == 0) {
        listener->options.max_unauthenticated = UNAUTHENTICATED_DEFAULT;
    }
    listener->machine = rbuf_machine_id();
    TAILQ_INIT(&listener->connections);
    TAILQ_INIT(&listener->unauthenticated);
    return listener;
}

int rbuf_listener_open(const struct rbuf_listener_options *options, uint8_t token[RBUF_TOKEN_BYTES],
                       struct rbuf_address_list *addresses, struct rbuf_listener **out,
                       struct rbuf_problem *problem)
{
    struct rbuf_listener *listener = allocate(options);
    int error;

    if (listener == NULL) {
        return rbuf_listening_problem("memory of its own", -ENOMEM, problem);
    }
    error = rbuf_event_queue_open(&listener->queue);
    if (error != 0) {
        (void) rbuf_listening_problem("eventfd", error, problem);
    } else if (getrandom(listener->token, RBUF_TOKEN_BYTES, 0) != RBUF_TOKEN_BYTES) {
        error = rbuf_listening_problem("getrandom", -errno, problem);
    }
    if (error == 0) {
        error = rbuf_addresses_local(options->interfaces, &listener->local, problem);
    }
    if (error == 0) {
        error = make_base(listener, problem);
    }
    if (error == 0) {
        error = rbuf_listening_open(listener, addresses, problem);
    }
    if (error == 0) {
        error = start_thread(listener, problem);
    }
    if (error != 0) {
        free_listener(listener);
        return error;
    }
    memcpy(token, listener->token, RBUF_TOKEN_BYTES);
    *out = listener;
    return 0;
}

/* --- the user's side --- */

void rbuf_listener_arm(struct rbuf_listener *listener)
{
    if (!atomic_exchange_explicit(&listener->armed, true, memory_order_acq_rel)) {
        rbuf_event_queue_wake(&listener->queue);
    }
}

void rbuf_listener_close(struct rbuf_listener *listener)
{
    if (listener == NULL) {
        return;
    }
    rbuf_event_queue_stop(&listener->queue);
    (void) pthread_join(listener->thread, NULL);
    free_listener(listener);
}

const struct rbuf_listener_counters *rbuf_listener_counters(const struct rbuf_listener *listener)
{
    return &listener->counters;
}

int rbuf_listener_connect(struct rbuf_listener *listener, const struct rbuf_address_list *addresses,
                          const struct rbuf_exchange *request, void *user,
                          struct rbuf_connection **out)
{
    struct rbuf_connection *connection;

    if (!rbuf_addresses_valid(addresses)) {
        return -EINVAL;
    }
    connection = rbuf_handshake_new(listener);
    if (connection == NULL) {
        return -ENOMEM;
    }
    connection->trying_count =
        rbuf_addresses_order(&listener->local, listener->machine, addresses, connection->trying);
    connection->mine = *request;
    connection->user = user;
    *out = connection;
    rbuf_event_queue_command(&connection->connect, RBUF_COMMAND_CONNECT);
    return 0;
}
