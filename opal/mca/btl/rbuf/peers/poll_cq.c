/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Polls verbs and feeds core: completions, receive buffers, what the adapter says of its port.
 * Calls nothing of Open MPI's that acts on a message.
 *
 * The caller holds the module's lock.
 */
#include "peers/endpoint.h"

#include <errno.h>

#include "params/help.h"
#include "verbs/completion.h"
#include "verbs/device.h"
#include "verbs/receive.h"

#define BATCH   32
#define DOWN_NS 3000000000ull /* that a port may be down before its peers count as lost */

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
        rbuf_core_completed(completion->work, completion->status);
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

/* Nothing that is posted will come back, for the reason `status`: all who wait for it are told. */
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
 * the requests that it cannot send (Linux' rdma_rxe tries for ever). */
void mca_btl_rbuf_look_at_port(mca_btl_rbuf_module_t *module)
{
    const uint64_t now = mca_btl_rbuf_coarse_ns();
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

bool mca_btl_rbuf_release(const struct rbuf_event *delivered)
{
    struct rbuf_buffer *buffer = delivered->delivery.buffer;

    rbuf_core_release(delivered->peer, &delivered->delivery); /* which looks into it */
    if (buffer != NULL) {
        rbuf_receive_recycle(buffer);
    }
    return buffer != NULL;
}

/* Posts the receive buffers that are free. An adapter that takes none of them any more is lost, or
 * its peers would try for ever; of a queue pair's own, that peer. */
void mca_btl_rbuf_post_receives(mca_btl_rbuf_module_t *module)
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
            mca_btl_rbuf_look_at_port(
                module); /* it may know a better cause, and the first one counts */
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
        mca_btl_rbuf_post_receives(module);
    }
}

void mca_btl_rbuf_poll_cq(mca_btl_rbuf_module_t *module)
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

/* There are at most as many as buffers; others' come too. */
void mca_btl_rbuf_sweep_receives(mca_btl_rbuf_module_t *module)
{
    const uint32_t drained = module->port->receives_drained;

    for (uint32_t i = 0; i < module->port->receive_entries; i++) {
        if (module->port->receives_drained != drained) {
            break;
        }
        mca_btl_rbuf_poll_cq(module);
    }
}

int mca_btl_rbuf_module_advance(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_poll_cq(module);
    return rbuf_core_poll(&module->core) +
           rbuf_core_progress(&module->core, mca_btl_rbuf_coarse_ns());
}
