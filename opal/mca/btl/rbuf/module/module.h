/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The rbuf BTL: glue between Open MPI and core. What the files above share: a module, which is a
 * port as Open MPI knows it, its lock, and what the modules of a process have in common. Each line
 * calls itself and those below, and includes no others:
 *
 * - btl_rbuf_component.c: open, register, init, progress of all modules;
 * - btl/: what Open MPI asks for (send, put_get, prepare, register_mem); processes that come and go
 *   (procs); progress, and async, which goes on without the process; messages for another component
 *   of ours (serving);
 * - report/: what is printed at the start (explain) and at the end; counters;
 * - peers/: endpoints, how they connect and leave; the completion queues; early data of packed
 *   messages;
 * - module/: what a port owns: fragments, mailboxes, rings, staging;
 * - registration/: memory of the program: on demand, cached, by the helper, frequently used;
 * - params/: parameters, help texts.
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

#include "common/lock.h"
#include "common/monotonic.h"
#include "module/fragment.h"
#include "module/modex.h"
#include "registration/registrar.h"
#include "core/core.h"
#include "core/eager/limit.h"
#include "verbs/device.h"
#include "verbs/memory.h"

/* Above that of other BTLs on the same network: a peer's messages are not dealt out to several. */
#define MCA_BTL_RBUF_EXCLUSIVITY (MCA_BTL_EXCLUSIVITY_DEFAULT + 1)

/* Who acts on core's events; the lock guards it. */
struct mca_btl_rbuf_drain {
    unsigned depth;   /* of progress within callbacks; 0: nobody drains */
    pthread_t thread; /* the drainer */
};

/* When the listener's thread is to make progress of a module. */
struct mca_btl_rbuf_async {
    atomic_bool wanted; /* messages wait in core: set by who found that, cleared by the thread */
    _Atomic uint32_t calls; /* how often the process found so; wraps */
    uint32_t calls_seen;    /* the thread's: at its newest tick */
    uint64_t visits;        /* of the thread; the lock guards it */
};

/* What a module's part of the service waits for (btl/serving.c). Somebody listens from ON on. */
typedef enum {
    MCA_BTL_RBUF_SERVING_OFF,    /* somebody to listen */
    MCA_BTL_RBUF_SERVING_ENDING, /* as CALLING, and nobody listens any more */
    MCA_BTL_RBUF_SERVING_ON,     /* a message */
    MCA_BTL_RBUF_SERVING_CALLING /* the handler, called without the lock: nobody else calls it */
} mca_btl_rbuf_serving_state_t;

/* A module's part of the service for another component of ours (btl/serving.c). */
struct mca_btl_rbuf_serving {
    _Atomic mca_btl_rbuf_serving_state_t state; /* written with the lock held */
    struct rbuf_events waiting;
};

typedef enum {
    MCA_BTL_RBUF_LATENCY_IDLE,   /* no peer is to be timed */
    MCA_BTL_RBUF_LATENCY_DUE,    /* some are */
    MCA_BTL_RBUF_LATENCY_TIMING, /* one is being timed */
    MCA_BTL_RBUF_LATENCY_NEAR    /* one is near: no further one is timed, ever */
} mca_btl_rbuf_latency_state_t;

/* Whether a peer is near (peers/latency.c); the lock guards it. */
struct mca_btl_rbuf_latency {
    mca_btl_rbuf_latency_state_t state;
    mca_btl_base_endpoint_t *endpoint; /* TIMING */
    uint64_t begun_ns;                 /* likewise */
    uint64_t looked_ns;                /* likewise: when its acknowledgement was not there yet */
    uint64_t near_ns;                  /* the longest round trip that is near; 0: not asked yet */
    uint32_t peers;                    /* that were timed, or will be */
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
    MCA_BTL_RBUF_DISCONNECTED_NONE,
    MCA_BTL_RBUF_DISCONNECTED_NEWS, /* one more: progress sees to it now */
    MCA_BTL_RBUF_DISCONNECTED_LEFT, /* something of one was still in use: progress looks again later
                                     */
    MCA_BTL_RBUF_DISCONNECTED_KEPT  /* this process itself leaves: everything goes soon */
} mca_btl_rbuf_disconnected_t;

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
    mca_btl_rbuf_disconnected_t disconnected;
    struct mca_btl_rbuf_drain drain;
    uint32_t ring_rounds;   /* calls of progress in a row that found messages in rings */
    uint64_t copied_seen;   /* core's count at the newest call of progress */
    uint64_t copied_polled; /* when the completion queues were polled */
    uint64_t look_due_ns;   /* when the port's events are read next */
    uint64_t down_since_ns; /* when the port was seen to go down; 0: it is up */
    struct mca_btl_rbuf_registrar registrar;
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
    return module->disconnected == MCA_BTL_RBUF_DISCONNECTED_KEPT;
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

/* ---- what the files of this folder do with a module ---- */

/* Opened in STANDBY, started when it is needed, closed (module_open.c). NULL, after a message: it
 * cannot be opened. */
mca_btl_rbuf_module_t *mca_btl_rbuf_module_open(struct rbuf_port *port, uint32_t index);
/* Lets it run, if it does not yet: makes and pins what messages need. False, after a message the
 * first time: it cannot be. The caller holds the lock, or nobody else knows of the module. */
bool mca_btl_rbuf_module_start(mca_btl_rbuf_module_t *module);
/* Frees everything; the endpoints are gone. */
void mca_btl_rbuf_module_close(mca_btl_rbuf_module_t *module);

/* The protocol `default` on this machine (default.c). Once, when the ports are open: replaces
 * `default` in the parameters. What it measures takes a millisecond or two. */
void mca_btl_rbuf_default_choose(void);
/* "default: a core copies 11.2 GB/s, the ports carry 1.2 GB/s"; empty if another protocol was asked
 * for. */
const char *mca_btl_rbuf_default_why(void);

/* Mailboxes of endpoints (mailbox.c). The lock is held. _reserve pins the first ones. False, after
 * a message: there is no memory. */
bool mca_btl_rbuf_mailboxes_reserve(mca_btl_rbuf_module_t *module);
/* A zeroed mailbox of the module; NULL, after a message, if there is no memory. */
struct rbuf_mailbox *mca_btl_rbuf_mailbox_take(mca_btl_rbuf_module_t *module);
/* Takes it back. No queue pair is left by which a peer could write it. */
void mca_btl_rbuf_mailbox_give(mca_btl_rbuf_module_t *module, struct rbuf_mailbox *mailbox);
/* The key under which peers write it. */
uint32_t mca_btl_rbuf_mailbox_rkey(const mca_btl_rbuf_module_t *module,
                                   const struct rbuf_mailbox *mailbox);
void mca_btl_rbuf_mailboxes_close(mca_btl_rbuf_module_t *module);

/* Eager rings: their geometry (ring_options.c), 0 slots without any; their memory (ring_memory.c).
 */
struct rbuf_ring_options mca_btl_rbuf_ring_options(const struct rbuf_port *port);
void mca_btl_rbuf_ring_wanted(mca_btl_rbuf_module_t *module); /* no lock is held */
void mca_btl_rbuf_rings_close(mca_btl_rbuf_module_t *module);

/* Staging, which grows when core asks for more (staging.c). Most of a module in one direction,
 * bytes: the process's, dealt out to its modules. A block at least, but where it was given. */
size_t mca_btl_rbuf_staging_half(const mca_btl_rbuf_module_t *module);
/* False, after a message: there is no memory. */
bool mca_btl_rbuf_staging_open(mca_btl_rbuf_module_t *module,
                               const struct rbuf_core_options *options, size_t half);
struct rbuf_region mca_btl_rbuf_staging_region(const struct rbuf_range *range);
void mca_btl_rbuf_staging_wanted(mca_btl_rbuf_module_t *module,
                                 struct rbuf_arena *arena); /* no lock is held */

/* The eager limit, which ob1 reads for each message: what raises and what lowers it
 * (eager_limit.c). */
void mca_btl_rbuf_eager_open(mca_btl_rbuf_module_t *module);
/* A message longer than control_size goes over send/receive, since its ring is full, to the peer,
 * for which `waiting` messages wait; no lock is held. */
void mca_btl_rbuf_eager_beside(mca_btl_rbuf_module_t *module, const struct rbuf_peer *peer,
                               uint32_t waiting, size_t bytes);
/* A message of `bytes` goes by a rendezvous; no lock is held. */
void mca_btl_rbuf_eager_rendezvous(mca_btl_rbuf_module_t *module, size_t bytes);
/* The longest round trip to a peer that is near, ns; 0: it does not matter how far peers are. */
uint64_t mca_btl_rbuf_eager_near_ns(const mca_btl_rbuf_module_t *module);
/* Whether all peers that were timed are far; the lock is held. */
void mca_btl_rbuf_eager_all_far(mca_btl_rbuf_module_t *module, bool far);
/* Bytes of the longest eager message that there may be. */
size_t mca_btl_rbuf_eager_most(const mca_btl_base_module_t *btl);

#endif
