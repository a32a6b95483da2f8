/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * put, get and atomics. Those of ob1 return OPAL_SUCCESS: what cannot go now is queued in core,
 * since it gives up a transfer for good when a put fails. osc/rdma is told to ask again when there
 * are no words for its atomics, or no fragments.
 *
 * An operation takes the lock once to start, once to end and, if it is one-sided or held a
 * registration, once behind its callback; more often where memory has to be registered, which is
 * done without it. One without a handle that is longer than what goes inline takes it once before,
 * to find its memory registered, and once more for a fragment if that is not.
 *
 * Small puts and gets come without a handle of their local memory: a put that travels inside the
 * request needs none. Longer ones are done from and into memory that is registered for being used
 * often (reuse), or else by a copy in a fragment of ours, as osc/rdma would.
 *
 * Those of one-sided code, whose remote handle is a window's, core may hold (core/staged/rma.h),
 * with their registration; who waits for a registration waits for these as for others. ob1's are
 * not.
 *
 * A put into staging is complete when its last chunk is posted; the FIN which ob1 sends from inside
 * its callback is delivered behind the data (btl_rbuf_callback.h). A put into registered memory is
 * complete when it has arrived.
 */
#include "btl_rbuf_rdma.h"

#include <stdlib.h>
#include <string.h>

#include "btl_rbuf_auto.h"
#include "btl_rbuf_callback.h"
#include "btl_rbuf_connect.h"
#include "btl_rbuf_frequent.h"
#include "btl_rbuf_help.h"
#include "btl_rbuf_memory.h"
#include "core/staged/put.h"
#include "core/staged/rma.h"
#include "opal/runtime/opal_progress.h"

/* A put, get or atomic under way, and whom to tell. */
typedef struct mca_btl_rbuf_operation {
    union {
        struct rbuf_put put; /* staged */
        struct rbuf_rma rma; /* in place */
    };
    mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    mca_btl_rbuf_handle_t *local_handle; /* NULL: one of these two, or inline */
    struct rbuf_frequent_held *held;     /* its local memory's registration */
    mca_btl_rbuf_frag_t *frag;           /* the data stands there */
    bool timed;                          /* its copy is */
    bool one_sided;                      /* not ob1's: core may hold it, and a flush waits for it */
    mca_btl_base_rdma_completion_fn_t callback;
    void *context;
    void *data;
    uint64_t put_id; /* of a staged put: orders what the callback sends */
    struct mca_btl_rbuf_timing timing;
    /* Atomics land in registered words of our own and are copied from there. */
    uint64_t *bounce;
    bool holds_registration; /* counted in the module's `holding` */
    uint64_t number;         /* in order of their start */
    SLIST_ENTRY(mca_btl_rbuf_operation) link;
    TAILQ_ENTRY(mca_btl_rbuf_operation) under_way_link;
} mca_btl_rbuf_operation_t;

/* A registered word for an atomic to land in, or NULL if all are in use. The lock is held. */
static uint64_t *bounce_take(mca_btl_rbuf_module_t *module)
{
    unsigned bit;

    if (module->atomic_words_free == 0) {
        return NULL;
    }
    bit = (unsigned) __builtin_ctzll(module->atomic_words_free);
    module->atomic_words_free &= ~(1ull << bit);
    return (uint64_t *) module->atomic_words.base + bit;
}

static void bounce_give(mca_btl_rbuf_module_t *module, uint64_t *word)
{
    module->atomic_words_free |= 1ull << (word - (uint64_t *) module->atomic_words.base);
}

/* An operation like `wanted`, or NULL without memory. The lock is held. */
static mca_btl_rbuf_operation_t *operation_take(mca_btl_rbuf_module_t *module,
                                                const mca_btl_rbuf_operation_t *wanted)
{
    mca_btl_rbuf_operation_t *operation = SLIST_FIRST(&module->operations);

    if (operation != NULL) {
        SLIST_REMOVE_HEAD(&module->operations, link);
    } else {
        operation = malloc(sizeof(*operation));
    }
    if (operation == NULL) {
        return NULL;
    }
    *operation = *wanted;
    if (operation->one_sided) {
        operation->number = ++module->started;
        TAILQ_INSERT_TAIL(&module->under_way, operation, under_way_link);
    }
    return operation;
}

void mca_btl_rbuf_operations_close(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_operation_t *operation;

    while ((operation = SLIST_FIRST(&module->operations)) != NULL) {
        SLIST_REMOVE_HEAD(&module->operations, link);
        free(operation);
    }
}

/* ---- local memory without a handle ---- */

static bool is_inline(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return bytes <= rbuf_queue_inline(module->port, RBUF_BULK);
}

/* Copies between the user's memory and the fragment. No lock is held. */
static void copy(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *operation,
                 enum rbuf_frequent_kind kind, size_t bytes)
{
    const uint64_t start = operation->timed ? mca_btl_rbuf_now_ns() : 0;
    void *data = operation->frag->am.header + 1;

    memcpy(kind == RBUF_FREQUENT_GET ? operation->local_address : data,
           kind == RBUF_FREQUENT_GET ? data : operation->local_address, bytes);
    if (operation->timed) {
        mca_btl_rbuf_frequent_copied(module, kind, (uint32_t) bytes, start);
    }
}

/* Finds a place in registered memory for an operation without a handle. False: there is none. No
 * lock is held. */
static bool find_place(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                       enum rbuf_frequent_kind kind, size_t bytes)
{
    if (module->frequent != NULL) {
        operation->held = mca_btl_rbuf_frequent_find(module, kind, operation->local_address,
                                                     (uint32_t) bytes, &operation->timed);
        if (operation->held != NULL) {
            return true;
        }
    }
    mca_btl_rbuf_lock(module);
    operation->frag = mca_btl_rbuf_frag_take_locked(module, bytes);
    module->bounced += operation->frag != NULL;
    mca_btl_rbuf_unlock(module);
    if (operation->frag != NULL && kind == RBUF_FREQUENT_PUT) {
        copy(module, operation, kind, bytes);
    }
    return operation->frag != NULL;
}

/* The lock is held. */
static void give_place(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *operation)
{
    if (operation->held != NULL) {
        rbuf_frequent_end(&module->frequent->table, operation->held);
    }
    if (operation->frag != NULL) {
        mca_btl_rbuf_frag_give(operation->frag);
    }
}

/* Tells Open MPI, with the operation already free for the next, unless a flush may wait for it:
 * osc/rdma frees then what its callback looks at. No lock is held. */
static void operation_end(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                          int status)
{
    const mca_btl_rbuf_operation_t ended = *operation;
    const uint64_t ns = mca_btl_rbuf_auto_elapsed(&ended.timing);
    /* What is said of a put that failed waits for no data: none will come. */
    struct mca_btl_rbuf_callback callback = {.kind = MCA_BTL_RBUF_CALLBACK_PUT,
                                             .endpoint = ended.endpoint,
                                             .put_id = status == 0 ? ended.put_id : 0};

    if (ended.frag != NULL && ended.rma.operation == RBUF_RMA_READ && status == 0) {
        copy(module, &ended, RBUF_FREQUENT_GET, ended.rma.bytes);
    }
    mca_btl_rbuf_lock(module);
    if (ended.bounce != NULL) {
        bounce_give(module, ended.bounce);
    }
    give_place(module, &ended);
    if (status == 0) {
        mca_btl_rbuf_auto_took(module, &ended.timing, ns);
    }
    if (!ended.one_sided) {
        SLIST_INSERT_HEAD(&module->operations, operation, link);
    }
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_callback_enter(&callback);
    if (ended.callback != NULL) { /* osc/rdma has none where it flushes and gives nothing back */
        ended.callback(&module->super, ended.endpoint, ended.local_address, ended.local_handle,
                       ended.context, ended.data, status == 0 ? OPAL_SUCCESS : OPAL_ERROR);
    }
    mca_btl_rbuf_callback_leave(&callback);
    if (ended.one_sided) {
        mca_btl_rbuf_lock(module);
        TAILQ_REMOVE(&module->under_way, operation, under_way_link);
        SLIST_INSERT_HEAD(&module->operations, operation, link);
        mca_btl_rbuf_unlock(module);
    }
}

/* ---- in place ---- */

/* What is held leaves at the next call of progress; should none come, the thread sees to it. */
static void rma_start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    struct rbuf_peer *peer = operation->endpoint->peer;

    mca_btl_rbuf_endpoint_use(operation->endpoint);
    if (operation->one_sided && operation->bounce == NULL) { /* and no atomic */
        rbuf_rma_hold(peer, &operation->rma);
    } else {
        rbuf_rma_start(peer, &operation->rma);
    }
    if (peer->held > 0) {
        mca_btl_rbuf_async_wait(module);
    }
}

/* The local memory is registered. The lock is held. */
static void start_registered(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    operation->rma.lkey = operation->local_handle->registration->mr->lkey;
    operation->holds_registration = true;
    module->holding++;
    rma_start(module, operation);
}

/* Starts an operation in place, or puts it aside behind those that wait for a registration. False:
 * its local memory has to be registered. A write of few bytes goes inline and needs that not: a
 * program may put a million of them, each from a place of its own. The lock is held. */
static bool start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const mca_btl_rbuf_handle_t *handle = operation->local_handle;
    const mca_btl_rbuf_frag_t *frag = operation->frag;
    struct rbuf_rma *rma = &operation->rma;

    if (rma->operation == RBUF_RMA_WRITE && is_inline(module, rma->bytes)) {
        if (handle != NULL && handle->registration != NULL) {
            rma->lkey = handle->registration->mr->lkey; /* for when it is merged */
        }
        rma_start(module, operation);
    } else if (handle == NULL) { /* a place was found for it */
        rma->local = frag != NULL ? frag->am.header + 1 : operation->local_address;
        rma->lkey = frag != NULL ? frag->am.lkey : operation->held->lkey;
        rma_start(module, operation);
    } else if (!SLIST_EMPTY(&module->pending)) {
        SLIST_INSERT_HEAD(&module->pending, operation, link);
    } else if (handle->registration != NULL) {
        start_registered(module, operation);
    } else {
        return false;
    }
    return true;
}

/* False: the local memory cannot be registered. No lock is held. */
static bool make_registered(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                            struct rbuf_problem *problem)
{
    const bool reads = operation->rma.operation == RBUF_RMA_READ; /* into the memory */
    mca_btl_rbuf_handle_t *handle = operation->local_handle;

    if (handle->registration == NULL) {
        handle->registration = mca_btl_rbuf_registration_take(
            module, operation->endpoint, handle->base, handle->bytes,
            reads ? MCA_BTL_RBUF_TARGET : MCA_BTL_RBUF_SOURCE, problem);
    }
    return handle->registration != NULL;
}

/* Starts an operation in place whose local memory is registered for that. Where this fails while
 * others hold registrations, it waits until one of them ends: osc/rdma takes no notice of a put
 * that failed, so that what is given up here would be lost. No lock is held. */
static void register_and_start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    struct rbuf_problem problem;
    bool registered;
    bool waits;
    bool alone;

    do { /* again if the last holder has ended meanwhile */
        mca_btl_rbuf_lock(module);
        alone = module->holding == 0;
        mca_btl_rbuf_unlock(module);
        registered = make_registered(module, operation, &problem);
        mca_btl_rbuf_lock(module);
        waits = !registered && module->holding > 0;
        if (registered) {
            start_registered(module, operation);
        } else if (waits) {
            SLIST_INSERT_HEAD(&module->pending, operation, link);
        }
        mca_btl_rbuf_unlock(module);
    } while (!registered && !waits && !alone);
    if (!registered && !waits) {
        mca_btl_rbuf_help_problem(&problem);
        operation_end(module, operation, -ENOMEM);
    }
}

/* One that held a registration has ended, so one of those that wait may start; all of them may if
 * none is left that could end. Afterwards some wait only where one holds a registration. No lock is
 * held. */
static void holder_ended(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_operation_t *operation;

    mca_btl_rbuf_lock(module);
    module->holding--;
    do {
        operation = SLIST_FIRST(&module->pending);
        if (operation != NULL) {
            SLIST_REMOVE_HEAD(&module->pending, link);
            mca_btl_rbuf_unlock(module);
            register_and_start(module, operation);
            mca_btl_rbuf_lock(module);
        }
    } while (operation != NULL && module->holding == 0);
    mca_btl_rbuf_unlock(module);
}

/* ---- puts ---- */

/* The lock is held. */
static void put_staged(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                       const struct rbuf_offer *offer)
{
    operation->put_id = offer->id;
    operation->put = (struct rbuf_put){.source = operation->local_address, .offer = *offer};
    mca_btl_rbuf_auto_lane(module, operation->local_address, offer->bytes, &operation->timing);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_put_start(operation->endpoint->peer, &operation->put);
}

/* Protocol auto has a choice: the source is worth a thought, and not registered anyway. */
static bool is_undecided(const mca_btl_rbuf_module_t *module,
                         const mca_btl_rbuf_operation_t *operation)
{
    return module->choice != NULL && operation->rma.bytes >= module->room[RBUF_CONTROL] &&
           operation->local_handle != NULL && operation->local_handle->registration == NULL;
}

/* Puts into registered memory; it ends when the data is there, so that nothing has to wait for it.
 * False: put_undecided() is to be called without the lock, which is held here. */
static bool put_in_place(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                         uint64_t remote, uint32_t rkey, size_t size)
{
    operation->put_id = 0;
    operation->rma = (struct rbuf_rma){.operation = RBUF_RMA_WRITE,
                                       .local = operation->local_address,
                                       .remote = remote,
                                       .bytes = size,
                                       .rkey = rkey};
    return !is_undecided(module, operation) && start(module, operation);
}

/* From the source if that is to be registered, or else from staging. No lock is held. */
static void put_undecided(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const struct rbuf_rma rma = operation->rma;

    if (!is_undecided(module, operation)) {
        register_and_start(module, operation);
        return;
    }
    operation->local_handle->registration = mca_btl_rbuf_auto_decide(
        module, RBUF_SIDE_SEND, operation->local_address, rma.bytes, &operation->timing);
    mca_btl_rbuf_lock(module);
    if (operation->local_handle->registration != NULL) {
        (void) start(module, operation);
    } else {
        operation->put = (struct rbuf_put){.source = rma.local,
                                           .offer = {.base = rma.remote,
                                                     .bytes = rma.bytes,
                                                     .rkey = rma.rkey,
                                                     .mode = RBUF_OFFER_DIRECT}};
        mca_btl_rbuf_endpoint_use(operation->endpoint);
        rbuf_rma_release(operation->endpoint->peer); /* none of those goes behind it */
        rbuf_put_copied(operation->endpoint->peer, &operation->put);
    }
    mca_btl_rbuf_unlock(module);
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
    mca_btl_rbuf_operation_t wanted = {.endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .one_sided = offer->mode == RBUF_OFFER_WINDOW,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    mca_btl_rbuf_operation_t *operation;
    bool under_way = true;

    (void) flags, (void) order;
    if (local_handle == NULL && !is_inline(module, size) &&
        !find_place(module, &wanted, RBUF_FREQUENT_PUT, size)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_btl_rbuf_lock(module);
    operation = operation_take(module, &wanted);
    if (operation == NULL) {
        give_place(module, &wanted);
        mca_btl_rbuf_unlock(module);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (offer->mode == RBUF_OFFER_DIRECT || offer->mode == RBUF_OFFER_WINDOW) {
        if (endpoint->peer->early_out != NULL) { /* the message does not go behind its early data */
            rbuf_early_forget(endpoint->peer, local_address);
        }
        under_way = put_in_place(module, operation, remote_address, offer->rkey, size);
    } else if (local_handle != NULL && remote_address == offer->base && size == offer->bytes) {
        put_staged(module, operation, offer);
    } else {
        /* Open MPI puts what it asked for; a part of a staged offer has no schedule. */
        rbuf_core_raise(&module->core, RBUF_EVENT_PUT, endpoint->peer, &operation->put, -EPROTO);
    }
    mca_btl_rbuf_unlock(module);
    if (!under_way) {
        put_undecided(module, operation);
    }
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_put_ended(mca_btl_rbuf_module_t *module, struct rbuf_put *put, int status)
{
    operation_end(module, (mca_btl_rbuf_operation_t *) (void *) put, status);
}

void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) put;
    const struct rbuf_offer offer = put->offer;
    bool under_way;

    mca_btl_rbuf_lock(module);
    under_way = put_in_place(module, operation, offer.base, offer.rkey, offer.bytes);
    mca_btl_rbuf_unlock(module);
    if (!under_way) {
        put_undecided(module, operation);
    }
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
                                               .bytes = size,
                                               .rkey = remote_handle->offer.rkey},
                                       .endpoint = endpoint,
                                       .local_address = local_address,
                                       .local_handle = local_handle,
                                       .one_sided = remote_handle->offer.mode == RBUF_OFFER_WINDOW,
                                       .callback = callback,
                                       .context = context,
                                       .data = data};
    mca_btl_rbuf_operation_t *operation;
    bool under_way;

    (void) flags, (void) order;
    if (local_handle == NULL && !find_place(module, &wanted, RBUF_FREQUENT_GET, size)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_btl_rbuf_lock(module);
    operation = operation_take(module, &wanted);
    if (operation == NULL) {
        give_place(module, &wanted);
    }
    under_way = operation == NULL || start(module, operation);
    mca_btl_rbuf_unlock(module);
    if (!under_way) {
        register_and_start(module, operation);
    }
    return operation != NULL ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) rma;
    const bool held = operation->holds_registration;

    if (operation->bounce != NULL && status == 0) {
        *(uint64_t *) operation->local_address = *operation->bounce;
    }
    operation_end(module, operation, status);
    if (held) { /* no more: the callback has given the handle back */
        holder_ended(module);
    }
}

/* Starts an atomic with its result going to local_address. */
static int atomic_start(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                        void *local_address, mca_btl_base_registration_handle_t *local_handle,
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

    mca_btl_rbuf_lock(module);
    wanted.bounce = bounce_take(module);
    if (wanted.bounce != NULL) {
        wanted.rma.local = wanted.bounce;
        wanted.rma.bytes = sizeof(*wanted.bounce);
        wanted.rma.lkey = module->atomic_words.mr->lkey;
        operation = operation_take(module, &wanted);
        if (operation != NULL) {
            rma_start(module, operation);
        } else {
            bounce_give(module, wanted.bounce);
        }
    }
    mca_btl_rbuf_unlock(module);
    /* osc/rdma progresses and asks again */
    return operation != NULL ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

int mca_btl_rbuf_atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
    const struct rbuf_rma rma = {.operation = RBUF_RMA_FETCH_ADD,
                                 .remote = remote_address,
                                 .rkey = remote_handle->offer.rkey,
                                 .operand = operand};

    (void) order;
    if (op != MCA_BTL_ATOMIC_ADD || (flags & MCA_BTL_ATOMIC_FLAG_32BIT)) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return atomic_start(btl, endpoint, local_address, local_handle, &rma, callback, context, data);
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
                                 .rkey = remote_handle->offer.rkey,
                                 .operand = value,
                                 .compare = compare};

    (void) order;
    if (flags & MCA_BTL_ATOMIC_FLAG_32BIT) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return atomic_start(btl, endpoint, local_address, local_handle, &rma, callback, context, data);
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
