/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * put, get and atomics. Those of ob1 return OPAL_SUCCESS: what cannot go now is queued in core,
 * since it gives up a transfer for good when a put fails. osc/rdma is told to ask again when there
 * are no words for its atomics, or no fragments.
 *
 * Puts and gets that are small, or all of them with the protocols that copy, come without a handle
 * of their local memory: a put that travels inside the request needs none. Longer ones are done
 * from and into memory that is registered for being used often (reuse), or else by a copy in a
 * fragment of ours, as osc/rdma would, or in chunks (btl/operation.c).
 *
 * Those of one-sided code, whose remote handle is a window's, core may hold (core/onesided/rma.h),
 * with their registration; who waits for a registration waits for these as for others. ob1's are
 * not.
 *
 * A put into staging is complete when its last chunk is posted; the FIN which ob1 sends from inside
 * its callback is delivered behind the data (btl/callback.h). A put into registered memory is
 * complete when it has arrived.
 */
#include "btl/put_get.h"

#include "peers/connect.h"
#include "params/help.h"
#include "btl/register_mem.h"
#include "btl/operation.h"
#include "opal/runtime/opal_progress.h"

/* ---- puts ---- */

/* Open MPI puts what it asked for; a part of a staged offer has no schedule. */
static bool is_whole(const mca_btl_rbuf_operation_t *wanted, const struct rbuf_offer *offer)
{
    return wanted->local_handle != NULL && wanted->rma.remote == offer->base &&
           wanted->rma.bytes == offer->bytes;
}

static int put_staged(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *wanted,
                      const struct rbuf_offer *offer)
{
    struct rbuf_peer *peer = wanted->endpoint->peer;
    mca_btl_rbuf_operation_t *operation;

    mca_btl_rbuf_lock(module);
    operation = mca_btl_rbuf_operation_take(module, wanted);
    if (operation != NULL && is_whole(wanted, offer)) {
        operation->put_id = offer->id;
        operation->put = (struct rbuf_put){.source = operation->local_address, .offer = *offer};
        mca_btl_rbuf_auto_lane(&module->registrar, operation->local_address, offer->bytes,
                               &operation->timing);
        mca_btl_rbuf_endpoint_use(operation->endpoint);
        rbuf_put_start(peer, &operation->put);
    } else if (operation != NULL) {
        rbuf_core_raise(&module->core, RBUF_EVENT_PUT, peer, &operation->put, -EPROTO);
    }
    mca_btl_rbuf_unlock(module);
    return operation != NULL ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

int mca_btl_rbuf_put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_rbuf_operation_t wanted = {.rma = {.operation = RBUF_RMA_WRITE,
                                               .local = local_address,
                                               .remote = remote_address,
                                               .bytes = size},
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    const struct rbuf_offer *offer;

    (void) flags, (void) order;
    if (endpoint == NULL || remote_handle == NULL) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    offer = &remote_handle->offer; /* all of it that travelled */
    if (offer->mode != RBUF_OFFER_DIRECT && offer->mode != RBUF_OFFER_WINDOW) {
        return put_staged(module, &wanted, offer);
    }
    wanted.rma.rkey = offer->rkey;
    wanted.one_sided = offer->mode == RBUF_OFFER_WINDOW;
    return mca_btl_rbuf_operation_start(module, &wanted);
}

void mca_btl_rbuf_put_ended(mca_btl_rbuf_module_t *module, struct rbuf_put *put, int status)
{
    mca_btl_rbuf_operation_end(module, (mca_btl_rbuf_operation_t *) (void *) put, status);
}

void mca_btl_rbuf_get_ended(mca_btl_rbuf_module_t *module, struct rbuf_get *get, int status)
{
    mca_btl_rbuf_operation_end(module, (mca_btl_rbuf_operation_t *) (void *) get, status);
}

void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) put;
    const struct rbuf_offer offer = put->offer;

    operation->put_id = 0; /* it ends when the data is there: nothing has to wait for that */
    operation->rma = (struct rbuf_rma){.operation = RBUF_RMA_WRITE,
                                       .local = operation->local_address,
                                       .remote = offer.base,
                                       .bytes = offer.bytes,
                                       .rkey = offer.rkey};
    mca_btl_rbuf_operation_restart(module, operation);
}

/* ---- gets and atomics ---- */

int mca_btl_rbuf_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_rbuf_operation_t wanted = {.rma = {.operation = RBUF_RMA_READ,
                                               .local = local_address,
                                               .remote = remote_address,
                                               .bytes = size},
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};

    (void) flags, (void) order;
    if (endpoint == NULL || remote_handle == NULL) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    wanted.rma.rkey = remote_handle->offer.rkey;
    wanted.one_sided = remote_handle->offer.mode == RBUF_OFFER_WINDOW;
    return mca_btl_rbuf_operation_start(module, &wanted);
}

/*
 * Finds who has the memory of an atomic, and its key. False: it cannot be had.
 *
 * osc/rdma of Open MPI 4.1 gives no handle where it takes the memory for its own, as the target of
 * a compare-and-swap: that of the process itself, and of others of the node in a window that it
 * allocates. The address is one of this process then, and the adapter does it over the endpoint
 * of this process. To refuse would not do: Open MPI would compare and swap by the processor, under
 * a lock that excludes those who do the same, but not those who have the adapter do it.
 */
static bool find_target(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *wanted,
                        const mca_btl_rbuf_handle_t *handle)
{
    struct rbuf_problem problem;

    if (handle == NULL || wanted->endpoint == NULL) {
        wanted->endpoint = mca_btl_rbuf_endpoint_for(module, opal_proc_local_get());
    }
    if (wanted->endpoint == NULL) {
        return false;
    }
    if (handle == NULL) {
        handle = mca_btl_rbuf_window_at(module, wanted->rma.remote, wanted->rma.bytes);
    }
    if (handle != NULL) {
        wanted->rma.rkey = handle->offer.rkey;
        return true;
    }
    wanted->target = mca_btl_rbuf_registration_take(
        &module->registrar, mca_btl_rbuf_rank(wanted->endpoint),
        (void *) (uintptr_t) wanted->rma.remote, wanted->rma.bytes, MCA_BTL_RBUF_TARGET, &problem);
    if (wanted->target == NULL) {
        mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_WINDOW, &problem);
        return false;
    }
    wanted->rma.rkey = wanted->target->mr->rkey;
    return true;
}

/* Starts an atomic with its result going to local_address. */
static int atomic_start(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                        void *local_address, mca_btl_base_registration_handle_t *local_handle,
                        const mca_btl_base_registration_handle_t *remote_handle,
                        const struct rbuf_rma *rma, mca_btl_base_rdma_completion_fn_t callback,
                        void *context, void *data)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_rbuf_operation_t wanted = {.rma = *rma,
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .one_sided = true,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    mca_btl_rbuf_operation_t *operation = NULL;

    wanted.rma.bytes = sizeof(*wanted.bounce);
    if (!find_target(module, &wanted, remote_handle)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    mca_btl_rbuf_lock(module);
    wanted.bounce = mca_btl_rbuf_word_take(module);
    if (wanted.bounce != NULL) {
        wanted.rma.local = wanted.bounce;
        wanted.rma.lkey = module->atomic_words.mr->lkey;
        operation = mca_btl_rbuf_operation_take(module, &wanted);
        if (operation != NULL) {
            mca_btl_rbuf_operation_post(module, operation);
        } else {
            mca_btl_rbuf_word_give(module, wanted.bounce);
        }
    }
    mca_btl_rbuf_unlock(module);
    if (operation != NULL) {
        return OPAL_SUCCESS;
    }
    mca_btl_rbuf_registration_give(&module->registrar, wanted.target);
    return OPAL_ERR_OUT_OF_RESOURCE; /* osc/rdma progresses and asks again */
}

int mca_btl_rbuf_atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    const struct rbuf_rma rma = {
        .operation = RBUF_RMA_FETCH_ADD, .remote = remote_address, .operand = operand};

    (void) order;
    if (op != MCA_BTL_ATOMIC_ADD || (flags & MCA_BTL_ATOMIC_FLAG_32BIT)) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return atomic_start(btl, endpoint, local_address, local_handle, remote_handle, &rma, callback,
                        context, data);
}

int mca_btl_rbuf_atomic_cswap(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                              void *local_address, uint64_t remote_address,
                              mca_btl_base_registration_handle_t *local_handle,
                              mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                              uint64_t value, int flags, int order,
                              mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    const struct rbuf_rma rma = {.operation = RBUF_RMA_COMPARE_SWAP,
                                 .remote = remote_address,
                                 .operand = value,
                                 .compare = compare};

    (void) order;
    if (flags & MCA_BTL_ATOMIC_FLAG_32BIT) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return atomic_start(btl, endpoint, local_address, local_handle, remote_handle, &rma, callback,
                        context, data);
}

/* Of all endpoints, as Open MPI allows, and not from within a callback. */
int mca_btl_rbuf_flush(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    const mca_btl_rbuf_operation_t *oldest;
    uint64_t last;

    (void) endpoint;
    mca_btl_rbuf_lock(module);
    last = module->started;
    do {
        mca_btl_rbuf_unlock(module);
        opal_progress();
        mca_btl_rbuf_lock(module);
        oldest = TAILQ_FIRST(&module->under_way);
    } while (oldest != NULL && oldest->number <= last);
    mca_btl_rbuf_unlock(module);
    return OPAL_SUCCESS;
}
