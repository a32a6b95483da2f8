/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The paper's equations 1 to 9, as printed, by number: A. Denis, "A High-Performance Superpipeline
 * Protocol for InfiniBand" (Euro-Par 2011).
 */
#ifndef RBUF_MODEL_EQUATIONS_H
#define RBUF_MODEL_EQUATIONS_H

#include "model/machine.h"

/* With one copy speed for both sides, as the paper has it: the sender's.
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
