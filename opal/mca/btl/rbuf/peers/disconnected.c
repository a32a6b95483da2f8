/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Peers that have sent a DREQ. Open MPI deletes a process at its own end only, and a program may
 * spawn children for ever; and one that has let its connections go may be back under the same name.
 * So what an endpoint holds is given back when its peer has left and nothing is left of it here:
 * queue pairs, descriptor, mailbox, lanes and ring. The endpoint itself stays, IDLE as at first, as
 * Open MPI knows it: its next use connects anew, and so does the next call of the process.
 *
 * A peer that sends a DREQ has let everything it sent be answered by our adapter, so it is in the
 * receive queue, in a ring or in staging. It is taken up first.
 *
 * The caller holds the module's lock, but where it says otherwise.
 */
#include "peers/endpoint.h"

void mca_btl_rbuf_disconnected_note(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_endpoint_leave(endpoint);
    if (endpoint->module->disconnected != MCA_BTL_RBUF_DISCONNECTED_KEPT) {
        endpoint->module->disconnected = MCA_BTL_RBUF_DISCONNECTED_NEWS;
    }
}

/* True if nothing here, nor in Open MPI, waits for the peer or names what is to go. */
static bool is_over(const mca_btl_base_endpoint_t *endpoint)
{
    const mca_btl_rbuf_module_t *module = endpoint->module;

    return rbuf_peer_unused(endpoint->peer) && rbuf_events_empty(&module->core.events) &&
           !rbuf_events_are_late(&module->core.events) && module->drain.depth == 0 &&
           atomic_load_explicit(&endpoint->putting, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&endpoint->detached, memory_order_relaxed) == 0 &&
           !mca_btl_rbuf_packed_under_way(endpoint);
}

/* False without memory: then all stays as it is. */
static bool start_anew(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_module_t *module = endpoint->module;
    struct rbuf_peer *fresh;

    if (rbuf_peer_add(&module->core, NULL, endpoint, &fresh) != 0) {
        return false;
    }
    mca_btl_rbuf_endpoint_empty(endpoint);
    endpoint->peer = fresh;
    endpoint->state = MCA_BTL_RBUF_IDLE;
    return true;
}

/* True if nothing is left of who has left. */
static bool clear(mca_btl_rbuf_module_t *module)
{
    mca_btl_base_endpoint_t *endpoint;
    bool all = true;

    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        if (mca_btl_rbuf_endpoint_has_left(endpoint)) {
            all = is_over(endpoint) && start_anew(endpoint) && all;
        }
    }
    return all;
}

void mca_btl_rbuf_disconnected_progress(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_sweep_receives(module);
    (void) rbuf_core_poll(&module->core);
    module->disconnected =
        clear(module) ? MCA_BTL_RBUF_DISCONNECTED_NONE : MCA_BTL_RBUF_DISCONNECTED_LEFT;
}

bool mca_btl_rbuf_disconnected_due(const mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_module_t *module = endpoint->module;

    if (!mca_btl_rbuf_endpoint_has_left(endpoint) ||
        module->disconnected == MCA_BTL_RBUF_DISCONNECTED_KEPT) {
        return false;
    }
    module->disconnected = MCA_BTL_RBUF_DISCONNECTED_NEWS;
    return true;
}
