/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core/onesided keeps of a peer: gets, puts and gets that are copied, and operations that are
 * not posted yet (core/onesided/rma.h).
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_STATE_ONESIDED_H
#define RBUF_CORE_STATE_ONESIDED_H

#include <stdint.h>
#include <sys/queue.h>

#include "core/state/stage.h"

struct rbuf_get;
struct rbuf_rma;

TAILQ_HEAD(rbuf_get_list, rbuf_get);
TAILQ_HEAD(rbuf_rma_list, rbuf_rma);

struct rbuf_onesided_of_peer {
    struct rbuf_get_list gets; /* that have begun, in order of their start */
    struct rbuf_copies copied_puts;
    struct rbuf_copies copied_gets;
    uint32_t reads;              /* of gets, under way */
    struct rbuf_rma_list rmas;   /* not posted yet; the held ones are the last */
    struct rbuf_rma *held_first; /* of those; NULL: none */
    uint32_t held;               /* operations, counted in core's `queued` */
};

#endif
