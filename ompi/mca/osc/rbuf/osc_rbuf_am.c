/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Active messages (osc_rbuf_am.h): who gets them, and what is done with those that come. Owns the
 * windows' keys, by the lock, and the listening, by a mutex of its own: to end it waits for a call
 * of the handler, which takes the lock.
 */
#include "osc_rbuf_am.h"

#include <pthread.h>
#include <string.h>

#include "btl/service.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/bml/bml.h"
#include "ompi/proc/proc.h"
#include "opal/class/opal_hash_table.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_counters.h"
#include "osc_rbuf_flush.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_results.h"
#include "osc_rbuf_scatter.h"
#include "rbuf_version.h"

enum {
    WINDOWS = 16, /* that the table has room for at first */
    SHORT = 1024  /* bytes of a message that the transport copies at once, without a convertor */
};

static pthread_mutex_t listening = PTHREAD_MUTEX_INITIALIZER;
static unsigned listeners; /* windows with a key; `listening` guards it */

/* The lock guards these. */
static opal_hash_table_t windows; /* by key */
static bool has_windows;          /* the table is made */
static uint64_t last_key;

/* The transport's; NULL: there is none, or of another version. */
static const struct mca_btl_rbuf_service *service_of_transport(void)
{
    const struct mca_btl_rbuf_service *service =
        mca_btl_base_active_message_trigger[MCA_BTL_RBUF_SERVICE_TAG].cbdata;

    return service != NULL && strcmp(service->version, RBUF_VERSION) == 0 &&
                   service->bytes == sizeof(*service)
               ? service
               : NULL;
}

/* ---- what comes ---- */

/* The window that a message is for; NULL: it is for none, or malformed. The lock is held. */
static struct osc_rbuf_window *window_of(const struct osc_rbuf_envelope *envelope, size_t bytes)
{
    void *found = NULL;
    struct osc_rbuf_window *window;

    if (bytes < sizeof(*envelope) + sizeof(struct osc_rbuf_header) ||
        bytes > sizeof(*envelope) + osc_rbuf_params.message_size || !has_windows ||
        opal_hash_table_get_value_uint64(&windows, envelope->key, &found) != OPAL_SUCCESS) {
        return NULL;
    }
    window = found;
    return envelope->origin >= 0 && envelope->origin < window->size ? window : NULL;
}

/* The answer of a message that was done: its results, and that a flush is through. */
static void answer_fill(struct osc_rbuf_reply *reply, bool flush,
                        struct mca_btl_rbuf_service_answer *answer)
{
    struct osc_rbuf_buffer *buffer = reply->buffer;
    const size_t bytes = sizeof(buffer->envelope) + buffer->used;

    if (!flush && buffer->used == sizeof(buffer->header)) {
        return;
    }
    buffer->header.kind = flush ? OSC_RBUF_DONE : OSC_RBUF_REPLY;
    buffer->envelope =
        (struct osc_rbuf_envelope){reply->window->peers[reply->origin].key, reply->window->rank};
    osc_rbuf_counters.messages++;
    memcpy(answer->data,
           (const unsigned char *) buffer + offsetof(struct osc_rbuf_buffer, envelope), bytes);
    answer->bytes = bytes;
}

static bool is_request(const struct osc_rbuf_header *header)
{
    return header->kind == OSC_RBUF_PASSIVE_DATA || header->kind == OSC_RBUF_PASSIVE_FLUSH;
}

/* Does what a message says; `spare` is for its answer. Kinds but those of passive epochs go as
 * messages of MPI. The lock is held. */
static void done(struct osc_rbuf_buffer *message, struct osc_rbuf_buffer *spare,
                 struct mca_btl_rbuf_service_answer *answer)
{
    struct osc_rbuf_reply reply = {
        .window = message->window, .origin = message->origin, .buffer = spare, .alone = true};

    osc_rbuf_perform(message, &reply);
    if (is_request(&message->header)) {
        answer_fill(&reply, message->header.kind == OSC_RBUF_PASSIVE_FLUSH, answer);
    } else if (message->header.kind == OSC_RBUF_DONE) {
        osc_rbuf_flushed(message->window, message->origin, OSC_RBUF_BY_AM);
    }
}

/* False: there is no memory, or this process has not heard the origin's key yet. The lock is held.
 */
static bool take(struct osc_rbuf_window *window, const struct osc_rbuf_envelope *envelope,
                 size_t bytes, struct mca_btl_rbuf_service_answer *answer)
{
    struct osc_rbuf_buffer *message, *spare;

    if (window->peers[envelope->origin].key == 0) {
        return false;
    }
    message = osc_rbuf_buffer_take();
    spare = osc_rbuf_buffer_take();
    if (message != NULL && spare != NULL) {
        memcpy((unsigned char *) message + offsetof(struct osc_rbuf_buffer, envelope), envelope,
               bytes);
        message->used = bytes - sizeof(*envelope);
        message->window = window;
        message->origin = envelope->origin;
        done(message, spare, answer);
    }
    if (message != NULL) {
        osc_rbuf_buffer_give(message);
    }
    if (spare != NULL) {
        osc_rbuf_buffer_give(spare);
    }
    return message != NULL && spare != NULL;
}

/* The transport calls it for each message, from its thread or from Open MPI's progress. False: not
 * now, it has to come again. */
static bool handle(enum mca_btl_rbuf_service_caller caller, const void *message, size_t bytes,
                   struct mca_btl_rbuf_service_answer *answer)
{
    const bool by_thread = caller == MCA_BTL_RBUF_SERVICE_THREAD;
    const struct osc_rbuf_envelope *envelope = message;
    struct osc_rbuf_window *window;
    bool taken = true;

    if (!osc_rbuf_trylock()) {
        return false;
    }
    window = window_of(envelope, bytes);
    if (window != NULL) {
        taken = (!by_thread || is_request((const void *) (envelope + 1))) &&
                take(window, envelope, bytes, answer);
        osc_rbuf_counters.by_thread += taken && by_thread;
    }
    osc_rbuf_unlock();
    return taken;
}

static const struct mca_btl_rbuf_service_handler handler = {.handle = handle};

/* ---- keys ---- */

/* For one window more. False: the transport has no active messages. */
static bool listen_begin(void)
{
    const struct mca_btl_rbuf_service *service = service_of_transport();
    bool listens;

    pthread_mutex_lock(&listening);
    listens = service != NULL && (listeners > 0 || service->listen(&handler));
    listeners += listens;
    pthread_mutex_unlock(&listening);
    return listens;
}

/* Of one window, or of all that are left. */
static void listen_end(bool all)
{
    const struct mca_btl_rbuf_service *service = service_of_transport();

    pthread_mutex_lock(&listening);
    if (listeners > 0) {
        listeners = all ? 0 : listeners - 1;
        if (listeners == 0 && service != NULL) {
            service->end();
        }
    }
    pthread_mutex_unlock(&listening);
}

/* A key that no window had; 0 without memory. The lock is held. */
static uint64_t key_new(struct osc_rbuf_window *window)
{
    if (!has_windows) {
        OBJ_CONSTRUCT(&windows, opal_hash_table_t);
        opal_hash_table_init(&windows, WINDOWS);
        has_windows = true;
    }
    osc_rbuf_know_predefined();
    return opal_hash_table_set_value_uint64(&windows, last_key + 1, window) == OPAL_SUCCESS
               ? ++last_key
               : 0;
}

uint64_t osc_rbuf_am_open(struct osc_rbuf_window *window)
{
    if (!osc_rbuf_params.passive || !osc_rbuf_params.active_messages || !listen_begin()) {
        return 0;
    }
    osc_rbuf_lock();
    window->key = key_new(window);
    osc_rbuf_unlock();
    if (window->key == 0) {
        listen_end(false);
    }
    return window->key;
}

void osc_rbuf_am_close(struct osc_rbuf_window *window)
{
    if (window->key == 0) {
        return;
    }
    osc_rbuf_lock();
    opal_hash_table_remove_value_uint64(&windows, window->key);
    osc_rbuf_unlock();
    window->key = 0;
    listen_end(false);
}

void osc_rbuf_am_finalize(void)
{
    listen_end(true);
    osc_rbuf_lock();
    if (has_windows) {
        has_windows = false;
        OBJ_DESTRUCT(&windows);
    }
    osc_rbuf_unlock();
}

/* ---- what goes ---- */

/* How a peer is reached. */
struct path {
    const struct mca_btl_rbuf_service *service;
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoint;
};

/* False: it takes no active messages, or no message has gone to it yet. The lock is held. */
static bool path_to(const struct osc_rbuf_window *window, int target, struct path *path)
{
    const ompi_proc_t *proc;
    const mca_bml_base_endpoint_t *bml;

    path->service = service_of_transport();
    if (window->key == 0 || window->peers[target].key == 0 || target == window->rank ||
        path->service == NULL) {
        return false;
    }
    proc = ompi_comm_peer_lookup(window->comm->mpi, target);
    bml = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML];
    for (size_t i = 0; bml != NULL && i < bml->btl_eager.arr_size; i++) {
        const mca_bml_base_btl_t *btl = &bml->btl_eager.bml_btls[i];
        const mca_btl_base_component_t *component = btl->btl->btl_component;

        if (strcmp(component->btl_version.mca_component_name, "rbuf") == 0) {
            path->btl = btl->btl;
            path->endpoint = btl->btl_endpoint;
            return true;
        }
    }
    return false;
}

size_t osc_rbuf_am_most(const struct osc_rbuf_window *window, int target)
{
    struct path path;
    size_t most;

    if (!path_to(window, target, &path)) {
        return 0;
    }
    most = path.service->most(path.btl) - sizeof(struct osc_rbuf_envelope);
    return most < osc_rbuf_params.message_size ? most : osc_rbuf_params.message_size;
}

/* Sends a message that is packed. A long one leaves while the rest of it is copied, as the
 * transport's messages do where they have a convertor; a short one all at once. False: not now. */
static bool buffer_send(struct osc_rbuf_buffer *buffer, const struct path *path)
{
    opal_convertor_t convertor;
    bool sent;

    if (buffer->used <= SHORT) {
        return path->service->send(path->btl, path->endpoint, &buffer->envelope,
                                   sizeof(buffer->envelope) + buffer->used, NULL, 0);
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &ompi_mpi_byte.dt.super,
                                             buffer->used, buffer->bytes, 0, &convertor);
    sent = path->service->send(path->btl, path->endpoint, &buffer->envelope,
                               sizeof(buffer->envelope), &convertor, buffer->used);
    OBJ_DESTRUCT(&convertor);
    return sent;
}

/* Sends what is packed, or the kind alone. False: not now. */
static bool send_now(struct osc_rbuf_window *window, int target, uint32_t kind,
                     const struct path *path)
{
    struct {
        struct osc_rbuf_envelope envelope;
        struct osc_rbuf_header header;
    } alone = {{window->peers[target].key, window->rank}, {kind, (uint32_t) window->fence.ended}};
    struct osc_rbuf_buffer *buffer = window->peers[target].packing[OSC_RBUF_BY_AM];

    if (buffer == NULL) {
        return path->service->send(path->btl, path->endpoint, &alone, sizeof(alone), NULL, 0);
    }
    buffer->envelope = alone.envelope;
    buffer->header = alone.header;
    if (!buffer_send(buffer, path)) {
        return false;
    }
    window->peers[target].packing[OSC_RBUF_BY_AM] = NULL;
    osc_rbuf_buffer_give(buffer);
    return true;
}

/* What is packed will not leave. The lock is held. */
static void give_up(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_buffer *buffer = window->peers[target].packing[OSC_RBUF_BY_AM];

    if (buffer != NULL) {
        window->peers[target].packing[OSC_RBUF_BY_AM] = NULL;
        osc_rbuf_operations_failed(window, buffer, OMPI_ERR_UNREACH);
        osc_rbuf_buffer_give(buffer);
    }
}

int osc_rbuf_am_send(struct osc_rbuf_window *window, int target, uint32_t kind)
{
    struct path path;

    do {
        if (!path_to(window, target, &path)) {
            give_up(window, target);
            return OMPI_ERR_UNREACH; /* Open MPI has given it up */
        }
        if (send_now(window, target, kind, &path)) {
            osc_rbuf_counters.messages++;
            osc_rbuf_counters.active++;
            return MPI_SUCCESS;
        }
        osc_rbuf_unlock();
        opal_progress();
        osc_rbuf_lock();
    } while (kind != OSC_RBUF_PASSIVE_DATA ||
             window->peers[target].packing[OSC_RBUF_BY_AM] != NULL);
    return MPI_SUCCESS; /* another thread has sent it meanwhile */
}
