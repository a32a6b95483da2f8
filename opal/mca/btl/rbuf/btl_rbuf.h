/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The rbuf BTL: glue between Open MPI and core. What all files of the glue share: a module, which
 * is a port as Open MPI knows it, its lock, and what the modules of a process have in common. Each
 * line calls itself and those below:
 *
 *     component                 open, register, init, progress of all modules
 *     report (summary, gather)  what is printed at the end; counters: what is counted
 *     show                      what is printed at the start
 *     procs                     processes that come and go, and the end of a module
 *     progress, connections     act on core's events, on the listener's, and each calls the other
 *     send, rdma, prepare       what Open MPI asks for; operation: one of rdma; async: what goes
 *                               on without it; serving: messages for another component of ours
 *     connect, departed, collect    queue pairs; peers that have left; completions
 *     endpoint, packed          peers, and early data of packed messages
 *     module                    what a port owns
 *     memory, fragment, mailbox, ring, staging    of that, one each
 *     auto, frequent, registrar (cache, helper, registration), eager, latency, hooks, convertor,
 *     bml
 *
 * Locks: one a module, module->lock, guards core, verbs and the module's lists. Callbacks into Open
 * MPI run without it. The listener's thread has data of its own, and comes into a module for async
 * progress only.
 */
#ifndef BTL_RBUF_H
#define BTL_RBUF_H

#include "rbuf_compat.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <time.h>

#include "btl_rbuf_async.h"
#include "btl_rbuf_fragment.h"
#include "btl_rbuf_latency.h"
#include "btl_rbuf_lock.h"
#include "btl_rbuf_modex.h"
#include "btl_rbuf_registrar.h"
#include "btl_rbuf_serving.h"
#include "core/core.h"
#include "core/message/eager.h"
#include "verbs/device.h"
#include "verbs/memory.h"

/* Above that of other BTLs on the same network: a peer's messages are not dealt out to several. */
#define MCA_BTL_RBUF_EXCLUSIVITY (MCA_BTL_EXCLUSIVITY_DEFAULT + 1)

/* Who acts on core's events; the lock guards it. */
struct mca_btl_rbuf_drain {
    unsigned depth;   /* of progress within callbacks; 0: nobody drains */
    pthread_t thread; /* the drainer */
};

/* Counters of puts and gets of one-sided code, in 64 bits only. */
struct mca_btl_rbuf_one_sided {
    uint64_t puts;
    uint64_t put_bytes;
    uint64_t gets;
    uint64_t get_bytes;
    uint64_t copied_puts; /* of the puts, those copied in chunks */
    uint64_t copied_bytes;
};

/* Endpoints of peers that have left, whose memory is to be given back. */
typedef enum {
    MCA_BTL_RBUF_DEPARTED_NONE,
    MCA_BTL_RBUF_DEPARTED_NEWS, /* one more: progress sees to it now */
    MCA_BTL_RBUF_DEPARTED_LEFT, /* something of one was still in use: progress looks again later */
    MCA_BTL_RBUF_DEPARTED_KEPT  /* this process itself leaves: everything goes soon */
} mca_btl_rbuf_departed_t;

typedef enum {
    MCA_BTL_RBUF_STANDBY, /* the port is open, nothing is pinned */
    MCA_BTL_RBUF_RUNNING,
    MCA_BTL_RBUF_BROKEN /* it could not be started */
} mca_btl_rbuf_module_state_t;

struct mca_btl_rbuf_module_t {
    mca_btl_base_module_t super;
    struct mca_btl_rbuf_lock lock;
    struct mca_btl_rbuf_async async;
    struct mca_btl_rbuf_serving serving;
    mca_btl_rbuf_module_state_t state;
    uint32_t index; /* of the port in our modex */
    struct rbuf_port *port;
    struct rbuf_core core;
    struct rbuf_range send_staging;
    struct rbuf_range receive_staging;
    struct rbuf_memory atomic_words;
    uint64_t atomic_words_free;     /* a bit a word */
    struct rbuf_memory core_bounce; /* core's bounce buffers; none where all goes inline */
    SLIST_HEAD(, mca_btl_rbuf_ring) rings;
    uint32_t ring_count;
    size_t room[RBUF_CHANNELS]; /* for payload in receive buffers and fragments, bytes; the same in
                                 * all processes */
    struct rbuf_eager eager;
    struct mca_btl_rbuf_latency latency;
    SLIST_HEAD(, mca_btl_rbuf_mailbox_slab) mailbox_slabs;
    struct mca_btl_rbuf_pool pools[MCA_BTL_RBUF_POOLS];
    SLIST_HEAD(, mca_btl_base_registration_handle_t) handles; /* free ones */
    SLIST_HEAD(, mca_btl_base_registration_handle_t) windows; /* for atomics of all processes */
    SLIST_HEAD(, mca_btl_rbuf_operation) operations;          /* free ones */
    SLIST_HEAD(, mca_btl_rbuf_operation) pending;             /* wait for a registration */
    uint32_t holding;                               /* operations under way that hold one */
    uint32_t copying;                               /* one-sided ones under way that are copied */
    TAILQ_HEAD(, mca_btl_rbuf_operation) under_way; /* one-sided, in order of start */
    uint64_t started;                               /* of those */
    uint64_t bounced;                               /* counter: puts and gets through a fragment */
    struct mca_btl_rbuf_one_sided one_sided;
    uint64_t fragments; /* counter: sent, of packed data and of messages that cannot be put */
    uint64_t fragment_bytes;
    uint64_t undelivered; /* counter: messages that came when nobody could take them any more */
    TAILQ_HEAD(, mca_btl_base_endpoint_t) endpoints;
    TAILQ_HEAD(, mca_btl_rbuf_packed) packing; /* those in that state */
    mca_btl_rbuf_departed_t departed;
    struct mca_btl_rbuf_drain drain;
    uint32_t ring_rounds;   /* calls of progress in a row that found messages in rings */
    uint64_t copied_seen;   /* core's count at the newest call of progress */
    uint64_t copied_polled; /* when the completion queues were polled */
    uint64_t look_due_ns;   /* when the port's events are read next */
    uint64_t down_since_ns; /* when the port was seen to go down; 0: it is up */
    struct mca_btl_rbuf_registrar registrar;
    struct rbuf_choice *choice;             /* protocol auto, else NULL */
    struct mca_btl_rbuf_frequent *frequent; /* reuse, else NULL */
    mca_btl_base_module_error_cb_fn_t error_callback;
};

/* What the modules of this process share. */
struct mca_btl_rbuf_process {
    mca_btl_base_module_t module_template; /* with what Open MPI's own parameters say */
    mca_btl_rbuf_module_t *modules[RBUF_PORTS_MAX];
    struct rbuf_port **ports;
    size_t port_count;   /* opened */
    size_t module_count; /* used: the first of them */
    size_t first_count;  /* of these run from the start: those of the best fabric, or that the user
                          * named; the others when a peer is reached by them alone */
    _Atomic uint32_t started; /* modules, a bit each */
    struct rbuf_listener *listener;
    mca_btl_rbuf_modex_t modex;
};

extern struct mca_btl_rbuf_process mca_btl_rbuf_process;

/* True once the module is finalized. Open MPI has unloaded by then who used it (ob1, osc/rdma), and
 * with them their callbacks and what was theirs: none is called, and nothing of it is looked at. A
 * program that lets messages come then, as it received not all of them, is wrong; but it is
 * through. Set by the thread that finalizes, with the lock held, which alone acts on events from
 * then on. */
static inline bool mca_btl_rbuf_is_finalized(const mca_btl_rbuf_module_t *module)
{
    return module->departed == MCA_BTL_RBUF_DEPARTED_KEPT;
}

static inline mca_btl_rbuf_module_t *mca_btl_rbuf_module(mca_btl_base_module_t *btl)
{
    return (mca_btl_rbuf_module_t *) btl;
}

/* Something is to go on, also when the process calls MPI no more. The lock is held. */
static inline bool mca_btl_rbuf_waits(const mca_btl_rbuf_module_t *module)
{
    return module->core.queued > 0 || module->copying > 0;
}

/* Monotonic, exact to some ns: for what is measured. */
static inline uint64_t mca_btl_rbuf_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000ull + (uint64_t) now.tv_nsec;
}

static inline void mca_btl_rbuf_lock(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_lock_enter(&module->lock, opal_using_threads());
}

/* False: somebody else holds it. */
static inline bool mca_btl_rbuf_trylock(mca_btl_rbuf_module_t *module)
{
    return mca_btl_rbuf_lock_try(&module->lock, opal_using_threads());
}

static inline void mca_btl_rbuf_unlock(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_lock_leave(&module->lock);
}

#endif
