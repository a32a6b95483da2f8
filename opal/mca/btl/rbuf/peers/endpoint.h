/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_ENDPOINT_H
#define BTL_RBUF_ENDPOINT_H

#include "module/module.h"
#include "connect/listener.h"
#include "verbs/queue_pair.h"

typedef enum {
    MCA_BTL_RBUF_IDLE,       /* never used */
    MCA_BTL_RBUF_CONNECTING, /* our request is on its way, no answer yet */
    MCA_BTL_RBUF_ACCEPTED,   /* we accepted theirs; RTU is due */
    MCA_BTL_RBUF_CONNECTED,
    MCA_BTL_RBUF_FAILED
} mca_btl_rbuf_endpoint_state_t;

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
    bool disconnected;         /* the peer has sent a DREQ, or has ours */
    char *cause;               /* why it failed, for people; NULL: it has not */
    bool routed;               /* the two ports' GIDs are of different IP networks */
    uint8_t their_gid[16];     /* once it is connected */
    TAILQ_ENTRY(mca_btl_base_endpoint_t) link;
    struct mca_btl_rbuf_packed *packed; /* NULL: nothing was packed for it */
    bool in_place;                      /* ob1 hands eager messages over in place; with reuse */
    uint32_t samples_due;               /* of its latency */
    uint32_t attempts_left;             /* at them */
    bool early_barred; /* no early data of packed messages: Open MPI asked for others once */
};

/* True if all messages to the peer go by this endpoint, as a whole: the two processes reach each
 * other by one port each, and rbuf's exclusivity was not lowered so that it shares peers with
 * another BTL. (If another one's was raised to rbuf's, that is not known here.) Of several ports
 * the receiver decides which one gets the beginning of a contiguous message, and ob1 deals the
 * fragments of a packed one out in shares that early data would have to fit. */
static inline bool mca_btl_rbuf_is_alone(const mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->pairs == 1 &&
           endpoint->module->super.btl_exclusivity >= MCA_BTL_RBUF_EXCLUSIVITY;
}

/* The rank of its process, for who learns from it; 0 if there is none. */
static inline uint32_t mca_btl_rbuf_rank(const mca_btl_base_endpoint_t *endpoint)
{
    return endpoint != NULL ? endpoint->proc->proc_name.vpid : 0;
}

/* The endpoint of a process, made if need be; NULL if it cannot be reached by this module: no port
 * of the two reaches the other, which is said once, or this one has no partner. No lock is held. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_for(mca_btl_rbuf_module_t *module,
                                                   opal_proc_t *proc);

/* The endpoint of the same process on the first of our ports that reach it; no lock is held. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_first(mca_btl_base_endpoint_t *endpoint);

/* No other endpoint knows it as the first any more; no lock is held. */
void mca_btl_rbuf_endpoint_not_first(const mca_btl_base_endpoint_t *endpoint);

/* The caller holds the module's lock for all of the following. */

/* NULL for a process that has no endpoint yet. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_find(mca_btl_rbuf_module_t *module,
                                                    opal_process_name_t name);

/* What only a peer that is spoken to needs: a mailbox, and how to reach it. False: no memory, or
 * the process is not known any more. */
bool mca_btl_rbuf_endpoint_prepare(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_forget_modex(mca_btl_base_endpoint_t *endpoint);

/* Everything with the peer ends. */
void mca_btl_rbuf_endpoint_stop(mca_btl_base_endpoint_t *endpoint);

/* Likewise, as an error; `cause` is for people, and the first one counts. */
void mca_btl_rbuf_endpoint_fail(mca_btl_base_endpoint_t *endpoint, const char *cause);

/* The fabric says that the peer is gone. */
void mca_btl_rbuf_endpoint_lost(mca_btl_base_endpoint_t *endpoint, int status);
void mca_btl_rbuf_endpoint_close_connection(mca_btl_base_endpoint_t *endpoint);

/* Closes and gives back all that it has for the peer; core's peer is freed. */
void mca_btl_rbuf_endpoint_empty(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_destroy(mca_btl_base_endpoint_t *endpoint);

#endif
