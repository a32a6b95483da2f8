/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Two processes: each opens the adapter and a listener, they call each other, connect their queue
 * pairs, send messages and chunks, and end, in order or not. Without an adapter the test is
 * skipped.
 */
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter.h"
#include "connect/listener.h"

#define ROUNDS      200u
#define CHUNK_BYTES (1u << 20)
#define MEMORY      (2 * CHUNK_BYTES)

/* What the modex carries. */
struct card {
    uint8_t token[RBUF_TOKEN_BYTES];
    struct rbuf_address_list addresses;
};

struct process {
    struct adapter adapter;
    struct rbuf_listener *listener;
    struct rbuf_connection *call;
    struct card card;
    struct rbuf_memory
        memory; /* first half is written by the peer, its first word is the mailbox */
    struct rbuf_fab_queue *queue[RBUF_CHANNELS];
    struct rbuf_exchange_side theirs;
    int in;
    int out;
};

static void process_open(struct process *self, int in, int out)
{
    struct rbuf_listener_options options = {.timeout_ms = 5000};
    struct rbuf_problem problem;

    self->in = in;
    self->out = out;
    adapter_open(&self->adapter);
    adapter_ok(rbuf_listener_open(&options, self->card.token, &self->card.addresses,
                                  &self->listener, &problem),
               &problem);
    adapter_allocate(&self->adapter, MEMORY, ADAPTER_ACCESS, &self->memory);
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        adapter_ok(rbuf_queue_open(self->adapter.port, (enum rbuf_channel_id) i, 64,
                                   &self->queue[i], &problem),
                   &problem);
    }
}

static struct rbuf_exchange describe(const struct process *self,
                                     const uint8_t token[RBUF_TOKEN_BYTES])
{
    struct rbuf_exchange message = {.side = {.job = 1,
                                             .rank = (uint32_t) getpid(),
                                             .address = self->adapter.port->address,
                                             .mailbox = (uintptr_t) self->memory.base,
                                             .mailbox_rkey = self->memory.mr->rkey,
                                             .window = {ADAPTER_BUFFERS, ADAPTER_BUFFERS}}};

    memcpy(message.side.token, token, RBUF_TOKEN_BYTES);
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_address(self->queue[i], &message.side.queue[i]);
    }
    return message;
}

static struct rbuf_connect_event *next_event(struct process *self,
                                             enum rbuf_connect_event_kind kind)
{
    time_t end = time(NULL) + ADAPTER_PATIENCE;
    struct rbuf_connect_event *event;

    do {
        event = rbuf_listener_next(self->listener);
    } while (event == NULL && time(NULL) < end);
    ck_assert_ptr_nonnull(event);
    ck_assert_msg(event->kind == kind, "event %d: %s", event->kind, event->text);
    return event;
}

static void connect_queues(struct process *self, const struct rbuf_exchange *theirs)
{
    struct rbuf_problem problem;

    self->theirs = theirs->side;
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        adapter_ok(rbuf_queue_connect(self->queue[i], self->adapter.port, &self->theirs.address,
                                      &self->theirs.queue[i], &problem),
                   &problem);
    }
}

static void connect_as_caller(struct process *self)
{
    struct card peer;
    struct rbuf_exchange hello;
    struct rbuf_connect_event *event;

    ck_assert_int_eq(read(self->in, &peer, sizeof(peer)), sizeof(peer));
    hello = describe(self, peer.token);
    ck_assert_int_eq(
        rbuf_listener_connect(self->listener, &peer.addresses, &hello, self, &self->call), 0);
    event = next_event(self, RBUF_CONNECT_RESPONSE);
    connect_queues(self, &event->theirs);
    free(event);
    rbuf_connection_establish(self->call);
}

static void connect_as_called(struct process *self)
{
    struct rbuf_connect_event *event;
    struct rbuf_exchange accept;

    ck_assert_int_eq(write(self->out, &self->card, sizeof(self->card)), sizeof(self->card));
    event = next_event(self, RBUF_CONNECT_REQUEST);
    self->call = event->connection;
    connect_queues(self, &event->theirs);
    free(event);
    accept = describe(self, self->card.token);
    rbuf_connection_accept(self->call, &accept, self);
    free(next_event(self, RBUF_CONNECT_ESTABLISHED));
}

static void process_close(struct process *self)
{
    struct rbuf_completion completion;

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_error(self->queue[i]);
    }
    while (rbuf_poll(self->adapter.port, &completion, 1) != 0) {
        ck_assert_ptr_null(completion.work);
    }
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_close(self->queue[i]);
    }
    ck_assert_uint_eq(self->adapter.port->fab.signalled, 0);
    rbuf_memory_free(&self->memory);
    adapter_close(&self->adapter);
    rbuf_listener_close(self->listener);
    ck_assert_uint_eq(atomic_load(&rbuf_memory_stats.registered), 0);
}

static void send_number(struct process *self, unsigned number)
{
    enum rbuf_channel_id channel = (enum rbuf_channel_id)(number % RBUF_CHANNELS);
    struct rbuf_fab_piece piece = {.address = &number, .bytes = sizeof(number)};

    while (rbuf_fab_send(self->queue[channel], &piece, 1, true, NULL) == RBUF_FAB_AGAIN) {
        struct rbuf_completion completion;

        ck_assert_int_eq(rbuf_poll(self->adapter.port, &completion, 1), 0);
    }
}

static void receive_number(struct process *self, unsigned number)
{
    struct rbuf_completion completion = adapter_next(self->adapter.port);

    ck_assert_int_eq(completion.kind, RBUF_COMPLETION_RECEIVED);
    ck_assert_int_eq(completion.status, 0);
    ck_assert_uint_eq(completion.bytes, sizeof(number));
    ck_assert_int_eq(memcmp(completion.buffer->data, &number, sizeof(number)), 0);
    ck_assert_uint_eq(completion.buffer->channel, number % RBUF_CHANNELS);
    ck_assert_int_eq(adapter_repost(completion.buffer), 0);
}

/* Waits for a word that the peer writes, polling as a progress loop does. */
static void wait_word(struct process *self, const uint64_t *word, uint64_t value)
{
    time_t end = time(NULL) + ADAPTER_PATIENCE;
    struct rbuf_completion completion;

    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value && time(NULL) < end) {
        ck_assert_int_eq(rbuf_poll(self->adapter.port, &completion, 1), 0);
    }
    ck_assert_uint_eq(*word, value);
}

static void fill(uint8_t *bytes, unsigned round)
{
    for (uint32_t i = 0; i < CHUNK_BYTES - 8; i++) {
        bytes[i] = (uint8_t) (i * 7 + i / 4099 + round * 13);
    }
}

/* The caller writes chunks that end in a flag; the called side checks each and acknowledges it in
 * the caller's mailbox. */
static void write_chunks(struct process *self)
{
    uint8_t *source = (uint8_t *) self->memory.base + CHUNK_BYTES;
    const uint64_t *mailbox = self->memory.base;

    for (unsigned round = 1; round <= 8; round++) {
        struct rbuf_work work = {.queue = NULL};
        const uint64_t flag = 1000 + round;

        fill(source, round);
        memcpy(source + CHUNK_BYTES - 8, &flag, 8);
        ck_assert_int_eq(rbuf_fab_write(self->queue[RBUF_BULK], source, self->memory.mr->lkey,
                                        CHUNK_BYTES, self->theirs.mailbox,
                                        self->theirs.mailbox_rkey, &work),
                         RBUF_FAB_OK);
        ck_assert_int_eq(adapter_next(self->adapter.port).status, 0);
        wait_word(self, mailbox, round);
    }
}

static void take_chunks(struct process *self)
{
    uint8_t *target = self->memory.base;
    uint8_t *expected = malloc(CHUNK_BYTES);

    for (uint64_t round = 1; round <= 8; round++) {
        const uint64_t *flag = (const uint64_t *) (target + CHUNK_BYTES - 8);

        fill(expected, (unsigned) round);
        wait_word(self, flag, 1000 + round);
        ck_assert_int_eq(memcmp(target, expected, CHUNK_BYTES - 8), 0);
        ck_assert_int_eq(rbuf_fab_write_inline(self->queue[RBUF_CONTROL], &round, sizeof(round),
                                               self->theirs.mailbox, self->theirs.mailbox_rkey,
                                               NULL),
                         RBUF_FAB_OK);
    }
    free(expected);
}

struct pipes {
    int to_child[2];
    int to_parent[2];
};

static pid_t start(struct pipes *pipes, void (*child)(struct process *))
{
    pid_t pid;

    ck_assert_int_eq(pipe(pipes->to_child) | pipe(pipes->to_parent), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct process self = {0};

        process_open(&self, pipes->to_child[0], pipes->to_parent[1]);
        connect_as_called(&self);
        child(&self);
        exit(0);
    }
    return pid;
}

static void require_exit(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %#x", status);
}

static void orderly_child(struct process *self)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        receive_number(self, i);
        send_number(self, i + 1);
    }
    take_chunks(self);
    free(next_event(self, RBUF_PEER_DISCONNECTED));
    rbuf_connection_close(self->call);
    process_close(self);
}

START_TEST(messages_and_chunks_between_processes)
{
    struct process self = {0};
    struct pipes pipes;
    pid_t child = start(&pipes, orderly_child);

    process_open(&self, pipes.to_parent[0], pipes.to_child[1]);
    connect_as_caller(&self);
    for (unsigned i = 0; i < ROUNDS; i++) {
        send_number(&self, i);
        receive_number(&self, i + 1);
    }
    write_chunks(&self);
    rbuf_connection_close(self.call);
    require_exit(child);
    process_close(&self);
}
END_TEST

static void idle_child(struct process *self)
{
    receive_number(self, 0);
    send_number(self, 0);
    for (;;) {
        pause();
    }
}

/* The listener tells at once; what is posted afterwards comes back with an error in bounded time.
 */
START_TEST(killed_peer)
{
    struct process self = {0};
    struct rbuf_work work = {.queue = NULL};
    const uint64_t value = 1;
    struct rbuf_completion completion;
    struct rbuf_connect_event *event;
    struct pipes pipes;
    time_t began;
    pid_t child = start(&pipes, idle_child);

    process_open(&self, pipes.to_parent[0], pipes.to_child[1]);
    connect_as_caller(&self);
    send_number(&self, 0);
    receive_number(&self, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    began = time(NULL);
    event = next_event(&self, RBUF_PEER_LOST);
    ck_assert_ptr_eq(event->user, &self);
    free(event);
    ck_assert_int_eq(rbuf_fab_write_inline(self.queue[RBUF_CONTROL], &value, sizeof(value),
                                           self.theirs.mailbox, self.theirs.mailbox_rkey, &work),
                     RBUF_FAB_OK);
    completion = adapter_next(self.adapter.port);
    ck_assert_ptr_eq(completion.work, &work);
    ck_assert_ptr_eq(completion.queue, self.queue[RBUF_CONTROL]);
    ck_assert_int_lt(completion.status, 0);
    ck_assert_int_le(time(NULL) - began, 10);
    /* The same for a request that nobody waits for. */
    ck_assert_int_eq(rbuf_fab_write_inline(self.queue[RBUF_BULK], &value, sizeof(value),
                                           self.theirs.mailbox, self.theirs.mailbox_rkey, NULL),
                     RBUF_FAB_OK);
    completion = adapter_next(self.adapter.port);
    ck_assert_ptr_null(completion.work);
    ck_assert_ptr_eq(completion.queue, self.queue[RBUF_BULK]);
    rbuf_connection_close(self.call);
    process_close(&self);
}
END_TEST

static void silent_child(struct process *self)
{
    free(next_event(self, RBUF_PEER_DISCONNECTED));
    process_close(self);
}

/* RDMA completes though the target makes no call, and the end is an orderly one for both. */
START_TEST(writes_to_a_process_that_does_nothing)
{
    struct process self = {0};
    struct pipes pipes;
    pid_t child = start(&pipes, silent_child);

    process_open(&self, pipes.to_parent[0], pipes.to_child[1]);
    connect_as_caller(&self);
    for (int i = 0; i < 20; i++) {
        struct rbuf_work work = {.queue = NULL};

        ck_assert_int_eq(rbuf_fab_write(self.queue[RBUF_BULK],
                                        (char *) self.memory.base + CHUNK_BYTES,
                                        self.memory.mr->lkey, CHUNK_BYTES, self.theirs.mailbox,
                                        self.theirs.mailbox_rkey, &work),
                         RBUF_FAB_OK);
        ck_assert_int_eq(adapter_next(self.adapter.port).status, 0);
    }
    rbuf_connection_close(self.call);
    require_exit(child);
    process_close(&self);
}
END_TEST

/* Asked in a process of its own: this one forks before it touches the adapter. */
static bool adapter_there_for_others(void)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        exit(adapter_there() ? 0 : 1);
    }
    (void) waitpid(child, &status, 0);
    return status == 0;
}

int main(void)
{
    Suite *suite = suite_create("pair");

    if (!adapter_there_for_others()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, messages_and_chunks_between_processes);
    unit_add(suite, writes_to_a_process_that_does_nothing);
    unit_add(suite, killed_peer);
    return unit_run(suite);
}
