/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How one thread or process tells another that there is work: sets of queue pairs, and a call that
 * wakes a sleeping agent.
 */
#ifndef SOFTHCA_DOORBELLS_H
#define SOFTHCA_DOORBELLS_H

#include "segment.h"

/* Adds a member; true if it was not one. */
bool doorbells_ring(struct doorbells *set, uint32_t index);
/* Removes a member; the caller then looks once more for its work. */
void doorbells_clear(struct doorbells *set, uint32_t index);

/* How a node's agent sleeps, in its agent_asleep; see agent.c. */
enum agent_sleep { AGENT_AWAKE, AGENT_LIGHT, AGENT_DEEP };
/* Wakes the agent of a node if it sleeps as deep as that or deeper. Any thread of any process. */
void agent_wake(struct node *node, enum agent_sleep lightest);

#endif
