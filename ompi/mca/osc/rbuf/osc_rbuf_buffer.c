/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Buffers of messages (osc_rbuf_buffer.h). Owns the list of those that are kept, by the lock.
 */
#include "osc_rbuf_buffer.h"

#include <stdlib.h>

#include "osc_rbuf_params.h"

static STAILQ_HEAD(, osc_rbuf_buffer) unused = STAILQ_HEAD_INITIALIZER(unused);

void osc_rbuf_buffer_clear(struct osc_rbuf_buffer *buffer)
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
        osc_rbuf_buffer_clear(buffer);
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

void osc_rbuf_buffers_close(void)
{
    struct osc_rbuf_buffer *buffer;

    while ((buffer = STAILQ_FIRST(&unused)) != NULL) {
        STAILQ_REMOVE_HEAD(&unused, link);
        free(buffer);
    }
}

struct osc_rbuf_record *osc_rbuf_buffer_append(struct osc_rbuf_buffer *buffer, size_t bytes)
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
