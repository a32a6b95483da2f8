/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The cost model: how long a message takes by each protocol, on a machine that is described by a
 * few numbers. Bytes and nanoseconds; speeds in bytes/ns, which is GB/s.
 *
 *     model.c            raw RDMA, in-place transfers, the paper's naive protocols as plans
 *     model_staged.c     a staged transfer as this component makes it, chunk by chunk
 *     model_equations.c  paper 001's equations 1 to 9, as printed
 *     model_choose.c     the schedule for a machine
 *
 * The times of the first two run from the sender's first action (its rendezvous, if there is one)
 * until the last byte is in the receiver's buffer and the receiver knows it. What they assume: one
 * message at a time, a receiver that is waiting, staging for every chunk that may be staged.
 *
 * Paper 001 gives no time for a pipeline folded into N buffers (section 4, "Pipeline folding"). The
 * one here follows from what each part has to wait for. For chunk i of b_i blocks, p_i bytes of
 * payload and w_i on the wire:
 *
 *     filled_i = free_(i-1) + p_i / B_copy                the sender copies chunk after chunk,
 *     free_i   = max(filled_i, acked_(i-N)) + o           and posts when the buffer is free;
 *     out_i    = max(free_i, in_(i-1) + g)                the link is FIFO, with gaps;
 *     in_i     = out_i + w_i / B_net
 *     taken_i  = max(taken_(i-1) + ack + b_i * k,         the receiver copies without a break,
 *                    here_ij + lambda + (b_i - j) * k)    or since block j came;
 *     acked_i  = taken_i + ack + lambda + 8 / B_net       the sender learns of it
 *
 * with k = block / B_copy + what a block costs otherwise, here_ij when the packet that ends block j
 * is in, and ack for chunks that somebody waits for, which are all but the last N. Packets come at
 * equal distances, but for the last, and blocks are of equal length, but for the first: so that the
 * greatest over all j is at the first block, at the first to end in the second, the last or the
 * last but one packet, and no more need be looked at. A chunk that is not taken by blocks is taken
 * at max(taken_(i-1) + ack, in_i + lambda) + b_i * k. With N infinite, k shorter than a block's
 * time on the wire, and no o, that is equation 9 with its C0 and one gap less.
 *
 * Of a message with early data, the chunks that fit into a slot are posted without an answer and
 * nobody waits for their buffers; the sender takes up the rest when the answer has come, and the
 * receiver begins when it has answered.
 *
 * With a rendezvous a last message is posted behind the last chunk, on a queue pair of its own.
 * Queue pairs take turns, a packet each: it goes after the packet that is being sent and one more,
 * and what is left of the chunk goes a gap and the message's time later. Or it arrives so long
 * behind the chunk, and the receiver waits for it.
 *
 * Pure functions: no state, no allocation, any thread. A staged prediction costs some 60 ns a
 * chunk.
 */
#ifndef RBUF_CORE_MODEL_H
#define RBUF_CORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schedule.h"
#include "core/wire.h"

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
    double rendezvous_ns; /* question and answer, beyond their two latencies */
    double finish_ns;     /* in place: completion and last message, beyond their two latencies */
    double control_bytes; /* on the wire, of a question and of the last message, which takes its
                             turn among the data */
};

enum rbuf_rendezvous {
    RBUF_RENDEZVOUS_NONE,       /* the receiver's place is known: the paper's raw benchmark */
    RBUF_RENDEZVOUS_SERIAL,     /* the transfer begins with the answer */
    RBUF_RENDEZVOUS_OVERLAPPED, /* the sender's first step is done while the question is under way
                                 */
    RBUF_RENDEZVOUS_EARLY       /* its first chunks go right behind the question (core/early.h) */
};

/* How a message is staged. */
struct rbuf_plan {
    struct rbuf_schedule schedule;
    enum rbuf_arrival arrival;
    enum rbuf_rendezvous rendezvous;
    uint32_t early_blocks; /* EARLY: room for the first chunks */
};

/* Copy speed for a message of `bytes`: linear in log(bytes) between points, constant outside. */
double rbuf_copy_speed_at(const struct rbuf_copy_speed *speed, uint64_t bytes);

/* The same speed for every size. */
struct rbuf_copy_speed rbuf_copy_speed_constant(double bytes_per_ns);

/* Section 2, T_reg(L): registering `bytes` on one side. */
double rbuf_model_registration(const struct rbuf_machine *machine, uint64_t bytes);

/* A rendezvous: 2 lambda (section 4) and what its messages cost. */
double rbuf_model_rendezvous(const struct rbuf_machine *machine);

/* Section 3, T_net(L), and o: an RDMA write between registered buffers. */
double rbuf_model_raw(const struct rbuf_machine *machine, uint64_t bytes);

/* A staged transfer of `bytes` > 0, by the recurrence above; the schedule must be valid. The naive
 * copy and the pipeline are plans like any other. */
double rbuf_model_staged(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                         uint64_t bytes);

/* Section 2's naive copy as a plan: one chunk, seen as a whole. Of `bytes` <= 65535 blocks. */
struct rbuf_plan rbuf_plan_copy(uint64_t bytes, uint32_t block_bytes);

/* Section 3's pipeline with the chunk of equation 3 in whole blocks, at least one and at most the
 * message, chunks seen as a whole, no folding (`RBUF_BUFFERS_MAX` buffers). */
struct rbuf_plan rbuf_plan_pipeline(const struct rbuf_machine *machine, uint64_t bytes,
                                    uint32_t block_bytes);

/* What a schedule is to be good for. */
struct rbuf_aim {
    uint64_t smallest; /* message lengths, bytes, each power of two times this alike */
    uint64_t largest;
    uint64_t lane_bytes;  /* most staging of a message at the receiver: buffers * largest chunk */
    uint32_t block_bytes; /* 0: to be chosen */
    enum rbuf_arrival arrival;
    enum rbuf_rendezvous rendezvous;
    uint32_t early_bytes;   /* EARLY: room for the first chunks, or C0 if that is more */
    uint32_t opening_bytes; /* EARLY: most of the first chunk */
};

/* Sets what is early of a plan, by its schedule and the aim's slot and opening: core/early.h. */
void rbuf_plan_early(const struct rbuf_aim *aim, struct rbuf_plan *plan);

/* What a plan is measured by: raw RDMA behind the same rendezvous; EARLY: behind none, as there is
 * hardly a wait for it. */
double rbuf_model_reference(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                            uint64_t bytes);

/* Speed over that, the mean over the lengths of an aim. */
double rbuf_model_efficiency(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                             uint64_t smallest, uint64_t largest);

/* Picks C0, q, the largest chunk, buffers and the block size; returns the plan's efficiency, or 0
 * if `lane_bytes` has room for nothing. Takes some ten milliseconds. */
double rbuf_model_choose(const struct rbuf_machine *machine, const struct rbuf_aim *aim,
                         struct rbuf_plan *plan);

/* EARLY: gives the plan the shortest slot, from the aim's to `most` bytes, with which it is nearly
 * as good as with any that is tried between these: the wire is to have enough to carry until the
 * answer is here. Another plan stays as it is. Returns the plan's efficiency. */
double rbuf_model_choose_early(const struct rbuf_machine *machine, const struct rbuf_aim *aim,
                               uint32_t most, struct rbuf_plan *plan);

/* Which sides of an in-place transfer have to register: both is the naive protocol of section 2,
 * none a hit in a registration cache on both sides. */
enum rbuf_registered {
    RBUF_REGISTERED_BOTH,
    RBUF_REGISTERED_SENDER,
    RBUF_REGISTERED_RECEIVER,
    RBUF_REGISTERED_NONE
};

/*
 * An RDMA write in place. Without a rendezvous both sides register at the same time and the
 * receiver sees the last byte arrive. With one, the receiver registers before its answer, the
 * sender after it (SERIAL) or while the question is under way (the others: in place nothing is
 * early), and the receiver is told by a message that leaves when the write has completed at the
 * sender: two more latencies.
 */
double rbuf_model_in_place(const struct rbuf_machine *machine, uint64_t bytes,
                           enum rbuf_registered registered, enum rbuf_rendezvous rendezvous);

/* Paper 001's equations with one copy speed for both sides, as the paper has it: the sender's.
 * Lengths and chunks in bytes, real numbers. Growth q = 1 is the limit of the formula. */
double rbuf_equation_pipeline(const struct rbuf_machine *machine, double bytes,
                              double chunk);                                                /* 1 */
double rbuf_equation_slope(const struct rbuf_machine *machine, double bytes, double chunk); /* 2 */
double rbuf_equation_best_chunk(const struct rbuf_machine *machine, double bytes);          /* 3 */
double rbuf_equation_next_chunk(const struct rbuf_machine *machine, double bytes,
                                double chunk);                                 /* 4 */
double rbuf_equation_growth(const struct rbuf_machine *machine, double bytes); /* 5 */
double rbuf_equation_sum(double first, double growth, double gaps);            /* 6: bytes */
double rbuf_equation_gaps(double bytes, double first, double growth);          /* 7 */
double rbuf_equation_superpipeline(const struct rbuf_machine *machine, double bytes, double first,
                                   double growth); /* 8 */
double rbuf_equation_subblocked(const struct rbuf_machine *machine, double bytes, double first,
                                double growth, double block); /* 9 */

/* Section 2: 2 L / B_copy + lambda + L / B_net, and T_reg(L) + lambda + L / B_net. */
double rbuf_equation_copy(const struct rbuf_machine *machine, double bytes);
double rbuf_equation_register(const struct rbuf_machine *machine, double bytes);

/* Section 4: the C0 whose copy hides under a rendezvous, B_copy * 2 lambda. */
double rbuf_equation_first_chunk(const struct rbuf_machine *machine, double bytes);

#endif
