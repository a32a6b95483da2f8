/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The contract between core and a fabric: whatever is named rbuf_fab_* and stands in a "fabric.h".
 * There are verbs/fabric.h over libibverbs, tests/sim/fabric.h over a simulated link, and fabrics
 * without time (tests/null_fabric.h). Core is compiled against one of them.
 *
 * - A post never blocks. RBUF_FAB_AGAIN means that nothing was posted because the send queue or the
 *   port's share of the completion queue is full; ask again after completions were polled.
 *   RBUF_FAB_DEAD means that the queue pair takes no more requests.
 * - Requests of one queue pair execute and complete in order. A request with a work is signalled
 *   and its completion hands the work back exactly once, also when it failed. A request without a
 *   work is unsignalled; the queue's own marker retires those now and then (send_queue.h).
 * - Inline data may be reused when the post returns; other local memory when the work is back.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_CORE_FAB_H
#define RBUF_CORE_FAB_H

#include <stdint.h>

#define RBUF_FAB_PIECES 5u /* of a gather list, most */

enum rbuf_fab_status { RBUF_FAB_OK, RBUF_FAB_AGAIN, RBUF_FAB_DEAD };

/* One element of a gather list. */
struct rbuf_fab_piece {
    const void *address;
    uint32_t bytes;
    uint32_t lkey;
};

#endif
