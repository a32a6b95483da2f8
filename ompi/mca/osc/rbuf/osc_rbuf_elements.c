/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Data as arrays (osc_rbuf_elements.h). MPI_Pack makes a stream without any gaps; where elements
 * have holes themselves the stream is unpacked again, element by element.
 */
#include "osc_rbuf_elements.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/ompi_datatype.h"

size_t osc_rbuf_span(MPI_Datatype type, int count, ptrdiff_t *first)
{
    ptrdiff_t data, extent, others;
    size_t bytes;

    ompi_datatype_type_size(type, &bytes);
    ompi_datatype_get_true_extent(type, first, &data);
    ompi_datatype_type_extent(type, &extent);
    if (count == 0 || bytes == 0) {
        return 0;
    }
    others = extent * (count - 1);
    if (others < 0) { /* each begins before the last one */
        *first += others;
    }
    return (size_t) (data + (others < 0 ? -others : others));
}

bool osc_rbuf_elements_of(MPI_Datatype type, int count, struct osc_rbuf_elements *elements)
{
    MPI_Datatype element = ompi_datatype_is_predefined(type)
                               ? type
                               : ompi_datatype_get_single_predefined_type_from_args(type);
    ptrdiff_t extent;
    size_t bytes;

    if (element == NULL) {
        return false;
    }
    ompi_datatype_type_size(type, &bytes);
    ompi_datatype_type_size(element, &elements->size);
    ompi_datatype_type_extent(element, &extent);
    elements->type = element;
    elements->extent = (size_t) extent;
    elements->count = elements->size > 0 ? bytes / elements->size * (size_t) count : 0;
    return true;
}

void *osc_rbuf_elements_in_place(const void *address, int count, MPI_Datatype type,
                                 const struct osc_rbuf_elements *elements)
{
    ptrdiff_t first;
    ptrdiff_t extent;

    if (elements->size != elements->extent) {
        return NULL;
    }
    if (type == elements->type) {
        return (void *) (uintptr_t) address;
    }
    if (!ompi_datatype_is_contiguous_memory_layout(type, count)) {
        return NULL;
    }
    ompi_datatype_get_true_extent(type, &first, &extent);
    return (unsigned char *) (uintptr_t) address + first;
}

/* The stream is the array if elements have no holes. */
static void *stream_for(const struct osc_rbuf_elements *elements, const void *array)
{
    return elements->size == elements->extent ? (void *) (uintptr_t) array
                                              : malloc(elements->count * elements->size);
}

static void stream_free(const void *array, void *stream)
{
    if (stream != array) {
        free(stream);
    }
}

int osc_rbuf_elements_read(const void *address, int count, MPI_Datatype type,
                           const struct osc_rbuf_elements *elements, void *array)
{
    const size_t bytes = elements->count * elements->size;
    void *place = osc_rbuf_elements_in_place(address, count, type, elements);
    void *stream;
    int position = 0;
    int status;

    if (place != NULL) {
        memcpy(array, place, elements->count * elements->extent);
        return MPI_SUCCESS;
    }
    stream = bytes <= INT_MAX ? stream_for(elements, array) : NULL;
    if (stream == NULL) {
        return MPI_ERR_NO_MEM;
    }
    status = PMPI_Pack(address, count, type, stream, (int) bytes, &position, MPI_COMM_SELF);
    position = 0;
    if (status == MPI_SUCCESS && stream != array) {
        memset(array, 0, elements->count * elements->extent);
        status = PMPI_Unpack(stream, (int) bytes, &position, array, (int) elements->count,
                             elements->type, MPI_COMM_SELF);
    }
    stream_free(array, stream);
    return status;
}

int osc_rbuf_elements_write(void *address, int count, MPI_Datatype type,
                            const struct osc_rbuf_elements *elements, const void *array)
{
    const size_t bytes = elements->count * elements->size;
    void *place = osc_rbuf_elements_in_place(address, count, type, elements);
    void *stream;
    int position = 0;
    int status = MPI_SUCCESS;

    if (place != NULL) {
        memcpy(place, array, elements->count * elements->extent);
        return MPI_SUCCESS;
    }
    stream = bytes <= INT_MAX ? stream_for(elements, array) : NULL;
    if (stream == NULL) {
        return MPI_ERR_NO_MEM;
    }
    if (stream != array) {
        status = PMPI_Pack(array, (int) elements->count, elements->type, stream, (int) bytes,
                           &position, MPI_COMM_SELF);
    }
    position = 0;
    if (status == MPI_SUCCESS) {
        status = PMPI_Unpack(stream, (int) bytes, &position, address, count, type, MPI_COMM_SELF);
    }
    stream_free(array, stream);
    return status;
}
