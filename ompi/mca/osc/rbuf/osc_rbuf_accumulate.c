/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Accumulates at the origin: what is packed, and what goes below. In active epochs all are packed,
 * long ones in pieces; in passive epochs with parameter `passive`. No state. The lock is taken for
 * what is packed, and given up before a call below.
 */
#include "osc_rbuf_accumulate.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"
#include "osc_rbuf_am.h"
#include "osc_rbuf_counters.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_request.h"
#include "osc_rbuf_results.h"
#include "osc_rbuf_sync.h"
#include "osc_rbuf_target.h"
#include "osc_rbuf_path.h"
#include "osc_rbuf_windows.h"

/* An accumulate that is being packed. */
struct accumulate {
    enum osc_rbuf_record_kind kind;
    const struct osc_rbuf_target *target;
    struct osc_rbuf_elements elements;
    const unsigned char *array; /* of the origin's elements, or NULL: none are sent */
    MPI_Op op;
    int result;          /* its number; -1: there is none, or not yet */
    MPI_Request request; /* that ends with the result, and is its; NULL: none does */
};

/* Tells the target its derived type. An error of Open MPI. The lock is held. */
static int send_type(struct osc_rbuf_window *window, const struct osc_rbuf_target *target)
{
    const size_t bytes = ompi_datatype_pack_description_length(target->type);
    const void *description;
    size_t piece;

    if (ompi_datatype_get_pack_description(target->type, &description) != OMPI_SUCCESS) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    for (size_t at = 0; at < bytes; at += piece) {
        struct osc_rbuf_record *record;

        piece = bytes - at < osc_rbuf_room() ? bytes - at : osc_rbuf_room();
        record = osc_rbuf_record_for(window, target, OSC_RBUF_TYPE, piece);
        if (record == NULL) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        record->first = at;
        record->wanted = bytes;
        memcpy(record + 1, (const unsigned char *) description + at, piece);
    }
    return OMPI_SUCCESS;
}

/* Packs elements, and returns how many: fewer than all without memory. The lock is held. */
static size_t send_elements(struct osc_rbuf_window *window, const struct accumulate *accumulate)
{
    const struct osc_rbuf_elements *elements = &accumulate->elements;
    const size_t most = osc_rbuf_room() / elements->extent;
    size_t at, piece;

    for (at = 0; at < elements->count; at += piece) {
        struct osc_rbuf_record *record;
        size_t payload;

        piece = elements->count - at < most ? elements->count - at : most;
        payload = accumulate->array != NULL ? piece * elements->extent : 0;
        record = osc_rbuf_record_for(window, accumulate->target, accumulate->kind, payload);
        if (record == NULL) {
            break;
        }
        record->first = at;
        record->wanted = piece;
        record->type = osc_rbuf_type_number(elements->type);
        record->op = osc_rbuf_op_number(accumulate->op);
        record->result = accumulate->result;
        record->derived = !ompi_datatype_is_predefined(accumulate->target->type);
        if (payload > 0) {
            memcpy(record + 1, accumulate->array + at * elements->extent, payload);
        }
    }
    return at;
}

/* Before an operation is packed: in a passive epoch decides its path, in an active one
 * does nothing. `payload` and `answer` are bytes. The lock is held, and may be given up. */
static int choose_path(struct osc_rbuf_window *window, const struct osc_rbuf_target *target,
                       MPI_Op op, const struct osc_rbuf_elements *elements, size_t payload,
                       size_t answer)
{
    const unsigned reads = answer > 0 ? OSC_RBUF_READS : 0;
    const struct osc_rbuf_need need = {
        .does = op == MPI_NO_OP ? OSC_RBUF_READS : reads | OSC_RBUF_WRITES,
        .plain = ompi_datatype_is_predefined(target->type) && elements->size == elements->extent &&
                 osc_rbuf_is_known(elements->type, op),
        .request = sizeof(struct osc_rbuf_record) + osc_rbuf_padded(payload),
        .answer = answer > 0 ? sizeof(struct osc_rbuf_record) + osc_rbuf_padded(answer) : 0};

    return window->access == OSC_RBUF_ACCESS_PASSIVE
               ? osc_rbuf_path_prepare(window, target->rank, &need)
               : MPI_SUCCESS;
}

/* The description and the elements, with nothing of another thread between them. The lock is held.
 */
static int send_accumulate(struct osc_rbuf_window *window, const struct accumulate *accumulate)
{
    const struct osc_rbuf_target *target = accumulate->target;
    const bool derived = !ompi_datatype_is_predefined(target->type);
    const size_t description = derived ? ompi_datatype_pack_description_length(target->type) : 0;
    const size_t array = accumulate->elements.count * accumulate->elements.extent;
    size_t left = accumulate->elements.count;
    int status =
        choose_path(window, target, accumulate->op, &accumulate->elements,
                    accumulate->array != NULL ? array : 0, accumulate->result >= 0 ? array : 0);

    osc_rbuf_make_room(window, target->rank,
                       2 + description / osc_rbuf_room() + array / osc_rbuf_room(),
                       description + (accumulate->array != NULL ? array : 0));
    if (derived && status == OMPI_SUCCESS) {
        status = send_type(window, target);
    }
    if (status == OMPI_SUCCESS) {
        left -= send_elements(window, accumulate);
    }
    if (left == 0) {
        osc_rbuf_counters.packed++;
        return OMPI_SUCCESS;
    }
    if (accumulate->result >= 0) { /* nobody will answer */
        osc_rbuf_result_came(window, accumulate->result, NULL, left * accumulate->elements.extent,
                             MPI_ERR_NO_MEM);
    }
    return status != OMPI_SUCCESS ? status : OMPI_ERR_OUT_OF_RESOURCE;
}

/* The origin's elements as an array: its memory, or a copy to be freed. NULL without memory. */
static unsigned char *array_of(const void *origin, osc_rbuf_count_t count, MPI_Datatype type,
                               const struct osc_rbuf_elements *elements, unsigned char **copy)
{
    unsigned char *direct = osc_rbuf_elements_in_place(origin, count, type, elements);

    *copy = NULL;
    if (direct != NULL) {
        return direct;
    }
    *copy = malloc(elements->count * elements->extent);
    if (*copy != NULL &&
        osc_rbuf_elements_read(origin, count, type, elements, *copy) != MPI_SUCCESS) {
        free(*copy);
        *copy = NULL;
    }
    return *copy;
}

/* False: the operation is below's to do, or to refuse. True: it is packed or refused here, and the
 * lock is held. */
static bool packs(const struct osc_rbuf_window *window)
{
    bool packs;

    osc_rbuf_lock();
    packs = window->access == OSC_RBUF_ACCESS_PASSIVE ? osc_rbuf_params.passive
                                                      : window->access != OSC_RBUF_ACCESS_NONE;
    if (!packs) {
        osc_rbuf_unlock();
    }
    return packs;
}

/* Finds what an operation's target is made of. Open MPI's error if the operation is not packed: its
 * epoch is not open for the target, the target is not inside of its window, or no elements of one
 * type. The lock is held. */
static int check(const struct osc_rbuf_window *window, const struct osc_rbuf_target *target,
                 struct osc_rbuf_elements *elements)
{
    if (!osc_rbuf_is_accessed(window, target->rank) &&
        (window->access != OSC_RBUF_ACCESS_PASSIVE || window->peers[target->rank].locks == 0)) {
        return osc_rbuf_refuse(window, "an operation outside of an epoch for its target");
    }
    if (!osc_rbuf_is_inside(window, target)) {
        return OMPI_ERR_RMA_RANGE;
    }
    return osc_rbuf_elements_of(target->type, target->count, elements) ? OMPI_SUCCESS
                                                                       : OMPI_ERR_NOT_SUPPORTED;
}

/* Packs it, or refuses it. The lock is held. */
static int pack(struct osc_rbuf_window *window, struct accumulate *accumulate, const void *origin,
                osc_rbuf_count_t origin_count, MPI_Datatype origin_type, void *result,
                osc_rbuf_count_t result_count, MPI_Datatype result_type)
{
    struct osc_rbuf_elements *elements = &accumulate->elements;
    unsigned char *copy = NULL;
    int status = check(window, accumulate->target, elements);

    if (status != OMPI_SUCCESS || elements->count == 0) {
        return status; /* no result ever comes */
    }
    if (accumulate->op != MPI_NO_OP) {
        accumulate->array = array_of(origin, origin_count, origin_type, elements, &copy);
        if (accumulate->array == NULL) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    if (accumulate->kind == OSC_RBUF_GET_ACCUMULATE) {
        accumulate->result = osc_rbuf_result_new(window, result, result_count, result_type,
                                                 elements, accumulate->request);
    }
    status = accumulate->kind == OSC_RBUF_GET_ACCUMULATE && accumulate->result < 0
                 ? OMPI_ERR_OUT_OF_RESOURCE
                 : send_accumulate(window, accumulate);
    free(copy);
    return status;
}

int osc_rbuf_accumulate(const void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type,
                        int rank, ptrdiff_t displacement, osc_rbuf_count_t target_count,
                        MPI_Datatype target_type, MPI_Op op, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, target_count, target_type};
    struct accumulate accumulate = {OSC_RBUF_ACCUMULATE, &target, .op = op, .result = -1};
    int status;

    if (!packs(window)) {
        return window->below.osc_accumulate(origin, origin_count, origin_type, rank, displacement,
                                            target_count, target_type, op, win);
    }
    status = pack(window, &accumulate, origin, origin_count, origin_type, NULL, 0, MPI_BYTE);
    osc_rbuf_unlock();
    return status;
}

int osc_rbuf_get_accumulate(const void *origin, osc_rbuf_count_t origin_count,
                            MPI_Datatype origin_type, void *result, osc_rbuf_count_t result_count,
                            MPI_Datatype result_type, int rank, ptrdiff_t displacement,
                            osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                            ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, target_count, target_type};
    struct accumulate accumulate = {OSC_RBUF_GET_ACCUMULATE, &target, .op = op, .result = -1};
    int status;

    if (!packs(window)) {
        return window->below.osc_get_accumulate(origin, origin_count, origin_type, result,
                                                result_count, result_type, rank, displacement,
                                                target_count, target_type, op, win);
    }
    status = pack(window, &accumulate, origin, origin_count, origin_type, result, result_count,
                  result_type);
    osc_rbuf_unlock();
    return status;
}

int osc_rbuf_fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank,
                          ptrdiff_t displacement, MPI_Op op, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, 1, type};
    struct accumulate accumulate = {OSC_RBUF_GET_ACCUMULATE, &target, .op = op, .result = -1};
    int status;

    if (!packs(window)) {
        return window->below.osc_fetch_and_op(origin, result, type, rank, displacement, op, win);
    }
    status = pack(window, &accumulate, origin, 1, type, result, 1, type);
    osc_rbuf_unlock();
    return status;
}

/* The lock is held. */
static int compare_and_swap(struct osc_rbuf_window *window, const struct osc_rbuf_target *target,
                            const void *origin, const void *compare, void *result)
{
    struct osc_rbuf_elements elements;
    struct osc_rbuf_record *record;
    int number, status = check(window, target, &elements);

    if (status != OMPI_SUCCESS) {
        return status;
    }
    status =
        choose_path(window, target, MPI_REPLACE, &elements, 2 * elements.extent, elements.extent);
    if (status != OMPI_SUCCESS) {
        return status;
    }
    osc_rbuf_make_room(window, target->rank, 1, 2 * elements.extent);
    record = osc_rbuf_record_for(window, target, OSC_RBUF_NOTHING, 2 * elements.extent);
    if (record == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    status = osc_rbuf_elements_read(origin, 1, target->type, &elements, record + 1);
    if (status == MPI_SUCCESS) {
        status = osc_rbuf_elements_read(compare, 1, target->type, &elements,
                                        (unsigned char *) (record + 1) + elements.extent);
    }
    if (status != MPI_SUCCESS) {
        return status;
    }
    number = osc_rbuf_result_new(window, result, 1, target->type, &elements, NULL);
    if (number < 0) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    record->kind = OSC_RBUF_COMPARE_SWAP;
    record->wanted = 1;
    record->type = osc_rbuf_type_number(elements.type);
    record->op = osc_rbuf_op_number(MPI_REPLACE);
    record->result = number;
    osc_rbuf_counters.packed++;
    return OMPI_SUCCESS;
}

int osc_rbuf_compare_and_swap(const void *origin, const void *compare, void *result,
                              MPI_Datatype type, int rank, ptrdiff_t displacement, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, 1, type};
    int status;

    if (!packs(window)) {
        return window->below.osc_compare_and_swap(origin, compare, result, type, rank, displacement,
                                                  win);
    }
    status = compare_and_swap(window, &target, origin, compare, result);
    osc_rbuf_unlock();
    return status;
}

/* ---- with requests: in passive epochs alone ---- */

static bool is_below(const struct osc_rbuf_window *window)
{
    return window->access != OSC_RBUF_ACCESS_PASSIVE || !osc_rbuf_params.passive;
}

/* Packed, the program's data are free at once. */
int osc_rbuf_raccumulate(const void *origin, osc_rbuf_count_t origin_count,
                         MPI_Datatype origin_type, int target, ptrdiff_t displacement,
                         osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                         ompi_win_t *win, MPI_Request *request)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);

    if (is_below(window)) {
        return window->below.osc_raccumulate(origin, origin_count, origin_type, target,
                                             displacement, target_count, target_type, op, win,
                                             request);
    }
    *request = &ompi_request_empty;
    return osc_rbuf_accumulate(origin, origin_count, origin_type, target, displacement,
                               target_count, target_type, op, win);
}

/* Sends what is packed for the target on the path of the last operation, behind which nothing may
 * come for long. The lock is held, and may be given up. */
static int send_packed(struct osc_rbuf_window *window, int target)
{
    const struct osc_rbuf_peer *peer = &window->peers[target];

    if (peer->packing[peer->path.chosen] == NULL) {
        return MPI_SUCCESS;
    }
    return peer->path.chosen == OSC_RBUF_BY_AM
               ? osc_rbuf_am_send(window, target, OSC_RBUF_PASSIVE_DATA)
               : osc_rbuf_send_soon(window, target);
}

/* Packed, it leaves at once: the program may wait for it without a flush. */
int osc_rbuf_rget_accumulate(const void *origin, osc_rbuf_count_t origin_count,
                             MPI_Datatype origin_type, void *result, osc_rbuf_count_t result_count,
                             MPI_Datatype result_type, int rank, ptrdiff_t displacement,
                             osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                             ompi_win_t *win, MPI_Request *request)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, target_count, target_type};
    struct accumulate accumulate = {OSC_RBUF_GET_ACCUMULATE, &target, .op = op, .result = -1};
    int status;

    if (is_below(window)) {
        return window->below.osc_rget_accumulate(origin, origin_count, origin_type, result,
                                                 result_count, result_type, rank, displacement,
                                                 target_count, target_type, op, win, request);
    }
    *request = &ompi_request_empty;
    accumulate.request = osc_rbuf_request_new(win);
    if (accumulate.request == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    osc_rbuf_lock();
    status = pack(window, &accumulate, origin, origin_count, origin_type, result, result_count,
                  result_type);
    if (status == MPI_SUCCESS && accumulate.result >= 0) {
        *request = accumulate.request;
        status = send_packed(window, rank);
    }
    osc_rbuf_unlock();
    if (accumulate.result < 0) {
        osc_rbuf_request_drop(accumulate.request);
    } else if (status != MPI_SUCCESS) { /* the result has it, if it has not come */
        accumulate.request->req_free(&accumulate.request);
        *request = &ompi_request_empty;
    }
    return status;
}
