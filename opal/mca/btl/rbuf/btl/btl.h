/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What Open MPI calls of a BTL, and what the files of this folder do for each other.
 *
 * Any thread, without the lock, but where it says otherwise. Errors are Open MPI's.
 */
#ifndef BTL_RBUF_BTL_H
#define BTL_RBUF_BTL_H

#include "btl/service.h"
#include "peers/endpoint.h"

/* ---- entries of Open MPI's BTL interface ---- */

/* The type of the entry that Open MPI has for it in a module. */
#define MCA_BTL_RBUF_ENTRY(name) __typeof__(*((mca_btl_base_module_t *) NULL)->btl_##name)

/* Processes come and go, and a module ends (procs.c). */
MCA_BTL_RBUF_ENTRY(add_procs) mca_btl_rbuf_add_procs;
MCA_BTL_RBUF_ENTRY(del_procs) mca_btl_rbuf_del_procs;
MCA_BTL_RBUF_ENTRY(finalize) mca_btl_rbuf_finalize;

/* A fragment that send or put gets later (prepare.c). */
MCA_BTL_RBUF_ENTRY(prepare_src) mca_btl_rbuf_prepare_src;

/* Messages (send.c). */
MCA_BTL_RBUF_ENTRY(send) mca_btl_rbuf_send;
MCA_BTL_RBUF_ENTRY(sendi) mca_btl_rbuf_sendi;

/* Handles of memory (register_mem.h). */
MCA_BTL_RBUF_ENTRY(register_mem) mca_btl_rbuf_register_mem;
MCA_BTL_RBUF_ENTRY(deregister_mem) mca_btl_rbuf_deregister_mem;

/* put, get, atomics (put_get.c). flush returns when all one-sided puts, gets and atomics that were
 * started before have ended, and their callbacks have returned. */
MCA_BTL_RBUF_ENTRY(put) mca_btl_rbuf_put;
MCA_BTL_RBUF_ENTRY(get) mca_btl_rbuf_get;
MCA_BTL_RBUF_ENTRY(atomic_fop) mca_btl_rbuf_atomic_fop;
MCA_BTL_RBUF_ENTRY(atomic_cswap) mca_btl_rbuf_atomic_cswap;
MCA_BTL_RBUF_ENTRY(flush) mca_btl_rbuf_flush;

/* ---- messages ---- */

/* By the flags that Open MPI describes a message with. */
static inline bool mca_btl_rbuf_is_rendezvous(uint32_t flags)
{
    return (flags & MCA_BTL_DES_FLAGS_SIGNAL) && (flags & MCA_BTL_DES_FLAGS_PRIORITY);
}

/* A message for a ring goes over send/receive. */
void mca_btl_rbuf_send_beside(mca_btl_rbuf_module_t *module,
                              const mca_btl_base_endpoint_t *endpoint, size_t bytes);

/* ---- progress ---- */

/* Of one module (progress.c); returns the number of things done. */
int mca_btl_rbuf_module_progress(mca_btl_rbuf_module_t *module);

/* True if the calling thread acts on events. The lock is held. */
static inline bool mca_btl_rbuf_is_draining(const mca_btl_rbuf_module_t *module)
{
    return module->drain.depth > 0 && pthread_equal(module->drain.thread, pthread_self());
}

/* Core's events: a message's buffer is free (send.c). */
void mca_btl_rbuf_sent(mca_btl_rbuf_module_t *module, struct rbuf_am *am, int status);

/* The receiver had no staging and registered its buffer instead (put_get.c). */
void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put);

/* ---- connections: what the listener has found out becomes a change of an endpoint ---- */

/* Acts on what the listener has; returns the number of events (connections.c). */
int mca_btl_rbuf_connections_progress(void);

/* Waits until no thread is about to act on an event that it took before: then none names an
 * endpoint whose connection was closed before this was called. */
void mca_btl_rbuf_connections_settle(void);

/* ---- async progress: what Open MPI takes for sent leaves while the process calls no MPI ---- */

/* The process is about to leave the module, and messages wait in core: they are to go on without
 * it, unless it comes by again soon (async.c). The caller holds the lock. */
void mca_btl_rbuf_async_wait(mca_btl_rbuf_module_t *module);

/* Takes the module of that index off the component's list; the thread does not see it again. */
void mca_btl_rbuf_async_forget(uint32_t index);

/* For the listener: its tick, and when it is due first, ms. */
unsigned mca_btl_rbuf_async_tick(void);
unsigned mca_btl_rbuf_async_first_ms(void);

/* ---- the service for another component of ours (service.h, serving.c) ---- */

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

/* The lock is held for this and what follows. Keeps a message of the service that was taken out of
 * core's queue. */
void mca_btl_rbuf_serving_keep(mca_btl_rbuf_module_t *module, const struct rbuf_event *event);

/* Calls the handler, without the lock; returns the number of messages that it took. */
int mca_btl_rbuf_serving_progress(mca_btl_rbuf_module_t *module);

/* The listener's thread is inside the module: what is there and comes goes to the handler. */
void mca_btl_rbuf_serving_visit(mca_btl_rbuf_module_t *module);

/* True while messages wait that name peers. */
bool mca_btl_rbuf_serving_is_busy(const mca_btl_rbuf_module_t *module);

/* ---- the one-sided component that parameter osc chooses (osc.c) ---- */

/* Warns, at its first call, if parameter osc leaves osc/pt2pt to be chosen and the protocol copies,
 * or names osc/rdma alone and no adapter has atomic operations. For the thread in which Open MPI
 * adds processes: the one-sided components have been opened by then, which they have not when
 * transports are initialized. */
void mca_btl_rbuf_osc_warn(void);

#endif
