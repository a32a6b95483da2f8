/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which callback of Open MPI the calling thread is in. A callback may call rbuf again, and Open MPI
 * passes nothing of ours along: a send of a FIN does not say which put has ended, and a
 * registration of a receive buffer does not say which RTS found that receive. So the callbacks that
 * run are kept here.
 *
 * A callback may make progress, and so they nest: the innermost one counts. Only the end of a put
 * and the delivery of an RTS are kept; any other message leaves the innermost one as it was.
 *
 * The delivery of an RTS claims the early data of its message. It loses that claim when a later RTS
 * of the same peer is delivered from within it. (For a module one thread at a time delivers,
 * btl/progress.c.)
 *
 * Threads: each thread has a list of its own.
 */
#ifndef BTL_RBUF_CALLBACK_H
#define BTL_RBUF_CALLBACK_H

#include "peers/endpoint.h"

enum mca_btl_rbuf_callback_kind {
    MCA_BTL_RBUF_CALLBACK_PUT, /* a put has ended */
    MCA_BTL_RBUF_CALLBACK_RTS  /* an RTS is delivered */
};

/* One that is running; its caller keeps it and sets all but `outer`. */
struct mca_btl_rbuf_callback {
    enum mca_btl_rbuf_callback_kind kind;
    mca_btl_base_endpoint_t *endpoint;
    union {
        uint64_t
            put_id;     /* PUT: what is sent about it goes behind that put's data; 0: behind none */
        uint32_t early; /* RTS: the message's early data, as rbuf_grant_open() takes them */
    };
    struct mca_btl_rbuf_callback *outer;
};

void mca_btl_rbuf_callback_enter(struct mca_btl_rbuf_callback *callback);
void mca_btl_rbuf_callback_leave(const struct mca_btl_rbuf_callback *callback);

/* For a receive buffer that is registered now: the early data of the RTS that this thread delivers.
 * The first caller takes them. RBUF_EARLY_UNKNOWN: the receive is not known to be that message's.
 */
uint32_t mca_btl_rbuf_callback_early(const mca_btl_base_endpoint_t *endpoint);

/* For a message that is sent to the endpoint now: the put whose data must be in place before the
 * peer delivers it; 0: none. The inline form first reads the count `putting`, because reading data
 * of the thread costs a call. Relaxed is enough: a thread needs only its own changes of it. */
uint64_t mca_btl_rbuf_callback_put(const mca_btl_base_endpoint_t *endpoint);

static inline uint64_t mca_btl_rbuf_callback_after(const mca_btl_base_endpoint_t *endpoint)
{
    return atomic_load_explicit(&endpoint->putting, memory_order_relaxed) == 0
               ? 0
               : mca_btl_rbuf_callback_put(endpoint);
}

#endif
