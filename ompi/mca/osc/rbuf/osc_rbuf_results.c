/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Results (osc_rbuf_results.h). One that does not lie in one piece is collected in an array first.
 * The type is retained: a program may free it while its operation is under way. Owns `results` of a
 * window, and each result until it has come.
 */
#include "osc_rbuf_results.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/errhandler/errcode-internal.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_request.h"

struct result {
    void *address;
    size_t count;
    MPI_Datatype type;
    struct osc_rbuf_elements elements;
    unsigned char *into; /* the program's memory, or an array of ours */
    bool apart;          /* the array */
    int error;           /* MPI's */
    size_t left;         /* bytes to come */
    MPI_Request request; /* or NULL */
};

int osc_rbuf_result_new(struct osc_rbuf_window *window, void *address, size_t count,
                        MPI_Datatype type, const struct osc_rbuf_elements *elements,
                        MPI_Request request)
{
    struct result *result = malloc(sizeof(*result));
    int number;

    if (result == NULL) {
        return -1;
    }
    *result = (struct result){.address = address,
                              .count = count,
                              .type = type,
                              .elements = *elements,
                              .left = elements->count * elements->extent,
                              .request = request};
    result->into = osc_rbuf_elements_in_place(address, count, type, elements);
    result->apart = result->into == NULL;
    if (result->apart && (result->into = malloc(result->left)) == NULL) {
        free(result);
        return -1;
    }
    number = opal_pointer_array_add(&window->results.table, result);
    if (number < 0) {
        free(result->apart ? result->into : NULL);
        free(result);
        return -1;
    }
    OBJ_RETAIN(type);
    window->results.unanswered++;
    return number;
}

static void end(struct osc_rbuf_window *window, int number, struct result *result)
{
    opal_pointer_array_set_item(&window->results.table, number, NULL);
    if (result->apart && result->error == MPI_SUCCESS) {
        result->error = osc_rbuf_elements_write(result->address, result->count, result->type,
                                                &result->elements, result->into);
    }
    if (result->apart) {
        free(result->into);
    }
    if (result->request != NULL) {
        osc_rbuf_request_complete(result->request, result->error);
    } else if (result->error != MPI_SUCCESS) {
        window->error = result->error;
    }
    OBJ_RELEASE(result->type);
    free(result);
    window->results.unanswered--;
}

void osc_rbuf_result_came(struct osc_rbuf_window *window, int number, const void *data,
                          size_t bytes, uint64_t offset_or_error)
{
    struct result *result = opal_pointer_array_get_item(&window->results.table, number);

    if (result == NULL || bytes > result->left) {
        return; /* there is none that so much is missing of */
    }
    if (data != NULL) {
        memcpy(result->into + offset_or_error, data, bytes);
    } else {
        result->error = (int) offset_or_error;
    }
    result->left -= bytes;
    if (result->left == 0) {
        end(window, number, result);
    }
}

size_t osc_rbuf_result_bytes(const struct osc_rbuf_record *record)
{
    MPI_Datatype type;
    ptrdiff_t extent;

    switch ((enum osc_rbuf_record_kind) record->kind) {
    case OSC_RBUF_GET:
        return record->wanted;
    case OSC_RBUF_GET_ACCUMULATE:
    case OSC_RBUF_COMPARE_SWAP:
        type = osc_rbuf_type_of(record->type);
        if (type == NULL) {
            return 0; /* no process of ours sends that */
        }
        ompi_datatype_type_extent(type, &extent);
        return record->wanted * (size_t) extent;
    default:
        return 0;
    }
}

static void operation_failed(struct osc_rbuf_window *window, const struct osc_rbuf_record *record,
                             int error)
{
    const size_t bytes = osc_rbuf_result_bytes(record);

    if (bytes > 0) {
        osc_rbuf_result_came(window, record->result, NULL, bytes, (uint64_t) (int64_t) error);
    } else if (record->kind == OSC_RBUF_PUT || record->kind == OSC_RBUF_ACCUMULATE) {
        window->error = error;
    }
}

void osc_rbuf_operations_failed(struct osc_rbuf_window *window,
                                const struct osc_rbuf_buffer *message, int error)
{
    const int mpi_error = error < 0 ? ompi_errcode_get_mpi_code(error) : error;
    size_t at = sizeof(message->header);

    while (at + sizeof(struct osc_rbuf_record) <= message->used) {
        const struct osc_rbuf_record *record = (const void *) (message->bytes + at);

        operation_failed(window, record, mpi_error);
        at += sizeof(*record) + osc_rbuf_padded(record->payload);
    }
}
