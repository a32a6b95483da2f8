/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages where they arrive (osc_rbuf_scatter.h): operations are done on the window in their
 * order, results go back together. All packed accumulates are done here, by one thread at a time,
 * since it holds the lock: so each is atomic with all others.
 *
 * Owns `description`, `type` and `cursor` of a peer: the derived type that the peer's operations
 * use until it describes another one.
 */
#include "osc_rbuf_scatter.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "osc_rbuf_cursor.h"
#include "osc_rbuf_elements.h"
#include "osc_rbuf_inbox.h"
#include "osc_rbuf_mpi.h"
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

/* A result of `bytes`: its data, and their offset; or without data MPI's error. One for this
 * process itself needs no message. False: not now. */
static bool answer(struct osc_rbuf_reply *reply, const struct osc_rbuf_record *asked,
                   const void *data, size_t bytes, uint64_t offset_or_error)
{
    const size_t payload = data != NULL ? bytes : 0;
    struct osc_rbuf_record *record;

    if (reply->origin == reply->window->rank) {
        osc_rbuf_result_came(reply->window, asked->result, data, bytes, offset_or_error);
        return true;
    }
    record = osc_rbuf_reply_append(reply, payload);
    if (record == NULL) {
        return false;
    }
    record->kind = OSC_RBUF_RESULT;
    record->payload = (uint32_t) payload;
    record->first = offset_or_error;
    record->wanted = bytes;
    record->result = asked->result;
    if (payload > 0) {
        memcpy(record + 1, data, payload);
    }
    return true;
}

/* An operation that cannot be done is known to its origin by its result, or without one to this
 * process. False: not now. */
static bool fail(const struct operation *operation, struct osc_rbuf_reply *reply, int error)
{
    const size_t bytes = osc_rbuf_result_bytes(operation->record);

    if (bytes == 0) {
        operation->window->error = error;
        return true;
    }
    return answer(reply, operation->record, NULL, bytes, (uint64_t) error);
}

/* A description of a duplicate of a predefined type makes that type itself, which is not ours. */
void osc_rbuf_scatter_forget(struct osc_rbuf_peer *peer)
{
    osc_rbuf_cursor_free(peer->cursor);
    peer->cursor = NULL;
    if (peer->type != NULL && !ompi_datatype_is_predefined(peer->type)) {
        OBJ_RELEASE(peer->type);
    }
    peer->type = NULL;
    free(peer->description);
    peer->description = NULL;
}

/* A piece of the description of a derived type; the last one makes it. Without memory there is no
 * type, which what follows will find. */
static void describe(const struct operation *operation)
{
    const struct osc_rbuf_record *record = operation->record;
    struct osc_rbuf_peer *origin = operation->origin;
    void *description;

    if (record->first == 0) {
        osc_rbuf_scatter_forget(origin);
        origin->description = malloc(record->wanted);
    }
    if (origin->description == NULL || record->first + record->payload > record->wanted) {
        return;
    }
    memcpy(origin->description + record->first, operation->payload, record->payload);
    if (record->first + record->payload == record->wanted) {
        description = origin->description;
        origin->type =
            ompi_datatype_create_from_packed_description(&description, ompi_proc_local());
    }
}

/* Combines `count` elements of the message with those at `into`. */
static void combine(const struct operation *operation, const struct osc_rbuf_elements *elements,
                    unsigned char *into, size_t count)
{
    MPI_Op op = osc_rbuf_op_of(operation->record->op);

    if (op == MPI_REPLACE) {
        memcpy(into, operation->payload, count * elements->extent);
    } else if (op != MPI_NO_OP) {
        ompi_op_reduce(op, (void *) (uintptr_t) operation->payload, into, count, elements->type);
    }
}

/* What has become of an accumulate. */
enum outcome { UNCHANGED, CHANGED, FAILED, NOT_NOW };

/* The elements of one record in the target's window: `count` of `type` at an address hold them,
 * from number `first` on. */
struct target {
    unsigned char *address;
    size_t count;
    MPI_Datatype type;
    size_t first;
};

/* A predefined type has its elements one after another. Of a derived one all have to be looked at.
 * False: its description was not understood. */
static bool target_of(const struct operation *operation, struct osc_rbuf_elements *elements,
                      struct target *target)
{
    const struct osc_rbuf_record *record = operation->record;
    size_t bytes;

    if (record->derived) {
        *target = (struct target){operation->target, record->count, operation->origin->type,
                                  record->first};
        if (target->type != NULL) {
            ompi_datatype_type_size(target->type, &bytes);
            elements->count = bytes / elements->size * target->count;
        }
        return target->type != NULL;
    }
    *target = (struct target){operation->target + record->first * elements->extent, record->wanted,
                              elements->type, 0};
    elements->count = record->wanted;
    return true;
}

/* Accumulates into elements that are, or were made, an array. */
static enum outcome accumulate_array(const struct operation *operation,
                                     const struct osc_rbuf_elements *elements, unsigned char *into,
                                     struct osc_rbuf_reply *reply)
{
    const struct osc_rbuf_record *record = operation->record;
    size_t count = record->payload / elements->extent;

    if (record->kind != OSC_RBUF_ACCUMULATE &&
        !answer(reply, record, into, record->wanted * elements->extent,
                record->first * elements->extent)) {
        return NOT_NOW;
    }
    if (record->kind == OSC_RBUF_COMPARE_SWAP) {
        if (memcmp(into, operation->payload + elements->extent, elements->extent) != 0) {
            return UNCHANGED;
        }
        count = 1;
    }
    combine(operation, elements, into, count);
    return count > 0 ? CHANGED : UNCHANGED;
}

/* A target with gaps or holes is read into an array, and written from it if it has changed. */
static enum outcome accumulate_apart(const struct operation *operation,
                                     const struct osc_rbuf_elements *elements,
                                     const struct target *target, struct osc_rbuf_reply *reply)
{
    unsigned char *array = malloc(elements->count * elements->extent);
    enum outcome outcome = FAILED;

    if (array != NULL && osc_rbuf_elements_read(target->address, target->count, target->type,
                                                elements, array) == MPI_SUCCESS) {
        outcome =
            accumulate_array(operation, elements, array + target->first * elements->extent, reply);
    }
    if (outcome == CHANGED && osc_rbuf_elements_write(target->address, target->count, target->type,
                                                      elements, array) != MPI_SUCCESS) {
        operation->window->error = MPI_ERR_NO_MEM; /* its result has been sent */
    }
    free(array);
    return outcome;
}

/* The cursor of an operation that comes in pieces, where this one is the next; else NULL. */
static struct osc_rbuf_cursor *cursor_for(const struct operation *operation,
                                          const struct osc_rbuf_elements *elements,
                                          const struct target *target)
{
    struct osc_rbuf_peer *origin = operation->origin;

    if (!operation->record->derived || elements->size != elements->extent ||
        operation->record->wanted == elements->count) {
        return NULL;
    }
    if (target->first == 0) {
        osc_rbuf_cursor_free(origin->cursor);
        origin->cursor = osc_rbuf_cursor_new(target->address, target->count, target->type);
    }
    return origin->cursor != NULL &&
                   osc_rbuf_cursor_is_at(origin->cursor, target->address, target->count,
                                         target->type, target->first * elements->size)
               ? origin->cursor
               : NULL;
}

/* As accumulate_apart(), of one piece alone, at the cursor. A piece that has to come again has lost
 * the cursor: accumulate_apart() does it then, and those behind it. */
static enum outcome accumulate_piece(const struct operation *operation,
                                     const struct osc_rbuf_elements *elements,
                                     const struct target *target, struct osc_rbuf_reply *reply)
{
    struct osc_rbuf_peer *origin = operation->origin;
    const size_t bytes = operation->record->wanted * elements->size;
    unsigned char *array = malloc(bytes);
    enum outcome outcome = FAILED;

    if (array != NULL) {
        osc_rbuf_cursor_read(origin->cursor, array, bytes);
        outcome = accumulate_array(operation, elements, array, reply);
    }
    if (outcome == CHANGED) {
        osc_rbuf_cursor_write(origin->cursor, array, bytes);
    }
    if (outcome == FAILED || outcome == NOT_NOW ||
        target->first + operation->record->wanted == elements->count) {
        osc_rbuf_cursor_free(origin->cursor);
        origin->cursor = NULL;
    }
    free(array);
    return outcome;
}

static enum outcome accumulate(const struct operation *operation,
                               struct osc_rbuf_elements *elements, struct osc_rbuf_reply *reply)
{
    struct target target;
    unsigned char *array;

    if (!target_of(operation, elements, &target)) {
        return FAILED;
    }
    array = osc_rbuf_elements_in_place(target.address, target.count, target.type, elements);
    if (array == NULL && cursor_for(operation, elements, &target) != NULL) {
        return accumulate_piece(operation, elements, &target, reply);
    }
    return array != NULL ? accumulate_array(operation, elements,
                                            array + target.first * elements->extent, reply)
                         : accumulate_apart(operation, elements, &target, reply);
}

/* False: not now. */
static bool accumulate_or_fail(const struct operation *operation, struct osc_rbuf_reply *reply)
{
    const struct osc_rbuf_record *record = operation->record;
    MPI_Datatype type = osc_rbuf_type_of(record->type);
    struct osc_rbuf_elements elements;
    enum outcome outcome;

    if (type == NULL || !osc_rbuf_elements_of(type, record->count, &elements)) {
        return true; /* no process of ours sends that */
    }
    outcome = accumulate(operation, &elements, reply);
    return outcome == FAILED ? fail(operation, reply, MPI_ERR_NO_MEM) : outcome != NOT_NOW;
}

/* Whether all the bytes lie in one region of a dynamic window. */
static bool is_attached(const struct osc_rbuf_window *window, const unsigned char *first,
                        size_t bytes)
{
    const struct osc_rbuf_region *region;

    LIST_FOREACH(region, &window->regions, link)
    {
        const uintptr_t offset = (uintptr_t) first - (uintptr_t) region->base;

        if (offset <= region->bytes && bytes <= region->bytes - offset) {
            return true;
        }
    }
    return false;
}

/* In a dynamic window the origin does not know what is attached. */
static bool is_inside(const struct operation *operation)
{
    const struct osc_rbuf_record *record = operation->record;
    MPI_Datatype type = operation->origin->type;
    ptrdiff_t first;
    size_t bytes;

    switch ((enum osc_rbuf_record_kind) record->kind) {
    case OSC_RBUF_PUT:
        return is_attached(operation->window, operation->target + record->first, record->payload);
    case OSC_RBUF_GET:
        return is_attached(operation->window, operation->target + record->first, record->wanted);
    case OSC_RBUF_ACCUMULATE:
    case OSC_RBUF_GET_ACCUMULATE:
    case OSC_RBUF_COMPARE_SWAP:
        type = record->derived ? type : osc_rbuf_type_of(record->type);
        if (type == NULL) {
            return true; /* it fails for that */
        }
        bytes = osc_rbuf_span(type, record->count, &first);
        return bytes == 0 || is_attached(operation->window, operation->target + first, bytes);
    default:
        return true;
    }
}

/* False: not now, and nothing was done. */
static bool perform(const struct operation *operation, struct osc_rbuf_reply *reply)
{
    const struct osc_rbuf_record *record = operation->record;

    if (operation->window->dynamic && !is_inside(operation)) {
        return fail(operation, reply, MPI_ERR_RMA_RANGE);
    }
    switch ((enum osc_rbuf_record_kind) record->kind) {
    case OSC_RBUF_NOTHING:
        break;
    case OSC_RBUF_PUT:
        memcpy(operation->target + record->first, operation->payload, record->payload);
        break;
    case OSC_RBUF_GET:
        return answer(reply, record, operation->target + record->first, record->wanted, 0);
    case OSC_RBUF_ACCUMULATE:
    case OSC_RBUF_GET_ACCUMULATE:
    case OSC_RBUF_COMPARE_SWAP:
        return accumulate_or_fail(operation, reply);
    case OSC_RBUF_TYPE:
        describe(operation);
        break;
    case OSC_RBUF_RESULT:
        osc_rbuf_result_came(operation->window, record->result,
                             record->payload > 0 ? operation->payload : NULL,
                             record->payload > 0 ? record->payload : record->wanted, record->first);
        break;
    }
    return true;
}

/* The records of a message, from `done` on; those that do not end inside of it are no records. */
static bool perform_all(struct osc_rbuf_buffer *message, struct osc_rbuf_reply *reply)
{
    struct osc_rbuf_window *window = reply->window;
    bool goes_on = true;

    while (message->done + sizeof(struct osc_rbuf_record) <= message->used && goes_on) {
        const struct osc_rbuf_record *record = (const void *) (message->bytes + message->done);
        const size_t end = message->done + sizeof(*record) + osc_rbuf_padded(record->payload);
        const struct operation operation = {.window = window,
                                            .origin = &window->peers[message->origin],
                                            .record = record,
                                            .payload = (const unsigned char *) (record + 1),
                                            .target = address_of(window, record->displacement)};

        goes_on = end > message->used || perform(&operation, reply);
        message->done = goes_on ? end : message->done;
    }
    return goes_on;
}

/* As osc_rbuf_perform_t of osc_rbuf_inbox.h. */
static bool perform_and_reply(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message)
{
    struct osc_rbuf_reply reply = {.window = window, .origin = message->origin};
    const bool all = perform_all(message, &reply);
    const bool flush = all && message->header.kind == OSC_RBUF_PASSIVE_FLUSH;

    osc_rbuf_reply_send(&reply, flush ? OSC_RBUF_DONE : OSC_RBUF_REPLY);
    return all;
}

/* Its origin has seen to it that there is room; one that has not is known by the error. */
void osc_rbuf_perform(struct osc_rbuf_buffer *message, struct osc_rbuf_reply *reply)
{
    message->done = sizeof(message->header);
    if (!perform_all(message, reply)) {
        reply->window->error = MPI_ERR_INTERN;
    }
}

void osc_rbuf_scatter_open(void)
{
    osc_rbuf_inbox_set_perform(perform_and_reply);
}
