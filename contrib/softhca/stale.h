/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Watching registered memory for changes of its mapping. */
#ifndef SOFTHCA_STALE_H
#define SOFTHCA_STALE_H

#include "objects.h"

void stale_start(void);
void stale_stop(void);
/* Whether ranges of shared memory are watched as well. */
bool stale_watches_shared(void);
/* Waits until changes of mappings that were made before this call have marked what they concern.
 * Not under the lock of the list of regions. */
void stale_settle(void);
/* Begins to watch a range. Under the lock of the list of regions. */
void stale_watch(uint64_t addr, uint64_t length);
/* Ends watching a range, except where one of the regions still lies. Under the same lock. */
void stale_unwatch(const struct memory_region *regions, uint64_t addr, uint64_t length);

#endif
