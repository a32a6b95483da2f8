/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Faults asked for by SOFTHCA_FAULT; the list is in fault_list.c.
 *
 * Owns the counts of calls and requests, atomically; see fault.c. Any thread unless said otherwise.
 */
#ifndef SOFTHCA_FAULT_H
#define SOFTHCA_FAULT_H

#include "config.h"

#include <stddef.h>

/* What a call is to do first: its delay, if it has one, is over when this returns. 0, or the errno
 * value (errno is set to it) with which the call is to fail. */
int fault_call_slowly(enum fault_call call, size_t bytes);
static inline int fault_call(enum fault_call call)
{
    return config.faults.any_call ? fault_call_slowly(call, 0) : 0;
}
/* The same for the registration of so many bytes. */
static inline int fault_registration(size_t bytes)
{
    return config.faults.any_call ? fault_call_slowly(CALL_REG_MR, bytes) : 0;
}

/* The limit of registered memory for the next registration, bytes; 0 is none. */
uint64_t fault_memlock(void);

/* Whether a queue pair's n-th request (from 1) shall fail. Counts the process's requests, too: what
 * befalls the process or its link after so many happens in here. */
bool fault_request(uint64_t n);

/* How much later than its acknowledgement a request completes; ns. */
uint64_t fault_lateness(uint32_t queue_pair, uint64_t count);

/* Whether a later write of a queue pair is to overtake its request of that count. */
bool fault_overtakes(uint32_t queue_pair, uint64_t count);
/* Whether data land in another order than it was sent in, within a write or of several. */
static inline bool fault_disorders(void)
{
    return config.faults.order != ORDER_KEPT || config.faults.overtake;
}

/* Entries that a completion queue really has. */
uint32_t fault_completion_entries(uint32_t asked);

/* Whether a receive queue from which so many were taken looks empty. since is the queue's: when it
 * first did, 0 before. */
bool fault_hides_receives(uint64_t taken, uint64_t *since_ns);

/* Takes down the links that are to be down from the start. */
void fault_start(void);
/* Brings links up again when their time has come, and says so. */
void fault_link_step(uint64_t now);

#endif
