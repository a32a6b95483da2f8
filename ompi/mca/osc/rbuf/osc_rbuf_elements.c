/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Data as arrays (osc_rbuf_elements.h). Packing makes a stream without any gaps; where elements
 * have holes themselves the stream is unpacked again, element by element.
 */
#include "osc_rbuf_elements.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/ompi_datatype.h"
#include "osc_rbuf_mpi.h"

size_t osc_rbuf_span(MPI_Datatype type, size_t count, ptrdiff_t *first)
{
    ptrdiff_t data, extent, others;
    size_t bytes;

    ompi_datatype_type_size(type, &bytes);
    ompi_datatype_get_true_extent(type, first, &data);
    ompi_datatype_type_extent(type, &extent);
    if (count == 0 || bytes == 0) {
        return 0;
    }
    others = extent * ((ptrdiff_t) count - 1);
    if (others < 0) { /* each begins before the last one */
        *first += others;
    }
    return (size_t) (data + (others < 0 ? -others : others));
}

bool osc_rbuf_elements_of(MPI_Datatype type, size_t count, struct osc_rbuf_elements *elements)
{
    MPI_Datatype element = ompi_datatype_is_predefined(type)
                               ? type
                               : ompi_datatype_get_single_predefined_type_from_args(type);
    ptrdiff_t extent;
    size_t bytes;

    if (element == NULL || (element = osc_rbuf_basic_type(element)) == NULL) {
        return false;
    }
    ompi_datatype_type_size(type, &bytes);
    ompi_datatype_type_size(element, &elements->size);
    ompi_datatype_type_extent(element, &extent);
    elements->type = element;
    elements->extent = (size_t) extent;
    elements->count = elements->size > 0 ? bytes / elements->size * count : 0;
    return true;
}

void *osc_rbuf_elements_in_place(const void *address, size_t count, MPI_Datatype type,
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
                                              : calloc(elements->count, elements->size);
}

static void stream_free(const void *array, void *stream)
{
    if (stream != array) {
        free(stream);
    }
}

int osc_rbuf_elements_read(const void *address, size_t count, MPI_Datatype type,
                           const struct osc_rbuf_elements *elements, void *array)
{
    const size_t bytes = elements->count * elements->size;
    void *direct = osc_rbuf_elements_in_place(address, count, type, elements);
    void *stream;
    int status;

    if (direct != NULL) {
        memcpy(array, direct, elements->count * elements->extent);
        return MPI_SUCCESS;
    }
    stream = stream_for(elements, array);
    if (stream == NULL) {
        return MPI_ERR_NO_MEM;
    }
    status = osc_rbuf_pack(address, count, type, stream, bytes);
    if (status == MPI_SUCCESS && stream != array) {
        memset(array, 0, elements->count * elements->extent);
        status = osc_rbuf_unpack(stream, bytes, array, elements->count, elements->type);
    }
    stream_free(array, stream);
    return status;
}

int osc_rbuf_elements_write(void *address, size_t count, MPI_Datatype type,
                            const struct osc_rbuf_elements *elements, const void *array)
{
    const size_t bytes = elements->count * elements->size;
    void *direct = osc_rbuf_elements_in_place(address, count, type, elements);
    void *stream;
    int status = MPI_SUCCESS;

    if (direct != NULL) {
        memcpy(direct, array, elements->count * elements->extent);
        return MPI_SUCCESS;
    }
    stream = stream_for(elements, array);
    if (stream == NULL) {
        return MPI_ERR_NO_MEM;
    }
    if (stream != array) {
        status = osc_rbuf_pack(array, elements->count, elements->type, stream, bytes);
    }
    if (status == MPI_SUCCESS) {
        status = osc_rbuf_unpack(stream, bytes, address, count, type);
    }
    stream_free(array, stream);
    return status;
}
