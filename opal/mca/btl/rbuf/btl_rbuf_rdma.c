/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * put, get and atomics. All return OPAL_SUCCESS: what cannot go now is queued in core, since ob1
 * gives up a transfer for good when a put fails.
 *
 * A put into staging is complete when its last chunk is posted; its callback runs with
 * mca_btl_rbuf_after set, so that the FIN which ob1 sends from inside is delivered behind the data.
 * A put into registered memory is complete when it has arrived.
 */
#include "btl_rbuf.h"

#include <stdlib.h>

#include "opal/sys/atomic.h"

/* An operation like `wanted`, or NULL without memory. */
static mca_btl_rbuf_operation_t *operation_take(mca_btl_rbuf_module_t *module,
                                                const mca_btl_rbuf_operation_t *wanted)
{
    mca_btl_rbuf_operation_t *operation;

    mca_btl_rbuf_lock(module);
    operation = SLIST_FIRST(&module->operations);
    if (operation != NULL) {
        SLIST_REMOVE_HEAD(&module->operations, link);
    }
    mca_btl_rbuf_unlock(module);
    if (operation == NULL) {
        operation = malloc(sizeof(*operation));
    }
    if (operation != NULL) {
        *operation = *wanted;
    }
    return operation;
}

/* Tells Open MPI, with the operation already free for the next. No lock is held. */
static void operation_end(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                          int status)
{
    mca_btl_rbuf_operation_t ended = *operation;
    struct mca_btl_rbuf_after outer = mca_btl_rbuf_after; /* callbacks nest */
    /* What is said of a put that failed waits for no data: none will come. */
    uint64_t put_id = status == 0 ? ended.put_id : 0;

    mca_btl_rbuf_lock(module);
    SLIST_INSERT_HEAD(&module->operations, operation, link);
    mca_btl_rbuf_unlock(module);
    if (status == 0) {
        mca_btl_rbuf_auto_took(module, &ended.timing);
    }
    mca_btl_rbuf_after = (struct mca_btl_rbuf_after){.endpoint = ended.endpoint, .put_id = put_id};
    atomic_fetch_add_explicit(&ended.endpoint->putting, 1, memory_order_relaxed);
    ended.callback(&module->super, ended.endpoint, ended.local_address, ended.local_handle,
                   ended.context, ended.data, status == 0 ? OPAL_SUCCESS : OPAL_ERROR);
    atomic_fetch_sub_explicit(&ended.endpoint->putting, 1, memory_order_relaxed);
    mca_btl_rbuf_after = outer;
    if (ended.holds_registration) { /* no more: the callback has given the handle back */
        mca_btl_rbuf_lock(module);
        module->holding--;
        mca_btl_rbuf_unlock(module);
    }
}

/* Gives the operation the key of its local memory, registered now if it was not before. */
static bool local_key(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                      struct rbuf_problem *problem)
{
    const bool reads = operation->rma.operation == RBUF_RMA_READ; /* into the memory */
    mca_btl_rbuf_handle_t *handle = operation->local_handle;

    if (handle->registration == NULL) {
        handle->registration = mca_btl_rbuf_registration_take(
            module, handle->base, handle->bytes, reads ? MCA_BTL_RBUF_TARGET : MCA_BTL_RBUF_SOURCE,
            problem);
        if (handle->registration == NULL) {
            return false;
        }
    }
    operation->rma.lkey = handle->registration->mr->lkey;
    return true;
}

static void rma_start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_rma_start(operation->endpoint->peer, &operation->rma);
    mca_btl_rbuf_unlock(module);
}

static bool any_holding(mca_btl_rbuf_module_t *module)
{
    bool any;

    mca_btl_rbuf_lock(module);
    any = module->holding > 0;
    mca_btl_rbuf_unlock(module);
    return any;
}

/* Puts an operation aside that was refused a registration, or that would pass such ones, until one
 * that holds a registration ends. False if there is none, or nothing to wait behind. */
static bool starve(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation, bool refused)
{
    bool waits;

    mca_btl_rbuf_lock(module);
    waits = module->holding > 0 && (refused || !SLIST_EMPTY(&module->starved));
    if (waits) {
        SLIST_INSERT_HEAD(&module->starved, operation, link);
    }
    mca_btl_rbuf_unlock(module);
    return waits;
}

/* Starts an operation in place whose local memory is registered now. Where that fails while others
 * hold registrations, it waits until one of them ends: osc/rdma takes no notice of a put that
 * failed, so that what is given up here would be lost. */
static void transfer_start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    struct rbuf_problem problem;
    bool alone;
    bool got;

    do { /* again if the last holder has ended meanwhile */
        alone = !any_holding(module);
        got = local_key(module, operation, &problem);
        if (!got && starve(module, operation, true)) {
            return;
        }
    } while (!got && !alone);
    if (!got) {
        mca_btl_rbuf_help_problem(&problem);
        operation_end(module, operation, -ENOMEM);
        return;
    }
    operation->holds_registration = true;
    mca_btl_rbuf_lock(module);
    module->holding++;
    mca_btl_rbuf_unlock(module);
    rma_start(module, operation);
}

/* An operation has ended, so one of those that wait may start; all of them may if none is left that
 * could end. No lock is held. */
static void feed_starved(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_operation_t *operation;

    do {
        mca_btl_rbuf_lock(module);
        operation = SLIST_FIRST(&module->starved);
        if (operation != NULL) {
            SLIST_REMOVE_HEAD(&module->starved, link);
        }
        mca_btl_rbuf_unlock(module);
        if (operation != NULL) {
            transfer_start(module, operation);
        }
    } while (operation != NULL && !any_holding(module));
}

/* Writes or reads in place; without a local registration the operation ends in an error. A write of
 * few bytes goes inline and needs none: a program may put a million of them, each from a place of
 * its own. */
static void transfer(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                     enum rbuf_rma_operation kind, uint64_t remote, uint32_t rkey, size_t size)
{
    operation->put_id = 0;
    operation->bounce = NULL;
    operation->rma = (struct rbuf_rma){.operation = kind,
                                       .local = operation->local_address,
                                       .remote = remote,
                                       .bytes = size,
                                       .rkey = rkey};
    if (kind == RBUF_RMA_WRITE && size <= rbuf_queue_inline(module->port, RBUF_BULK)) {
        rma_start(module, operation);
    } else if (!starve(module, operation, false)) {
        transfer_start(module, operation);
    }
}

static void put_staged(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                       const struct rbuf_offer *offer)
{
    operation->put_id = offer->id;
    operation->put = (struct rbuf_put){.source = operation->local_address, .offer = *offer};
    mca_btl_rbuf_auto_lane(module, operation->local_address, offer->bytes, &operation->timing);
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_put_start(operation->endpoint->peer, &operation->put);
    mca_btl_rbuf_unlock(module);
}

/* Writes in place from staging: the source is not registered. */
static void put_copied(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                       uint64_t remote, uint32_t rkey, size_t size)
{
    operation->put_id = 0; /* it ends when the data is there: nothing has to wait for it */
    operation->put = (struct rbuf_put){
        .source = operation->local_address,
        .offer = {.base = remote, .bytes = size, .rkey = rkey, .mode = RBUF_OFFER_DIRECT}};
    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_put_copied(operation->endpoint->peer, &operation->put);
    mca_btl_rbuf_unlock(module);
}

/* Puts into registered memory. Protocol auto decides on the source if it is worth a thought and not
 * registered anyway. */
static void put_in_place(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                         uint64_t remote, uint32_t rkey, size_t size)
{
    mca_btl_rbuf_handle_t *handle = operation->local_handle;

    if (module->choice != NULL && size >= module->room[RBUF_CONTROL] &&
        handle->registration == NULL) {
        handle->registration = mca_btl_rbuf_auto_decide(
            module, RBUF_SIDE_SEND, operation->local_address, size, &operation->timing);
        if (handle->registration == NULL) {
            put_copied(module, operation, remote, rkey, size);
            return;
        }
    }
    transfer(module, operation, RBUF_RMA_WRITE, remote, rkey, size);
}

/* A message goes in place, and not behind its early data. That there are none yet is seen without
 * the lock: what is missed so is dropped when it has aged. */
static void forget_early(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                         const void *source)
{
    if (endpoint->peer->early_out != NULL) {
        mca_btl_rbuf_lock(module);
        rbuf_early_forget(endpoint->peer, source);
        mca_btl_rbuf_unlock(module);
    }
}

int mca_btl_rbuf_put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    const struct rbuf_offer *offer = &remote_handle->offer; /* all of it that travelled */
    const mca_btl_rbuf_operation_t wanted = {.endpoint = endpoint,
                                             .local_address = local_address,
                                             .local_handle = local_handle,
                                             .callback = callback,
                                             .context = context,
                                             .data = data};
    mca_btl_rbuf_operation_t *operation = operation_take(module, &wanted);

    (void) flags;
    (void) order;
    if (operation == NULL) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (offer->mode == RBUF_OFFER_DIRECT) {
        forget_early(module, endpoint, local_address);
        put_in_place(module, operation, remote_address, offer->rkey, size);
    } else if (remote_address == offer->base && size == offer->bytes) {
        put_staged(module, operation, offer);
    } else {
        /* Open MPI puts what it asked for; a part of a staged offer has no schedule. */
        operation_end(module, operation, -EPROTO);
    }
    return OPAL_SUCCESS;
}

/* A staged put is through, or failed. No lock is held. */
void mca_btl_rbuf_put_ended(mca_btl_rbuf_module_t *module, struct rbuf_put *put, int status)
{
    operation_end(module, (mca_btl_rbuf_operation_t *) (void *) put, status);
}

/* The receiver had no staging and registered its buffer instead. No lock is held. */
void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) put;
    struct rbuf_offer offer = put->offer;

    put_in_place(module, operation, offer.base, offer.rkey, offer.bytes);
}

int mca_btl_rbuf_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    const mca_btl_rbuf_operation_t wanted = {.endpoint = endpoint,
                                             .local_address = local_address,
                                             .local_handle = local_handle,
                                             .callback = callback,
                                             .context = context,
                                             .data = data};
    mca_btl_rbuf_operation_t *operation = operation_take(module, &wanted);

    (void) flags;
    (void) order;
    if (operation == NULL) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    transfer(module, operation, RBUF_RMA_READ, remote_address, remote_handle->offer.rkey, size);
    return OPAL_SUCCESS;
}

/* A registered word for an atomic to land in, or NULL if all are in use. */
static uint64_t *bounce_take(mca_btl_rbuf_module_t *module)
{
    uint64_t *word = NULL;

    mca_btl_rbuf_lock(module);
    if (module->atomic_words_free != 0) {
        unsigned bit = (unsigned) __builtin_ctzll(module->atomic_words_free);

        module->atomic_words_free &= ~(1ull << bit);
        word = (uint64_t *) module->atomic_words.base + bit;
    }
    mca_btl_rbuf_unlock(module);
    return word;
}

static void bounce_give(mca_btl_rbuf_module_t *module, uint64_t *word)
{
    mca_btl_rbuf_lock(module);
    module->atomic_words_free |= 1ull << (word - (uint64_t *) module->atomic_words.base);
    mca_btl_rbuf_unlock(module);
}

/* An in-place operation is complete, or failed. No lock is held. */
void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) rma;

    if (operation->bounce != NULL) {
        if (status == 0) {
            *(uint64_t *) operation->local_address = *operation->bounce;
        }
        bounce_give(module, operation->bounce);
    }
    operation_end(module, operation, status);
    feed_starved(module);
}

/* Starts `rma` (operation, remote, rkey, operands) with its result going to local_address. */
static int atomic_start(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *wanted)
{
    uint64_t *word = bounce_take(module);
    mca_btl_rbuf_operation_t *operation;

    if (word == NULL) {
        return OPAL_ERR_OUT_OF_RESOURCE; /* osc/rdma progresses and asks again */
    }
    operation = operation_take(module, wanted);
    if (operation == NULL) {
        bounce_give(module, word);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    operation->bounce = word;
    operation->rma.local = word;
    operation->rma.bytes = sizeof(*word);
    operation->rma.lkey = module->atomic_words.mr->lkey;
    rma_start(module, operation);
    return OPAL_SUCCESS;
}

int mca_btl_rbuf_atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    mca_btl_rbuf_operation_t wanted = {.rma = {.operation = RBUF_RMA_FETCH_ADD,
                                               .remote = remote_address,
                                               .rkey = remote_handle->offer.rkey,
                                               .operand = operand},
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};

    (void) order;
    if (op != MCA_BTL_ATOMIC_ADD || (flags & MCA_BTL_ATOMIC_FLAG_32BIT)) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return atomic_start(mca_btl_rbuf_module(btl), &wanted);
}

int mca_btl_rbuf_atomic_cswap(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                              void *local_address, uint64_t remote_address,
                              mca_btl_base_registration_handle_t *local_handle,
                              mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                              uint64_t value, int flags, int order,
                              mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    mca_btl_rbuf_operation_t wanted = {.rma = {.operation = RBUF_RMA_COMPARE_SWAP,
                                               .remote = remote_address,
                                               .rkey = remote_handle->offer.rkey,
                                               .operand = value,
                                               .compare = compare},
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};

    (void) order;
    if (flags & MCA_BTL_ATOMIC_FLAG_32BIT) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return atomic_start(mca_btl_rbuf_module(btl), &wanted);
}
