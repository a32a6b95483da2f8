/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Acts on what the listener has, which takes Open MPI and progress: who calls may be a process that
 * is not known yet, or one that has left and is back.
 *
 * No module's lock is held.
 */
#include "btl/btl.h"

#include <stdlib.h>

#include "params/help.h"

#define TRIES 100 /* of progress, for what a peer that has left had sent to be acted on */

/* Held from taking an event until it is acted on: what befalls a connection is acted on in order.
 */
static pthread_mutex_t handling = PTHREAD_MUTEX_INITIALIZER;

/* If the peer has left, lets that come to its end: then the endpoint is IDLE. */
static void await_disconnected(mca_btl_base_endpoint_t *endpoint)
{
    bool left = true;

    for (int i = 0; i < TRIES && left; i++) {
        mca_btl_rbuf_lock(endpoint->module);
        left = mca_btl_rbuf_disconnected_due(endpoint);
        mca_btl_rbuf_unlock(endpoint->module);
        if (left) {
            mca_btl_rbuf_module_progress(endpoint->module);
        }
    }
}

/* An authenticated request. */
static void incoming_request(struct rbuf_connect_event *event)
{
    const struct rbuf_exchange_side *theirs = &event->theirs.side;
    mca_btl_base_endpoint_t *endpoint = NULL;
    mca_btl_rbuf_module_t *module;
    opal_proc_t *proc;

    if (theirs->their_port >= mca_btl_rbuf_process.module_count) {
        rbuf_connection_reject(event->connection, RBUF_REJECT_UNREACHABLE);
        return;
    }
    module = mca_btl_rbuf_process.modules[theirs->their_port];
    if (module == NULL) { /* finalized, while another port's is not yet */
        rbuf_connection_reject(event->connection, RBUF_REJECT_CLOSING);
        return;
    }
    proc = opal_proc_for_name(mca_btl_rbuf_name_of(theirs));
    if (proc != NULL) {
        endpoint = mca_btl_rbuf_endpoint_for(module, proc);
    }
    if (endpoint == NULL) {
        rbuf_connection_reject(event->connection, RBUF_REJECT_UNKNOWN);
        return;
    }
    await_disconnected(endpoint); /* it is back */
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_connect_request(endpoint, event);
    mca_btl_rbuf_unlock(module);
}

int mca_btl_rbuf_connections_progress(void)
{
    struct rbuf_listener *listener = mca_btl_rbuf_process.listener;
    struct rbuf_connect_event *event;
    int count = 0;

    if (!rbuf_listener_pending(listener) || pthread_mutex_trylock(&handling) != 0) {
        return 0;
    }
    while ((event = rbuf_listener_next(listener)) != NULL) {
        mca_btl_base_endpoint_t *endpoint = event->user;

        mca_btl_rbuf_verbose("rbuf: connection event %s: %s", rbuf_connect_event_name(event->kind),
                             event->text);
        if (event->kind == RBUF_CONNECT_REQUEST) {
            incoming_request(event);
        } else {
            mca_btl_rbuf_lock(endpoint->module);
            mca_btl_rbuf_connect_event(endpoint, event);
            mca_btl_rbuf_unlock(endpoint->module);
        }
        free(event);
        count++;
    }
    pthread_mutex_unlock(&handling);
    return count;
}

void mca_btl_rbuf_connections_settle(void)
{
    pthread_mutex_lock(&handling);
    pthread_mutex_unlock(&handling);
}
