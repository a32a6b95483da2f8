/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Results for the origin (osc_rbuf_reply.h). Takes the communicator's spare buffer where there
 * is no memory for another. No state.
 */
#include "osc_rbuf_reply.h"

#include "osc_rbuf_comm.h"
#include "osc_rbuf_message.h"

struct osc_rbuf_record *osc_rbuf_reply_append(struct osc_rbuf_reply *reply, size_t bytes)
{
    struct osc_rbuf_record *record;

    if (reply->buffer != NULL) {
        record = osc_rbuf_buffer_append(reply->buffer, bytes);
        if (record != NULL || reply->alone) {
            return record;
        }
        osc_rbuf_reply_send(reply, OSC_RBUF_REPLY);
    }
    reply->buffer = osc_rbuf_buffer_take();
    if (reply->buffer == NULL && reply->window->comm->spare != NULL) {
        reply->buffer = reply->window->comm->spare;
        reply->window->comm->spare = NULL;
        osc_rbuf_buffer_clear(reply->buffer);
    }
    return reply->buffer != NULL ? osc_rbuf_buffer_append(reply->buffer, bytes) : NULL;
}

void osc_rbuf_reply_send(struct osc_rbuf_reply *reply, enum osc_rbuf_kind kind)
{
    struct osc_rbuf_buffer *buffer = reply->buffer;
    int status = MPI_SUCCESS;

    reply->buffer = NULL;
    if (buffer != NULL) {
        status = osc_rbuf_buffer_send(reply->window, reply->origin, kind, buffer);
    } else if (kind == OSC_RBUF_DONE) {
        status = osc_rbuf_send_kind(reply->window, reply->origin, kind);
    }
    if (status != MPI_SUCCESS) {
        reply->window->error = status; /* the origin waits, and its peer is lost */
    }
}
