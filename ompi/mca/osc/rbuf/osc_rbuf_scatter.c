/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages where they arrive (osc_rbuf_scatter.h): operations are done on the window in their
 * order, results go back together. Since all accumulates of an active epoch are done here, one
 * after another, each is atomic.
 */
#include "osc_rbuf_scatter.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/proc/proc.h"
#include "osc_rbuf_elements.h"
#include "osc_rbuf_results.h"

/* One record, and what is behind it. */
struct operation {
    struct osc_rbuf_window *window;
    struct osc_rbuf_peer *origin;
    const struct osc_rbuf_record *record;
    const unsigned char *payload;
    unsigned char *target;
};

static unsigned char *address_of(const struct osc_rbuf_window *window, int64_t displacement)
{
    return (unsigned char *) ((uintptr_t) window->base +
                              (uintptr_t) (displacement *
                                           window->peers[window->rank].displacement_unit));
}

static void answer(struct osc_rbuf_reply *reply, const struct osc_rbuf_record *asked,
                   const void *data, size_t bytes, uint64_t offset)
{
    struct osc_rbuf_record *record = osc_rbuf_reply_append(reply, bytes);

    if (record != NULL) { /* else the origin waits: there is no memory here */
        record->kind = OSC_RBUF_RESULT;
        record->payload = (uint32_t) bytes;
        record->first = offset;
        record->result = asked->result;
        memcpy(record + 1, data, bytes);
    }
}

/* A piece of the description of a derived type; the last one makes it. */
static void describe(const struct operation *operation)
{
    const struct osc_rbuf_record *record = operation->record;
    struct osc_rbuf_peer *origin = operation->origin;
    void *description;

    if (record->first == 0) {
        free(origin->description);
        origin->description = malloc(record->wanted);
    }
    if (origin->description == NULL || record->first + record->payload > record->wanted) {
        return;
    }
    memcpy(origin->description + record->first, operation->payload, record->payload);
    if (record->first + record->payload == record->wanted) {
        if (origin->type != NULL) {
            OBJ_RELEASE(origin->type);
        }
        description = origin->description;
        origin->type =
            ompi_datatype_create_from_packed_description(&description, ompi_proc_local());
    }
}

/* Combines `count` elements of the message with those at `into`. */
static void combine(const struct operation *operation, const struct osc_rbuf_elements *elements,
                    unsigned char *into, size_t count)
{
    MPI_Op op = PMPI_Op_f2c(operation->record->op);

    if (op == MPI_REPLACE) {
        memcpy(into, operation->payload, count * elements->extent);
    } else if (op != MPI_NO_OP) {
        (void) PMPI_Reduce_local(operation->payload, into, (int) count, elements->type, op);
    }
}

/* Accumulates into a target that is, or was made, an array. True: it has changed. */
static bool accumulate_array(const struct operation *operation,
                             const struct osc_rbuf_elements *elements, unsigned char *array,
                             struct osc_rbuf_reply *reply)
{
    const struct osc_rbuf_record *record = operation->record;
    unsigned char *into = array + record->first * elements->extent;
    size_t count = record->payload / elements->extent;

    if (record->kind == OSC_RBUF_GET_ACCUMULATE) {
        answer(reply, record, into, record->wanted * elements->extent,
               record->first * elements->extent);
    }
    if (record->kind == OSC_RBUF_COMPARE_SWAP) {
        answer(reply, record, into, elements->extent, 0);
        if (memcmp(into, operation->payload + elements->extent, elements->size) != 0) {
            return false;
        }
        count = 1;
    }
    combine(operation, elements, into, count);
    return count > 0;
}

/* A target with gaps is read into an array, and written from it if it has changed. */
static void accumulate_apart(const struct operation *operation,
                             const struct osc_rbuf_elements *elements, struct osc_rbuf_reply *reply)
{
    const int count = operation->record->count;
    MPI_Datatype type = operation->origin->type;
    unsigned char *array = malloc(elements->count * elements->extent);

    if (array != NULL &&
        osc_rbuf_elements_read(operation->target, count, type, elements, array) == MPI_SUCCESS &&
        accumulate_array(operation, elements, array, reply)) {
        (void) osc_rbuf_elements_write(operation->target, count, type, elements, array);
    }
    free(array);
}

static void accumulate(const struct operation *operation, struct osc_rbuf_reply *reply)
{
    const struct osc_rbuf_record *record = operation->record;
    MPI_Datatype type = operation->origin->type;
    struct osc_rbuf_elements elements;
    unsigned char *place = operation->target;
    size_t bytes;

    if (!osc_rbuf_elements_of(PMPI_Type_f2c(record->type), record->count, &elements)) {
        return;
    }
    if (record->derived && type == NULL) {
        return;
    }
    if (record->derived) {
        ompi_datatype_type_size(type, &bytes);
        elements.count = bytes / elements.size * (size_t) record->count;
        place = osc_rbuf_elements_in_place(place, record->count, type, &elements);
    }
    if (place != NULL) {
        (void) accumulate_array(operation, &elements, place, reply);
    } else {
        accumulate_apart(operation, &elements, reply);
    }
}

static void perform(const struct operation *operation, struct osc_rbuf_reply *reply)
{
    const struct osc_rbuf_record *record = operation->record;

    switch ((enum osc_rbuf_record_kind) record->kind) {
    case OSC_RBUF_PUT:
        memcpy(operation->target + record->first, operation->payload, record->payload);
        break;
    case OSC_RBUF_GET:
        answer(reply, record, operation->target + record->first, record->wanted, 0);
        break;
    case OSC_RBUF_ACCUMULATE:
    case OSC_RBUF_GET_ACCUMULATE:
    case OSC_RBUF_COMPARE_SWAP:
        accumulate(operation, reply);
        break;
    case OSC_RBUF_TYPE:
        describe(operation);
        break;
    case OSC_RBUF_RESULT:
        osc_rbuf_result_came(operation->window, record->result, record->first, operation->payload,
                             record->payload);
        break;
    }
}

/* The records of a message; those that do not end inside of it are no records. */
static void perform_all(struct osc_rbuf_window *window, int origin, const unsigned char *message,
                        size_t bytes)
{
    const struct osc_rbuf_header *header = (const void *) message;
    struct osc_rbuf_reply reply = {.window = window, .origin = origin};
    size_t at = sizeof(*header);

    for (uint32_t i = 0; i < header->records && at + sizeof(struct osc_rbuf_record) <= bytes; i++) {
        const struct osc_rbuf_record *record = (const void *) (message + at);

        at += sizeof(*record) + osc_rbuf_padded(record->payload);
        if (at <= bytes) {
            perform(&(struct operation){.window = window,
                                        .origin = &window->peers[origin],
                                        .record = record,
                                        .payload = (const unsigned char *) (record + 1),
                                        .target = address_of(window, record->displacement)},
                    &reply);
        }
    }
    osc_rbuf_reply_send(&reply);
}

void osc_rbuf_scatter(struct osc_rbuf_window *window, int origin, const unsigned char *message,
                      size_t bytes)
{
    const struct osc_rbuf_header *header = (const void *) message;

    if (bytes < sizeof(*header)) {
        return;
    }
    perform_all(window, origin, message, bytes);
    switch ((enum osc_rbuf_kind) header->kind) {
    case OSC_RBUF_POST:
        window->peers[origin].posts++;
        break;
    case OSC_RBUF_FENCE_DATA:
        window->received++;
        break;
    case OSC_RBUF_COMPLETE:
        window->completes++;
        break;
    case OSC_RBUF_GROUP_DATA:
    case OSC_RBUF_REPLY:
        break;
    }
}
