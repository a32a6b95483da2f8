/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts, gets and atomics of the BTL interface, for ob1 and for osc/rdma.
 *
 * Errors. ob1 does not call again when a put fails: its message would be lost. So for ob1 these
 * functions return OPAL_SUCCESS, and core queues what cannot be posted yet. osc/rdma calls again
 * after OPAL_ERR_OUT_OF_RESOURCE. It gets that while no fragment is free, or no registered word for
 * the result of an atomic.
 *
 * Local memory. Open MPI registers no local memory for small operations, nor for any with the
 * protocols that copy (set_registration_thresholds() of module/module_open.c). Without such a
 * handle,
 *
 *   - a put that fits into the work request goes inline;
 *   - what is in memory that reuse has registered goes in place;
 *   - all else is copied to or from a fragment, or in chunks (btl/operation.c).
 *
 * Remote memory. A remote handle of a window says that one-sided code has started the operation.
 * Core may delay such an operation (core/onesided/rma.h). It keeps its registration meanwhile, and
 * others that need room for theirs wait for it as for any operation. Core delays none of ob1's.
 *
 * Completion. The callback of a put into registered memory runs when the data has arrived. The
 * callback of a put into staging runs when the last chunk is posted. ob1 sends its FIN from there,
 * and the receiver delivers that FIN behind the data (btl/callback.h).
 *
 * Threads: any. Each function takes the module's lock, unless it says that its caller has it.
 */
#include "btl/btl.h"

#include <errno.h>

#include "params/help.h"
#include "btl/operation.h"
#include "opal/runtime/opal_progress.h"

static mca_btl_rbuf_local_t local_of(const mca_btl_rbuf_handle_t *local_handle)
{
    return local_handle != NULL ? MCA_BTL_RBUF_LOCAL_HANDLE : MCA_BTL_RBUF_LOCAL_UNREGISTERED;
}

/* Whose operation it is on the memory that this offers. */
static mca_btl_rbuf_user_t user_of(const struct rbuf_offer *remote)
{
    return remote->mode == RBUF_OFFER_WINDOW ? MCA_BTL_RBUF_OF_WINDOW : MCA_BTL_RBUF_OF_OB1;
}

/* ---- puts ---- */

/* The lock is held. */
static void put_staged(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                       const struct rbuf_offer *offer)
{
    mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_STAGED);
    operation->put_id = offer->id;
    operation->put = (struct rbuf_put){.source = operation->local_address, .offer = *offer};
    mca_btl_rbuf_auto_lane(&module->registrar, operation->local_address, offer->bytes,
                           &operation->timing);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_put_start(operation->endpoint->peer, &operation->put);
}

/* Puts into registered memory; it ends when the data is there, so that nothing has to wait for it.
 * The lock is held. */
static void put_in_place(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                         uint64_t remote, uint32_t rkey, size_t size)
{
    operation->put_id = 0;
    operation->rma = (struct rbuf_rma){.operation = RBUF_FAB_WRITE,
                                       .local = operation->local_address,
                                       .remote = remote,
                                       .bytes = size,
                                       .rkey = rkey};
    mca_btl_rbuf_operation_advance(module, operation);
}

/* The offer is not one that Open MPI can have asked for: it puts what it asked for, and a part of a
 * staged offer has no schedule. The lock is held. */
static void put_refused(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_STAGED);
    rbuf_core_raise(&module->core, RBUF_EVENT_PUT, operation->endpoint->peer, &operation->put,
                    &operation->put.ended, -EPROTO);
}

int mca_btl_rbuf_put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_rbuf_operation_t wanted = {.endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .local = local_of(local_handle),
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    mca_btl_rbuf_operation_t *operation;
    const struct rbuf_offer *offer;

    (void) flags, (void) order;
    if (endpoint == NULL || remote_handle == NULL) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    offer = &remote_handle->offer; /* all of it that travelled */
    wanted.user = user_of(offer);
    if (local_handle == NULL && !mca_btl_rbuf_is_inline(module, size) &&
        !mca_btl_rbuf_operation_attach(module, &wanted, MCA_BTL_RBUF_SOURCE, size)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_btl_rbuf_lock(module);
    operation = mca_btl_rbuf_operation_take(module, &wanted);
    if (operation == NULL) {
        mca_btl_rbuf_operation_detach(module, &wanted);
        mca_btl_rbuf_unlock(module);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (operation->user == MCA_BTL_RBUF_OF_WINDOW) {
        module->one_sided.puts++;
        module->one_sided.put_bytes += size;
    }
    if (offer->mode == RBUF_OFFER_DIRECT || offer->mode == RBUF_OFFER_WINDOW) {
        if (rbuf_early_may_begin(
                endpoint->peer)) { /* the message does not go behind its early data */
            rbuf_early_forget(endpoint->peer, local_address);
        }
        put_in_place(module, operation, remote_address, offer->rkey, size);
    } else if (local_handle != NULL && remote_address == offer->base && size == offer->bytes) {
        put_staged(module, operation, offer);
    } else {
        put_refused(module, operation);
    }
    mca_btl_rbuf_unlock(module);
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) put;
    const struct rbuf_offer offer = put->offer;

    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_STARTING);
    put_in_place(module, operation, offer.base, offer.rkey, offer.bytes);
    mca_btl_rbuf_unlock(module);
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
    mca_btl_rbuf_operation_t wanted = {.rma = {.operation = RBUF_FAB_READ,
                                               .local = local_address,
                                               .remote = remote_address,
                                               .bytes = size},
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .local = local_of(local_handle),
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    mca_btl_rbuf_operation_t *operation;

    (void) flags, (void) order;
    if (endpoint == NULL || remote_handle == NULL) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    wanted.rma.rkey = remote_handle->offer.rkey;
    wanted.user = user_of(&remote_handle->offer);
    if (local_handle == NULL &&
        !mca_btl_rbuf_operation_attach(module, &wanted, MCA_BTL_RBUF_TARGET, size)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_btl_rbuf_lock(module);
    operation = mca_btl_rbuf_operation_take(module, &wanted);
    if (operation == NULL) {
        mca_btl_rbuf_operation_detach(module, &wanted);
        mca_btl_rbuf_unlock(module);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (operation->user == MCA_BTL_RBUF_OF_WINDOW) {
        module->one_sided.gets++;
        module->one_sided.get_bytes += size;
    }
    mca_btl_rbuf_operation_advance(module, operation);
    mca_btl_rbuf_unlock(module);
    return OPAL_SUCCESS;
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
    wanted->target = mca_btl_rbuf_registration_get(
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
                                       .user = MCA_BTL_RBUF_OF_WINDOW,
                                       .local = MCA_BTL_RBUF_LOCAL_WORD,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    mca_btl_rbuf_operation_t *operation = NULL;

    wanted.rma.bytes = sizeof(*wanted.word);
    if (!find_target(module, &wanted, remote_handle)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    mca_btl_rbuf_lock(module);
    wanted.word = mca_btl_rbuf_word_take(module);
    if (wanted.word != NULL) {
        operation = mca_btl_rbuf_operation_take(module, &wanted);
        if (operation != NULL) {
            mca_btl_rbuf_operation_advance(module, operation);
        } else {
            mca_btl_rbuf_operation_detach(module, &wanted);
        }
    }
    mca_btl_rbuf_unlock(module);
    if (operation != NULL) {
        return OPAL_SUCCESS;
    }
    mca_btl_rbuf_registration_put(&module->registrar, wanted.target);
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
        .operation = RBUF_FAB_FETCH_ADD, .remote = remote_address, .operand = operand};

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
    const struct rbuf_rma rma = {.operation = RBUF_FAB_COMPARE_SWAP,
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
