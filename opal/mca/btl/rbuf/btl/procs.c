/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Processes that Open MPI adds and deletes, and the end of a module.
 *
 * Finalize and del_procs first let what is queued and under way come to its end, for a bounded
 * time, then send DREQs and wait until the peers have them, then bring the queue pairs to error
 * and wait for their completions, and only then free. So a peer never sees a broken queue pair of a
 * process that ends in order without having its DREQ.
 *
 * What comes once the module is finalized goes nowhere (mca_btl_rbuf_is_finalized()).
 */
#include "btl/btl.h"

#include "report/counters.h"
#include "btl/operation.h"

#define DRAIN_NS 10000000000ull

int mca_btl_rbuf_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);

    mca_btl_rbuf_osc_warn();
    for (size_t i = 0; i < count; i++) {
        mca_btl_base_endpoint_t *endpoint = mca_btl_rbuf_endpoint_for(module, procs[i]);

        if (endpoint == NULL) {
            continue;
        }
        endpoints[i] = endpoint;
        if (reachable != NULL) {
            opal_bitmap_set_bit(reachable, (int) i);
        }
    }
    return OPAL_SUCCESS;
}

/* What is waited for in drain(). */
typedef enum { UNTIL_SENT, UNTIL_HEARD, UNTIL_RETURNED, UNTIL_ACTED_ON } drain_t;

static bool is_drained(mca_btl_base_endpoint_t *endpoint, drain_t until)
{
    const mca_btl_rbuf_module_t *module = endpoint->module;

    switch (until) {
    case UNTIL_SENT:
        return endpoint->state == MCA_BTL_RBUF_FAILED || mca_btl_rbuf_endpoint_has_left(endpoint) ||
               (mca_btl_rbuf_operation_pending(module, endpoint) == NULL &&
                (endpoint->state == MCA_BTL_RBUF_IDLE || rbuf_peer_flush(endpoint->peer)));
    case UNTIL_HEARD:
        return endpoint->connection == NULL || endpoint->state != MCA_BTL_RBUF_CONNECTED;
    case UNTIL_RETURNED:
        return endpoint->peer->in_flight == 0;
    case UNTIL_ACTED_ON:
        return rbuf_events_empty(&module->core.events) &&
               !rbuf_events_are_late(&module->core.events) &&
               !mca_btl_rbuf_serving_is_busy(module) &&
               /* nor does another thread act on one */
               (module->drain.depth == 0 || mca_btl_rbuf_is_draining(module));
    }
    return true;
}

/* Progresses until every endpoint (or just `only`) is as wanted, or the time is up. */
static void drain(mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *only, drain_t until)
{
    const uint64_t deadline = mca_btl_rbuf_now_ns() + DRAIN_NS;
    bool drained = false;

    while (!drained && mca_btl_rbuf_now_ns() < deadline) {
        mca_btl_base_endpoint_t *endpoint;

        mca_btl_rbuf_connections_progress();
        mca_btl_rbuf_module_progress(module);
        drained = true;
        mca_btl_rbuf_lock(module);
        TAILQ_FOREACH(endpoint, &module->endpoints, link)
        {
            if ((only == NULL || only == endpoint) && !is_drained(endpoint, until)) {
                drained = false;
                break;
            }
        }
        mca_btl_rbuf_unlock(module);
    }
}

/* Lets every endpoint (or just `only`) end what it has to send, and its peer know that we go. */
static void take_leave(mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *only)
{
    mca_btl_base_endpoint_t *endpoint;

    drain(module, only, UNTIL_SENT);
    mca_btl_rbuf_lock(module);
    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        if ((only == NULL || only == endpoint) && !is_drained(endpoint, UNTIL_HEARD)) {
            rbuf_connection_disconnect(endpoint->connection);
        }
    }
    mca_btl_rbuf_unlock(module);
    drain(module, only, UNTIL_HEARD);
}

/* Ends an endpoint whose queue is empty, as far as its peer let it. */
static void retire(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_endpoint_not_first(endpoint);
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_leave(endpoint); /* what fails now is no loss */
    mca_btl_rbuf_endpoint_close_connection(endpoint);
    mca_btl_rbuf_endpoint_stop(endpoint);
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_connections_settle();
    drain(module, endpoint, UNTIL_RETURNED);
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_sweep_receives(module);
    /* Events may still name the peer, those of what Open MPI sends when it hears of an abandoned
     * operation too: let them be acted on before it goes. */
    do {
        mca_btl_rbuf_operations_abandon(module, endpoint);
        mca_btl_rbuf_unlock(module);
        drain(module, endpoint, UNTIL_ACTED_ON);
        mca_btl_rbuf_lock(module);
    } while (mca_btl_rbuf_operation_pending(module, endpoint) != NULL);
    mca_btl_rbuf_endpoint_destroy(endpoint);
    mca_btl_rbuf_unlock(module);
}

int mca_btl_rbuf_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);

    (void) procs;
    for (size_t i = 0; i < count; i++) {
        if (endpoints[i] != NULL) {
            take_leave(module, endpoints[i]);
            retire(module, endpoints[i]);
        }
    }
    return OPAL_SUCCESS;
}

int mca_btl_rbuf_finalize(mca_btl_base_module_t *btl)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_base_endpoint_t *endpoint;

    mca_btl_rbuf_lock(module);
    module->disconnected = MCA_BTL_RBUF_DISCONNECTED_KEPT;
    mca_btl_rbuf_unlock(module);
    take_leave(module, NULL);
    while ((endpoint = TAILQ_FIRST(&module->endpoints)) != NULL) {
        retire(module, endpoint);
    }
    mca_btl_rbuf_counters_keep(module);
    mca_btl_rbuf_async_forget(module->index);
    if (module->state == MCA_BTL_RBUF_RUNNING) {
        rbuf_core_close(&module->core);
    }
    mca_btl_rbuf_operations_close(module);
    mca_btl_rbuf_module_close(module);
    return OPAL_SUCCESS;
}
