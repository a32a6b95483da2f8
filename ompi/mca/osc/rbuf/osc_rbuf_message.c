/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packing and sending messages (osc_rbuf_message.h). Owns the buffers: those that no message uses
 * are kept for the next.
 */
#include "osc_rbuf_message.h"

#include <stdlib.h>

#include "ompi/request/request.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_scatter.h"

enum { UNDER_WAY_MOST = 16 }; /* messages for a target, before a late one waits */

static STAILQ_HEAD(, osc_rbuf_buffer) unused = STAILQ_HEAD_INITIALIZER(unused);

static void buffer_clear(struct osc_rbuf_buffer *buffer)
{
    buffer->request = MPI_REQUEST_NULL;
    buffer->used = sizeof(buffer->header);
    buffer->done = 0;
    buffer->header = (struct osc_rbuf_header){0};
}

struct osc_rbuf_buffer *osc_rbuf_buffer_take(void)
{
    struct osc_rbuf_buffer *buffer = STAILQ_FIRST(&unused);

    if (buffer != NULL) {
        STAILQ_REMOVE_HEAD(&unused, link);
    } else {
        buffer = malloc(offsetof(struct osc_rbuf_buffer, bytes) + osc_rbuf_params.message_size);
    }
    if (buffer != NULL) {
        buffer->home = NULL;
        buffer->window = NULL;
        buffer_clear(buffer);
    }
    return buffer;
}

void osc_rbuf_buffer_give(struct osc_rbuf_buffer *buffer)
{
    if (buffer->home != NULL) {
        *buffer->home = buffer;
    } else {
        STAILQ_INSERT_HEAD(&unused, buffer, link);
    }
}

void osc_rbuf_messages_close(void)
{
    struct osc_rbuf_buffer *buffer;

    while ((buffer = STAILQ_FIRST(&unused)) != NULL) {
        STAILQ_REMOVE_HEAD(&unused, link);
        free(buffer);
    }
}

size_t osc_rbuf_room(void)
{
    return (osc_rbuf_params.message_size - sizeof(struct osc_rbuf_header) -
            sizeof(struct osc_rbuf_record)) &
           ~(size_t) 7;
}

/* The buffer is no longer the caller's, even if this fails. */
static int send_buffer(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind,
                       struct osc_rbuf_buffer *buffer)
{
    int status;

    buffer->header = (struct osc_rbuf_header){kind, (uint32_t) window->fences};
    if (target == window->rank) {
        buffer->origin = target;
        (void) osc_rbuf_scatter(window, buffer); /* its results need no message */
        osc_rbuf_buffer_give(buffer);
        return MPI_SUCCESS;
    }
    osc_rbuf_counters.messages++;
    status = osc_rbuf_isend(window->comm->mpi, target, (int) window->number, buffer->bytes,
                            buffer->used, &buffer->request);
    if (status != MPI_SUCCESS) {
        osc_rbuf_buffer_give(buffer);
        return status;
    }
    buffer->window = window;
    buffer->origin = target;
    window->peers[target].under_way++;
    STAILQ_INSERT_TAIL(&window->comm->sending, buffer, link);
    return MPI_SUCCESS;
}

int osc_rbuf_send_header(struct osc_rbuf_window *window, int target,
                         const struct osc_rbuf_header *header)
{
    MPI_Request request;
    int status;

    if (target == window->rank) {
        osc_rbuf_arrived(window, target, header);
        return MPI_SUCCESS;
    }
    osc_rbuf_counters.messages++;
    status = osc_rbuf_isend(window->comm->mpi, target, (int) window->number, header,
                            sizeof(*header), &request);
    return status == MPI_SUCCESS ? ompi_request_free(&request) : status;
}

/* One that says its kind alone needs no buffer that there could be no memory for. */
static int send_kind(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind)
{
    static const struct osc_rbuf_header headers[] = {
        [OSC_RBUF_COMPLETE] = {OSC_RBUF_COMPLETE, 0},
        [OSC_RBUF_COMPLETE_UNCHECKED] = {OSC_RBUF_COMPLETE_UNCHECKED, 0},
        [OSC_RBUF_PASSIVE_FLUSH] = {OSC_RBUF_PASSIVE_FLUSH, 0},
        [OSC_RBUF_DONE] = {OSC_RBUF_DONE, 0}};

    if (target == window->rank && kind == OSC_RBUF_PASSIVE_FLUSH) {
        kind = OSC_RBUF_DONE; /* what it asks for was done when it was sent */
    }
    return osc_rbuf_send_header(window, target, &headers[kind]);
}

int osc_rbuf_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    struct osc_rbuf_buffer *buffer = peer->packing[OSC_RBUF_BY_MPI];

    if (buffer == NULL) {
        return send_kind(window, target, kind);
    }
    peer->packing[OSC_RBUF_BY_MPI] = NULL;
    if (buffer->window != NULL) { /* it is late no more */
        STAILQ_REMOVE(&window->comm->late, buffer, osc_rbuf_buffer, link);
    }
    peer->sent += kind == OSC_RBUF_FENCE_DATA;
    return send_buffer(window, target, kind, buffer);
}

/* Whether the target takes another message that may stay packed. */
static bool may_leave(const struct osc_rbuf_window *window, int target)
{
    return window->peers[target].under_way < UNDER_WAY_MOST;
}

int osc_rbuf_send_soon(struct osc_rbuf_window *window, int target)
{
    struct osc_rbuf_buffer *buffer = window->peers[target].packing[OSC_RBUF_BY_MPI];

    osc_rbuf_comm_reap(window->comm);
    if (may_leave(window, target)) {
        return osc_rbuf_send(window, target, OSC_RBUF_PASSIVE_DATA);
    }
    if (buffer->window == NULL) {
        buffer->window = window;
        buffer->origin = target;
        STAILQ_INSERT_TAIL(&window->comm->late, buffer, link);
    }
    return MPI_SUCCESS;
}

void osc_rbuf_send_late(struct osc_rbuf_comm *comm)
{
    struct osc_rbuf_buffer *buffer, *next;

    for (buffer = STAILQ_FIRST(&comm->late); buffer != NULL; buffer = next) {
        struct osc_rbuf_window *window = buffer->window;
        int status = MPI_SUCCESS;

        next = STAILQ_NEXT(buffer, link);
        if (may_leave(window, buffer->origin)) {
            status = osc_rbuf_send(window, buffer->origin, OSC_RBUF_PASSIVE_DATA);
        }
        if (status != MPI_SUCCESS) {
            window->error = status; /* its requests will not end, and its peer is lost */
        }
    }
}

void osc_rbuf_make_way(struct osc_rbuf_window *window, int target, size_t records, size_t bytes)
{
    const struct osc_rbuf_buffer *packing = window->peers[target].packing[OSC_RBUF_BY_MPI];
    const size_t used = packing != NULL ? packing->used : sizeof(packing->header);
    /* Each record is padded. */
    const size_t most = records * (sizeof(struct osc_rbuf_record) + 7) + bytes;

    if (window->access == OSC_RBUF_ACCESS_GROUP && !window->unchecked &&
        used + most > osc_rbuf_params.message_size) {
        osc_rbuf_unlock();
        osc_rbuf_await_post(window, target);
        osc_rbuf_lock();
    }
}

/* Room in a message that is not full, which is the target's from now on; NULL if there is none. */
static struct osc_rbuf_record *room_in(struct osc_rbuf_buffer *buffer, size_t bytes)
{
    const size_t needed = sizeof(struct osc_rbuf_record) + osc_rbuf_padded(bytes);
    struct osc_rbuf_record *record;

    if (buffer->used + needed > osc_rbuf_params.message_size) {
        return NULL;
    }
    record = (struct osc_rbuf_record *) (void *) (buffer->bytes + buffer->used);
    *record = (struct osc_rbuf_record){0};
    buffer->used += needed;
    return record;
}

/* The kind of a message that leaves as it is full. */
static enum osc_rbuf_kind full_of(const struct osc_rbuf_window *window)
{
    switch (window->access) {
    case OSC_RBUF_ACCESS_GROUP:
        return OSC_RBUF_GROUP_DATA;
    case OSC_RBUF_ACCESS_PASSIVE:
        return OSC_RBUF_PASSIVE_DATA;
    case OSC_RBUF_ACCESS_NONE:
    case OSC_RBUF_ACCESS_FENCE:
        break;
    }
    return OSC_RBUF_FENCE_DATA;
}

struct osc_rbuf_record *osc_rbuf_append(struct osc_rbuf_window *window, int target, size_t bytes)
{
    const enum osc_rbuf_kind full = full_of(window);
    struct osc_rbuf_peer *peer = &window->peers[target];
    const bool passive = full == OSC_RBUF_PASSIVE_DATA;
    const enum osc_rbuf_way way = passive ? peer->way : OSC_RBUF_BY_MPI;
    struct osc_rbuf_record *record = NULL;

    if (passive) {
        osc_rbuf_unflushed(window, target, way);
    }
    while (record == NULL) {
        if (peer->packing[way] == NULL && (peer->packing[way] = osc_rbuf_buffer_take()) == NULL) {
            return NULL;
        }
        record = room_in(peer->packing[way], bytes);
        if (record == NULL && osc_rbuf_send(window, target, full) != MPI_SUCCESS) {
            return NULL;
        }
    }
    return record;
}

/* ---- results go back ---- */

struct osc_rbuf_record *osc_rbuf_reply_append(struct osc_rbuf_reply *reply, size_t bytes)
{
    struct osc_rbuf_record *record;

    if (reply->buffer != NULL) {
        record = room_in(reply->buffer, bytes);
        if (record != NULL || reply->alone) {
            return record;
        }
        osc_rbuf_reply_send(reply);
    }
    reply->buffer = osc_rbuf_buffer_take();
    if (reply->buffer == NULL && reply->window->comm->spare != NULL) {
        reply->buffer = reply->window->comm->spare;
        reply->window->comm->spare = NULL;
        buffer_clear(reply->buffer);
    }
    return reply->buffer != NULL ? room_in(reply->buffer, bytes) : NULL;
}

static int reply_send(struct osc_rbuf_reply *reply, enum osc_rbuf_kind kind)
{
    struct osc_rbuf_buffer *buffer = reply->buffer;

    reply->buffer = NULL;
    return send_buffer(reply->window, reply->origin, kind, buffer);
}

void osc_rbuf_reply_send(struct osc_rbuf_reply *reply)
{
    if (reply->buffer != NULL) {
        (void) reply_send(reply, OSC_RBUF_REPLY);
    }
}

void osc_rbuf_reply_done(struct osc_rbuf_reply *reply)
{
    const int status = reply->buffer != NULL
                           ? reply_send(reply, OSC_RBUF_DONE)
                           : send_kind(reply->window, reply->origin, OSC_RBUF_DONE);

    if (status != MPI_SUCCESS) {
        reply->window->error = status; /* the origin waits, and its peer is lost */
    }
}
