/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory regions and protection domains: checks of keys, bounds and access.
 *
 * Entries of regions lie in the segment, written by their owner; checks read them without a lock.
 */
#ifndef SOFTHCA_MEMORY_H
#define SOFTHCA_MEMORY_H

#include "segment.h"

/* Whether a local address range may be used: an enum ibv_wc_status. access is 0 for reading. Any
 * thread. */
enum ibv_wc_status memory_check_local(uint32_t domain, const struct ibv_sge *sge, unsigned access);
/* Says, with --verbose, why a request to `target`, a queue pair of `owner`, is refused that wants
 * this access. Any thread. */
void memory_report_refusal(struct node *owner, struct queue_pair_entry *target,
                           const struct work_request *request, unsigned access);

/* The address, in its owner's address space, of a range of another (or the same) node's memory; 0
 * when the key, the bounds, the domain or the access forbid it. Any thread. */
uint64_t memory_translate(struct node *owner, uint32_t domain, uint32_t key, uint64_t addr,
                          uint64_t length, unsigned access);
/* Forgets all regions; after a fork. */
void memory_reset(void);

#endif
