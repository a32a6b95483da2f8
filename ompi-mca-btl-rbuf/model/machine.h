/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A machine as the cost model takes it, by a few numbers, and what follows from them at once: a
 * registration, a rendezvous, a plain RDMA write. Bytes and nanoseconds; speeds in bytes/ns, which
 * is GB/s. Pure functions: no state, no allocation, any thread, like all of this folder.
 *
 *     machine      this
 *     plan         how a message is staged: schedule, arrival, rendezvous
 *     staged       the time of a staged transfer, chunk by chunk
 *     in_place     the time of an RDMA write between the user's buffers
 *     choose       the best schedule for a machine
 *     equations    the paper's equations 1 to 9, as printed
 *
 * "The paper" is A. Denis, "A High-Performance Superpipeline Protocol for InfiniBand" (Euro-Par
 * 2011). Times run from the sender's first action (its rendezvous request, if there is one) until
 * the last byte is in the receiver's buffer and the receiver knows it. They assume one message at a
 * time, a receiver that waits, and staging for every chunk that may be staged.
 */
#ifndef RBUF_MODEL_MACHINE_H
#define RBUF_MODEL_MACHINE_H

#include <stdint.h>

#define RBUF_COPY_POINTS 16u

/* Copy speed by working set, which is the length of the message and not of the chunk (section 3:
 * "the length to take into account is the whole data set"). */
struct rbuf_copy_speed {
    uint32_t count;                   /* 1..RBUF_COPY_POINTS */
    uint64_t bytes[RBUF_COPY_POINTS]; /* message lengths, growing */
    double bytes_per_ns[RBUF_COPY_POINTS];
};

struct rbuf_machine {
    /* The network, LogP-like (section 3). */
    double latency_ns;     /* lambda */
    double gap_ns;         /* g: the link rests after each request */
    double overhead_ns;    /* o: processor time of a request */
    double bytes_per_ns;   /* B_net */
    uint32_t packet_bytes; /* what arrives as a whole: the MTU; a power of two, 0: a block */

    struct rbuf_copy_speed send_copy;
    struct rbuf_copy_speed receive_copy;

    /* Registration (section 2): a + b a page, giving back included; one side. */
    double register_ns;
    double register_page_ns;
    uint32_t page_bytes;

    /* What section 3 leaves out. */
    double block_ns;      /* receiver: to find that a block is here */
    double ack_ns;        /* receiver: to write an acknowledgement, its request included */
    double pass_ns;       /* a turn of the progress loop, in which at most ... */
    uint32_t pass_bytes;  /* ... are copied; 0: no limit */
    double rendezvous_ns; /* RTS and RTR, beyond their two latencies */
    double finish_ns;     /* in place: completion and last message, beyond their two latencies */
    double control_bytes; /* on the wire, of an RTS and of the last message, which takes its
                             turn among the data */
};

/* bytes/ns for a message of `bytes`: linear in log(bytes) between points, constant outside. */
double rbuf_copy_speed_at(const struct rbuf_copy_speed *speed, uint64_t bytes);

/* The same speed for every size. */
struct rbuf_copy_speed rbuf_copy_speed_constant(double bytes_per_ns);

/* Section 2, T_reg(L): registering `bytes` on one side, ns. */
double rbuf_model_registration(const struct rbuf_machine *machine, uint64_t bytes);

/* A rendezvous: 2 lambda (section 4) and what its messages cost, ns. */
double rbuf_model_rendezvous(const struct rbuf_machine *machine);

/* Section 3, T_net(L), and o: an RDMA write between registered buffers, ns. */
double rbuf_model_raw(const struct rbuf_machine *machine, uint64_t bytes);

#endif
