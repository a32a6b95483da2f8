/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which callback of Open MPI a thread is in (btl/callback.h): a list in the thread's own
 * memory, the innermost first.
 */
#include "btl/callback.h"

#include "core/rendezvous/grant.h"

static _Thread_local struct mca_btl_rbuf_callback *innermost; /* NULL: the thread is in none */

/* A receive that an outer delivery of the same peer finds from now on may be this message's, or a
 * later one's. So the outer one claims nothing any more: its own message may have ended, and a
 * claim would take stale early data. */
static void forget_earlier(const struct mca_btl_rbuf_callback *callback)
{
    for (struct mca_btl_rbuf_callback *outer = callback->outer; outer != NULL;
         outer = outer->outer) {
        if (outer->kind == MCA_BTL_RBUF_CALLBACK_RTS && outer->endpoint == callback->endpoint) {
            outer->early = RBUF_EARLY_UNKNOWN;
        }
    }
}

void mca_btl_rbuf_callback_enter(struct mca_btl_rbuf_callback *callback)
{
    callback->outer = innermost;
    innermost = callback;
    if (callback->kind == MCA_BTL_RBUF_CALLBACK_RTS) {
        forget_earlier(callback);
    }
    if (callback->kind == MCA_BTL_RBUF_CALLBACK_PUT) {
        atomic_fetch_add_explicit(&callback->endpoint->putting, 1, memory_order_relaxed);
    }
}

void mca_btl_rbuf_callback_leave(const struct mca_btl_rbuf_callback *callback)
{
    if (callback->kind == MCA_BTL_RBUF_CALLBACK_PUT) {
        atomic_fetch_sub_explicit(&callback->endpoint->putting, 1, memory_order_relaxed);
    }
    innermost = callback->outer;
}

static bool is_in(enum mca_btl_rbuf_callback_kind kind, const mca_btl_base_endpoint_t *endpoint)
{
    return innermost != NULL && innermost->kind == kind && innermost->endpoint == endpoint;
}

uint32_t mca_btl_rbuf_callback_early(const mca_btl_base_endpoint_t *endpoint)
{
    uint32_t early = RBUF_EARLY_UNKNOWN;

    if (is_in(MCA_BTL_RBUF_CALLBACK_RTS, endpoint)) {
        early = innermost->early;
        innermost->early = RBUF_EARLY_UNKNOWN;
    }
    return early;
}

uint64_t mca_btl_rbuf_callback_put(const mca_btl_base_endpoint_t *endpoint)
{
    return is_in(MCA_BTL_RBUF_CALLBACK_PUT, endpoint) ? innermost->put_id : 0;
}
