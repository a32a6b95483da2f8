/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Executing single requests: what engine.c does for each queue pair in turn. Under the progress
 * lock.
 *
 * Owns nothing: what is written is the request's and the queue pair's, see segment.h.
 */
#ifndef SOFTHCA_EXECUTE_H
#define SOFTHCA_EXECUTE_H

#include "copy.h"
#include "objects.h"

#define PIECE_MIN   16384u /* bytes copied before the arrival of the whole is known */
#define PIECE_MAX   65536u /* bytes copied at once */
#define PIECE_LEAST 4096u  /* the same out of shared pages */

enum outcome { EXECUTED, WAITING };

/* How long before its bytes arrive the target of a request of the node in `slot` wants to know, for
 * its copy to end in time; ns, or UINT64_MAX. */
uint64_t execute_lookahead(uint32_t slot, const struct work_request *request);
/* How many further bytes of a request's payload may be copied now; false if none may. */
bool piece_is_due(const struct queue_pair *qp, const struct work_request *request,
                  enum copier copier, uint64_t now, uint32_t *bytes);
/* Whether the whole payload should have arrived. */
bool is_due(const struct work_request *request, uint64_t now);
/* Ends a request; what was written to memory before is visible to who sees the status. */
void set_status(struct work_request *request, enum ibv_wc_status status);

/* Whether the agent leaves this request of a queue pair's peer to the peer: a write, and the peer
 * has polled since the agent last looked, so it pushes. Two that copy would only be in each other's
 * way. */
bool left_to_requester(struct queue_pair *qp, struct node *peer,
                       const struct work_request *request);
/* Executes a request of a queue pair's peer, source, as its target; the caller holds the
 * source's "executing" lock. A request that is refused marks the queue pair as broken. */
enum outcome execute(struct queue_pair *qp, struct queue_pair_entry *source,
                     struct work_request *request, uint64_t *now);
/* Executes this queue pair's own reads and atomics. */
void execute_reads(struct queue_pair *qp, uint64_t *now);
/* Does the target's work where the target is busy with other things: writes are executed from here,
 * for the rest its agent is called. */
void push(struct queue_pair *qp, uint64_t *now);

/* Whether the fault of disorder is to be done by the requester: a target that executes a write
 * itself cannot look at its memory between the pieces, and would never see it. */
bool disorder_by_requester(const struct work_request *request, struct node *peer);

#endif
