/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts, gets and atomics under way (btl/operation.h). Owns them, the words that atomics land
 * in, and those that wait for a registration. States: taken -> waits for a registration -> in core
 * -> ended; what needs none goes to core at once. Invariant: some wait only while another one holds
 * a registration, whose end starts the next.
 *
 * With the protocols that copy, and with auto where that is better, long puts and gets are copied
 * in chunks by core. MPI gives operations of an epoch no order, and these keep none with others.
 *
 * An operation takes the lock once to start, once to end and, if it is one-sided or held a
 * registration, once behind its callback; more often where memory has to be registered, which is
 * done without it. One without a handle that is longer than what goes inline takes it once before,
 * to find its memory registered, and once more for a fragment if that is not.
 */
#include "btl/operation.h"

#include <stdlib.h>
#include <string.h>

#include "btl/async.h"
#include "btl/callback.h"
#include "peers/connect.h"
#include "params/help.h"

uint64_t *mca_btl_rbuf_word_take(mca_btl_rbuf_module_t *module)
{
    unsigned bit;

    if (module->atomic_words_free == 0) {
        return NULL;
    }
    bit = (unsigned) __builtin_ctzll(module->atomic_words_free);
    module->atomic_words_free &= ~(1ull << bit);
    return (uint64_t *) module->atomic_words.base + bit;
}

void mca_btl_rbuf_word_give(mca_btl_rbuf_module_t *module, uint64_t *word)
{
    module->atomic_words_free |= 1ull << (word - (uint64_t *) module->atomic_words.base);
}

mca_btl_rbuf_operation_t *mca_btl_rbuf_operation_take(mca_btl_rbuf_module_t *module,
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

/* Copies between the user's memory and the fragment. No lock is held. */
static void copy(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *operation,
                 enum rbuf_frequent_kind kind, size_t bytes)
{
    const uint64_t start = operation->timed ? mca_btl_rbuf_now_ns() : 0;
    void *data = operation->frag->am.header + 1;

    memcpy(kind == RBUF_FREQUENT_GET ? operation->local_address : data,
           kind == RBUF_FREQUENT_GET ? data : operation->local_address, bytes);
    if (operation->timed) {
        mca_btl_rbuf_frequent_copied(&module->registrar, kind, (uint32_t) bytes, start);
    }
}

bool mca_btl_rbuf_operation_place(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation, enum rbuf_frequent_kind kind,
                                  size_t bytes)
{
    if (!mca_btl_rbuf_fits_control(module, bytes)) {
        return true;
    }
    if (module->registrar.frequent != NULL) {
        operation->held =
            mca_btl_rbuf_frequent_find(&module->registrar, kind, operation->local_address,
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

void mca_btl_rbuf_operation_unplace(mca_btl_rbuf_module_t *module,
                                    const mca_btl_rbuf_operation_t *operation)
{
    if (operation->held != NULL) {
        rbuf_frequent_end(&module->registrar.frequent->table, operation->held);
    }
    if (operation->frag != NULL) {
        mca_btl_rbuf_frag_give(operation->frag);
    }
}

void mca_btl_rbuf_operation_end(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
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
        mca_btl_rbuf_word_give(module, ended.bounce);
    }
    module->copying -= ended.copied;
    mca_btl_rbuf_operation_unplace(module, &ended);
    if (status == 0) {
        mca_btl_rbuf_auto_took(&module->registrar, &ended.timing, ns);
    }
    if (!ended.one_sided) {
        SLIST_INSERT_HEAD(&module->operations, operation, link);
    }
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_registration_give(&module->registrar, ended.target);
    mca_btl_rbuf_callback_enter(&callback);
    /* osc/rdma has none where it flushes and gives nothing back. */
    if (ended.callback != NULL && !mca_btl_rbuf_is_finalized(module)) {
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

/* ---- copied ---- */

void mca_btl_rbuf_operation_copy(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const struct rbuf_rma rma = operation->rma;
    struct rbuf_peer *peer = operation->endpoint->peer;

    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_rma_release(peer);     /* none of those goes behind it */
    if (operation->one_sided) { /* ob1 has others to look after, and progresses */
        operation->copied = true;
        module->copying++;
        module->one_sided.copied_puts += rma.operation == RBUF_RMA_WRITE;
        module->one_sided.copied_bytes += rma.operation == RBUF_RMA_WRITE ? rma.bytes : 0;
        mca_btl_rbuf_async_wait(module);
    }
    if (rma.operation == RBUF_RMA_READ) {
        operation->get = (struct rbuf_get){
            .target = rma.local, .remote = rma.remote, .bytes = rma.bytes, .rkey = rma.rkey};
        rbuf_get_start(peer, &operation->get);
    } else {
        operation->put = (struct rbuf_put){.source = rma.local,
                                           .offer = {.base = rma.remote,
                                                     .bytes = rma.bytes,
                                                     .rkey = rma.rkey,
                                                     .mode = RBUF_OFFER_DIRECT}};
        rbuf_put_copied(peer, &operation->put);
    }
}

/* ---- in place ---- */

void mca_btl_rbuf_operation_post(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
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
    mca_btl_rbuf_operation_post(module, operation);
}

/* Protocol auto has a choice: the memory is worth a thought, and not registered anyway. */
static bool is_undecided(const mca_btl_rbuf_module_t *module,
                         const mca_btl_rbuf_operation_t *operation)
{
    return module->registrar.choice != NULL && operation->rma.bytes >= module->room[RBUF_CONTROL] &&
           operation->local_handle != NULL && operation->local_handle->registration == NULL;
}

bool mca_btl_rbuf_operation_start(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation)
{
    const mca_btl_rbuf_handle_t *handle = operation->local_handle;
    const mca_btl_rbuf_frag_t *frag = operation->frag;
    struct rbuf_rma *rma = &operation->rma;

    if (rma->operation == RBUF_RMA_WRITE && mca_btl_rbuf_is_inline(module, rma->bytes)) {
        if (handle != NULL && handle->registration != NULL) {
            rma->lkey = handle->registration->mr->lkey; /* for when it is merged */
        }
        mca_btl_rbuf_operation_post(module, operation);
    } else if (handle == NULL && frag == NULL && operation->held == NULL) {
        mca_btl_rbuf_operation_copy(module, operation);
    } else if (handle == NULL) { /* a place was found for it */
        rma->local = frag != NULL ? frag->am.header + 1 : operation->local_address;
        rma->lkey = frag != NULL ? frag->am.lkey : operation->held->lkey;
        mca_btl_rbuf_operation_post(module, operation);
    } else if (is_undecided(module, operation)) {
        return false;
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
            &module->registrar, mca_btl_rbuf_rank(operation->endpoint), handle->base, handle->bytes,
            reads ? MCA_BTL_RBUF_TARGET : MCA_BTL_RBUF_SOURCE, problem);
    }
    return handle->registration != NULL;
}

void mca_btl_rbuf_operation_decide(mca_btl_rbuf_module_t *module,
                                   mca_btl_rbuf_operation_t *operation)
{
    const enum rbuf_side side =
        operation->rma.operation == RBUF_RMA_READ ? RBUF_SIDE_GET : RBUF_SIDE_SEND;

    if (!is_undecided(module, operation)) {
        mca_btl_rbuf_operation_register(module, operation);
        return;
    }
    operation->local_handle->registration =
        mca_btl_rbuf_auto_decide(&module->registrar, side, operation->local_address,
                                 operation->rma.bytes, &operation->timing);
    mca_btl_rbuf_lock(module);
    if (operation->local_handle->registration != NULL) {
        (void) mca_btl_rbuf_operation_start(module, operation);
    } else {
        mca_btl_rbuf_operation_copy(module, operation);
    }
    mca_btl_rbuf_unlock(module);
}

void mca_btl_rbuf_operation_register(mca_btl_rbuf_module_t *module,
                                     mca_btl_rbuf_operation_t *operation)
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
        mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_BUFFER, &problem);
        mca_btl_rbuf_operation_end(module, operation, -ENOMEM);
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
            mca_btl_rbuf_operation_register(module, operation);
            mca_btl_rbuf_lock(module);
        }
    } while (operation != NULL && module->holding == 0);
    mca_btl_rbuf_unlock(module);
}

void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status)
{
    mca_btl_rbuf_operation_t *operation = (mca_btl_rbuf_operation_t *) (void *) rma;
    const bool held = operation->holds_registration;

    if (operation->bounce != NULL && status == 0) {
        *(uint64_t *) operation->local_address = *operation->bounce;
    }
    mca_btl_rbuf_operation_end(module, operation, status);
    if (held) { /* no more: the callback has given the handle back */
        holder_ended(module);
    }
}
