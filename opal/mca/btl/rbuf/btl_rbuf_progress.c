/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Progress: polls verbs, feeds core, lets core work, and acts on core's events.
 *
 * One thread at a time is inside a module; others go away at once. Events are taken out
 * under the lock and acted on without it, so that callbacks may call any function of the module.
 *
 * Events are acted on in order: by one thread at a time, the drainer, and a callback that
 * progresses goes on with the next. (Fragments of packed data must not overtake each other.)
 */
#include "btl_rbuf.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "btl_rbuf_callback.h"
#include "connect/descriptors.h"
#include "opal/util/output.h"

#define BATCH   MCA_BTL_RBUF_BATCH
#define EVENTS  (2 * BATCH)   /* acted on in one pass: as many as a ring has slots */
#define DOWN_NS 3000000000ull /* that a port may be down before its peers count as lost */
#define LOOK_NS 1000000000ull /* between looks at the adapter's events */

/* While rings have messages the completion queues are polled every so many calls only. */
#define RING_ROUNDS 8u

/* While there is something to copy they are polled every so many bytes only: what is polled for
 * most, blocks and acknowledgements, is seen in memory. */
#define COPY_BYTES (256u * 1024u)

static uint64_t now_ns(void)
{
    struct timespec now;

    /* Coarse: core's intervals are milliseconds and more, and this costs a few ns. */
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t) now.tv_sec * 1000000000ull + (uint64_t) now.tv_nsec;
}

/* The queue pair, NULL if it is closed, can do no more: its peer is lost. */
static void queue_lost(mca_btl_rbuf_module_t *module, const struct rbuf_fab_queue *queue,
                       int status)
{
    mca_btl_base_endpoint_t *endpoint;

    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        for (int i = 0; i < RBUF_CHANNELS; i++) {
            if (endpoint->queue[i] != NULL && endpoint->queue[i] == queue) {
                mca_btl_rbuf_endpoint_lost(endpoint, status);
            }
        }
    }
}

static void completed(mca_btl_rbuf_module_t *module, const struct rbuf_completion *completion)
{
    if (completion->work != NULL) {
        rbuf_core_completed(&module->core, completion->work, completion->status);
    } else {
        queue_lost(module, completion->queue, completion->status);
    }
}

static void received(mca_btl_rbuf_module_t *module, const struct rbuf_completion *completion)
{
    struct rbuf_buffer *buffer = completion->buffer;
    bool kept = false;

    if (completion->status == 0 && completion->kind == RBUF_COMPLETION_RECEIVED) {
        kept = rbuf_core_received(&module->core, (enum rbuf_channel_id) buffer->channel, buffer,
                                  buffer->data, completion->bytes);
    } else if (completion->status == 0) {
        rbuf_core_immediate(&module->core, completion->immediate);
    }
    if (!kept) {
        rbuf_receive_recycle(buffer);
    }
}

/* Nothing that is posted will come back, for the reason `status`: all who wait for it are told. The
 * caller holds the lock. */
static void port_lost(mca_btl_rbuf_module_t *module, int status)
{
    mca_btl_base_endpoint_t *endpoint;

    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        if (endpoint->state != MCA_BTL_RBUF_IDLE) {
            mca_btl_rbuf_endpoint_lost(endpoint, status);
        }
    }
}

/* Reads what the adapter says of itself. A port that stays down is lost: not every adapter fails
 * the requests that it cannot send (Linux' rdma_rxe tries for ever). The caller holds the lock. */
static void look_at_port(mca_btl_rbuf_module_t *module)
{
    const uint64_t now = now_ns();
    const char *text;
    enum rbuf_port_news news;

    while ((news = rbuf_port_event(module->port, &text)) != RBUF_PORT_NO_NEWS) {
        mca_btl_rbuf_verbose("rbuf: %s: %s", module->port->name, text);
        if (news == RBUF_PORT_LOST) {
            port_lost(module, -ENODEV);
        } else if (news == RBUF_PORT_DOWN && module->down_since_ns == 0) {
            module->down_since_ns = now;
        } else if (news == RBUF_PORT_UP) {
            module->down_since_ns = 0;
        }
    }
    if (module->down_since_ns != 0 && now - module->down_since_ns >= DOWN_NS) {
        port_lost(module, -ENETDOWN);
    }
}

/* Posts the receive buffers that are free. An adapter that takes none of them any more is lost, or
 * its peers would try for ever; of a queue pair's own, that peer. The caller holds the lock. */
static void post_receives(mca_btl_rbuf_module_t *module)
{
    const struct rbuf_receive *dry = rbuf_receive_post_all(module->port);

    if (dry != NULL && dry->queue != NULL) {
        queue_lost(module, dry->queue, -ENODEV);
    } else if (dry != NULL) {
        port_lost(module, -ENODEV);
    }
}

/* One of many that say no more than that their queue pair is in error. */
static bool is_flushed_receive(const struct rbuf_completion *completion)
{
    return completion->kind != RBUF_COMPLETION_SENT && completion->status == -ECONNRESET;
}

/* Feeds completions to core, or that there can be none: a negative count. Out of line, as there are
 * none most of the time. */
static __attribute__((noinline)) void feed(mca_btl_rbuf_module_t *module,
                                           struct rbuf_completion *completions, int count)
{
    if (count < 0) {
        port_lost(module, -ENODEV);
    }
    for (int i = 0; i < count; i++) {
        if (completions[i].status != 0 && !is_flushed_receive(&completions[i])) {
            mca_btl_rbuf_verbose("rbuf: %s: a request ended in: %s (%u)", module->port->name,
                                 ibv_wc_status_str(completions[i].wc), completions[i].vendor_error);
            look_at_port(module); /* it may know a better cause, and the first one counts */
            if (module->down_since_ns != 0) {
                completions[i].status = -ENETDOWN;
            }
        }
        if (completions[i].kind == RBUF_COMPLETION_SENT) {
            completed(module, &completions[i]);
        } else {
            received(module, &completions[i]);
        }
    }
    if (count > 0) {
        post_receives(module);
    }
}

void mca_btl_rbuf_collect(mca_btl_rbuf_module_t *module)
{
    struct rbuf_completion completions[BATCH];
    uint32_t drained = module->port->receives_drained;
    int count = rbuf_poll(module->port, completions, BATCH);

    if (count != 0) {
        feed(module, completions, count);
    }
    if (module->port->receives_drained != drained) {
        rbuf_core_swept(&module->core);
    }
}

static void deliver_message(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    mca_btl_base_segment_t segment = {.seg_addr.pval = event->delivery.data,
                                      .seg_len = event->delivery.bytes};

    rbuf_compat_deliver(&module->super, event->peer->user, event->delivery.tag, &segment, 1);
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
    bool departed;

    /* A peer that ends in order lets its queue pairs go when its DREQ is here, so it has come if it
     * ever will. */
    mca_btl_rbuf_connections_progress();
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_lost(endpoint, status);
    departed = endpoint->departed;
    cause = endpoint->cause != NULL ? endpoint->cause : "memory is exhausted";
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_help_flush();
    if (departed) {
        return; /* it had said good-bye: what was left of its adapter's answers is no loss */
    }
    mca_btl_rbuf_help("peer lost", opal_process_info.nodename,
                      OPAL_NAME_PRINT(endpoint->proc->proc_name), module->port->name, cause, NULL);
    if (module->error_callback != NULL) {
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
        deliver(module, event);
        break;
    case RBUF_EVENT_SENT:
        mca_btl_rbuf_sent(module, event->am, event->status);
        break;
    case RBUF_EVENT_PUT:
        mca_btl_rbuf_put_ended(module, event->put, event->status);
        break;
    case RBUF_EVENT_DIRECT:
        mca_btl_rbuf_put_direct(module, event->put);
        break;
    case RBUF_EVENT_RMA:
        mca_btl_rbuf_rma_ended(module, event->rma, event->status);
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

/* Gives back what a delivered message occupied; true if that was a receive buffer. The caller holds
 * the lock. */
static bool release(const struct rbuf_event *delivered)
{
    struct rbuf_buffer *buffer = delivered->delivery.buffer;

    rbuf_core_release(delivered->peer, &delivered->delivery); /* which looks into it */
    if (buffer != NULL) {
        rbuf_receive_recycle(buffer);
    }
    return buffer != NULL;
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
        mca_btl_rbuf_unlock(module);
        act(module, &event);
        mca_btl_rbuf_lock(module);
        if (event.kind == RBUF_EVENT_DELIVER) {
            collected = release(&event) || collected;
        }
        count++;
    }
    drain->depth--;
    if (collected) {
        post_receives(module);
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

    if (rbuf_listener_counters(mca_btl_rbuf_component.listener)->accept_pauses == 0 ||
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
    look_at_port(module);
    if (module->departed == MCA_BTL_RBUF_DEPARTED_LEFT) {
        module->departed = MCA_BTL_RBUF_DEPARTED_NEWS;
    }
    post_receives(module); /* what was refused, without waiting for more to arrive */
}

int mca_btl_rbuf_module_advance(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_collect(module);
    return rbuf_core_poll(&module->core) + rbuf_core_progress(&module->core, now_ns());
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
    now = now_ns();
    if (now >= module->look_due_ns) {
        look_again(module, now);
    }
    if (collect_is_due(module)) {
        mca_btl_rbuf_collect(module);
        if (module->latency.state == MCA_BTL_RBUF_LATENCY_DUE ||
            module->latency.state == MCA_BTL_RBUF_LATENCY_TIMING) {
            mca_btl_rbuf_latency_look(module);
        }
    }
    /* Behind the completion queues, which take longer: what has come meanwhile is seen at once. */
    done = rbuf_core_poll(&module->core);
    module->ring_rounds = done > 0 ? module->ring_rounds + 1 : 0;
    done += rbuf_core_progress(&module->core, now);
    if (!TAILQ_EMPTY(&module->packing)) {
        done += mca_btl_rbuf_packed_progress(module);
    }
    if (!rbuf_events_empty(&module->core.events)) {
        done += drain(module);
    }
    if (module->departed == MCA_BTL_RBUF_DEPARTED_NEWS) {
        mca_btl_rbuf_departed_progress(module);
    }
    if (module->core.queued > 0) {
        mca_btl_rbuf_async_wait(module);
    }
    mca_btl_rbuf_unlock(module);
    return done;
}

int mca_btl_rbuf_progress(void)
{
    int done = 0;

    if (rbuf_listener_pending(mca_btl_rbuf_component.listener)) {
        done += mca_btl_rbuf_connections_progress();
    }
    for (size_t i = 0; i < mca_btl_rbuf_component.module_count; i++) {
        if (mca_btl_rbuf_component.modules[i] != NULL) {
            done += mca_btl_rbuf_module_progress(mca_btl_rbuf_component.modules[i]);
        }
    }
    return done;
}
