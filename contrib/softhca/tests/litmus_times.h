/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Litmus tests of order and time. */
#ifndef LITMUS_TIMES_H
#define LITMUS_TIMES_H

#include "litmus.h"

void acknowledgement_first_active(struct side *side);
void acknowledgement_first_passive(struct side *side);
void overtake_active(struct side *side);
void acknowledged_active(struct side *side);
void arrival_active(struct side *side);
void arrival_passive(struct side *side);
void copy_in_time_active(struct side *side);
void copy_in_time_passive(struct side *side);
void announce_active(struct side *side);
void announce_passive(struct side *side);
void registration_time_active(struct side *side);

/* The two numbers of SOFTHCA_REG or SOFTHCA_DEREG, as ns for so many pages. */
uint64_t model_ns(const char *variable, uint64_t pages);

#endif
