/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A module's part of the service (btl/service.h).
 *
 * Messages of the service leave core's queue of events for one of their own, in their order, as
 * soon as anybody looks: the process in its progress, or the listener's thread in a visit, which
 * leaves all others where they are. There the first waits until the handler takes it, and its place
 * in a ring or receive buffer with it.
 *
 *     OFF -> ON -> CALLING -> ON -> OFF
 *     CALLING -> ENDING -> OFF       nobody listens any more while the handler is called
 */
#ifndef BTL_RBUF_SERVING_H
#define BTL_RBUF_SERVING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "btl/service.h"
#include "core/base/event.h"
#include "module/module.h"

/* Lets others find the service, unless somebody else has the tag; and no longer. */
void mca_btl_rbuf_serving_offer(void);
void mca_btl_rbuf_serving_take_back(void);

static inline bool mca_btl_rbuf_serving_is_on(const struct mca_btl_rbuf_serving *serving)
{
    return atomic_load_explicit(&serving->state, memory_order_relaxed) >= MCA_BTL_RBUF_SERVING_ON;
}

/* True of a message of the service. */
static inline bool mca_btl_rbuf_serving_wants(const struct rbuf_event *event)
{
    return event->kind == RBUF_EVENT_DELIVER && event->delivery.tag == MCA_BTL_RBUF_SERVICE_TAG;
}

/* The caller holds the lock for all of the following. */

/* Keeps a message of the service that was taken out of core's queue. */
void mca_btl_rbuf_serving_keep(mca_btl_rbuf_module_t *module, const struct rbuf_event *event);

/* Calls the handler, without the lock; returns the number of messages that it took. */
int mca_btl_rbuf_serving_progress(mca_btl_rbuf_module_t *module);

/* The listener's thread is inside the module: what is there and comes goes to the handler. */
void mca_btl_rbuf_serving_visit(mca_btl_rbuf_module_t *module);

/* True while messages wait that name peers. */
bool mca_btl_rbuf_serving_is_busy(const mca_btl_rbuf_module_t *module);

#endif
