/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Progress: feeds core (peers/poll_cq.c), lets it work, and acts on its events.
 *
 * One thread at a time is inside a module; others go away at once. Events are taken out
 * under the lock and acted on without it, so that callbacks may call any function of the module.
 *
 * Events are acted on in the order of core's queue, where answers go ahead (core/base/event.h): by
 * one thread at a time, the drainer, and a callback that progresses goes on with the next.
 * (Fragments of packed data must not overtake each other.) Between two rendezvous or answers, core
 * goes on with data. Events that this raises wait in the queue: acting on one does not nest here.
 */
#include "btl/btl.h"

#include <stdio.h>

#include "btl/callback.h"
#include "params/help.h"
#include "btl/operation.h"
#include "connect/descriptors.h"
#include "opal/util/output.h"

#define EVENTS  64            /* acted on in one pass: as many as a ring has slots */
#define LOOK_NS 1000000000ull /* between looks at the adapter's events */

/* While rings have messages the completion queues are polled every so many calls only. */
#define RING_ROUNDS 8u

/* While there is something to copy they are polled every so many bytes only: what is polled for
 * most, blocks and acknowledgements, is seen in memory. */
#define COPY_BYTES (256u * 1024u)

static void deliver_message(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    mca_btl_base_segment_t segment = {.seg_addr.pval = event->delivery.data,
                                      .seg_len = event->delivery.bytes};

    rbuf_compat_deliver(&module->super, event->peer->user, event->delivery.tag, &segment, 1);
}

/* Behind each RTS and each answer, if there are others, what is granted goes on, and what has come
 * is seen: to act on all of them may take as long as the network takes for several messages. */
static void go_on(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_lock(module);
    if (!rbuf_events_empty(&module->core.events)) {
        (void) mca_btl_rbuf_module_advance(module);
    }
    mca_btl_rbuf_unlock(module);
}

/* A receive that is found meanwhile is for the message that this one announces. */
static void deliver_rts(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    struct mca_btl_rbuf_callback callback = {.kind = MCA_BTL_RBUF_CALLBACK_RTS,
                                             .endpoint = event->peer->user,
                                             .early = event->delivery.early};

    mca_btl_rbuf_callback_enter(&callback);
    deliver_message(module, event);
    mca_btl_rbuf_callback_leave(&callback);
    go_on(module);
}

/* Open MPI's header, and blocks of early data. */
static void deliver_fragment(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    const struct rbuf_fragment *fragment = event->delivery.data;
    mca_btl_base_segment_t segments[1 + RBUF_FRAGMENT_BLOCKS] = {
        {.seg_addr.pval = (unsigned char *) event->delivery.data + sizeof(*fragment),
         .seg_len = event->delivery.bytes - sizeof(*fragment)}};

    for (uint32_t i = 0; i < fragment->blocks; i++) {
        segments[1 + i].seg_addr.pval =
            rbuf_arena_block(&module->core.receive_arena, event->delivery.early + i);
        segments[1 + i].seg_len = fragment->bytes[i];
    }
    rbuf_compat_deliver(&module->super, event->peer->user, event->delivery.tag, segments,
                        1u + fragment->blocks);
}

static void deliver(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    switch ((enum rbuf_extra) event->delivery.extra) {
    case RBUF_EXTRA_NONE:
        deliver_message(module, event);
        break;
    case RBUF_EXTRA_RTS:
        deliver_rts(module, event);
        break;
    case RBUF_EXTRA_FRAGMENT:
        deliver_fragment(module, event);
        break;
    case RBUF_EXTRA_ANSWER:
        deliver_message(module, event);
        go_on(module);
        break;
    }
}

/* For what is printed as a format: an IPv6 address may name its interface behind a percent sign. */
static void without_directives(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '%') {
            *text = '@';
        }
    }
}

static void peer_failed(mca_btl_rbuf_module_t *module, struct rbuf_peer *peer, int status)
{
    mca_btl_base_endpoint_t *endpoint = peer->user;
    const char *cause;
    bool left;

    /* A peer that ends in order lets its queue pairs go when its DREQ is here, so it has come if it
     * ever will. */
    mca_btl_rbuf_connections_progress();
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_lost(endpoint, status);
    left = mca_btl_rbuf_endpoint_has_left(endpoint);
    cause = endpoint->cause != NULL ? endpoint->cause : "memory is exhausted";
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_help_flush();
    if (left) {
        return; /* it had said good-bye: what was left of its adapter's answers is no loss */
    }
    mca_btl_rbuf_help("peer lost", opal_process_info.nodename,
                      OPAL_NAME_PRINT(endpoint->proc->proc_name), module->port->name, cause, NULL);
    if (module->error_callback != NULL && !mca_btl_rbuf_is_finalized(module)) {
        char text[400];

        /* ob1 prints it, as a format, and ends the process. It says what the help text says: mpirun
         * may lose texts that several processes ask for at once. */
        snprintf(text, sizeof(text), "rbuf: %s lost peer %s: %s", module->port->name,
                 OPAL_NAME_PRINT(endpoint->proc->proc_name), cause);
        without_directives(text);
        module->error_callback(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, endpoint->proc, text);
    }
}

/* Acts on one event. No lock is held. */
static void act(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    switch (event->kind) {
    case RBUF_EVENT_DELIVER:
        if (mca_btl_rbuf_is_finalized(module)) {
            module->undelivered++;
        } else {
            deliver(module, event);
        }
        break;
    case RBUF_EVENT_SENT:
        mca_btl_rbuf_sent(module, event->am, event->status);
        break;
    case RBUF_EVENT_PUT:
    case RBUF_EVENT_GET:
    case RBUF_EVENT_RMA: /* all three are the first of an operation */
        mca_btl_rbuf_operation_ended(module, (mca_btl_rbuf_operation_t *) (void *) event->put,
                                     event->status);
        break;
    case RBUF_EVENT_DIRECT:
        mca_btl_rbuf_put_direct(module, event->put);
        break;
    case RBUF_EVENT_REGISTER:
        mca_btl_rbuf_grant_expired(module, event->grant);
        break;
    case RBUF_EVENT_RING_MEMORY:
        mca_btl_rbuf_ring_wanted(module);
        break;
    case RBUF_EVENT_STAGING:
        mca_btl_rbuf_staging_wanted(module, event->arena);
        break;
    case RBUF_EVENT_FAILED:
        peer_failed(module, event->peer, event->status);
        break;
    }
}

/* Acts on events, unless another thread does; returns their number. The caller holds the lock,
 * which is let go meanwhile. */
static int drain(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_drain *drain = &module->drain;
    struct rbuf_event event;
    bool collected = false;
    int count = 0;

    if (drain->depth > 0 && !mca_btl_rbuf_is_draining(module)) {
        return 0;
    }
    drain->thread = pthread_self();
    drain->depth++;
    while (count < EVENTS && rbuf_events_pop(&module->core.events, &event)) {
        if (mca_btl_rbuf_serving_wants(&event)) {
            mca_btl_rbuf_serving_keep(module, &event);
            continue;
        }
        mca_btl_rbuf_unlock(module);
        act(module, &event);
        mca_btl_rbuf_lock(module);
        if (event.kind == RBUF_EVENT_DELIVER) {
            collected = mca_btl_rbuf_release(&event) || collected;
        }
        count++;
    }
    drain->depth--;
    if (collected) {
        mca_btl_rbuf_post_receives(module);
    }
    return count;
}

/* True if the completion queues are to be polled in this call of progress. */
static bool collect_is_due(mca_btl_rbuf_module_t *module)
{
    const uint64_t copied = module->core.copied;
    const bool copying = copied != module->copied_seen;

    module->copied_seen = copied;
    if (module->ring_rounds % RING_ROUNDS != 0 ||
        (copying && copied - module->copied_polled < COPY_BYTES)) {
        return false;
    }
    module->copied_polled = copied;
    return true;
}

/* Peers that connect wait as long as no descriptor is free for them: that is said once. Not by a
 * help text, whose file could not be opened. */
static void look_at_descriptors(void)
{
    static atomic_bool said;

    if (rbuf_listener_counters(mca_btl_rbuf_process.listener)->accept_pauses == 0 ||
        atomic_exchange_explicit(&said, true, memory_order_relaxed)) {
        return;
    }
    opal_output(
        0,
        "rbuf: peers connect to this process (%s), and it has no file descriptor left for them. "
        "Each connected peer takes one; the limit is %llu. Raise it where the job's "
        "processes are started (ulimit -n, soft and hard); rbuf raises the soft limit "
        "itself unless btl_rbuf_raise_descriptors is off",
        opal_process_info.nodename, (unsigned long long) rbuf_descriptors_limit());
}

/* What is due once in a while. The caller holds the lock. */
static void look_again(mca_btl_rbuf_module_t *module, uint64_t now)
{
    look_at_descriptors();
    module->look_due_ns = now + LOOK_NS;
    mca_btl_rbuf_help_flush();
    mca_btl_rbuf_look_at_port(module);
    if (module->disconnected == MCA_BTL_RBUF_DISCONNECTED_LEFT) {
        module->disconnected = MCA_BTL_RBUF_DISCONNECTED_NEWS;
    }
    mca_btl_rbuf_post_receives(module); /* what was refused, without waiting for more to arrive */
}

int mca_btl_rbuf_module_progress(mca_btl_rbuf_module_t *module)
{
    uint64_t now;
    int done;

    if (!mca_btl_rbuf_trylock(module)) {
        return 0;
    }
    if (module->state != MCA_BTL_RBUF_RUNNING) {
        mca_btl_rbuf_unlock(module);
        return 0;
    }
    now = mca_btl_rbuf_coarse_ns();
    if (now >= module->look_due_ns) {
        look_again(module, now);
    }
    if (collect_is_due(module)) {
        mca_btl_rbuf_poll_cq(module);
        if (module->latency.state == MCA_BTL_RBUF_LATENCY_DUE ||
            module->latency.state == MCA_BTL_RBUF_LATENCY_TIMING) {
            mca_btl_rbuf_latency_look(module);
        }
    }
    /* Behind the completion queues, which take longer: what has come meanwhile is seen at once. */
    done = rbuf_core_poll(&module->core);
    module->ring_rounds = done > 0 ? module->ring_rounds + 1 : 0;
    done += rbuf_core_progress(&module->core, now);
    if (!TAILQ_EMPTY(&module->packing) && !mca_btl_rbuf_is_finalized(module)) {
        done += mca_btl_rbuf_packed_progress(module);
    }
    if (!rbuf_events_empty(&module->core.events)) {
        done += drain(module);
    }
    if (module->disconnected == MCA_BTL_RBUF_DISCONNECTED_NEWS) {
        mca_btl_rbuf_disconnected_progress(module);
    }
    if (mca_btl_rbuf_serving_is_on(&module->serving)) {
        done += mca_btl_rbuf_serving_progress(module);
    }
    if (mca_btl_rbuf_waits(module) || mca_btl_rbuf_serving_is_on(&module->serving)) {
        mca_btl_rbuf_async_wait(module);
    }
    mca_btl_rbuf_unlock(module);
    return done;
}
