/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/onesided (core/state/onesided.h) that neither counters nor core's own
 * functions tell. No function here changes core.
 *
 * Threads: the test's, which has no other.
 */
#ifndef RBUF_INSPECT_ONESIDED_H
#define RBUF_INSPECT_ONESIDED_H

#include <stdint.h>

#include "core/state/state.h"

/* Copied gets from the peer that have begun. */
uint32_t inspect_gets_begun(const struct rbuf_peer *peer);

/* NULL, or what does not hold of the peer's copied puts and gets, and of what waits to be posted;
 * NULL of a peer that is lost. */
const char *inspect_onesided_fault(const struct rbuf_peer *peer);

#endif
