/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * In which callback of Open MPI a thread is. Open MPI hands nothing of ours through to what it
 * calls from inside: neither which put a FIN is about, nor for which RTS it has found a receive. So
 * this is kept here.
 *
 * Callbacks nest, as they may progress: the innermost one counts. A message that is no RTS is
 * delivered as if by who progressed.
 *
 * A delivery claims early data only as long as no later one of that peer has begun: of a module one
 * thread delivers at a time (btl/progress.c), and one from within another ends what that knew.
 *
 * Threads: each knows its own callbacks.
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

/* The early data of the receive that is found now: those of the RTS that is being delivered, which
 * the first receive takes; RBUF_EARLY_UNKNOWN: of another message. */
uint32_t mca_btl_rbuf_callback_early(const mca_btl_base_endpoint_t *endpoint);

/* The put whose data must be in place before what is sent to the endpoint now is delivered; 0:
 * none. The count spares most messages the look at a thread's own data, which costs a call; what a
 * thread needs to know of it, it has done itself. */
uint64_t mca_btl_rbuf_callback_put(const mca_btl_base_endpoint_t *endpoint);

static inline uint64_t mca_btl_rbuf_callback_after(const mca_btl_base_endpoint_t *endpoint)
{
    return atomic_load_explicit(&endpoint->putting, memory_order_relaxed) == 0
               ? 0
               : mca_btl_rbuf_callback_put(endpoint);
}

#endif
