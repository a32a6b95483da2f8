/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The processes of the many-peer test: who knows whom, steps, delivery (see job.h). */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/eager/channel.h"
#include "core/eager/ring_long.h"
#include "inspect/eager.h"

#define PAGE          4096u
#define STAGING_BYTES (1u << 20)
#define FIRST_LINKS   16u

struct job_message { /* one that core keeps for a while */
    struct rbuf_am am;
    struct {
        struct rbuf_message_header header;
        unsigned char payload[];
    } wire;
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL) {
        perror("job");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void *allocate_aligned(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, PAGE, bytes) != 0) {
        perror("job");
        exit(EXIT_FAILURE);
    }
    return memset(memory, 0, bytes);
}

struct job_options job_defaults(uint32_t ranks)
{
    return (struct job_options){
        .ranks = ranks,
        .ring = {.slots = 64, .slot_bytes = 2112, .set = 16, .threshold = 16, .longest = 49152},
        .window = 64,
        .ring_memory = UINT32_MAX};
}

struct job *job_open(const struct job_options *options)
{
    struct job *job = allocate(sizeof(*job));

    job->options = *options;
    job->processes = allocate(options->ranks * sizeof(struct job_process *));
    job->staging = allocate_aligned(STAGING_BYTES);
    TAILQ_INIT(&job->awake);
    return job;
}

static void open_core(struct job_process *process)
{
    const struct job_options *options = &process->job->options;
    const struct rbuf_core_options core_options = {.schedule = {.block_bytes = 4096,
                                                                .growth = RBUF_GROWTH_ONE,
                                                                .first_blocks = 3,
                                                                .buffer_blocks = 16,
                                                                .buffers = 3},
                                                   .quantum = 16384,
                                                   .window = {options->window, options->window},
                                                   .ring = options->ring,
                                                   .max_message = 1u << 30};
    const struct rbuf_region region = {.base = process->job->staging, .bytes = STAGING_BYTES};

    if (rbuf_core_open(&process->core, &core_options, &region, &region) != 0) {
        perror("job");
        exit(EXIT_FAILURE);
    }
}

struct job_process *job_process(struct job *job, uint32_t rank)
{
    struct job_process *process = job->processes[rank];

    if (process != NULL) {
        return process;
    }
    process = allocate(sizeof(*process));
    process->job = job;
    process->rank = rank;
    process->table_size = FIRST_LINKS;
    process->table = allocate(FIRST_LINKS * sizeof(struct job_link *));
    STAILQ_INIT(&process->inbox);
    STAILQ_INIT(&process->signals);
    open_core(process);
    process->next = job->first;
    job->first = process;
    job->processes[rank] = process;
    return process;
}

/* Where the link to the rank is in the table, or would be. */
static struct job_link **place_of(const struct job_process *process, uint32_t rank)
{
    uint32_t place = rank * 2654435761u & (process->table_size - 1);

    while (process->table[place] != NULL && process->table[place]->rank != rank) {
        place = (place + 1) & (process->table_size - 1);
    }
    return &process->table[place];
}

static void grow_table(struct job_process *process)
{
    struct job_link *link;

    free(process->table);
    process->table_size *= 2;
    process->table = allocate(process->table_size * sizeof(struct job_link *));
    for (link = process->links; link != NULL; link = link->next) {
        *place_of(process, link->rank) = link;
    }
}

struct job_link *job_know(struct job_process *process, uint32_t rank)
{
    struct job_link *link = *place_of(process, rank);

    if (link != NULL) {
        return link;
    }
    if (2 * process->known >= process->table_size) {
        grow_table(process);
    }
    link = allocate(sizeof(*link));
    link->owner = process;
    link->rank = rank;
    for (unsigned i = 0; i < RBUF_CHANNELS; i++) {
        link->queue[i] = (struct rbuf_fab_queue){.link = link, .channel = i};
    }
    if (rbuf_peer_add(&process->core, NULL, link, &link->peer) != 0) {
        perror("job");
        exit(EXIT_FAILURE);
    }
    *place_of(process, rank) = link;
    link->next = process->links;
    process->links = link;
    process->known++;
    return link;
}

static void tell_core(struct job_link *link)
{
    uint16_t window = link->owner->job->options.window;
    const struct rbuf_peer_link news = {.queue = {&link->queue[0], &link->queue[1]},
                                        .mailbox = link->mailbox,
                                        .their_mailbox = (uintptr_t) link->other->mailbox,
                                        .their_index = link->other->peer->index,
                                        .window = {window, window},
                                        .words = RBUF_WORDS_IN_ORDER};

    rbuf_peer_connected(link->peer, &news);
}

/* The link from one to the other, connected. */
static struct job_link *connected(struct job *job, uint32_t from, uint32_t to)
{
    struct job_link *here = job_know(job_process(job, from), to);
    struct job_link *there;

    if (here->other == NULL) {
        there = job_know(job_process(job, to), from);
        here->other = there;
        there->other = here;
        here->mailbox = allocate(sizeof(*here->mailbox));
        there->mailbox = allocate(sizeof(*there->mailbox));
        tell_core(here);
        tell_core(there);
    }
    return here;
}

/* ---- the fabric ---- */

static void wake(struct job_process *process)
{
    if (!process->awake && !process->held) {
        process->awake = true;
        TAILQ_INSERT_TAIL(&process->job->awake, process, awake_link);
    }
}

void job_hold(struct job_process *process)
{
    process->held = true;
    if (process->awake) {
        process->awake = false;
        TAILQ_REMOVE(&process->job->awake, process, awake_link);
    }
}

void job_release(struct job_process *process)
{
    process->held = false;
    wake(process);
}

void job_wrote(struct rbuf_fab_queue *queue)
{
    wake(queue->link->other->owner);
}

void job_post_letter(struct rbuf_fab_queue *queue, const struct rbuf_fab_piece *pieces,
                     unsigned count, struct rbuf_work *work)
{
    struct job_process *process = queue->link->other->owner;
    struct rbuf_buffer *letter;
    uint32_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        bytes += pieces[i].bytes;
    }
    letter = allocate(sizeof(*letter) + bytes);
    letter->channel = queue->channel;
    for (unsigned i = 0; i < count; i++) {
        memcpy(letter->data + letter->bytes, pieces[i].address, pieces[i].bytes);
        letter->bytes += pieces[i].bytes;
    }
    STAILQ_INSERT_TAIL(&process->inbox, letter, link);
    wake(process);
    if (work != NULL) {
        struct job_signal *signal = allocate(sizeof(*signal));

        signal->work = work;
        STAILQ_INSERT_TAIL(&queue->link->owner->signals, signal, link);
        wake(queue->link->owner);
    }
}

/* ---- a step ---- */

static void give_ring(struct job_process *process)
{
    const struct rbuf_ring_options *options = &process->core.options.ring;
    struct rbuf_ring_memory *memory = NULL;

    if (process->ring_count < process->job->options.ring_memory) {
        memory = allocate(sizeof(*memory));
        memory->base = allocate_aligned(rbuf_ring_memory_bytes(options));
        process->rings = realloc(process->rings, (process->ring_count + 1) * sizeof(memory));
        if (process->rings == NULL) {
            perror("job");
            exit(EXIT_FAILURE);
        }
        process->rings[process->ring_count++] = memory;
    }
    rbuf_ring_memory_give(&process->core, memory);
}

static void deliver(struct job_process *process, const struct rbuf_event *event)
{
    struct job_link *link = event->peer->user;
    struct rbuf_buffer *letter = event->delivery.buffer;
    uint64_t number;

    memcpy(&number, event->delivery.data, sizeof(number));
    process->job->disorder += number != link->received;
    link->received++;
    process->counts.received++;
    process->counts.by_ring += event->delivery.origin == RBUF_ORIGIN_RING;
    rbuf_core_release(event->peer, &event->delivery);
    free(letter);
}

static int act(struct job_process *process)
{
    struct rbuf_event event;
    int done = 0;

    for (; rbuf_events_pop(&process->core.events, &event); done++) {
        switch (event.kind) {
        case RBUF_EVENT_DELIVER:
            deliver(process, &event);
            break;
        case RBUF_EVENT_SENT:
            free(event.am); /* a struct job_message begins with it */
            break;
        case RBUF_EVENT_RING_MEMORY:
            give_ring(process);
            break;
        default:
            process->job->lost_peers++;
            break;
        }
    }
    return done;
}

static int take_letters(struct job_process *process)
{
    struct job_signal *signal;
    struct rbuf_buffer *letter;
    int done = 0;

    while ((letter = STAILQ_FIRST(&process->inbox)) != NULL) {
        STAILQ_REMOVE_HEAD(&process->inbox, link);
        if (!rbuf_core_received(&process->core, (enum rbuf_channel_id) letter->channel, letter,
                                letter->data, letter->bytes)) {
            free(letter);
        }
        done++;
    }
    while ((signal = STAILQ_FIRST(&process->signals)) != NULL) {
        STAILQ_REMOVE_HEAD(&process->signals, link);
        rbuf_core_completed(signal->work, 0);
        free(signal);
        done++;
    }
    return done;
}

static void step(struct job_process *process)
{
    int done;

    do {
        process->counts.passes++;
        process->counts.looked += inspect_polled(&process->core);
        done = rbuf_core_poll(&process->core);
        done += take_letters(process);
        rbuf_core_swept(&process->core);
        done += rbuf_core_progress(&process->core, 1);
        done += act(process);
    } while (done > 0);
}

void job_run(struct job *job)
{
    struct job_process *process;

    while ((process = TAILQ_FIRST(&job->awake)) != NULL) {
        TAILQ_REMOVE(&job->awake, process, awake_link);
        process->awake = false;
        step(process);
    }
}

/* ---- messages ---- */

void job_send(struct job *job, uint32_t from, uint32_t to, uint32_t bytes)
{
    struct job_link *link = connected(job, from, to);
    uint64_t number = link->sent++;
    void *slot = rbuf_am_begin(link->peer, bytes);
    struct job_message *message;

    link->owner->counts.sent++;
    if (slot != NULL) {
        memcpy(slot, &number, sizeof(number));
        (void) rbuf_am_end(link->peer, 1, bytes, 0); /* there is always room */
        return;
    }
    message = allocate(sizeof(*message) + bytes);
    memcpy(message->wire.payload, &number, sizeof(number));
    message->am = (struct rbuf_am){
        .header = &message->wire.header, .bytes = bytes, .tag = 1, .channel = RBUF_CONTROL};
    if (rbuf_am_send(link->peer, &message->am) == RBUF_AM_IDLE) {
        free(message);
    }
}

/* ---- what is left ---- */

static const char *link_wrong(const struct job_link *link)
{
    if (link->other == NULL) {
        return NULL;
    }
    if (link->received != link->other->sent) {
        return "a message did not arrive";
    }
    if (!rbuf_peer_drained(link->peer)) {
        return "a peer is not drained";
    }
    if (!inspect_ring_is_idle(link->peer)) {
        return "a slot of a ring is still taken";
    }
    return NULL;
}

const char *job_wrong(const struct job *job)
{
    const struct job_process *process;
    const struct job_link *link;

    if (job->disorder != 0) {
        return "messages arrived out of order";
    }
    if (job->lost_peers != 0) {
        return "a peer was lost";
    }
    for (process = job->first; process != NULL; process = process->next) {
        if (process->core.stats.messages_refused != 0) {
            return "a message was refused";
        }
        if (inspect_polled(&process->core) > job->options.ring.set ||
            inspect_rings_out(&process->core) > rbuf_rings_out_most(&job->options.ring)) {
            return "more rings than the polling set has places";
        }
        for (link = process->links; link != NULL; link = link->next) {
            const char *wrong = link_wrong(link);

            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return NULL;
}

/* ---- the end ---- */

static void close_process(struct job_process *process)
{
    struct rbuf_buffer *letter;
    struct job_link *link;

    while ((link = process->links) != NULL) {
        process->links = link->next;
        rbuf_peer_remove(link->peer);
        free(link->mailbox);
        free(link);
    }
    rbuf_core_close(&process->core);
    while ((letter = STAILQ_FIRST(&process->inbox)) != NULL) {
        STAILQ_REMOVE_HEAD(&process->inbox, link);
        free(letter);
    }
    for (uint32_t i = 0; i < process->ring_count; i++) {
        free(process->rings[i]->base);
        free(process->rings[i]);
    }
    free(process->rings);
    free(process->table);
    free(process);
}

void job_close(struct job *job)
{
    struct job_process *process;

    while ((process = job->first) != NULL) {
        job->first = process->next;
        close_process(process);
    }
    free(job->processes);
    free(job->staging);
    free(job);
}
