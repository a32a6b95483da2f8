/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Simulated times of single messages on a machine of the model's, each on an idle pair of nodes.
 */
#ifndef RBUF_SIM_MEASURE_H
#define RBUF_SIM_MEASURE_H

#include <stdbool.h>

#include "model/choose.h"
#include "model/in_place.h"

/* Defaults of btl_rbuf_early_size and btl_rbuf_early_c0, bytes. */
#define SIM_EARLY_BYTES   73728u
#define SIM_OPENING_BYTES 4096u

struct sim_measure;

/* The model's best plan for messages of 16 KB to 16 MB with 4 MB of staging. */
struct rbuf_plan sim_tuned_plan(const struct rbuf_machine *machine,
                                enum rbuf_rendezvous rendezvous);

/* Two nodes, with staging for messages of up to `most` bytes without folding. */
struct sim_measure *sim_measure_open(const struct rbuf_machine *machine, uint32_t block_bytes,
                                     uint64_t most);
void sim_measure_close(struct sim_measure *measure);

/* The machine as the model must see it to predict these times: with what the rendezvous of the
 * simulated users costs. */
const struct rbuf_machine *sim_measure_machine(const struct sim_measure *measure);

/* The same, where a slot has room for `early_bytes` of each message. One plan only. */
struct sim_measure *sim_measure_open_early(const struct rbuf_machine *machine, uint32_t block_bytes,
                                           uint64_t most, uint32_t early_bytes);

/* A staged transfer of `bytes`, ns; the plan's block size is the one that was opened, and so is the
 * slot of one with early data. */
double sim_measure_staged(struct sim_measure *measure, const struct rbuf_plan *plan,
                          uint64_t bytes);

/* A transfer in place, ns. */
double sim_measure_in_place(struct sim_measure *measure, enum rbuf_registered registered,
                            enum rbuf_rendezvous rendezvous, uint64_t bytes);

/* Of the last message: the whole; from the receiver's offer on, and from the sender's put to its
 * end, either without its own registration. ns. */
struct sim_message_times {
    double whole;
    double receiver;
    double sender;
};

struct sim_message_times sim_measure_last(const struct sim_measure *measure);

/* What a message goes behind its rendezvous with. */
enum sim_expected { SIM_EXPECTS_STAGING, /* early data */ SIM_EXPECTS_IN_PLACE, SIM_EXPECTATIONS };

/* As with protocol auto, in place, whatever the sender expected: registered are the ends that are
 * named; `copied`: the sender writes from its staging. Opened with early data. */
double sim_measure_auto_in_place(struct sim_measure *measure, enum sim_expected expected,
                                 enum rbuf_registered registered, bool copied, uint64_t bytes);

/* Likewise staged, though the sender expected that it would go in place. */
double sim_measure_auto_staged(struct sim_measure *measure, const struct rbuf_plan *plan,
                               uint64_t bytes);

#endif
