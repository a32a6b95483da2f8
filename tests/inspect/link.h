/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/link (core/state/link.h) that neither counters nor core's own functions
 * tell.
 *
 * Threads: the test's, which has no other.
 */
#ifndef RBUF_INSPECT_LINK_H
#define RBUF_INSPECT_LINK_H

#include "core/state/state.h"

#endif
