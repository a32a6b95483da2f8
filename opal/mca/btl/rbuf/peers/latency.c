/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether a peer is near: the time from an empty write to its acknowledgement, which the peer's
 * adapter sends whatever its processor does. The first peers are timed, one at a time, after they
 * were connected. One short time says that a peer is near, and that is all there is to find out.
 * That it is far takes some long ones, since on a busy machine one alone may be late; a time during
 * which nobody looked for long, since the program computed, is taken again.
 *
 *     IDLE <-> DUE <-> TIMING -> NEAR
 *
 * Where nothing depends on it, no peer is timed: it stays IDLE.
 *
 * Threads: the module's lock is held.
 */
#include "peers/endpoint.h"

#define PEERS    32u
#define SAMPLES  8u   /* of a peer */
#define ATTEMPTS 256u /* at them; a peer that needs more is as if it was not there */

/* The next peer that is to be timed; NULL: there is none. */
static mca_btl_base_endpoint_t *next_untimed(const mca_btl_rbuf_module_t *module)
{
    mca_btl_base_endpoint_t *endpoint;

    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        if (mca_btl_rbuf_endpoint_is_open(endpoint) && endpoint->samples_due > 0) {
            return endpoint;
        }
    }
    return NULL;
}

void mca_btl_rbuf_latency_connected(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_module_t *module = endpoint->module;
    struct mca_btl_rbuf_latency *latency = &module->latency;

    if (latency->peers == 0) {
        latency->near_ns = mca_btl_rbuf_eager_near_ns(module);
    }
    if (latency->near_ns == 0 || latency->peers == PEERS ||
        latency->state == MCA_BTL_RBUF_LATENCY_NEAR ||
        opal_compare_proc(endpoint->proc->proc_name, OPAL_PROC_MY_NAME) == 0) {
        return; /* what it sends to itself has no latency */
    }
    latency->peers++;
    endpoint->samples_due = SAMPLES;
    endpoint->attempts_left = ATTEMPTS;
    if (latency->state == MCA_BTL_RBUF_LATENCY_IDLE) {
        latency->state = MCA_BTL_RBUF_LATENCY_DUE;
    }
}

static void begin(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_latency *latency = &module->latency;
    mca_btl_base_endpoint_t *endpoint = next_untimed(module);

    if (endpoint == NULL) {
        latency->state = MCA_BTL_RBUF_LATENCY_IDLE;
        return;
    }
    latency->begun_ns = latency->looked_ns = mca_btl_rbuf_now_ns();
    if (rbuf_peer_probe(endpoint->peer)) {
        latency->endpoint = endpoint;
        latency->state = MCA_BTL_RBUF_LATENCY_TIMING;
    }
}

static void end(mca_btl_rbuf_module_t *module, uint64_t now)
{
    struct mca_btl_rbuf_latency *latency = &module->latency;
    mca_btl_base_endpoint_t *endpoint = latency->endpoint;
    const uint64_t took = now - latency->begun_ns;

    latency->state = MCA_BTL_RBUF_LATENCY_DUE;
    if (!mca_btl_rbuf_endpoint_is_open(endpoint)) {
        return; /* it may have ended with an error */
    }
    if (took <= latency->near_ns) {
        latency->state = MCA_BTL_RBUF_LATENCY_NEAR;
        mca_btl_rbuf_eager_all_far(module, false);
        return;
    }
    if (now - latency->looked_ns <= took / 4 && --endpoint->samples_due == 0) {
        mca_btl_rbuf_eager_all_far(module, true);
    }
    if (--endpoint->attempts_left == 0) {
        endpoint->samples_due = 0;
    }
}

void mca_btl_rbuf_latency_look(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_latency *latency = &module->latency;
    uint64_t now;

    if (latency->state == MCA_BTL_RBUF_LATENCY_DUE) {
        begin(module);
        return;
    }
    now = mca_btl_rbuf_now_ns();
    if (latency->endpoint->peer->probe_state == RBUF_PROBE_IDLE) {
        end(module, now);
    }
    latency->looked_ns = now;
}

void mca_btl_rbuf_latency_forget(mca_btl_base_endpoint_t *endpoint)
{
    struct mca_btl_rbuf_latency *latency = &endpoint->module->latency;

    if (latency->state == MCA_BTL_RBUF_LATENCY_TIMING && latency->endpoint == endpoint) {
        latency->state = MCA_BTL_RBUF_LATENCY_DUE;
    }
    endpoint->samples_due = 0;
}
