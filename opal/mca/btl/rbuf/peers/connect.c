/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How an endpoint gets its queue pairs, and what the listener has to say of it.
 *
 * Connections are made at the first use, by whoever needs one. When both sides send a request at
 * once, that of the process with the smaller name wins: it rejects the other's, and the other
 * accepts this one with the queue pairs that it had made.
 *
 *     IDLE -> CONNECTING -> CONNECTED               our request was accepted
 *     IDLE, CONNECTING -> ACCEPTED -> CONNECTED     we accepted theirs; it sends RTU
 *     any -> FAILED
 *
 * The caller holds the module's lock.
 */
#include "peers/endpoint.h"

#include <stdlib.h>

#include "params/help.h"
#include "params/params.h"
#include "verbs/queue_pair.h"

static void connection_failed(mca_btl_base_endpoint_t *endpoint, const char *reason)
{
    mca_btl_rbuf_help("connection failed", opal_process_info.nodename,
                      OPAL_NAME_PRINT(endpoint->proc->proc_name), reason, NULL);
    mca_btl_rbuf_endpoint_fail(endpoint, reason);
}

/* Makes the queue pairs, if that was not done for a request of our own. */
static bool open_queues(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_module_t *module = endpoint->module;
    struct rbuf_problem problem;

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (endpoint->queue[i] == NULL && rbuf_queue_open(module->port, (enum rbuf_channel_id) i,
                                                          (uint32_t) mca_btl_rbuf_params.send_queue,
                                                          &endpoint->queue[i], &problem) != 0) {
            mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_RECEIVE, &problem); /* its own */
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

/* Bytes of the largest chunk that can be staged at any time, and written by one request. */
static uint32_t stage_bytes(const struct rbuf_core *core)
{
    const struct rbuf_arena *arena = &core->send_arena;
    const uint64_t bytes = (uint64_t) rbuf_arena_longest(arena) * arena->block_bytes;

    return bytes < core->options.max_message ? (uint32_t) bytes : core->options.max_message;
}

/* What the peer has to know of this side. */
static void describe(mca_btl_base_endpoint_t *endpoint, struct rbuf_exchange *mine)
{
    const mca_btl_rbuf_module_t *module = endpoint->module;

    memset(mine, 0, sizeof(*mine));
    memcpy(mine->side.token, endpoint->modex->token, sizeof(mine->side.token));
    mine->side.job = OPAL_PROC_MY_NAME.jobid;
    mine->side.rank = OPAL_PROC_MY_NAME.vpid;
    mine->side.port = module->index;
    mine->side.their_port = endpoint->their_port;
    mine->side.address = module->port->address;
    mine->side.mailbox = (uintptr_t) endpoint->mailbox;
    mine->side.mailbox_rkey = mca_btl_rbuf_mailbox_rkey(module, endpoint->mailbox);
    mine->side.peer_index = endpoint->peer->index;
    mine->side.stage_bytes = stage_bytes(&module->core);
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_address(endpoint->queue[i], &mine->side.queue[i]);
        mine->side.window[i] = rbuf_queue_window(endpoint->queue[i]);
        mine->side.room[i] = (uint32_t) module->room[i];
    }
}

/* The queue pairs are connected both ways: core may post. */
static void connected(mca_btl_base_endpoint_t *endpoint)
{
    const struct rbuf_exchange_side *theirs = &endpoint->theirs;
    struct rbuf_peer_link link = {.mailbox = endpoint->mailbox,
                                  .their_mailbox = theirs->mailbox,
                                  .their_mailbox_rkey = theirs->mailbox_rkey,
                                  .their_index = theirs->peer_index,
                                  .their_stage_bytes = theirs->stage_bytes};

    for (int i = 0; i < RBUF_CHANNELS; i++) {
        link.queue[i] = endpoint->queue[i];
        link.window[i] = theirs->window[i];
        link.granted[i] = rbuf_queue_window(endpoint->queue[i]);
        if (endpoint->module->port->subblock == RBUF_SUBBLOCK_ON &&
            !rbuf_queue_in_order(endpoint->queue[i], endpoint->module->port)) {
            link.proof = RBUF_PROOF_CHECKSUM;
        }
    }
    link.words = rbuf_queue_in_order(endpoint->queue[RBUF_CONTROL], endpoint->module->port)
                     ? RBUF_WORDS_IN_ORDER
                     : RBUF_WORDS_ONE_BY_ONE;
    if (link.proof == RBUF_PROOF_CHECKSUM) {
        mca_btl_rbuf_verbose("rbuf: %s: the adapter places in order, but not what %s writes: its "
                             "blocks and messages are checked by checksums",
                             endpoint->module->port->name,
                             OPAL_NAME_PRINT(endpoint->proc->proc_name));
    }
    endpoint->state = MCA_BTL_RBUF_CONNECTED;
    rbuf_peer_connected(endpoint->peer, &link);
    mca_btl_rbuf_latency_connected(endpoint);
    mca_btl_rbuf_endpoint_forget_modex(endpoint);
}

/* The endpoint of this process itself: its queue pairs are connected to themselves. */
static void connect_self(mca_btl_base_endpoint_t *endpoint)
{
    struct rbuf_exchange mine;

    describe(endpoint, &mine);
    if (connect_queues(endpoint, &mine.side)) {
        endpoint->theirs = mine.side;
        connected(endpoint);
    } else {
        connection_failed(endpoint, "a queue pair could not be connected to itself");
    }
}

void mca_btl_rbuf_endpoint_connect(mca_btl_base_endpoint_t *endpoint)
{
    struct rbuf_exchange request;

    if (!mca_btl_rbuf_endpoint_prepare(endpoint)) {
        connection_failed(endpoint, "memory is exhausted, or what it published is gone");
        return;
    }
    if (!open_queues(endpoint)) {
        mca_btl_rbuf_endpoint_fail(endpoint, "no queue pair could be made");
        return;
    }
    if (opal_compare_proc(endpoint->proc->proc_name, OPAL_PROC_MY_NAME) == 0) {
        connect_self(endpoint);
        return;
    }
    describe(endpoint, &request);
    endpoint->state = MCA_BTL_RBUF_CONNECTING;
    if (rbuf_listener_connect(mca_btl_rbuf_process.listener, &endpoint->modex->addresses, &request,
                              endpoint, &endpoint->connection) != 0) {
        endpoint->connection = NULL;
        connection_failed(endpoint, "it published no usable address, or memory is exhausted");
    }
}

/* ---- what the listener says ---- */

static void request_accepted(mca_btl_base_endpoint_t *endpoint, struct rbuf_connect_event *event)
{
    if (endpoint->state != MCA_BTL_RBUF_CONNECTING) {
        return;
    }
    if (!connect_queues(endpoint, &event->theirs.side)) {
        connection_failed(endpoint, "the queue pairs could not be connected");
        return;
    }
    rbuf_connection_establish(endpoint->connection);
    endpoint->theirs = event->theirs.side;
    connected(endpoint);
}

static void request_rejected(mca_btl_base_endpoint_t *endpoint, struct rbuf_connect_event *event)
{
    mca_btl_rbuf_endpoint_close_connection(endpoint);
    if (event->reason != RBUF_REJECT_SIMULTANEOUS) {
        connection_failed(endpoint, rbuf_reject_text(event->reason));
    }
    /* Otherwise the peer's own request is on its way: CONNECTING until it is here. */
}

/* Whether an incoming request is to be accepted, and if not, why. */
static enum rbuf_reject_reason judge_request(const mca_btl_base_endpoint_t *endpoint,
                                             const struct rbuf_exchange_side *theirs)
{
    switch (endpoint->state) {
    case MCA_BTL_RBUF_IDLE:
        break;
    case MCA_BTL_RBUF_CONNECTING:
        if (endpoint->connection != NULL &&
            opal_compare_proc(OPAL_PROC_MY_NAME, endpoint->proc->proc_name) < 0) {
            return RBUF_REJECT_SIMULTANEOUS;
        }
        break;
    case MCA_BTL_RBUF_ACCEPTED:
    case MCA_BTL_RBUF_CONNECTED:
        return RBUF_REJECT_CONNECTED;
    case MCA_BTL_RBUF_DISCONNECTED: /* and back; its old connection is still in use here */
    case MCA_BTL_RBUF_GONE:
    case MCA_BTL_RBUF_FAILED:
        return RBUF_REJECT_CLOSING;
    }
    if (theirs->port != endpoint->their_port) {
        return RBUF_REJECT_UNREACHABLE;
    }
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (theirs->room[i] != endpoint->module->room[i]) {
            return RBUF_REJECT_BUFFERS;
        }
    }
    return RBUF_REJECT_NONE;
}

static enum rbuf_reject_reason accept_request(mca_btl_base_endpoint_t *endpoint,
                                              struct rbuf_connect_event *event)
{
    enum rbuf_reject_reason reason;
    struct rbuf_exchange mine;

    if (endpoint->state == MCA_BTL_RBUF_IDLE && !mca_btl_rbuf_endpoint_prepare(endpoint)) {
        return RBUF_REJECT_RESOURCES;
    }
    reason = judge_request(endpoint, &event->theirs.side);
    if (reason == RBUF_REJECT_BUFFERS) { /* our own request may be lost already */
        mca_btl_rbuf_endpoint_fail(endpoint, rbuf_reject_text(reason));
    }
    if (reason != RBUF_REJECT_NONE) {
        return reason;
    }
    if (!open_queues(endpoint) || !connect_queues(endpoint, &event->theirs.side)) {
        mca_btl_rbuf_endpoint_fail(endpoint, "no queue pair could be made for its request");
        return RBUF_REJECT_RESOURCES;
    }
    mca_btl_rbuf_endpoint_close_connection(endpoint); /* ours has lost */
    describe(endpoint, &mine);
    endpoint->connection = event->connection;
    endpoint->theirs = event->theirs.side;
    endpoint->state = MCA_BTL_RBUF_ACCEPTED;
    rbuf_connection_accept(event->connection, &mine, endpoint);
    return RBUF_REJECT_NONE;
}

void mca_btl_rbuf_connect_request(mca_btl_base_endpoint_t *endpoint,
                                  struct rbuf_connect_event *event)
{
    const enum rbuf_reject_reason reason = accept_request(endpoint, event);

    if (reason != RBUF_REJECT_NONE) {
        rbuf_connection_reject(event->connection, reason);
    }
}

opal_process_name_t mca_btl_rbuf_name_of(const struct rbuf_exchange_side *side)
{
    return (opal_process_name_t){.jobid = side->job, .vpid = side->rank};
}

static void peer_gone(mca_btl_base_endpoint_t *endpoint, struct rbuf_connect_event *event)
{
    char cause[300];

    mca_btl_rbuf_endpoint_close_connection(endpoint);
    snprintf(cause, sizeof(cause), "its process has ended: %s", event->text);
    mca_btl_rbuf_endpoint_fail(endpoint, cause);
}

void mca_btl_rbuf_connect_event(mca_btl_base_endpoint_t *endpoint, struct rbuf_connect_event *event)
{
    if (endpoint->connection != event->connection) {
        return; /* it was closed, or overtaken by a request of the peer */
    }
    switch (event->kind) {
    case RBUF_CONNECT_RESPONSE:
        request_accepted(endpoint, event);
        break;
    case RBUF_CONNECT_REJECTED:
        request_rejected(endpoint, event);
        break;
    case RBUF_CONNECT_FAILED:
        mca_btl_rbuf_endpoint_close_connection(endpoint);
        connection_failed(endpoint, event->text);
        break;
    case RBUF_CONNECT_UNANSWERED:
        mca_btl_rbuf_help("no answer", opal_process_info.nodename,
                          OPAL_NAME_PRINT(endpoint->proc->proc_name), event->text, NULL);
        break;
    case RBUF_CONNECT_ESTABLISHED:
        if (endpoint->state == MCA_BTL_RBUF_ACCEPTED) {
            connected(endpoint);
        }
        break;
    case RBUF_CONNECT_ABANDONED:
    case RBUF_PEER_LOST:
        peer_gone(endpoint, event);
        break;
    case RBUF_PEER_DISCONNECTED:
        mca_btl_rbuf_disconnected_note(endpoint);
        break;
    case RBUF_CONNECT_REQUEST:
        break;
    }
}

/* ---- without the process ---- */

/* The endpoint here that an incoming request is for, if it has sent that peer one itself; else
 * NULL. */
static mca_btl_base_endpoint_t *connecting_to(mca_btl_rbuf_module_t *module,
                                              const struct rbuf_exchange_side *theirs)
{
    mca_btl_base_endpoint_t *endpoint = NULL;

    if (theirs->their_port == module->index) {
        endpoint = mca_btl_rbuf_endpoint_find(module, mca_btl_rbuf_name_of(theirs));
    }
    return endpoint != NULL && endpoint->state == MCA_BTL_RBUF_CONNECTING ? endpoint : NULL;
}

/*
 * True of what a connection that messages wait for needs to go on. Not of a requester that this
 * process has nothing for: to know it takes Open MPI, and it can wait until its message can be
 * received. Nor of what has failed, which Open MPI is called with.
 */
static bool is_for_visit(const struct rbuf_connect_event *event, void *context)
{
    mca_btl_rbuf_module_t *module = context;
    const mca_btl_base_endpoint_t *endpoint = event->user;

    switch (event->kind) {
    case RBUF_CONNECT_REQUEST:
        return connecting_to(module, &event->theirs.side) != NULL;
    case RBUF_CONNECT_REJECTED:
        return endpoint->module == module && event->reason == RBUF_REJECT_SIMULTANEOUS;
    case RBUF_CONNECT_RESPONSE:
    case RBUF_CONNECT_ESTABLISHED:
        return endpoint->module == module;
    default:
        return false;
    }
}

bool mca_btl_rbuf_connect_visit(mca_btl_rbuf_module_t *module)
{
    struct rbuf_listener *listener = mca_btl_rbuf_process.listener;
    struct rbuf_connect_event *event;
    bool found = false;

    while ((event = rbuf_listener_pick(listener, is_for_visit, module)) != NULL) {
        if (event->kind == RBUF_CONNECT_REQUEST) {
            mca_btl_rbuf_connect_request(connecting_to(module, &event->theirs.side), event);
        } else {
            mca_btl_rbuf_connect_event(event->user, event);
        }
        free(event);
        found = true;
    }
    return found;
}
