/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Cursors (osc_rbuf_cursor.h): two of Open MPI's convertors, which go on where they stopped.
 */
#include "osc_rbuf_cursor.h"

#include <stdlib.h>

#include "ompi/datatype/ompi_datatype.h"
#include "opal/datatype/opal_convertor.h"

struct osc_rbuf_cursor {
    const void *address;
    size_t count;
    MPI_Datatype type;
    size_t at; /* bytes that were read */
    opal_convertor_t reads;
    opal_convertor_t writes;
};

struct osc_rbuf_cursor *osc_rbuf_cursor_new(void *address, size_t count, MPI_Datatype type)
{
    struct osc_rbuf_cursor *cursor = calloc(1, sizeof(*cursor));

    if (cursor == NULL) {
        return NULL;
    }
    cursor->address = address;
    cursor->count = count;
    cursor->type = type;
    OBJ_CONSTRUCT(&cursor->reads, opal_convertor_t);
    OBJ_CONSTRUCT(&cursor->writes, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, address,
                                             0, &cursor->reads);
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, address,
                                             0, &cursor->writes);
    return cursor;
}

void osc_rbuf_cursor_free(struct osc_rbuf_cursor *cursor)
{
    if (cursor != NULL) {
        OBJ_DESTRUCT(&cursor->reads);
        OBJ_DESTRUCT(&cursor->writes);
        free(cursor);
    }
}

bool osc_rbuf_cursor_is_at(const struct osc_rbuf_cursor *cursor, const void *address, size_t count,
                           MPI_Datatype type, size_t at)
{
    return cursor->address == address && cursor->count == count && cursor->type == type &&
           cursor->at == at;
}

void osc_rbuf_cursor_read(struct osc_rbuf_cursor *cursor, void *stream, size_t bytes)
{
    struct iovec piece = {.iov_base = stream, .iov_len = bytes};
    uint32_t pieces = 1;

    cursor->at += bytes;
    (void) opal_convertor_pack(&cursor->reads, &piece, &pieces, &bytes);
}

void osc_rbuf_cursor_write(struct osc_rbuf_cursor *cursor, const void *stream, size_t bytes)
{
    struct iovec piece = {.iov_base = (void *) (uintptr_t) stream, .iov_len = bytes};
    uint32_t pieces = 1;

    (void) opal_convertor_unpack(&cursor->writes, &piece, &pieces, &bytes);
}
