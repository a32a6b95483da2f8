/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The rbuf BTL: glue between Open MPI and core. What Open MPI calls is here, one verb a file:
 *
 *     btl_rbuf_component.c     open, register, init, progress
 *     btl_rbuf_module.c        a port as a BTL module: add_procs, del_procs, finalize
 *     btl_rbuf_endpoint.c      a peer process on a port
 *     btl_rbuf_departed.c      peers that have said DREQ, and may be back
 *     btl_rbuf_mailbox.c       what peers write their counts into
 *     btl_rbuf_modex.c         what processes publish of themselves
 *     btl_rbuf_connect.c       its queue pairs, and the listener's events
 *     btl_rbuf_fragment.c      alloc, free, prepare_src: descriptors and their memory
 *     btl_rbuf_send.c          send, sendi
 *     btl_rbuf_eager.c         how long eager messages may be
 *     btl_rbuf_latency.c       how far the nearest peer is
 *     btl_rbuf_packed.c        early data of packed messages
 *     btl_rbuf_rdma.c          put, get, atomics
 *     btl_rbuf_memory.c        register_mem, deregister_mem
 *     btl_rbuf_registrar.c     registrations of user memory, made for each use or cached
 *     btl_rbuf_auto.c          protocol auto: which of them are wanted
 *     btl_rbuf_staging.c       staging memory, registered as it is wanted
 *     btl_rbuf_ring.c          memory for eager rings
 *     btl_rbuf_progress.c      polls verbs, feeds core, acts on core's events
 *     btl_rbuf_async.c         what waits to be sent goes on while the process calls no MPI
 *     btl_rbuf_lock.c          the lock of a module
 *     btl_rbuf_params.c        the table of parameters
 *     btl_rbuf_report.c        counters as MPI_T variables, and the report at finalize
 *
 * Locks: one a module, module->lock, guards core, verbs and the module's lists. Callbacks into Open
 * MPI run without it. The listener's thread has data of its own, and comes into a module for async
 * progress only.
 */
#ifndef BTL_RBUF_H
#define BTL_RBUF_H

#include "rbuf_compat.h"

#include <pthread.h>
#include <time.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "btl_rbuf_fragment.h"
#include "btl_rbuf_help.h"
#include "btl_rbuf_lock.h"
#include "btl_rbuf_modex.h"
#include "btl_rbuf_params.h"
#include "btl_rbuf_registration.h"
#include "connect/listener.h"
#include "core/message/channel.h"
#include "core/choice/choice.h"
#include "core/core.h"
#include "core/message/eager.h"
#include "core/staged/grant.h"
#include "core/staged/put.h"
#include "core/staged/rma.h"
#include "core/staged/staging.h"
#include "verbs/completion.h"
#include "verbs/device.h"
#include "verbs/memory.h"
#include "verbs/queue_pair.h"
#include "verbs/receive.h"

/* Above that of other BTLs on the same network: a peer's messages are not dealt out to several. */
#define MCA_BTL_RBUF_EXCLUSIVITY (MCA_BTL_EXCLUSIVITY_DEFAULT + 1)

/* ---- eager rings ---- */

/* Memory for one ring, leased to core. */
struct mca_btl_rbuf_ring {
    SLIST_ENTRY(mca_btl_rbuf_ring) link;
    struct rbuf_memory memory;
    struct rbuf_ring_memory core;
};

SLIST_HEAD(mca_btl_rbuf_ring_list, mca_btl_rbuf_ring);

/* ---- operations ---- */

/* A put, get or atomic under way, and whom to tell. */
typedef struct mca_btl_rbuf_operation {
    union {
        struct rbuf_put put; /* staged */
        struct rbuf_rma rma; /* in place */
    };
    mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    mca_btl_rbuf_handle_t *local_handle;
    mca_btl_base_rdma_completion_fn_t callback;
    void *context;
    void *data;
    uint64_t put_id; /* of a staged put: orders what the callback sends */
    struct mca_btl_rbuf_timing timing;
    /* Atomics land in registered words of our own and are copied from there. */
    uint64_t *bounce;
    bool holds_registration; /* counted in the module's `holding` */
    SLIST_ENTRY(mca_btl_rbuf_operation) link;
} mca_btl_rbuf_operation_t;

SLIST_HEAD(mca_btl_rbuf_operation_list, mca_btl_rbuf_operation);

/* ---- endpoints ---- */

typedef enum {
    MCA_BTL_RBUF_IDLE,       /* never used */
    MCA_BTL_RBUF_CONNECTING, /* our request is on its way, no answer yet */
    MCA_BTL_RBUF_ACCEPTED,   /* we accepted theirs; RTU is due */
    MCA_BTL_RBUF_CONNECTED,
    MCA_BTL_RBUF_FAILED
} mca_btl_rbuf_endpoint_state_t;

typedef enum {
    MCA_BTL_RBUF_PACKED_NONE,
    MCA_BTL_RBUF_PACKED_PREPARED, /* its rendezvous is */
    MCA_BTL_RBUF_PACKED_PACKING,  /* it is sent, and progress packs: on module->packing */
    MCA_BTL_RBUF_PACKED_ASKED     /* Open MPI asks for fragments: no more early data */
} mca_btl_rbuf_packed_state_t;

#define MCA_BTL_RBUF_PACKED_BLOCKS 64u /* most, of early data */

/* The message of packed data to an endpoint that has early data (btl_rbuf_packed.c). */
struct mca_btl_rbuf_packed {
    mca_btl_rbuf_packed_state_t state;
    mca_btl_base_endpoint_t *endpoint;
    const struct opal_convertor_t *convertor;   /* Open MPI's */
    struct opal_convertor_t *copy;              /* that packs */
    size_t claimed;                             /* bytes, that Open MPI asked for */
    const mca_btl_rbuf_frag_t *rendezvous;      /* PREPARED */
    struct rbuf_early_data *early;              /* its slot; NULL: it was given up */
    uint32_t blocks;                            /* that are packed there */
    uint32_t named;                             /* of them, those that Open MPI asked for */
    uint32_t bytes[MCA_BTL_RBUF_PACKED_BLOCKS]; /* in each */
    TAILQ_ENTRY(mca_btl_rbuf_packed) link;
};

TAILQ_HEAD(mca_btl_rbuf_packed_list, mca_btl_rbuf_packed);

/* One peer process on one port. */
struct mca_btl_base_endpoint_t {
    mca_btl_rbuf_module_t *module;
    opal_proc_t *proc;
    mca_btl_rbuf_endpoint_state_t state;
    mca_btl_rbuf_modex_t *modex; /* from the first use until it is connected, else NULL */
    uint32_t their_port;         /* in modex->port */
    uint32_t pairs;              /* ports by which the process is reached, this one among them */
    uint32_t first_module;       /* of these the first one's index */
    _Atomic(mca_btl_base_endpoint_t *) first; /* the process's there; NULL: not looked up yet */
    struct rbuf_peer *peer;
    struct rbuf_fab_queue *queue[RBUF_CHANNELS]; /* NULL until the first use */
    struct rbuf_mailbox *mailbox;                /* NULL until the first use */
    struct rbuf_exchange_side theirs;            /* ACCEPTED: what the caller said of itself */
    struct rbuf_connection *connection; /* our request, or theirs that we accepted; NULL if none */
    _Atomic unsigned putting;           /* callbacks of puts to it that are running */
    _Atomic uint32_t detached; /* messages that are queued, or posted, while Open MPI is through */
    bool departed;             /* the peer has said DREQ, or has heard ours */
    char *cause;               /* why it failed, for people; NULL: it has not */
    bool routed;               /* the two ports' GIDs are of different IP networks */
    uint8_t their_gid[16];     /* once it is connected */
    TAILQ_ENTRY(mca_btl_base_endpoint_t) link;
    struct mca_btl_rbuf_packed *packed; /* NULL: nothing was packed for it */
    uint32_t samples_due;               /* of its latency */
    uint32_t attempts_left;             /* at them */
    bool early_barred; /* no early data of packed messages: Open MPI asked for others once */
};

TAILQ_HEAD(mca_btl_rbuf_endpoint_list, mca_btl_base_endpoint_t);

/* ---- modules and the component ---- */

#define MCA_BTL_RBUF_BATCH 32

/* Who acts on core's events; the lock guards it. */
struct mca_btl_rbuf_drain {
    unsigned depth;   /* of progress within callbacks; 0: nobody drains */
    pthread_t thread; /* the drainer */
};

/* Endpoints of peers that have left, whose memory is to be given back. */
typedef enum {
    MCA_BTL_RBUF_DEPARTED_NONE,
    MCA_BTL_RBUF_DEPARTED_NEWS, /* one more: progress sees to it now */
    MCA_BTL_RBUF_DEPARTED_LEFT, /* something of one was still in use: progress looks again later */
    MCA_BTL_RBUF_DEPARTED_KEPT  /* this process itself leaves: everything goes soon */
} mca_btl_rbuf_departed_t;

/* When the listener's thread is to make progress of a module. */
struct mca_btl_rbuf_async {
    atomic_bool wanted; /* messages wait in core: set by who found that, cleared by the thread */
    _Atomic uint32_t calls; /* how often the process found so; wraps */
    uint32_t calls_seen;    /* the thread's: at its newest tick */
    uint64_t visits;        /* of the thread; the lock guards it */
};

typedef enum {
    MCA_BTL_RBUF_LATENCY_IDLE,   /* no peer is to be timed */
    MCA_BTL_RBUF_LATENCY_DUE,    /* some are */
    MCA_BTL_RBUF_LATENCY_TIMING, /* one is being timed */
    MCA_BTL_RBUF_LATENCY_NEAR    /* one is near: no further one is timed, ever */
} mca_btl_rbuf_latency_state_t;

/* Whether a peer is near (btl_rbuf_latency.c); the lock guards it. */
struct mca_btl_rbuf_latency {
    mca_btl_rbuf_latency_state_t state;
    mca_btl_base_endpoint_t *endpoint; /* TIMING */
    uint64_t begun_ns;                 /* likewise */
    uint64_t looked_ns;                /* likewise: when its acknowledgement was not there yet */
    uint64_t near_ns;                  /* the longest round trip that is near; 0: not asked yet */
    uint32_t peers;                    /* that were timed, or will be */
};

typedef enum {
    MCA_BTL_RBUF_STANDBY, /* the port is open, nothing is pinned */
    MCA_BTL_RBUF_RUNNING,
    MCA_BTL_RBUF_BROKEN /* it could not be started */
} mca_btl_rbuf_module_state_t;

struct mca_btl_rbuf_module_t {
    mca_btl_base_module_t super;
    struct mca_btl_rbuf_lock lock;
    struct mca_btl_rbuf_async async;
    mca_btl_rbuf_module_state_t state;
    uint32_t index; /* of the port in our modex */
    struct rbuf_port *port;
    struct rbuf_core core;
    struct rbuf_range send_staging;
    struct rbuf_range receive_staging;
    struct rbuf_memory atomic_words;
    uint64_t atomic_words_free;     /* a bit a word */
    struct rbuf_memory core_bounce; /* core's bounce buffers; none where all goes inline */
    struct mca_btl_rbuf_ring_list rings;
    uint32_t ring_count;
    size_t room[RBUF_CHANNELS]; /* for payload in receive buffers and fragments, bytes; the same in
                                 * all processes */
    struct rbuf_eager eager;
    struct mca_btl_rbuf_latency latency;
    SLIST_HEAD(, mca_btl_rbuf_mailbox_slab) mailbox_slabs;
    struct mca_btl_rbuf_pool pools[MCA_BTL_RBUF_POOLS];
    struct mca_btl_rbuf_handle_list handles;       /* free ones */
    struct mca_btl_rbuf_operation_list operations; /* free ones */
    struct mca_btl_rbuf_operation_list starved; /* wait until one that holds a registration ends */
    uint32_t holding;                           /* operations under way that hold one */
    struct mca_btl_rbuf_endpoint_list endpoints;
    struct mca_btl_rbuf_packed_list packing; /* those in that state */
    mca_btl_rbuf_departed_t departed;
    struct mca_btl_rbuf_drain drain;
    uint32_t ring_rounds;             /* calls of progress in a row that found messages in rings */
    uint64_t copied_seen;             /* core's count at the newest call of progress */
    uint64_t copied_polled;           /* when the completion queues were polled */
    uint64_t look_due_ns;             /* when the port's events are read next */
    uint64_t down_since_ns;           /* when the port was seen to go down; 0: it is up */
    mca_rcache_base_module_t *rcache; /* NULL: registrations are made for each use */
    struct rbuf_choice *choice;       /* protocol auto, else NULL */
    mca_btl_base_module_error_cb_fn_t error_callback;
    _Atomic uint64_t lookups; /* of the registrar */
    _Atomic uint64_t misses;
    _Atomic uint64_t cached; /* registrations in the cache, also those that it is to drop */
};

typedef struct {
    mca_btl_base_component_3_0_0_t super;
    mca_btl_base_module_t module_template; /* with what Open MPI's own parameters say */
    mca_btl_rbuf_module_t *modules[RBUF_PORTS_MAX];
    struct rbuf_port **ports;
    size_t port_count;   /* opened */
    size_t module_count; /* used: the first of them */
    size_t first_count;  /* of these run from the start: those of the best fabric, or that the user
                          * named; the others when a peer is reached by them alone */
    struct rbuf_listener *listener;
    mca_btl_rbuf_modex_t modex;
} mca_btl_rbuf_component_t;

OPAL_DECLSPEC extern mca_btl_rbuf_component_t mca_btl_rbuf_component;
extern const mca_btl_base_module_t mca_btl_rbuf_template;

static inline mca_btl_rbuf_module_t *mca_btl_rbuf_module(mca_btl_base_module_t *btl)
{
    return (mca_btl_rbuf_module_t *) btl;
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

/* True if the calling thread acts on events. The lock is held. */
static inline bool mca_btl_rbuf_is_draining(const mca_btl_rbuf_module_t *module)
{
    return module->drain.depth > 0 && pthread_equal(module->drain.thread, pthread_self());
}

/* btl_rbuf_module.c */

/* A module in state STANDBY. */
int mca_btl_rbuf_module_open(struct rbuf_port *port, uint32_t index,
                             mca_btl_rbuf_module_t **module);
/* Lets it run, if it does not yet: makes and pins what messages need. False, after a message the
 * first time: it cannot be. The caller holds the lock, or nobody else knows of the module. */
bool mca_btl_rbuf_module_start(mca_btl_rbuf_module_t *module);
int mca_btl_rbuf_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable);
int mca_btl_rbuf_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints);
int mca_btl_rbuf_finalize(mca_btl_base_module_t *btl);

/* Takes up what queue pairs have received: the completions, and the buffers with them, would be
 * lost when the queue pairs go. The caller holds the lock. */
void mca_btl_rbuf_sweep_receives(mca_btl_rbuf_module_t *module);

/* btl_rbuf_endpoint.c: the caller holds the module's lock, but where it says otherwise and for
 * _endpoint_for. _find gives NULL for a process that has no endpoint yet. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_for(mca_btl_rbuf_module_t *module,
                                                   opal_proc_t *proc);
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_find(mca_btl_rbuf_module_t *module,
                                                    opal_process_name_t name);
void mca_btl_rbuf_endpoint_fail(mca_btl_base_endpoint_t *endpoint, const char *cause);
/* The endpoint of the same process on the first of our ports that reach it; no lock is held. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_first(mca_btl_base_endpoint_t *endpoint);
/* No other endpoint knows it as the first any more; no lock is held. */
void mca_btl_rbuf_endpoint_not_first(const mca_btl_base_endpoint_t *endpoint);
bool mca_btl_rbuf_endpoint_prepare(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_forget_modex(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_set_cause(mca_btl_base_endpoint_t *endpoint, const char *cause);

/* Closes and gives back all that it has for the peer; core's peer is freed. */
void mca_btl_rbuf_endpoint_empty(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_destroy(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_lost(mca_btl_base_endpoint_t *endpoint, int status);

/* btl_rbuf_mailbox.c: the caller holds the module's lock. */

/* Pins the first mailboxes. False, after a message: there is no memory. */
bool mca_btl_rbuf_mailboxes_reserve(mca_btl_rbuf_module_t *module);

/* A zeroed mailbox of the module; NULL, after a message, if there is no memory. */
struct rbuf_mailbox *mca_btl_rbuf_mailbox_take(mca_btl_rbuf_module_t *module);

/* Takes it back. No queue pair is left by which a peer could write it. */
void mca_btl_rbuf_mailbox_give(mca_btl_rbuf_module_t *module, struct rbuf_mailbox *mailbox);

/* The key under which peers write it. */
uint32_t mca_btl_rbuf_mailbox_rkey(const mca_btl_rbuf_module_t *module,
                                   const struct rbuf_mailbox *mailbox);
void mca_btl_rbuf_mailboxes_close(mca_btl_rbuf_module_t *module);

/* btl_rbuf_departed.c */

/* The peer has said DREQ. The caller holds the lock. */
void mca_btl_rbuf_departed_note(mca_btl_base_endpoint_t *endpoint);

/* Gives back what departed peers held, as far as it is out of use. The caller holds the lock. */
void mca_btl_rbuf_departed_progress(mca_btl_rbuf_module_t *module);

/* If the peer of the endpoint has departed, lets that come to its end, which takes progress: then
 * the endpoint is IDLE. No lock is held. */
void mca_btl_rbuf_departed_await(mca_btl_base_endpoint_t *endpoint);

/* btl_rbuf_async.c */

/* The process is about to leave the module, and messages wait in core: they are to go on without
 * it, unless it comes by again soon. The caller holds the lock. */
void mca_btl_rbuf_async_wait(mca_btl_rbuf_module_t *module);

/* Takes the module of that index off the component's list; the thread does not see it again. */
void mca_btl_rbuf_async_forget(uint32_t index);

/* For the listener: its tick, and when it is due first, ms. */
unsigned mca_btl_rbuf_async_tick(void);
unsigned mca_btl_rbuf_async_first_ms(void);

/* btl_rbuf_connect.c */
void mca_btl_rbuf_endpoint_connect(mca_btl_base_endpoint_t *endpoint); /* holds the lock */

/* Connects at the first use. The caller holds the module's lock. */
static inline void mca_btl_rbuf_endpoint_use(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->state == MCA_BTL_RBUF_IDLE) {
        mca_btl_rbuf_endpoint_connect(endpoint);
    }
}

/* Acts on what the listener has; returns the number of events. Takes module locks itself. */
int mca_btl_rbuf_connections_progress(void);

/* Waits until no thread is about to act on an event that it took before: then none names an
 * endpoint whose connection was closed before this was called. No module's lock is held. */
void mca_btl_rbuf_connections_settle(void);

/* For async progress: acts on what the connections of messages that wait need to go on, and leaves
 * the rest. True if there was something. The caller holds the module's lock. */
bool mca_btl_rbuf_connections_visit(mca_btl_rbuf_module_t *module);

/* btl_rbuf_staging.c */

/* Most staging of a module in one direction, bytes: the process's, dealt out to its modules. */
size_t mca_btl_rbuf_staging_half(const mca_btl_rbuf_module_t *module);
int mca_btl_rbuf_staging_open(mca_btl_rbuf_module_t *module,
                              const struct rbuf_core_options *options, size_t half);
struct rbuf_region mca_btl_rbuf_staging_region(const struct rbuf_range *range);
void mca_btl_rbuf_staging_wanted(mca_btl_rbuf_module_t *module,
                                 struct rbuf_arena *arena); /* no lock is held */

/* btl_rbuf_ring.c */
struct rbuf_ring_options mca_btl_rbuf_ring_options(const struct rbuf_port *port,
                                                   enum rbuf_arrival arrival);
void mca_btl_rbuf_ring_wanted(mca_btl_rbuf_module_t *module); /* no lock is held */
void mca_btl_rbuf_rings_close(mca_btl_rbuf_module_t *module);

/* btl_rbuf_eager.c */
void mca_btl_rbuf_eager_open(mca_btl_rbuf_module_t *module);
/* A message longer than control_size goes by a ring; the lock is held. */
void mca_btl_rbuf_eager_by_ring(mca_btl_rbuf_module_t *module);
/* Likewise beside it, over send/receive; no lock is held. */
void mca_btl_rbuf_eager_beside(mca_btl_base_endpoint_t *endpoint, size_t bytes);
/* A message of `bytes` goes by a rendezvous; no lock is held. */
void mca_btl_rbuf_eager_rendezvous(mca_btl_rbuf_module_t *module, size_t bytes);

/* The longest round trip to a peer that is near, ns; 0: it does not matter how far peers are. */
uint64_t mca_btl_rbuf_eager_near_ns(const mca_btl_rbuf_module_t *module);
/* Whether all peers that were timed are far; the lock is held. */
void mca_btl_rbuf_eager_all_far(mca_btl_rbuf_module_t *module, bool far);
/* Bytes of the longest eager message that there may be. */
size_t mca_btl_rbuf_eager_most(const mca_btl_base_module_t *btl);

/* btl_rbuf_latency.c; the lock is held */
void mca_btl_rbuf_latency_connected(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_latency_forget(mca_btl_base_endpoint_t *endpoint);
/* Behind a look at the completion queues, while it is DUE or TIMING. */
void mca_btl_rbuf_latency_look(mca_btl_rbuf_module_t *module);

/* btl_rbuf_send.c */
int mca_btl_rbuf_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int mca_btl_rbuf_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                       struct opal_convertor_t *convertor, void *header, size_t header_size,
                       size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t **descriptor);
void mca_btl_rbuf_sent(mca_btl_rbuf_module_t *module, struct rbuf_am *am, int status);

/* btl_rbuf_packed.c: the caller holds the module's lock for _start, _progress and _close */

/* The rendezvous of packed data was prepared as `frag`: it is to have early data, if it can. */
void mca_btl_rbuf_packed_prepare(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                 const struct opal_convertor_t *convertor,
                                 mca_btl_rbuf_frag_t *frag);

/* Sends it, and the first chunk; false if its buffer is free already. */
bool mca_btl_rbuf_packed_start(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag);
int mca_btl_rbuf_packed_progress(mca_btl_rbuf_module_t *module);

/* True if the convertor's message has early data; then `*frag` is its next fragment, which counts
 * as packed, of no more than `most` bytes behind `reserve` for Open MPI's header; NULL if there is
 * none now. */
bool mca_btl_rbuf_packed_claim(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                               struct opal_convertor_t *convertor, size_t reserve, size_t most,
                               mca_btl_rbuf_frag_t **frag);
void mca_btl_rbuf_packed_close(mca_btl_base_endpoint_t *endpoint);

/* btl_rbuf_rdma.c */
int mca_btl_rbuf_put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data);
int mca_btl_rbuf_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data);
int mca_btl_rbuf_atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t callback, void *context, void *data);
int mca_btl_rbuf_atomic_cswap(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                              void *local_address, uint64_t remote_address,
                              mca_btl_base_registration_handle_t *local_handle,
                              mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                              uint64_t value, int flags, int order,
                              mca_btl_base_rdma_completion_fn_t callback, void *context,
                              void *data);
void mca_btl_rbuf_put_ended(mca_btl_rbuf_module_t *module, struct rbuf_put *put, int status);
void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put);
void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status);

/* True if all messages to the peer go by this endpoint, as a whole: the two processes reach each
 * other by one port each, and rbuf's exclusivity was not lowered so that it shares peers with
 * another BTL. (If another one's was raised to rbuf's, we do not hear of it.) Of several ports the
 * receiver decides which one gets the beginning of a contiguous message, and ob1 deals the
 * fragments of a packed one out in shares that early data would have to fit. */
static inline bool mca_btl_rbuf_is_alone(const mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->pairs == 1 &&
           endpoint->module->super.btl_exclusivity >= MCA_BTL_RBUF_EXCLUSIVITY;
}

/* btl_rbuf_progress.c */
int mca_btl_rbuf_progress(void);
int mca_btl_rbuf_module_progress(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_collect(mca_btl_rbuf_module_t *module); /* polls and feeds core; holds the lock */

/* For async progress: all of a module's progress that calls nothing of Open MPI's. Returns the
 * number of things done. The caller holds the lock. */
int mca_btl_rbuf_module_advance(mca_btl_rbuf_module_t *module);

/* btl_rbuf_report.c */
int mca_btl_rbuf_counters_register(const mca_base_component_t *component);
void mca_btl_rbuf_counters_keep(const mca_btl_rbuf_module_t *module); /* before it is freed */
void mca_btl_rbuf_report(void);

/* True if contiguous messages go through staging. */
static inline bool mca_btl_rbuf_staged(void)
{
    return mca_btl_rbuf_params.protocol <= MCA_BTL_RBUF_COPY;
}

#endif
