/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * An endpoint: one peer process on one port, its states, who has it (peers/endpoint.c says how long
 * it lives), and what the files of this folder do with endpoints.
 */
#ifndef BTL_RBUF_ENDPOINT_H
#define BTL_RBUF_ENDPOINT_H

#include "module/module.h"
#include "connect/listener.h"
#include "verbs/queue_pair.h"

/* What an endpoint waits for. */
typedef enum {
    MCA_BTL_RBUF_IDLE,         /* its first use, or a request of the peer */
    MCA_BTL_RBUF_CONNECTING,   /* an answer to our request */
    MCA_BTL_RBUF_ACCEPTED,     /* the peer's RTU: we accepted its request */
    MCA_BTL_RBUF_CONNECTED,    /* messages, of either side */
    MCA_BTL_RBUF_DISCONNECTED, /* its end: the peer has sent a DREQ, or has ours */
    MCA_BTL_RBUF_GONE,         /* likewise; what was left has failed, which is no loss */
    MCA_BTL_RBUF_FAILED        /* its end: the peer is lost */
} mca_btl_rbuf_endpoint_state_t;

/* How ob1 hands eager messages for an endpoint over: with reuse that changes (btl/bml.c). */
typedef enum {
    MCA_BTL_RBUF_BY_SENDI,  /* to sendi, where they are copied */
    MCA_BTL_RBUF_BY_PREPARE /* to prepare_src and send, where they may go in place */
} mca_btl_rbuf_handover_t;

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
    struct rbuf_exchange_side theirs;   /* from ACCEPTED or CONNECTED on: what it said of itself */
    struct rbuf_connection *connection; /* our request, or theirs that we accepted; NULL if none */
    _Atomic unsigned putting;           /* callbacks of puts to it that are running */
    _Atomic uint32_t detached; /* messages that are queued, or posted, while Open MPI is through */
    char *cause;               /* GONE, FAILED: why, for people */
    TAILQ_ENTRY(mca_btl_base_endpoint_t) link;
    struct mca_btl_rbuf_packed *packed; /* NULL: nothing was packed for it */
    mca_btl_rbuf_handover_t handover;   /* what ob1 does */
    uint32_t samples_due;               /* of its latency */
    uint32_t attempts_left;             /* at them */
};

/* True if core may post to the peer, as far as is known here. */
static inline bool mca_btl_rbuf_endpoint_is_open(const mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->state == MCA_BTL_RBUF_CONNECTED ||
           endpoint->state == MCA_BTL_RBUF_DISCONNECTED;
}

/* True if the peer has left in order: what fails is no loss. */
static inline bool mca_btl_rbuf_endpoint_has_left(const mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->state == MCA_BTL_RBUF_DISCONNECTED || endpoint->state == MCA_BTL_RBUF_GONE;
}

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

/* The caller holds the module's lock for all of the following, but where it says otherwise. */

/* NULL for a process that has no endpoint yet. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_find(mca_btl_rbuf_module_t *module,
                                                    opal_process_name_t name);

/* What only a peer that is spoken to needs: a mailbox, and how to reach it. False: no memory, or
 * the process is not known any more. */
bool mca_btl_rbuf_endpoint_prepare(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_forget_modex(mca_btl_base_endpoint_t *endpoint);

/* The peer has left, or we do: DISCONNECTED; GONE if it has failed before. */
void mca_btl_rbuf_endpoint_leave(mca_btl_base_endpoint_t *endpoint);

/* Everything with the peer ends. */
void mca_btl_rbuf_endpoint_stop(mca_btl_base_endpoint_t *endpoint);

/* Likewise, as an error: FAILED; GONE if it has left before. `cause` is for people, and the first
 * one counts. */
void mca_btl_rbuf_endpoint_fail(mca_btl_base_endpoint_t *endpoint, const char *cause);

/* The fabric says that the peer is gone. */
void mca_btl_rbuf_endpoint_lost(mca_btl_base_endpoint_t *endpoint, int status);
void mca_btl_rbuf_endpoint_close_connection(mca_btl_base_endpoint_t *endpoint);

/* Closes and gives back all that it has for the peer; core's peer is freed. */
void mca_btl_rbuf_endpoint_empty(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_endpoint_destroy(mca_btl_base_endpoint_t *endpoint);

/* ---- connecting, at the first use (peers/connect.c has the states) ---- */

void mca_btl_rbuf_endpoint_connect(mca_btl_base_endpoint_t *endpoint);

/* Connects at the first use. */
static inline void mca_btl_rbuf_endpoint_use(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->state == MCA_BTL_RBUF_IDLE) {
        mca_btl_rbuf_endpoint_connect(endpoint);
    }
}

/* Who has sent the request. */
opal_process_name_t mca_btl_rbuf_name_of(const struct rbuf_exchange_side *side);

/* Accepts or rejects the endpoint's peer's request. */
void mca_btl_rbuf_connect_request(mca_btl_base_endpoint_t *endpoint,
                                  struct rbuf_connect_event *event);

/* Acts on one event of a connection that belongs to an endpoint. */
void mca_btl_rbuf_connect_event(mca_btl_base_endpoint_t *endpoint,
                                struct rbuf_connect_event *event);

/* For async progress: acts on what the connections of messages that wait need to go on, and leaves
 * the rest. True if there was something. */
bool mca_btl_rbuf_connect_visit(mca_btl_rbuf_module_t *module);

/* ---- peers that have left: what was theirs is given back (peers/disconnected.c) ---- */

/* The peer has sent a DREQ. */
void mca_btl_rbuf_disconnected_note(mca_btl_base_endpoint_t *endpoint);

/* True if the peer has left, and what it had is to be given back: the next progress sees to it.
 */
bool mca_btl_rbuf_disconnected_due(const mca_btl_base_endpoint_t *endpoint);

/* Gives back what peers held that have left, as far as it is out of use. */
void mca_btl_rbuf_disconnected_progress(mca_btl_rbuf_module_t *module);

/* ---- whether a peer is near (peers/latency.c) ---- */

void mca_btl_rbuf_latency_connected(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_latency_forget(mca_btl_base_endpoint_t *endpoint);

/* Behind a look at the completion queues, while it is DUE or TIMING. */
void mca_btl_rbuf_latency_look(mca_btl_rbuf_module_t *module);

/* ---- completion queues, which feed core (peers/poll_cq.c) ---- */

/* Polls and feeds core. */
void mca_btl_rbuf_poll_cq(mca_btl_rbuf_module_t *module);

/* Takes up what queue pairs have received: the completions, and the buffers with them, would be
 * lost when the queue pairs go. */
void mca_btl_rbuf_sweep_receives(mca_btl_rbuf_module_t *module);

/* Reads what the adapter says of itself. */
void mca_btl_rbuf_look_at_port(mca_btl_rbuf_module_t *module);

/* Gives back what a delivered message occupied; true if that was a receive buffer. */
bool mca_btl_rbuf_release(const struct rbuf_event *delivered);

/* Posts the receive buffers that are free. */
void mca_btl_rbuf_post_receives(mca_btl_rbuf_module_t *module);

/* For async progress: all of a module's progress that calls nothing of Open MPI's. Returns the
 * number of things done. */
int mca_btl_rbuf_module_advance(mca_btl_rbuf_module_t *module);

/* ---- early data of packed messages (peers/packed.c) ---- */

/* The rendezvous of packed data was prepared as `frag`: it is to have early data, if it can. No
 * lock is held. */
void mca_btl_rbuf_packed_prepare(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                 const struct opal_convertor_t *convertor,
                                 mca_btl_rbuf_frag_t *frag);

/* Sends it, and the first chunk; false if its buffer is free already. */
bool mca_btl_rbuf_packed_start(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag);
int mca_btl_rbuf_packed_progress(mca_btl_rbuf_module_t *module);

/* True if the convertor's message has early data; then `*frag` is its next fragment, which counts
 * as packed, of no more than `most` bytes behind `reserve` for Open MPI's header; NULL if there is
 * none now. No lock is held. */
bool mca_btl_rbuf_packed_claim(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                               struct opal_convertor_t *convertor, size_t reserve, size_t most,
                               mca_btl_rbuf_frag_t **frag);
void mca_btl_rbuf_packed_close(mca_btl_base_endpoint_t *endpoint);

/* The endpoint has a packed message with early data. */
bool mca_btl_rbuf_packed_under_way(const mca_btl_base_endpoint_t *endpoint);

#endif
