/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/stage (core/state/stage.h) that neither counters nor core's own functions
 * tell. No function here changes core.
 *
 * Threads: the test's, which has no other.
 */
#ifndef RBUF_INSPECT_STAGE_H
#define RBUF_INSPECT_STAGE_H

#include <stdint.h>

struct rbuf_put;

/* Chunks of the copied put that are under way. */
uint32_t inspect_chunks_of_put(const struct rbuf_put *put);

#endif
