/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Async progress: what Open MPI takes for sent leaves, also when the process calls MPI no more.
 *
 * A message that cannot be posted at once, since its peer is not connected or has no credit left
 * for it, waits in core; for Open MPI it is through. Were it to wait for the next call of MPI, a
 * peer would wait as long as this process computes, or for ever if this one waits for that peer by
 * other means (PMIx_Connect in MPI_Comm_spawn). So while messages wait, and for async_progress no
 * call of MPI has come by, the listener's thread visits the module: it goes on with connecting,
 * looks for credits, and posts. Copied puts and gets of one-sided programs go on likewise.
 *
 * A module counts how often the process has come by while messages wait: if that has grown since
 * the last tick, the process sees to them itself.
 *
 * The thread calls nothing of Open MPI's. Events of core stay for the process's own progress, and
 * so does what failed, a caller who is not known yet, and the packing of data. It ticks only while
 * something waits, and less and less often while nothing comes of it. While another component of
 * ours listens (btl/service.h) something always waits: its messages, which the thread hands
 * over, and it ticks at its first pace.
 *
 * Threads: `lock` is held while the thread is at a module, and by who takes a module off the
 * component's list; with it held, a module's lock is only tried.
 */
#include "btl/btl.h"

#include "params/help.h"
#include "params/params.h"
#include "connect/listener.h"

#define ROUNDS     64u /* of progress in one visit, while there is something to do */
#define SLOWEST_MS 16u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned interval_ms; /* the thread's: until the next tick */

static unsigned first_ms(void)
{
    const uint64_t ms = mca_btl_rbuf_params.async_progress / 1000000;

    return ms > 0 ? (unsigned) ms : 1;
}

unsigned mca_btl_rbuf_async_first_ms(void)
{
    return interval_ms = first_ms();
}

void mca_btl_rbuf_async_wait(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_async *async = &module->async;
    const uint32_t calls = atomic_load_explicit(&async->calls, memory_order_relaxed);

    atomic_store_explicit(&async->calls, calls + 1, memory_order_relaxed);
    if (mca_btl_rbuf_params.async_progress == 0 ||
        atomic_load_explicit(&async->wanted, memory_order_relaxed)) {
        return;
    }
    atomic_store_explicit(&async->wanted, true, memory_order_release);
    rbuf_listener_arm(mca_btl_rbuf_process.listener);
}

void mca_btl_rbuf_async_forget(uint32_t index)
{
    pthread_mutex_lock(&lock);
    mca_btl_rbuf_process.modules[index] = NULL;
    pthread_mutex_unlock(&lock);
}

/* Goes on with what waits; true if that has moved anything. The thread is inside the module. */
static bool advance(mca_btl_rbuf_module_t *module)
{
    bool moved = mca_btl_rbuf_connect_visit(module);

    for (unsigned i = 0; i < ROUNDS && mca_btl_rbuf_waits(module); i++) {
        if (mca_btl_rbuf_module_advance(module) == 0) {
            break;
        }
        moved = true;
    }
    return moved;
}

typedef enum {
    QUIET,  /* nothing waits any more */
    BUSY,   /* the process makes progress itself, or is inside */
    STUCK,  /* nothing could be done */
    MOVING, /* something could */
} visit_t;

static visit_t visit(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_async *async = &module->async;
    const uint32_t calls = atomic_load_explicit(&async->calls, memory_order_relaxed);
    visit_t found;

    if (!atomic_load_explicit(&async->wanted, memory_order_acquire)) {
        return QUIET;
    }
    if (calls != async->calls_seen) {
        async->calls_seen = calls;
        return BUSY;
    }
    if (!mca_btl_rbuf_lock_visit(&module->lock)) {
        return BUSY;
    }
    async->visits++;
    found = advance(module) ? MOVING : STUCK;
    if (mca_btl_rbuf_serving_is_on(&module->serving)) {
        mca_btl_rbuf_serving_visit(module);
    } else if (!mca_btl_rbuf_waits(module)) {
        atomic_store_explicit(&async->wanted, false, memory_order_relaxed);
        found = QUIET;
    }
    mca_btl_rbuf_lock_end_visit(&module->lock);
    return found;
}

unsigned mca_btl_rbuf_async_tick(void)
{
    visit_t most = QUIET;
    bool serves = false;

    mca_btl_rbuf_help_defer();
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        mca_btl_rbuf_module_t *module = mca_btl_rbuf_process.modules[i];
        const visit_t found = module != NULL ? visit(module) : QUIET;

        serves = serves || (module != NULL && mca_btl_rbuf_serving_is_on(&module->serving));
        most = found > most ? found : most;
    }
    pthread_mutex_unlock(&lock);
    if (most == QUIET || most == MOVING || serves) {
        interval_ms = first_ms();
    } else if (interval_ms < SLOWEST_MS) {
        interval_ms *= 2;
    }
    return most == QUIET ? 0 : interval_ms;
}
