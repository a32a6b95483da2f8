/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Watching registered memory for changes of its mapping. Owns the list of this process's regions,
 * since nobody else needs it.
 *
 * Any thread, but stale_start() and stale_stop() not from two at once.
 */
#ifndef SOFTHCA_STALE_H
#define SOFTHCA_STALE_H

#include "objects.h"

void stale_start(void);
void stale_stop(void);
/* Whether ranges of shared memory are watched as well. */
bool stale_watches_shared(void);
/* Waits until changes of mappings that were made before this call have marked what they concern. */
void stale_settle(void);
/* Watches a region, whose entry is filled in, until it is removed; it stays the caller's. Any
 * thread. */
void stale_add(struct memory_region *region);
void stale_remove(struct memory_region *region);
/* Forgets all regions; after a fork. */
void stale_reset(void);

#endif
