/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Registered memory in pages that every process of the fabric can map, so that what is sent out of
 * it, or written inline into it in its owner's stead, is copied without a call of the kernel. A
 * device takes no processor for that copy; the call's two microseconds would be the protocol's
 * under test.
 *
 * Only memory that nobody has touched yet changes its pages, as pools of staging or eager buffers
 * are when they are registered; what a user sends has been written by then. So nothing is copied.
 * It can be told from private pages by children of fork, which do not have it while it is
 * registered, as after ibv_fork_init(), and share it later; and by MADV_DONTNEED, which empties
 * nothing.
 */
#ifndef SOFTHCA_SHARED_PAGES_H
#define SOFTHCA_SHARED_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"

/* The shared pages of [addr, addr + length), for a region: those of a region that it is part of, or
 * new ones if it is of whole pages, private, anonymous and untouched, and at least 64 KB. Otherwise
 * nothing changes, and number is 0. Any thread; what another one writes to the range meanwhile for
 * the first time may be lost. */
struct shared_pages shared_pages_give(uint64_t addr, uint64_t length);

/* When the region ends; the memory keeps its pages. Any thread. */
void shared_pages_take_back(const struct shared_pages *pages);

/* The gather list of a request of the node in `slot`, at the addresses where this process has it
 * mapped; false if not all of it lies in shared pages, or they cannot be mapped. Under the progress
 * lock. */
bool shared_pages_map_list(uint32_t slot, const struct work_request *request, struct ibv_sge *out);

/* Where this process has the target of a write to the node in `slot`, which memory_translate() has
 * found to be in order; 0 if that does not lie in shared pages. Under the progress lock. */
uint64_t shared_pages_map_target(uint32_t slot, const struct work_request *request);

/* Forgets what is given and mapped; after a fork. */
void shared_pages_reset(void);

#endif
