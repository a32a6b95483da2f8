/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Pacing: when the bytes of posted requests have crossed the links between ports.
 *
 * Owns the state of the links in the segment, under "advancing", and how far ahead this process
 * looks, under its progress lock.
 */
#ifndef SOFTHCA_LINK_H
#define SOFTHCA_LINK_H

#include "segment.h"

/* Gives a request its times, or none yet where links are modelled. Called by the poster before it
 * publishes the request. */
void link_prepare(struct work_request *request);
/* When the first turn of a request ends at the earliest. */
uint64_t link_first_turn(const struct queue_pair_entry *qp, const struct work_request *request);
/* Of the slower of the two links that a queue pair's requests cross; bytes/s, 0 if unpaced. */
uint64_t link_bandwidth(const struct queue_pair_entry *qp);
/* Tells the link of a queue pair about new requests; after they were published. first_turn is that
 * of the first of them. Cheap if known. */
void link_announce(struct queue_pair_entry *qp, uint64_t first_turn);
/* Before the next link_advance: something waits that this process wants to know of so long before
 * it arrives; ns, the longest holds, and no more than the lookahead. Under the progress lock. */
void link_look_ahead(uint64_t ns);
/* Lets the links carry what is due now, and a little ahead of it. Returns at once if another
 * process is at it or nothing is due of which this process wants to know yet. */
void link_advance(uint64_t now);
/* Forgets all requests of this process's queue pair that the link has not carried. */
void link_drop(struct queue_pair_entry *qp);
/* How far ahead of its time a transfer may be carried, so that its copy can start early; ns. */
void link_limit_lookahead(uint64_t ns);

#endif
