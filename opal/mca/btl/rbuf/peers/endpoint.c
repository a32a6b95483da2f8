/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Endpoints. An endpoint is one peer process on one port of ours. Two processes with several ports
 * have an endpoint for each pair of ports that connect/pairing.h chooses.
 *
 * An endpoint is made when Open MPI adds the process, or earlier, if the process connects to us
 * first. It connects at its first use (peers/connect.c). Open MPI adds all processes of the node at
 * start. So an endpoint that is not used has memory for itself and for core's peer, but no pinned
 * memory, queue pair or file descriptor.
 *
 *     IDLE -> ... -> CONNECTED                 peers/connect.c has the states between
 *     CONNECTED -> DISCONNECTED -> IDLE        the peer has closed; all that it had is freed
 *     any -> FAILED                            the peer is lost
 *     FAILED, DISCONNECTED -> GONE -> IDLE     the peer is lost and has closed, in either order
 *
 * Threads: the caller has the module's lock, unless endpoint.h says otherwise.
 */
#include "peers/endpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "params/help.h"
#include "opal/util/output.h"

/* ---- finding and making endpoints ---- */

mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_find(mca_btl_rbuf_module_t *module,
                                                    opal_process_name_t name)
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

static struct rbuf_pairing_side side_of(const mca_btl_rbuf_modex_t *modex, opal_process_name_t name)
{
    return (struct rbuf_pairing_side){.port = modex->port,
                                      .count = modex->port_count,
                                      .chosen = modex->chosen != 0,
                                      .rank = name.vpid};
}

static struct rbuf_pairs pairs_with(const opal_proc_t *proc, const mca_btl_rbuf_modex_t *modex)
{
    const struct rbuf_pairing_side ours = side_of(&mca_btl_rbuf_process.modex, OPAL_PROC_MY_NAME);
    const struct rbuf_pairing_side theirs = side_of(modex, proc->proc_name);

    return rbuf_pair(&ours, &theirs);
}

/* Reads what the process published; false, after a message if it is one that cannot be used. */
static bool read_modex(const opal_proc_t *proc, mca_btl_rbuf_modex_t *modex)
{
    const char *reason;
    void *data = NULL;
    size_t bytes = 0;
    int status;

    OPAL_MODEX_RECV(status, &mca_btl_rbuf_process.module_template.btl_component->btl_version,
                    &proc->proc_name, &data, &bytes);
    if (status != OPAL_SUCCESS || data == NULL) {
        return false; /* it does not run rbuf */
    }
    reason = mca_btl_rbuf_modex_read(data, bytes, modex);
    free(data);
    if (reason != NULL) {
        mca_btl_rbuf_help("incompatible peer", opal_process_info.nodename,
                          OPAL_NAME_PRINT(proc->proc_name), reason, NULL);
    }
    return reason == NULL;
}

static mca_btl_base_endpoint_t *make(mca_btl_rbuf_module_t *module, opal_proc_t *proc,
                                     const struct rbuf_pairs *pairs)
{
    mca_btl_base_endpoint_t *endpoint;

    if (!mca_btl_rbuf_module_start(module) || (endpoint = calloc(1, sizeof(*endpoint))) == NULL) {
        return NULL;
    }
    /* The first mailboxes while there is memory to pin: they go round though user memory take it.
     */
    if (SLIST_EMPTY(&module->mailbox_slabs) && !mca_btl_rbuf_mailboxes_reserve(module)) {
        free(endpoint);
        return NULL;
    }
    endpoint->module = module;
    endpoint->proc = proc;
    endpoint->their_port = (uint32_t) pairs->partner[module->index];
    endpoint->pairs = pairs->count;
    endpoint->handover = (module->super.btl_flags & MCA_BTL_FLAGS_SEND_INPLACE) != 0
                             ? MCA_BTL_RBUF_BY_PREPARE
                             : MCA_BTL_RBUF_BY_SENDI;
    while (pairs->partner[endpoint->first_module] < 0) {
        endpoint->first_module++;
    }
    if (rbuf_peer_add(&module->core, NULL, endpoint, &endpoint->peer) != 0) {
        free(endpoint);
        return NULL;
    }
    OBJ_RETAIN(proc);
    TAILQ_INSERT_TAIL(&module->endpoints, endpoint, link);
    opal_output_verbose(20, opal_btl_base_framework.framework_output,
                        "rbuf: port %s is paired with port number %u of %s", module->port->name,
                        endpoint->their_port, OPAL_NAME_PRINT(proc->proc_name));
    return endpoint;
}

/* What to do about two ports that do not reach each other. */
static const char *remedy_for(enum rbuf_reach reach)
{
    switch (reach) {
    case RBUF_OTHER_PARTITION:
        return "name one partition that all ports are in (btl_rbuf_pkey), or have the subnet "
               "manager put them into one";
    case RBUF_LIMITED_MEMBERS:
        return "have the subnet manager make one of the two a full member of the partition, or "
               "name another one (btl_rbuf_pkey)";
    case RBUF_OTHER_GID_KIND:
        return "name GIDs of one RoCE version and IP family on every host (btl_rbuf_gid_index)";
    default:
        return "name the ports to use on every host (btl_rbuf_if_include)";
    }
}

/* No port of the process is paired with one of ours. This process itself needs none: BTL self
 * carries what it sends itself where it is a limited member of its partition. */
static void say_unreachable(const opal_proc_t *proc, const mca_btl_rbuf_modex_t *modex)
{
    const struct rbuf_pairing_side ours = side_of(&mca_btl_rbuf_process.modex, OPAL_PROC_MY_NAME);
    const struct rbuf_pairing_side theirs = side_of(modex, proc->proc_name);
    const struct rbuf_obstacle obstacle = rbuf_pairing_obstacle(&ours, &theirs);
    char mine[RBUF_PORT_TRAIT_MAX] = "no port";
    char other[RBUF_PORT_TRAIT_MAX] = "no port";
    char sides[2 * RBUF_PORT_TRAIT_MAX + 80];

    if (opal_compare_proc(proc->proc_name, OPAL_PROC_MY_NAME) == 0) {
        return;
    }
    if (ours.count > 0) {
        rbuf_reach_trait(obstacle.reach, &ours.port[obstacle.our_port], mine);
    }
    if (theirs.count > 0) {
        rbuf_reach_trait(obstacle.reach, &theirs.port[obstacle.their_port], other);
    }
    snprintf(sides, sizeof(sides), "%s here, %s there", mine, other);
    mca_btl_rbuf_help("no common network", opal_process_info.nodename,
                      OPAL_NAME_PRINT(proc->proc_name), rbuf_reach_text(obstacle.reach), sides,
                      remedy_for(obstacle.reach), NULL);
}

mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_for(mca_btl_rbuf_module_t *module, opal_proc_t *proc)
{
    mca_btl_base_endpoint_t *endpoint;
    mca_btl_rbuf_modex_t modex;
    struct rbuf_pairs pairs;

    mca_btl_rbuf_lock(module);
    endpoint = mca_btl_rbuf_endpoint_find(module, proc->proc_name);
    mca_btl_rbuf_unlock(module);
    if (endpoint != NULL || !read_modex(proc, &modex)) { /* may wait for the run-time */
        return endpoint;
    }
    pairs = pairs_with(proc, &modex);
    if (pairs.count == 0 && module->index == 0) {
        say_unreachable(proc, &modex);
    }
    if (pairs.partner[module->index] < 0) {
        return NULL;
    }
    mca_btl_rbuf_lock(module);
    endpoint = mca_btl_rbuf_endpoint_find(module, proc->proc_name);
    if (endpoint == NULL) {
        endpoint = make(module, proc, &pairs);
    }
    mca_btl_rbuf_unlock(module);
    return endpoint;
}

mca_btl_base_endpoint_t *mca_btl_rbuf_endpoint_first(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_base_endpoint_t *first;
    mca_btl_rbuf_module_t *module;

    if (endpoint->first_module == endpoint->module->index) {
        return endpoint;
    }
    first = atomic_load_explicit(&endpoint->first, memory_order_acquire);
    module = mca_btl_rbuf_process.modules[endpoint->first_module];
    if (first == NULL && module != NULL) { /* NULL: finalized */
        first = mca_btl_rbuf_endpoint_for(module, endpoint->proc);
        atomic_store_explicit(&endpoint->first, first, memory_order_release);
    }
    return first != NULL ? first : endpoint;
}

void mca_btl_rbuf_endpoint_not_first(const mca_btl_base_endpoint_t *endpoint)
{
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count && endpoint->pairs > 1; i++) {
        mca_btl_rbuf_module_t *module = mca_btl_rbuf_process.modules[i];
        mca_btl_base_endpoint_t *other;

        if (module == NULL || module == endpoint->module) {
            continue;
        }
        mca_btl_rbuf_lock(module);
        other = mca_btl_rbuf_endpoint_find(module, endpoint->proc->proc_name);
        if (other != NULL) {
            atomic_store_explicit(&other->first, NULL, memory_order_release);
        }
        mca_btl_rbuf_unlock(module);
    }
}

bool mca_btl_rbuf_endpoint_prepare(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->mailbox == NULL) {
        endpoint->mailbox = mca_btl_rbuf_mailbox_take(endpoint->module);
    }
    if (endpoint->modex == NULL) {
        endpoint->modex = malloc(sizeof(*endpoint->modex));
        if (endpoint->modex != NULL && !read_modex(endpoint->proc, endpoint->modex)) {
            mca_btl_rbuf_endpoint_forget_modex(endpoint);
        }
    }
    return endpoint->mailbox != NULL && endpoint->modex != NULL;
}

void mca_btl_rbuf_endpoint_forget_modex(mca_btl_base_endpoint_t *endpoint)
{
    free(endpoint->modex);
    endpoint->modex = NULL;
}

void mca_btl_rbuf_endpoint_close_connection(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->connection != NULL) {
        rbuf_connection_close(endpoint->connection);
        endpoint->connection = NULL;
    }
}

void mca_btl_rbuf_endpoint_empty(mca_btl_base_endpoint_t *endpoint)
{
    /* First the queue pairs: what the peer may write into is then used for others. */
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_queue_close(endpoint->queue[i]);
        endpoint->queue[i] = NULL;
    }
    mca_btl_rbuf_packed_close(endpoint);
    mca_btl_rbuf_latency_forget(endpoint);
    rbuf_peer_remove(endpoint->peer);
    if (endpoint->mailbox != NULL) {
        mca_btl_rbuf_mailbox_give(endpoint->module, endpoint->mailbox);
        endpoint->mailbox = NULL;
    }
    mca_btl_rbuf_endpoint_close_connection(endpoint);
    mca_btl_rbuf_endpoint_forget_modex(endpoint);
    free(endpoint->cause);
    endpoint->cause = NULL;
}

void mca_btl_rbuf_endpoint_destroy(mca_btl_base_endpoint_t *endpoint)
{
    TAILQ_REMOVE(&endpoint->module->endpoints, endpoint, link);
    mca_btl_rbuf_endpoint_empty(endpoint);
    if (rbuf_compat_class_is_there(OBJ_CLASS(opal_proc_t))) {
        OBJ_RELEASE(endpoint->proc);
    }
    free(endpoint);
}

/* ---- leaving and failing ---- */

void mca_btl_rbuf_endpoint_leave(mca_btl_base_endpoint_t *endpoint)
{
    endpoint->state = endpoint->state == MCA_BTL_RBUF_FAILED || endpoint->state == MCA_BTL_RBUF_GONE
                          ? MCA_BTL_RBUF_GONE
                          : MCA_BTL_RBUF_DISCONNECTED;
}

void mca_btl_rbuf_endpoint_stop(mca_btl_base_endpoint_t *endpoint)
{
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        if (endpoint->queue[i] != NULL) {
            rbuf_queue_error(endpoint->queue[i]);
        }
    }
    rbuf_peer_fail(endpoint->peer, -ECONNRESET);
}

void mca_btl_rbuf_endpoint_fail(mca_btl_base_endpoint_t *endpoint, const char *cause)
{
    if (endpoint->state == MCA_BTL_RBUF_FAILED || endpoint->state == MCA_BTL_RBUF_GONE) {
        return;
    }
    endpoint->state =
        endpoint->state == MCA_BTL_RBUF_DISCONNECTED ? MCA_BTL_RBUF_GONE : MCA_BTL_RBUF_FAILED;
    endpoint->cause = strdup(cause);
    mca_btl_rbuf_endpoint_stop(endpoint);
}

static const char *status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {
        {-ETIMEDOUT, "its adapter does not answer (retries exhausted)"},
        {-EHOSTUNREACH, "it posts no receive buffers (receiver-not-ready retries exhausted)"},
        {-EREMOTEIO, "its adapter refused a request"},
        {-ECONNRESET, "the connection was reset"},
        {-EBADMSG, "its data were damaged on their way (a checksum stayed wrong)"},
        {-EPROTO, "it does not keep to the protocol"},
        {-ENODEV, "the adapter of this process has failed"},
        {-ENETDOWN, "the port of this process is down"},
        {-EIO, "the adapter of this process could not carry out a request"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status) {
            return known[i].text;
        }
    }
    return strerror(-status);
}

/* The adapter of an Ethernet peer is silent, which may have a cause in its address. Between
 * networks without a router every packet is lost. A link-local address says of no wire that it
 * leads to the peer: that of a tap device leads nowhere. */
static void lost_in_silence(mca_btl_base_endpoint_t *endpoint)
{
    const struct rbuf_port *port = endpoint->module->port;
    const struct rbuf_port_address *theirs = &endpoint->theirs.address;
    const char *status = status_text(-ETIMEDOUT);
    char our_gid[RBUF_PORT_TRAIT_MAX];
    char their_gid[RBUF_PORT_TRAIT_MAX];
    char cause[3 * RBUF_PORT_TRAIT_MAX + 200];

    rbuf_gid_text(port->address.gid, our_gid);
    rbuf_gid_text(theirs->gid, their_gid);
    if (rbuf_gid_is_link_local(port->address.gid)) {
        snprintf(cause, sizeof(cause),
                 "%s; our GID %u is %s, a link-local one, and may lead nowhere (give the interface "
                 "of %s an IP address, or name other ports: btl_rbuf_if_exclude)",
                 status, port->gid_index, our_gid, port->name);
    } else if (port->address.subnet != theirs->subnet && port->address.subnet != 0 &&
               theirs->subnet != 0) {
        snprintf(cause, sizeof(cause),
                 "%s; our GID %u is %s, its %s is of another IP network, to which nothing may "
                 "route (name one network: btl_rbuf_gid_index)",
                 status, port->gid_index, our_gid, their_gid);
    } else {
        snprintf(cause, sizeof(cause), "%s", status);
    }
    mca_btl_rbuf_endpoint_fail(endpoint, cause);
}

void mca_btl_rbuf_endpoint_lost(mca_btl_base_endpoint_t *endpoint, int status)
{
    if (status == -ETIMEDOUT && endpoint->module->port->address.link_layer == RBUF_LINK_ETHERNET) {
        lost_in_silence(endpoint);
    } else {
        mca_btl_rbuf_endpoint_fail(endpoint, status_text(status));
    }
}
