/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Endpoints: a peer process on one port, and how it gets its queue pairs.
 *
 * Connections are made at the first use, by whoever needs one. When both sides call at once, the
 * call of the process with the smaller name wins: the other side refuses its own incoming call, and
 * answers this one with the queue pairs that it had made.
 *
 *     IDLE -> CALLING -> CONNECTED          we called
 *     IDLE, CALLING -> ANSWERED -> CONNECTED    we were called; nothing is posted before READY
 *     any -> FAILED
 *
 * The caller holds the module's lock, but where it says otherwise.
 */
#include "btl_rbuf.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAILBOXES_PER_SLAB 63u /* with 576 bytes each a slab is 9 pages */

/* ---- mailboxes: kept as long as the module, one an endpoint ---- */

static bool mailboxes_grow(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_slab *slab = calloc(1, sizeof(*slab));
    struct rbuf_problem problem;

    if (slab == NULL) {
        return false;
    }
    if (mca_btl_rbuf_memory_allocate(module, MAILBOXES_PER_SLAB * sizeof(struct rbuf_mailbox),
                                     IBV_ACCESS_REMOTE_WRITE, &slab->memory, &problem) != 0) {
        mca_btl_rbuf_help_problem(&problem);
        free(slab);
        return false;
    }
    SLIST_INSERT_HEAD(&module->mailbox_slabs, slab, link);
    module->mailboxes_left = MAILBOXES_PER_SLAB;
    return true;
}

static struct rbuf_mailbox *mailbox_take(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_slab *slab;

    if (module->mailboxes_left == 0 && !mailboxes_grow(module)) {
        return NULL;
    }
    slab = SLIST_FIRST(&module->mailbox_slabs);
    return (struct rbuf_mailbox *) slab->memory.base + --module->mailboxes_left;
}

/* The key under which peers write the mailbox. */
static uint32_t mailbox_rkey(const mca_btl_rbuf_module_t *module,
                             const struct rbuf_mailbox *mailbox)
{
    struct mca_btl_rbuf_slab *slab;

    SLIST_FOREACH(slab, &module->mailbox_slabs, link)
    {
        const unsigned char *base = slab->memory.base;

        if ((const unsigned char *) mailbox >= base &&
            (const unsigned char *) mailbox < base + slab->memory.bytes) {
            return slab->memory.mr->rkey;
        }
    }
    return 0;
}

/* ---- finding and making endpoints ---- */

static mca_btl_base_endpoint_t *find(mca_btl_rbuf_module_t *module, opal_process_name_t name)
{
    mca_btl_base_endpoint_t *endpoint;

    TAILQ_FOREACH(endpoint, &module->endpoints, link)
    {
        if (opal_compare_proc(endpoint->proc->proc_name, name) == 0) {
            return endpoint;
        }
    }
    return NULL;
}

/* The peer's port that this module's port is paired with, or -1: the ports that can be reached are
 * dealt out in turn. */
static int pair_port(const mca_btl_rbuf_module_t *module, const mca_btl_rbuf_modex_t *modex)
{
    uint32_t reachable[MCA_BTL_RBUF_MAX_PORTS];
    uint32_t count = 0;

    for (uint32_t i = 0; i < modex->port_count; i++) {
        if (rbuf_port_reach(module->port, &modex->port[i]) == RBUF_REACHABLE) {
            reachable[count++] = i;
        }
    }
    return count == 0 ? -1 : (int) reachable[module->index % count];
}

/* Reads what the process published; false, after a message if it is one that cannot be used. */
static bool read_modex(const opal_proc_t *proc, mca_btl_rbuf_modex_t *modex)
{
    const mca_btl_rbuf_modex_t *mine = &mca_btl_rbuf_component.modex;
    const char *reason = NULL;
    void *data = NULL;
    size_t bytes = 0;
    int status;

    OPAL_MODEX_RECV(status, &mca_btl_rbuf_component.super.btl_version, &proc->proc_name, &data,
                    &bytes);
    if (status != OPAL_SUCCESS || data == NULL) {
        return false; /* it does not run rbuf */
    }
    if (bytes < offsetof(mca_btl_rbuf_modex_t, token)) {
        reason = "it published too little";
    } else {
        memset(modex, 0, sizeof(*modex));
        memcpy(modex, data, bytes < sizeof(*modex) ? bytes : sizeof(*modex));
        if (modex->byte_order != mine->byte_order) {
            reason = "it has the other byte order";
        } else if (modex->magic != mine->magic || modex->version != mine->version) {
            reason = "it speaks another version of the protocol";
        } else if (bytes != sizeof(*modex) || modex->port_count > MCA_BTL_RBUF_MAX_PORTS) {
            reason = "it published something malformed";
        }
    }
    free(data);
    if (reason != NULL) {
        mca_btl_rbuf_help("incompatible peer", opal_process_info.nodename,
                          OPAL_NAME_PRINT(proc->proc_name), reason, NULL);
    }
    return reason == NULL;
}

static mca_btl_base_endpoint_t *make(mca_btl_rbuf_module_t *module, opal_proc_t *proc,
                                     const mca_btl_rbuf_modex_t *modex, uint32_t their_port)
{
    mca_btl_base_endpoint_t *endpoint = calloc(1, sizeof(*endpoint));

    if (endpoint == NULL) {
        return NULL;
    }
    endpoint->module = module;
    endpoint->proc = proc;
    endpoint->modex = *modex;
    endpoint->their_port = their_port;
    endpoint->mailbox = mailbox_take(module);
    if (endpoint->mailbox == NULL ||
        rbuf_peer_add(&module->core, endpoint->mailbox, endpoint, &endpoint->peer) != 0) {
        free(endpoint);
        return NULL;
    }
    OBJ_RETAIN(proc);
    TAILQ_INSERT_TAIL(&module->endpoints, endpoint, link);
    return endpoint;
}

/* The endpoint of a process, made if need be; NULL if it cannot be reached. Takes the lock. */
mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_for(mca_btl_rbuf_module_t *module, opal_proc_t *proc)
{
    mca_btl_base_endpoint_t *endpoint;
    mca_btl_rbuf_modex_t modex;
    int their_port;

    mca_btl_rbuf_lock(module);
    endpoint = find(module, proc->proc_name);
    mca_btl_rbuf_unlock(module);
    if (endpoint != NULL || !read_modex(proc, &modex)) { /* may wait for the run-time */
        return endpoint;
    }
    their_port = pair_port(module, &modex);
    if (their_port < 0) {
        mca_btl_rbuf_help("incompatible peer", opal_process_info.nodename,
                          OPAL_NAME_PRINT(proc->proc_name), "no port of it is on a network of ours",
                          NULL);
        return NULL;
    }
    mca_btl_rbuf_lock(module);
    endpoint = find(module, proc->proc_name);
    if (endpoint == NULL) {
        endpoint = make(module, proc, &modex, (uint32_t) their_port);
    }
    mca_btl_rbuf_unlock(module);
    return endpoint;
}

void mca_btl_rbuf_endpoint_destroy(mca_btl_base_endpoint_t *endpoint)
{
    TAILQ_REMOVE(&endpoint->module->endpoints, endpoint, link);
    rbuf_peer_remove(endpoint->peer);
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_close(endpoint->queue[i]);
    }
    if (endpoint->call != NULL) {
        rbuf_call_close(endpoint->call);
    }
    OBJ_RELEASE(endpoint->proc);
    free(endpoint);
}

/* ---- failing ---- */

static void fail(mca_btl_base_endpoint_t *endpoint, const char *cause)
{
    if (endpoint->state == MCA_BTL_RBUF_FAILED) {
        return;
    }
    endpoint->state = MCA_BTL_RBUF_FAILED;
    if (endpoint->cause[0] == '\0') {
        snprintf(endpoint->cause, sizeof(endpoint->cause), "%s", cause);
    }
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (endpoint->queue[i] != NULL) {
            rbuf_queue_error(endpoint->queue[i]);
        }
    }
    rbuf_peer_fail(endpoint->peer, -ECONNRESET);
}

static const char *status_text(int status)
{
    switch (status) {
    case -ETIMEDOUT:
        return "its adapter does not answer (retries exhausted)";
    case -EHOSTUNREACH:
        return "it posts no receive buffers (receiver-not-ready retries exhausted)";
    case -EREMOTEIO:
        return "its adapter refused a request";
    case -ECONNRESET:
        return "the connection was reset";
    case -ENODEV:
        return "the adapter of this process has failed";
    default:
        return strerror(-status);
    }
}

/* The fabric says that the peer is gone. */
void mca_btl_rbuf_endpoint_lost(mca_btl_base_endpoint_t *endpoint, int status)
{
    fail(endpoint, status_text(status));
}

static void connection_failed(mca_btl_base_endpoint_t *endpoint, const char *reason)
{
    mca_btl_rbuf_help("connection failed", opal_process_info.nodename,
                      OPAL_NAME_PRINT(endpoint->proc->proc_name), reason, NULL);
    fail(endpoint, reason);
}

/* ---- connecting ---- */

/* Makes the queue pairs, if that was not done for a call of our own. */
static bool open_queues(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_module_t *module = endpoint->module;
    struct rbuf_problem problem;

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (endpoint->queue[i] == NULL && rbuf_queue_open(module->port, (enum rbuf_channel_id) i,
                                                          (uint32_t) mca_btl_rbuf_params.send_queue,
                                                          &endpoint->queue[i], &problem) != 0) {
            mca_btl_rbuf_help_problem(&problem);
            return false;
        }
    }
    return true;
}

static bool connect_queues(mca_btl_base_endpoint_t *endpoint,
                           const struct rbuf_exchange_side *theirs)
{
    struct rbuf_problem problem;

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (rbuf_queue_connect(endpoint->queue[i], endpoint->module->port, &theirs->address,
                               &theirs->queue[i], &problem) != 0) {
            mca_btl_rbuf_help_problem(&problem);
            return false;
        }
    }
    return true;
}

/* What the peer has to know of this side. */
static void describe(mca_btl_base_endpoint_t *endpoint, struct rbuf_exchange *mine)
{
    const mca_btl_rbuf_module_t *module = endpoint->module;

    memset(mine, 0, sizeof(*mine));
    memcpy(mine->side.token, endpoint->modex.token, sizeof(mine->side.token));
    mine->side.job = OPAL_PROC_MY_NAME.jobid;
    mine->side.rank = OPAL_PROC_MY_NAME.vpid;
    mine->side.port = module->index;
    mine->side.their_port = endpoint->their_port;
    mine->side.address = module->port->address;
    mine->side.mailbox = (uintptr_t) endpoint->mailbox;
    mine->side.mailbox_rkey = mailbox_rkey(module, endpoint->mailbox);
    mine->side.peer_index = endpoint->peer->index;
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_address(endpoint->queue[i], &mine->side.queue[i]);
        mine->side.window[i] = module->core.options.window[i];
    }
}

/* The queue pairs are connected both ways: core may post. */
static void connected(mca_btl_base_endpoint_t *endpoint, const struct rbuf_exchange_side *theirs)
{
    struct rbuf_peer_link link = {.their_mailbox = theirs->mailbox,
                                  .their_mailbox_rkey = theirs->mailbox_rkey,
                                  .their_index = theirs->peer_index};

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        link.queue[i] = endpoint->queue[i];
        link.window[i] = theirs->window[i];
    }
    endpoint->state = MCA_BTL_RBUF_CONNECTED;
    rbuf_peer_connected(endpoint->peer, &link);
}

/* The endpoint of this process itself: its queue pairs are connected to themselves. */
static void connect_self(mca_btl_base_endpoint_t *endpoint)
{
    struct rbuf_exchange mine;

    describe(endpoint, &mine);
    if (connect_queues(endpoint, &mine.side)) {
        connected(endpoint, &mine.side);
    } else {
        connection_failed(endpoint, "a queue pair could not be connected to itself");
    }
}

void mca_btl_rbuf_endpoint_connect(mca_btl_base_endpoint_t *endpoint)
{
    struct rbuf_exchange hello;

    if (!open_queues(endpoint)) {
        fail(endpoint, "no queue pair could be made");
        return;
    }
    if (opal_compare_proc(endpoint->proc->proc_name, OPAL_PROC_MY_NAME) == 0) {
        connect_self(endpoint);
        return;
    }
    describe(endpoint, &hello);
    endpoint->state = MCA_BTL_RBUF_CALLING;
    if (rbuf_listener_call(mca_btl_rbuf_component.listener, &endpoint->modex.addresses, &hello,
                           endpoint, &endpoint->call) != 0) {
        endpoint->call = NULL;
        connection_failed(endpoint, "it published no usable address, or memory is exhausted");
    }
}

/* ---- what the listener says ---- */

static void end_call(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->call != NULL) {
        rbuf_call_close(endpoint->call);
        endpoint->call = NULL;
    }
}

static void call_accepted(mca_btl_base_endpoint_t *endpoint, struct rbuf_call_event *event)
{
    if (endpoint->state != MCA_BTL_RBUF_CALLING || endpoint->call != event->call) {
        return; /* overtaken by a call of the peer */
    }
    if (!connect_queues(endpoint, &event->theirs.side)) {
        connection_failed(endpoint, "the queue pairs could not be connected");
        return;
    }
    rbuf_call_ready(endpoint->call);
    connected(endpoint, &event->theirs.side);
}

static void call_refused(mca_btl_base_endpoint_t *endpoint, struct rbuf_call_event *event)
{
    if (endpoint->call != event->call) {
        return;
    }
    end_call(endpoint);
    if (event->refusal != RBUF_REFUSAL_SIMULTANEOUS && event->refusal != RBUF_REFUSAL_CONNECTED) {
        connection_failed(endpoint, rbuf_refusal_text(event->refusal));
    }
    /* Otherwise the peer's own call is on its way: CALLING until it is here. */
}

/* Whether an incoming call is to be answered, and if not, why. */
static enum rbuf_refusal judge_call(const mca_btl_base_endpoint_t *endpoint, uint32_t their_port)
{
    switch (endpoint->state) {
    case MCA_BTL_RBUF_IDLE:
        break;
    case MCA_BTL_RBUF_CALLING:
        if (endpoint->call != NULL &&
            opal_compare_proc(OPAL_PROC_MY_NAME, endpoint->proc->proc_name) < 0) {
            return RBUF_REFUSAL_SIMULTANEOUS;
        }
        break;
    case MCA_BTL_RBUF_ANSWERED:
    case MCA_BTL_RBUF_CONNECTED:
        return RBUF_REFUSAL_CONNECTED;
    case MCA_BTL_RBUF_FAILED:
        return RBUF_REFUSAL_CLOSING;
    }
    return their_port < endpoint->modex.port_count &&
                   rbuf_port_reach(endpoint->module->port, &endpoint->modex.port[their_port]) ==
                       RBUF_REACHABLE
               ? RBUF_REFUSAL_NONE
               : RBUF_REFUSAL_UNREACHABLE;
}

static enum rbuf_refusal answer(mca_btl_base_endpoint_t *endpoint, struct rbuf_call_event *event)
{
    enum rbuf_refusal refusal = judge_call(endpoint, event->theirs.side.port);
    struct rbuf_exchange mine;

    if (refusal != RBUF_REFUSAL_NONE) {
        return refusal;
    }
    if (!open_queues(endpoint) || !connect_queues(endpoint, &event->theirs.side)) {
        fail(endpoint, "no queue pair could be made for its call");
        return RBUF_REFUSAL_RESOURCES;
    }
    end_call(endpoint); /* ours has lost */
    endpoint->their_port = event->theirs.side.port;
    describe(endpoint, &mine);
    endpoint->call = event->call;
    endpoint->theirs = event->theirs.side;
    endpoint->state = MCA_BTL_RBUF_ANSWERED;
    rbuf_call_accept(event->call, &mine, endpoint);
    return RBUF_REFUSAL_NONE;
}

/* A stranger with our token. Takes the lock. */
static void incoming_hello(struct rbuf_call_event *event)
{
    const struct rbuf_exchange_side *theirs = &event->theirs.side;
    opal_process_name_t name = {.jobid = theirs->job, .vpid = theirs->rank};
    enum rbuf_refusal refusal = RBUF_REFUSAL_UNKNOWN;
    mca_btl_base_endpoint_t *endpoint = NULL;
    mca_btl_rbuf_module_t *module;
    opal_proc_t *proc;

    if (theirs->their_port >= mca_btl_rbuf_component.module_count) {
        rbuf_call_refuse(event->call, RBUF_REFUSAL_UNREACHABLE);
        return;
    }
    module = mca_btl_rbuf_component.modules[theirs->their_port];
    if (module == NULL) { /* finalized, while another port's is not yet */
        rbuf_call_refuse(event->call, RBUF_REFUSAL_CLOSING);
        return;
    }
    proc = opal_proc_for_name(name);
    if (proc != NULL) {
        endpoint = mca_btl_rbuf_endpoint_for(module, proc);
    }
    if (endpoint != NULL) {
        mca_btl_rbuf_lock(module);
        refusal = answer(endpoint, event);
        mca_btl_rbuf_unlock(module);
    }
    if (refusal != RBUF_REFUSAL_NONE) {
        rbuf_call_refuse(event->call, refusal);
    }
}

static void peer_gone(mca_btl_base_endpoint_t *endpoint, struct rbuf_call_event *event)
{
    if (endpoint->call == event->call) {
        end_call(endpoint);
        snprintf(endpoint->cause, sizeof(endpoint->cause), "its process has ended: %s",
                 event->text);
        fail(endpoint, event->text);
    }
}

/* One event of a call that belongs to an endpoint. */
static void endpoint_event(mca_btl_base_endpoint_t *endpoint, struct rbuf_call_event *event)
{
    switch (event->kind) {
    case RBUF_CALL_ACCEPTED:
        call_accepted(endpoint, event);
        break;
    case RBUF_CALL_REFUSED:
        call_refused(endpoint, event);
        break;
    case RBUF_CALL_FAILED:
        if (endpoint->call == event->call) {
            end_call(endpoint);
            connection_failed(endpoint, event->text);
        }
        break;
    case RBUF_INCOMING_READY:
        if (endpoint->state == MCA_BTL_RBUF_ANSWERED && endpoint->call == event->call) {
            connected(endpoint, &endpoint->theirs);
        }
        break;
    case RBUF_INCOMING_LOST:
    case RBUF_PEER_LOST:
        peer_gone(endpoint, event);
        break;
    case RBUF_PEER_BYE:
        endpoint->departed = true;
        break;
    case RBUF_INCOMING_HELLO:
        break;
    }
}

/* One thread at a time: what befalls a call is acted on in order. */
int mca_btl_rbuf_connections_progress(void)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    struct rbuf_listener *listener = mca_btl_rbuf_component.listener;
    struct rbuf_call_event *event;
    int count = 0;

    if (!rbuf_listener_pending(listener) ||
        atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        return 0;
    }
    while ((event = rbuf_listener_next(listener)) != NULL) {
        mca_btl_base_endpoint_t *endpoint = event->user;

        if (event->kind == RBUF_INCOMING_HELLO) {
            incoming_hello(event);
        } else {
            mca_btl_rbuf_lock(endpoint->module);
            endpoint_event(endpoint, event);
            mca_btl_rbuf_unlock(endpoint->module);
        }
        rbuf_call_event_free(event);
        count++;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return count;
}
