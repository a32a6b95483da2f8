/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the protocols take for a program on a machine of the model's: messages of one length, one
 * after the other, some from and to buffers that were used before.
 *
 * A message takes what one takes on an idle pair of nodes, simulated (measure.h): nothing of a
 * message is left when the next one begins, so that each kind has to be simulated once. Which kind
 * a message is of, with protocol auto, core/choice/choice.h itself decides on both sides, called as
 * the component calls it (registration/auto.c): what it is told are the simulated times.
 *
 * Deterministic; one thread.
 */
#ifndef RBUF_SIM_PROTOCOLS_H
#define RBUF_SIM_PROTOCOLS_H

#include "core/choice/choice.h"
#include "measure.h"
#include "model/plan.h"
#include "random.h"

/* Those that do not look at what the program does, and those that choose. */
enum sim_protocol {
    SIM_SUPERPIPELINE,
    SIM_PIPELINE,
    SIM_COPY,
    SIM_REGISTER,
    SIM_RCACHE,
    SIM_AUTO,
    SIM_PROTOCOLS
};
#define SIM_STATIC_PROTOCOLS SIM_AUTO

const char *sim_protocol_name(enum sim_protocol protocol);

/* The state of a buffer for a message in place. */
enum sim_buffer_way { SIM_COPIED, SIM_REGISTERED_NOW, SIM_HELD, SIM_BUFFER_WAYS };

/* What messages of one length take on a machine, ns. */
struct sim_protocol_times {
    uint64_t bytes;
    double fixed[SIM_RCACHE]; /* of the protocols before this one */
    double cached[2];         /* rcache: a miss on both sides, a hit */
    double registration;      /* on one side */
    /* auto, by what the sender expects: through both sides' staging (as the superpipeline, if that
     * is what it expects); in place, by what the receiver does, which is not SIM_COPIED, and the
     * sender */
    struct sim_message_times staged[SIM_EXPECTATIONS];
    struct sim_message_times in_place[SIM_EXPECTATIONS][SIM_BUFFER_WAYS][SIM_BUFFER_WAYS];
};

/* A machine with what is simulated on it. */
struct sim_protocol_bench;

/* `plan`: of the superpipeline, with early data. `pipeline`: NULL: the chunk of equation 3 for each
 * length. For messages of up to `most` bytes. */
struct sim_protocol_bench *sim_protocol_open(const struct rbuf_machine *machine,
                                             const struct rbuf_plan *plan,
                                             const struct rbuf_plan *pipeline, uint64_t most);
void sim_protocol_close(struct sim_protocol_bench *bench);
struct sim_protocol_times sim_protocol_times(struct sim_protocol_bench *bench, uint64_t bytes);

/* Whether protocol default is auto on the machine (core/choice/default.h), with one port. */
bool sim_default_is_auto(const struct rbuf_machine *machine);

#define SIM_POOL  4u       /* buffers of each side that are used again */
#define SIM_FRESH SIM_POOL /* the index of one that is new, and released behind its message */
#define SIM_ENDS  2u       /* RBUF_SIDE_RECEIVE and RBUF_SIDE_SEND */

/* A program that runs by protocol auto, and the same by the others. */
struct sim_program {
    const struct sim_protocol_times *times;
    struct sim_random random;
    struct rbuf_choice choice[SIM_ENDS];
    bool held[SIM_ENDS][SIM_POOL + 1]; /* registered, by auto */
    bool cached[SIM_POOL];             /* likewise by rcache, both sides alike */
    double took[SIM_PROTOCOLS];        /* ns, so far */
    unsigned messages;
    unsigned in_place; /* of auto's: to the registered buffer */
};

/* The choice begins with the assumptions that the component's parameters have by default. */
struct sim_program *sim_program_open(const struct sim_protocol_times *times, uint64_t seed);
void sim_program_close(struct sim_program *program);

/* A message; with this probability, %, between buffers that are used again. */
void sim_program_message(struct sim_program *program, unsigned percent);

/* Forgets what it took so far, not what it learnt. */
void sim_program_restart(struct sim_program *program);

/* The static protocol that took the least. */
enum sim_protocol sim_program_best(const struct sim_program *program);

#endif
