/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What an operation has to know of its target (osc_rbuf_target.h).
 */
#include "osc_rbuf_target.h"

#include "ompi/constants.h"
#include "osc_rbuf_below.h"
#include "osc_rbuf_counters.h"
#include "osc_rbuf_elements.h"
#include "osc_rbuf_fence.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_sync.h"

bool osc_rbuf_is_accessed(const struct osc_rbuf_window *window, int target)
{
    return window->access == OSC_RBUF_ACCESS_FENCE ||
           (osc_rbuf_is_started(window->access) && window->peers[target].sync.accessed);
}

bool osc_rbuf_is_inside(const struct osc_rbuf_window *window, const struct osc_rbuf_target *target)
{
    const struct osc_rbuf_peer *peer = &window->peers[target->rank];
    ptrdiff_t first;
    const size_t bytes = osc_rbuf_span(target->type, target->count, &first);

    if (window->dynamic || bytes == 0) {
        return true;
    }
    first += target->displacement * peer->displacement_unit;
    return first >= 0 && (uint64_t) first <= peer->bytes && bytes <= peer->bytes - (uint64_t) first;
}

struct osc_rbuf_record *osc_rbuf_record_for(struct osc_rbuf_window *window,
                                            const struct osc_rbuf_target *target,
                                            enum osc_rbuf_record_kind kind, size_t payload)
{
    struct osc_rbuf_record *record = osc_rbuf_append(window, target->rank, payload);

    if (record != NULL) {
        record->kind = kind;
        record->payload = (uint32_t) payload;
        record->displacement = target->displacement;
        record->count = (uint64_t) target->count;
    }
    return record;
}

int osc_rbuf_pass(struct osc_rbuf_window *window, int target)
{
    enum osc_rbuf_access access;
    bool active, refused;
    int status;

    osc_rbuf_lock();
    access = window->access;
    active = access == OSC_RBUF_ACCESS_FENCE || osc_rbuf_is_started(access);
    refused = active && !osc_rbuf_is_accessed(window, target);
    osc_rbuf_counters.passed += active && !refused;
    osc_rbuf_unlock();
    if (refused) {
        return osc_rbuf_refuse(window, "an operation on a rank that MPI_Win_start did not name");
    }
    if (!active) {
        return OMPI_SUCCESS;
    }
    if (access == OSC_RBUF_ACCESS_STARTED) {
        osc_rbuf_await_post(window, target);
    }
    status = access == OSC_RBUF_ACCESS_FENCE ? osc_rbuf_settle(window, target) : OMPI_SUCCESS;
    return status == OMPI_SUCCESS ? osc_rbuf_below_open(window) : status;
}
