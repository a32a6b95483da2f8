/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Pacing: when the bytes of posted requests have crossed the links between ports. */
#ifndef SOFTHCA_LINK_H
#define SOFTHCA_LINK_H

#include "segment.h"

/* Gives a request its times, or none yet where links are modelled. Called by the poster before it
 * publishes the request. */
void link_prepare(struct work_request *request);
/* Tells the link of a queue pair about new requests; after they were published. Cheap if known. */
void link_announce(struct queue_pair_entry *qp);
/* Lets the links carry what is due now, and a little ahead of it. Returns at once if another
 * process is at it or nothing is due. */
void link_advance(uint64_t now);
/* Forgets all requests of this process's queue pair that the link has not carried. */
void link_drop(struct queue_pair_entry *qp);
/* How far ahead of its time a transfer may be carried, so that its copy can start early; ns. */
void link_set_lookahead(uint64_t ns);

#endif
