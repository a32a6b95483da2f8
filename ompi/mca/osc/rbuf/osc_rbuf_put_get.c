/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts and gets at the origin: what is packed, and what goes below. In active epochs these are
 * packed:
 *
 *     few bytes without gaps at the target: as bytes
 *     many short pieces there: as an accumulate that replaces, and one that only reads. Below, each
 *     piece would be a request of the adapter
 *
 * All others go below, also what MPI forbids: osc_rbuf_pass() or below refuses it. No state. The
 * lock is taken for what is packed, and given up before a call below.
 */
#include "osc_rbuf_put_get.h"

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "osc_rbuf_accumulate.h"
#include "osc_rbuf_counters.h"
#include "osc_rbuf_elements.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_results.h"
#include "osc_rbuf_sync.h"
#include "osc_rbuf_target.h"
#include "osc_rbuf_windows.h"

static size_t data_bytes(const struct osc_rbuf_target *target)
{
    size_t bytes;

    ompi_datatype_type_size(target->type, &bytes);
    return bytes * (size_t) target->count;
}

/* What has pieces longer than limit / PIECES_IN_LIMIT on average goes below: there a piece costs a
 * request of the adapter, which takes about as long as packing so many bytes. So does what would
 * take more than MOST_MESSAGES messages: osc/rdma needs no buffers for it. */
enum { PIECES_IN_LIMIT = 8, MOST_MESSAGES = 16 };

/* What becomes of a put or get. */
enum plan { PLAN_BYTES, PLAN_PIECES, PLAN_BELOW };

/* One of no bytes is packed, wherever it points: there is nothing to do. Short pieces are if they
 * are all of one predefined type. The lock is held. */
static enum plan plan_of(const struct osc_rbuf_window *window, const struct osc_rbuf_target *target,
                         size_t bytes)
{
    const size_t limit = osc_rbuf_params.limit;
    struct osc_rbuf_elements elements;

    if (!osc_rbuf_is_accessed(window, target->rank) || bytes > MOST_MESSAGES * osc_rbuf_room()) {
        return PLAN_BELOW;
    }
    if (bytes == 0) {
        return PLAN_BYTES;
    }
    if (ompi_datatype_is_contiguous_memory_layout(target->type, target->count)) {
        return bytes <= limit && osc_rbuf_is_inside(window, target) ? PLAN_BYTES : PLAN_BELOW;
    }
    return osc_rbuf_is_inside(window, target) &&
                   osc_rbuf_elements_of(target->type, target->count, &elements) &&
                   osc_rbuf_piece_bytes(target->type, target->count) <= limit / PIECES_IN_LIMIT
               ? PLAN_PIECES
               : PLAN_BELOW;
}

static uint64_t first_byte(const struct osc_rbuf_target *target)
{
    ptrdiff_t first, data;

    ompi_datatype_get_true_extent(target->type, &first, &data);
    return (uint64_t) first;
}

static struct osc_rbuf_elements as_bytes(size_t bytes)
{
    return (struct osc_rbuf_elements){.type = MPI_BYTE, .size = 1, .extent = 1, .count = bytes};
}

/* The lock is held. */
static int put_packed(struct osc_rbuf_window *window, const void *origin, osc_rbuf_count_t count,
                      MPI_Datatype type, const struct osc_rbuf_target *target, size_t bytes)
{
    const struct osc_rbuf_elements elements = as_bytes(bytes);
    struct osc_rbuf_record *record;
    int status;

    osc_rbuf_make_room(window, target->rank, 1, bytes);
    record = osc_rbuf_record_for(window, target, OSC_RBUF_NOTHING, bytes);
    if (record == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    status = osc_rbuf_elements_read(origin, count, type, &elements, record + 1);
    if (status == MPI_SUCCESS) {
        record->kind = OSC_RBUF_PUT;
        record->first = first_byte(target);
        osc_rbuf_counters.packed++;
    }
    return status;
}

int osc_rbuf_put(const void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type,
                 int rank, ptrdiff_t displacement, osc_rbuf_count_t target_count,
                 MPI_Datatype target_type, ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, target_count, target_type};
    const size_t bytes = data_bytes(&target);
    enum plan plan;
    int status = OMPI_SUCCESS;

    osc_rbuf_lock();
    plan = plan_of(window, &target, bytes);
    if (plan == PLAN_BYTES && bytes > 0) {
        status = put_packed(window, origin, origin_count, origin_type, &target, bytes);
    }
    osc_rbuf_unlock();
    if (plan == PLAN_PIECES) {
        return osc_rbuf_accumulate(origin, origin_count, origin_type, rank, displacement,
                                   target_count, target_type, MPI_REPLACE, win);
    }
    if (plan == PLAN_BELOW) {
        status = osc_rbuf_pass(window, rank);
        return status != OMPI_SUCCESS
                   ? status
                   : window->below.osc_put(origin, origin_count, origin_type, rank, displacement,
                                           target_count, target_type, win);
    }
    return status;
}

/* The lock is held. */
static int get_packed(struct osc_rbuf_window *window, void *origin, osc_rbuf_count_t count,
                      MPI_Datatype type, const struct osc_rbuf_target *target, size_t bytes)
{
    const struct osc_rbuf_elements elements = as_bytes(bytes);
    struct osc_rbuf_record *record;
    int result;

    osc_rbuf_make_room(window, target->rank, 1, 0);
    record = osc_rbuf_record_for(window, target, OSC_RBUF_NOTHING, 0);
    result =
        record != NULL ? osc_rbuf_result_new(window, origin, count, type, &elements, NULL) : -1;
    if (result < 0) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    record->kind = OSC_RBUF_GET;
    record->first = first_byte(target);
    record->wanted = bytes;
    record->result = result;
    osc_rbuf_counters.packed++;
    return OMPI_SUCCESS;
}

int osc_rbuf_get(void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type, int rank,
                 ptrdiff_t displacement, osc_rbuf_count_t target_count, MPI_Datatype target_type,
                 ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const struct osc_rbuf_target target = {rank, displacement, target_count, target_type};
    const size_t bytes = data_bytes(&target);
    enum plan plan;
    int status = OMPI_SUCCESS;

    osc_rbuf_lock();
    plan = plan_of(window, &target, bytes);
    if (plan == PLAN_BYTES && bytes > 0) {
        status = get_packed(window, origin, origin_count, origin_type, &target, bytes);
    }
    osc_rbuf_unlock();
    if (plan == PLAN_PIECES) {
        return osc_rbuf_get_accumulate(NULL, 0, MPI_BYTE, origin, origin_count, origin_type, rank,
                                       displacement, target_count, target_type, MPI_NO_OP, win);
    }
    if (plan == PLAN_BELOW) {
        status = osc_rbuf_pass(window, rank);
        return status != OMPI_SUCCESS
                   ? status
                   : window->below.osc_get(origin, origin_count, origin_type, rank, displacement,
                                           target_count, target_type, win);
    }
    return status;
}
