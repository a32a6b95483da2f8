/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Opens a port, a queue pair and memory; a network that fails ends the job.
 */
#include "tune/wire.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tune/rounds.h"
#include "verbs/completion.h"
#include "verbs/receive.h"

#define DATA_BYTES    (1u << 20) /* short enough for a time slice of a busy machine */
#define DATA_LEAST    (256u << 10)
#define WORDS_BYTES   4096u
#define RECEIVES      4u /* none is ever taken: queue pairs want a receive queue */
#define RECEIVE_BYTES 256u
#define PATIENCE_NS   20e9
#define POLLS         1024u /* between looks at the clock */

/* Where the other rank writes to, and by which queue pair. */
struct wire_address {
    struct rbuf_port_address address;
    struct rbuf_queue_address queue;
    uint64_t memory;
    uint32_t key;
    uint32_t bytes;
};

/* Nothing that was begun can be ended in order when the network fails. */
static void give_up(const struct tune_wire *wire, const char *why)
{
    fprintf(stderr,
            "rbuf-tune: %s: %s. Check the link and the other machine (ibv_devinfo there), and the "
            "GID index\n",
            wire->port->name, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Takes a completion that must be a good one; its work, or NULL if there was none. */
static const struct rbuf_work *take(struct tune_wire *wire)
{
    struct rbuf_completion completion = {0};
    int count = rbuf_poll(wire->port, &completion, 1);
    char why[80];

    if (count < 0) {
        give_up(wire, "a completion queue is broken");
    }
    if (count > 0 && completion.status != 0) {
        snprintf(why, sizeof why, "a write failed: %s", ibv_wc_status_str(completion.wc));
        give_up(wire, why);
    }
    return completion.work;
}

/* Locked memory may be scarce: as much as a quarter of it, at least what measuring needs. */
static size_t data_bytes(void)
{
    const size_t limit = rbuf_memlock_limit();
    size_t bytes = DATA_BYTES;

    while (bytes > DATA_LEAST && bytes > limit / 8) {
        bytes /= 2;
    }
    return bytes;
}

int tune_wire_open(struct tune_wire *wire, const struct rbuf_device_options *options,
                   struct rbuf_problem *problem)
{
    const struct rbuf_receive_plan plan = {
        .shared = RECEIVES, .window = RECEIVES, .bytes = RECEIVE_BYTES};
    int error;

    *wire = (struct tune_wire){.bytes = data_bytes()};
    error = rbuf_ports_open(options, &wire->ports, &wire->port_count, problem);
    if (error != 0) {
        return error;
    }
    wire->port = wire->ports[0];
    error = rbuf_receive_open(wire->port, RBUF_BULK, &plan, problem);
    if (error == 0) {
        error = rbuf_memory_allocate(wire->port, 2 * wire->bytes + WORDS_BYTES,
                                     IBV_ACCESS_REMOTE_WRITE, &wire->memory, problem);
    }
    if (error == 0) {
        error = rbuf_queue_open(wire->port, RBUF_BULK, TUNE_WIRE_DEPTH, &wire->queue, problem);
    }
    if (error != 0) {
        tune_wire_close(wire);
    }
    return error;
}

int tune_wire_connect(struct tune_wire *wire, int other, struct rbuf_problem *problem)
{
    struct wire_address mine = {.address = wire->port->address,
                                .memory = (uintptr_t) wire->memory.base,
                                .key = wire->memory.mr->rkey,
                                .bytes = (uint32_t) wire->bytes};
    struct wire_address theirs;

    rbuf_queue_address(wire->queue, &mine.queue);
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, other, 0, &theirs, sizeof theirs, MPI_BYTE, other, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wire->bytes = theirs.bytes < wire->bytes ? theirs.bytes : wire->bytes;
    wire->remote = theirs.memory;
    wire->remote_key = theirs.key;
    return rbuf_queue_connect(wire->queue, wire->port, &theirs.address, &theirs.queue, problem);
}

static void check_post(struct tune_wire *wire, enum rbuf_fab_status status)
{
    if (status == RBUF_FAB_DEAD) {
        give_up(wire, "the queue pair takes no more requests");
    }
    if (status == RBUF_FAB_AGAIN) {
        (void) take(wire);
    }
}

void tune_wire_write(struct tune_wire *wire, size_t bytes)
{
    enum rbuf_fab_status status;

    do {
        status =
            rbuf_fab_write(wire->queue, wire->memory.base, wire->memory.mr->lkey, (uint32_t) bytes,
                           wire->remote + wire->bytes, wire->remote_key, NULL);
        check_post(wire, status);
    } while (status != RBUF_FAB_OK);
}

void tune_wire_word(struct tune_wire *wire)
{
    const uint64_t word = ++wire->sent;
    enum rbuf_fab_status status;

    do {
        status = rbuf_fab_write_inline(wire->queue, &word, sizeof word,
                                       wire->remote + 2 * wire->bytes, wire->remote_key, NULL);
        check_post(wire, status);
    } while (status != RBUF_FAB_OK);
}

void tune_wire_wait(struct tune_wire *wire)
{
    const char *memory = wire->memory.base;
    const uint64_t *word = (const uint64_t *) (memory + 2 * wire->bytes);
    const double end = clock_ns() + PATIENCE_NS;

    wire->received++;
    for (unsigned polls = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != wire->received; polls++) {
        (void) take(wire);
        if (polls % POLLS == 0 && clock_ns() > end) {
            give_up(wire, "the other rank's write did not arrive within 20 seconds");
        }
    }
}

void tune_wire_drain(struct tune_wire *wire)
{
    struct rbuf_work work = {.queue = NULL};
    const struct rbuf_work *back = NULL;
    const double end = clock_ns() + PATIENCE_NS;
    enum rbuf_fab_status status;

    do {
        status = rbuf_fab_write(wire->queue, wire->memory.base, wire->memory.mr->lkey, 0,
                                wire->remote, wire->remote_key, &work);
        check_post(wire, status);
    } while (status != RBUF_FAB_OK);
    while (back != &work && clock_ns() < end) {
        back = take(wire);
    }
    if (back != &work) {
        give_up(wire, "writes did not complete within 20 seconds");
    }
}

void tune_wire_close(struct tune_wire *wire)
{
    if (wire->queue != NULL) {
        struct rbuf_completion completion;

        rbuf_queue_error(wire->queue);
        for (unsigned i = 0; i < POLLS && rbuf_poll(wire->port, &completion, 1) >= 0; i++) {
        }
        rbuf_queue_close(wire->queue);
    }
    rbuf_memory_free(&wire->memory);
    if (wire->ports != NULL) {
        rbuf_receive_close(wire->port, RBUF_BULK);
        rbuf_ports_close(wire->ports, wire->port_count);
    }
    *wire = (struct tune_wire){0};
}
