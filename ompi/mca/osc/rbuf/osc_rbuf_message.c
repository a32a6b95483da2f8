/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packing and sending messages (osc_rbuf_message.h). Owns `packing` and `under_way` of a peer, with
 * osc_rbuf_am.c and osc_rbuf_comm.c (osc_rbuf_window.h).
 */
#include "osc_rbuf_message.h"

#include "ompi/request/request.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_counters.h"
#include "osc_rbuf_flush.h"
#include "osc_rbuf_inbox.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_results.h"

enum { UNDER_WAY_MOST = 16 }; /* messages for a target, before a late one waits */

int osc_rbuf_buffer_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind,
                         struct osc_rbuf_buffer *buffer)
{
    int status;

    buffer->header = (struct osc_rbuf_header){kind, (uint32_t) window->fence.ended};
    if (target == window->rank) {
        buffer->origin = target;
        (void) osc_rbuf_inbox_message(window, buffer); /* its results need no message */
        osc_rbuf_buffer_give(buffer);
        return MPI_SUCCESS;
    }
    osc_rbuf_counters.messages++;
    status = osc_rbuf_isend(window->comm->mpi, target, (int) window->number, buffer->bytes,
                            buffer->used, &buffer->request);
    if (status != MPI_SUCCESS) {
        osc_rbuf_operations_failed(window, buffer, status);
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
        osc_rbuf_inbox_header(window, target, header);
        return MPI_SUCCESS;
    }
    osc_rbuf_counters.messages++;
    status = osc_rbuf_isend(window->comm->mpi, target, (int) window->number, header,
                            sizeof(*header), &request);
    return status == MPI_SUCCESS ? ompi_request_free(&request) : status;
}

int osc_rbuf_send_kind(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind)
{
    static struct osc_rbuf_header headers[OSC_RBUF_KINDS]; /* always the same: they may travel */

    if (target == window->rank && kind == OSC_RBUF_PASSIVE_FLUSH) {
        kind = OSC_RBUF_DONE; /* what it asks for was done when it was sent */
    }
    headers[kind].kind = kind;
    return osc_rbuf_send_header(window, target, &headers[kind]);
}

int osc_rbuf_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind)
{
    struct osc_rbuf_peer *peer = &window->peers[target];
    struct osc_rbuf_buffer *buffer = peer->packing[OSC_RBUF_BY_MPI];
    int status;

    if (buffer == NULL) {
        return osc_rbuf_send_kind(window, target, kind);
    }
    peer->packing[OSC_RBUF_BY_MPI] = NULL;
    if (buffer->window != NULL) { /* it is late no more */
        STAILQ_REMOVE(&window->comm->late, buffer, osc_rbuf_buffer, link);
    }
    status = osc_rbuf_buffer_send(window, target, kind, buffer);
    if (status != MPI_SUCCESS &&
        (kind == OSC_RBUF_COMPLETE || kind == OSC_RBUF_COMPLETE_UNCHECKED)) {
        (void) osc_rbuf_send_kind(window, target, kind); /* the target's wait is not to blame */
    }
    peer->fence.sent += kind == OSC_RBUF_FENCE_DATA && status == MPI_SUCCESS;
    return status;
}

/* Whether a message that may as well be late leaves at once. */
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
            window->error = status;
        }
    }
}

struct osc_rbuf_record *osc_rbuf_append(struct osc_rbuf_window *window, int target, size_t bytes)
{
    static const enum osc_rbuf_kind full[] = {[OSC_RBUF_ACCESS_FENCE] = OSC_RBUF_FENCE_DATA,
                                              [OSC_RBUF_ACCESS_STARTED] = OSC_RBUF_GROUP_DATA,
                                              [OSC_RBUF_ACCESS_STARTED_UNCHECKED] =
                                                  OSC_RBUF_GROUP_DATA,
                                              [OSC_RBUF_ACCESS_PASSIVE] = OSC_RBUF_PASSIVE_DATA};
    struct osc_rbuf_peer *peer = &window->peers[target];
    const bool passive = window->access == OSC_RBUF_ACCESS_PASSIVE;
    const enum osc_rbuf_path path = passive ? peer->path.chosen : OSC_RBUF_BY_MPI;
    struct osc_rbuf_record *record = NULL;

    if (passive) {
        osc_rbuf_unflushed(window, target, path);
    }
    while (record == NULL) {
        if (peer->packing[path] == NULL && (peer->packing[path] = osc_rbuf_buffer_take()) == NULL) {
            return NULL;
        }
        record = osc_rbuf_buffer_append(peer->packing[path], bytes);
        if (record == NULL && osc_rbuf_send(window, target, full[window->access]) != MPI_SUCCESS) {
            return NULL;
        }
    }
    return record;
}
