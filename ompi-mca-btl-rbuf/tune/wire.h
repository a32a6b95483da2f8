/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A wire between the two ranks: rbuf's own verbs layer on the port that rbuf would use, one
 * reliable queue pair a rank, and a piece of memory that the other rank writes. Addresses go over
 * MPI.
 *
 * Writes end in a word of their own behind the data, on the same queue pair: no assumption on the
 * order of bytes within a write. The word counts up and never repeats; the receiver polls it, and
 * completion queues besides, as the component's progress does.
 */
#ifndef RBUF_TUNE_WIRE_H
#define RBUF_TUNE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "verbs/device.h"
#include "verbs/memory.h"
#include "verbs/queue_pair.h"

#define TUNE_WIRE_DEPTH 128u /* requests; see verbs/fabric.h */

struct tune_wire {
    struct rbuf_port **ports;
    size_t port_count;
    struct rbuf_port *port; /* the first, as the component takes it */
    struct rbuf_fab_queue *queue;
    struct rbuf_memory memory; /* what is written from, what is written to, and the words */
    size_t bytes;              /* of each of the first two */
    uint64_t remote;           /* the other rank's memory */
    uint32_t remote_key;
    uint64_t sent;     /* words */
    uint64_t received; /* words */
};

/* Opens what this rank has of it. 0 or a negative errno with `problem` filled, and then closed. */
int tune_wire_open(struct tune_wire *wire, const struct rbuf_device_options *options,
                   struct rbuf_problem *problem);

/* Connects with the other rank, which calls this too. */
int tune_wire_connect(struct tune_wire *wire, int other, struct rbuf_problem *problem);

/* Posts a write of `bytes` <= wire->bytes, without a word. */
void tune_wire_write(struct tune_wire *wire, size_t bytes);

/* Posts the next word. */
void tune_wire_word(struct tune_wire *wire);

/* Waits for the other rank's next word. */
void tune_wire_wait(struct tune_wire *wire);

/* Waits until the last request posted is complete. */
void tune_wire_drain(struct tune_wire *wire);

void tune_wire_close(struct tune_wire *wire);

#endif
