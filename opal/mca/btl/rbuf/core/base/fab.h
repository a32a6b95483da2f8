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
 * - A list of one-sided requests is posted with one doorbell, its first ones as far as there is
 *   room: RBUF_FAB_AGAIN then, and `posted` says how many. With RBUF_FAB_DEAD those before the one
 *   that was refused are with the adapter, and their works come back. So each that ends an
 *   operation has a work of its own: nobody would hear of the end of what stands before a refusal.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_CORE_FAB_H
#define RBUF_CORE_FAB_H

#include <stdint.h>

#define RBUF_FAB_PIECES 5u  /* of a gather list, most */
#define RBUF_FAB_LIST   32u /* requests of one doorbell, most */

struct rbuf_fab_queue;
struct rbuf_peer;

/*
 * Work: what a signalled request points back to. Every request that core posts carries a pointer to
 * one as its work-request id; the completion brings it back, and rbuf_core_completed() calls what
 * its owner has for that. The object that embeds the work must live until that completion.
 *
 * Owner: core sets `completed` and `peer`; the fabric sets `queue` and `producer_index` at each
 * post (send_queue.h).
 */
struct rbuf_work {
    /* The request is done; `status` is 0 or a negative errno: then its peer has failed before.
     * NULL: a marker, which retires unsignalled requests of a queue pair, and means nothing else.
     */
    void (*completed)(struct rbuf_work *work, int status);
    struct rbuf_peer *peer;       /* that it was for; NULL: a marker */
    struct rbuf_fab_queue *queue; /* where it was posted */
    uint32_t producer_index;      /* of the queue, just after this post */
};

enum rbuf_fab_status { RBUF_FAB_OK, RBUF_FAB_AGAIN, RBUF_FAB_DEAD };

/* One element of a gather list. */
struct rbuf_fab_piece {
    const void *address;
    uint32_t bytes;
    uint32_t lkey;
};

enum rbuf_fab_verb {
    RBUF_FAB_WRITE,
    RBUF_FAB_WRITE_INLINE, /* the data travels in the request, its key is not looked at */
    RBUF_FAB_READ,
    RBUF_FAB_FETCH_ADD,   /* on the 8-byte aligned word at `remote`, whose old value lands here */
    RBUF_FAB_COMPARE_SWAP /* likewise: replaced by `operand` if it equals `compare` */
};

/* One request of a list. */
struct rbuf_fab_rma {
    enum rbuf_fab_verb verb;
    uint32_t bytes;
    void *local;
    uint64_t remote;
    uint32_t lkey;
    uint32_t rkey;
    uint64_t operand;
    uint64_t compare;
    struct rbuf_work *work; /* NULL: unsignalled */
};

#endif
