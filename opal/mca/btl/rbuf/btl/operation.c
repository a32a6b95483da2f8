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
 * The local memory of a put or get is found first, without the lock: registered by who called, by
 * reuse, by the policy of the registrar, or copied. An operation takes the lock once to start, once
 * to end and, if it is one-sided or held a registration, once behind its callback. What uses a
 * fragment, reuse or protocol auto takes it before, for these; what could not be registered takes
 * it again.
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

/* ---- local memory ---- */

static enum mca_btl_rbuf_reuser reuser_of(const mca_btl_rbuf_operation_t *operation)
{
    return operation->rma.operation == RBUF_RMA_READ ? MCA_BTL_RBUF_REUSER_GET
                                                     : MCA_BTL_RBUF_REUSER_PUT;
}

/* Copies between the user's memory and the fragment. No lock is held. */
static void copy_fragment(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *operation)
{
    const bool reads = operation->rma.operation == RBUF_RMA_READ;
    const uint64_t start = operation->use.timed ? mca_btl_rbuf_now_ns() : 0;
    const size_t bytes = operation->rma.bytes;
    void *data = operation->frag->am.header + 1;

    memcpy(reads ? operation->local_address : data, reads ? data : operation->local_address, bytes);
    if (operation->use.timed) {
        module->registrar.reuse->copied(&module->registrar, reuser_of(operation), (uint32_t) bytes,
                                        start);
    }
}

/* Without a handle: where it is, if reuse has that registered, else in a fragment, with a put's
 * data there; what is too long for one is to be copied in chunks. False: no fragment now. No lock
 * is held. */
static bool find_place(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const struct mca_btl_rbuf_reuse *reuse = module->registrar.reuse;
    const size_t bytes = operation->rma.bytes;

    if (!mca_btl_rbuf_fits_control(module, bytes)) {
        operation->local = MCA_BTL_RBUF_LOCAL_COPIED;
        return true;
    }
    if (reuse != NULL) {
        operation->use = reuse->find(&module->registrar, reuser_of(operation),
                                     operation->local_address, (uint32_t) bytes);
        if (operation->use.held != NULL) {
            operation->local = MCA_BTL_RBUF_LOCAL_REUSED;
            return true;
        }
    }
    mca_btl_rbuf_lock(module);
    operation->frag = mca_btl_rbuf_frag_take_locked(module, bytes);
    module->bounced += operation->frag != NULL;
    mca_btl_rbuf_unlock(module);
    operation->local = MCA_BTL_RBUF_LOCAL_FRAGMENT;
    if (operation->frag != NULL && operation->rma.operation == RBUF_RMA_WRITE) {
        copy_fragment(module, operation);
    }
    return operation->frag != NULL;
}

/* Gives back what find_place() found. The lock is held. */
static void leave_place(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *operation)
{
    if (operation->local == MCA_BTL_RBUF_LOCAL_REUSED) {
        module->registrar.reuse->end(&module->registrar, operation->use.held);
    } else if (operation->local == MCA_BTL_RBUF_LOCAL_FRAGMENT) {
        mca_btl_rbuf_frag_give(operation->frag);
    }
}

/* Protocol auto has a choice: the memory is worth a thought, and not registered anyway. */
static bool is_undecided(const mca_btl_rbuf_module_t *module,
                         const mca_btl_rbuf_operation_t *operation)
{
    return module->registrar.choice != NULL && operation->rma.bytes >= module->room[RBUF_CONTROL] &&
           operation->local_handle->registration == NULL;
}

/* False: the memory of the handle cannot be registered. No lock is held. */
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

/* With a handle: registered, unless protocol auto decides otherwise. What cannot be registered, and
 * what comes while others wait for a registration, waits. No lock is held. */
static enum mca_btl_rbuf_local find_registered(mca_btl_rbuf_module_t *module,
                                               mca_btl_rbuf_operation_t *operation)
{
    mca_btl_rbuf_handle_t *handle = operation->local_handle;
    struct rbuf_problem problem; /* who waits in vain reports it */

    if (is_undecided(module, operation)) {
        handle->registration = mca_btl_rbuf_auto_decide(
            &module->registrar,
            operation->rma.operation == RBUF_RMA_READ ? RBUF_SIDE_GET : RBUF_SIDE_SEND,
            operation->local_address, operation->rma.bytes, &operation->timing);
        return handle->registration != NULL ? MCA_BTL_RBUF_LOCAL_REGISTERED
                                            : MCA_BTL_RBUF_LOCAL_COPIED;
    }
    if (handle->registration == NULL &&
        atomic_load_explicit(&module->waiting, memory_order_relaxed) > 0) {
        return MCA_BTL_RBUF_LOCAL_UNREGISTERED;
    }
    return make_registered(module, operation, &problem) ? MCA_BTL_RBUF_LOCAL_REGISTERED
                                                        : MCA_BTL_RBUF_LOCAL_UNREGISTERED;
}

/* A write of few bytes goes inline, and needs nothing: a program may put a million of them, each
 * from a place of its own. False: ask again. No lock is held. */
static bool find_local(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const struct rbuf_rma *rma = &operation->rma;

    if (rma->operation == RBUF_RMA_WRITE && mca_btl_rbuf_is_inline(module, rma->bytes)) {
        operation->local = MCA_BTL_RBUF_LOCAL_INLINE;
        return true;
    }
    if (operation->local_handle == NULL) {
        return find_place(module, operation);
    }
    operation->local = find_registered(module, operation);
    return true;
}

/* ---- the end ---- */

void mca_btl_rbuf_operation_end(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                                int status)
{
    const mca_btl_rbuf_operation_t ended = *operation;
    const uint64_t ns = mca_btl_rbuf_auto_elapsed(&ended.timing);
    /* What is said of a put that failed waits for no data: none will come. */
    struct mca_btl_rbuf_callback callback = {.kind = MCA_BTL_RBUF_CALLBACK_PUT,
                                             .endpoint = ended.endpoint,
                                             .put_id = status == 0 ? ended.put_id : 0};

    if (ended.local == MCA_BTL_RBUF_LOCAL_FRAGMENT && ended.rma.operation == RBUF_RMA_READ &&
        status == 0) {
        copy_fragment(module, &ended);
    }
    mca_btl_rbuf_lock(module);
    if (ended.bounce != NULL) {
        mca_btl_rbuf_word_give(module, ended.bounce);
    }
    module->copying -= ended.copied;
    leave_place(module, &ended);
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

/* Copies it through staging: core/rendezvous/put.h, core/onesided/get.h. The lock is held. */
static void start_copied(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
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

/* What waits for a registration; both hold the lock. */
static void wait_for_registration(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation)
{
    SLIST_INSERT_HEAD(&module->pending, operation, link);
    atomic_fetch_add_explicit(&module->waiting, 1, memory_order_relaxed);
}

static mca_btl_rbuf_operation_t *next_that_waits(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_operation_t *operation = SLIST_FIRST(&module->pending);

    if (operation != NULL) {
        SLIST_REMOVE_HEAD(&module->pending, link);
        atomic_fetch_sub_explicit(&module->waiting, 1, memory_order_relaxed);
    }
    return operation;
}

/* Registers its local memory and starts it in place. Where this fails while others hold
 * registrations it waits until one of them ends: osc/rdma takes no notice of a put that failed, so
 * that what is given up here would be lost. No lock is held. */
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
            wait_for_registration(module, operation);
        }
        mca_btl_rbuf_unlock(module);
    } while (!registered && !waits && !alone);
    if (!registered && !waits) {
        mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_BUFFER, &problem);
        mca_btl_rbuf_operation_end(module, operation, -ENOMEM);
    }
}

/* By what was found for its local memory. Behind those that wait for a registration it waits, too.
 * False: register_and_start() is to be called, without the lock, which is held here. */
static bool start_found(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const mca_btl_rbuf_handle_t *handle = operation->local_handle;
    const mca_btl_rbuf_frag_t *frag = operation->frag;
    struct rbuf_rma *rma = &operation->rma;

    switch (operation->local) {
    case MCA_BTL_RBUF_LOCAL_INLINE:
        if (handle != NULL && handle->registration != NULL) {
            rma->lkey = handle->registration->mr->lkey; /* for when it is merged */
        }
        mca_btl_rbuf_operation_post(module, operation);
        return true;
    case MCA_BTL_RBUF_LOCAL_REUSED:
        rma->lkey = operation->use.lkey;
        mca_btl_rbuf_operation_post(module, operation);
        return true;
    case MCA_BTL_RBUF_LOCAL_FRAGMENT:
        rma->local = frag->am.header + 1;
        rma->lkey = frag->am.lkey;
        mca_btl_rbuf_operation_post(module, operation);
        return true;
    case MCA_BTL_RBUF_LOCAL_COPIED:
        start_copied(module, operation);
        return true;
    case MCA_BTL_RBUF_LOCAL_REGISTERED:
    case MCA_BTL_RBUF_LOCAL_UNREGISTERED:
        break;
    case MCA_BTL_RBUF_LOCAL_OTHER: /* does not come here */
        return true;
    }
    if (!SLIST_EMPTY(&module->pending)) {
        wait_for_registration(module, operation);
    } else if (operation->local == MCA_BTL_RBUF_LOCAL_REGISTERED) {
        start_registered(module, operation);
    } else {
        return false;
    }
    return true;
}

static void count_one_sided(struct mca_btl_rbuf_one_sided *counters, const struct rbuf_rma *rma)
{
    if (rma->operation == RBUF_RMA_READ) {
        counters->gets++;
        counters->get_bytes += rma->bytes;
    } else {
        counters->puts++;
        counters->put_bytes += rma->bytes;
    }
}

int mca_btl_rbuf_operation_start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *wanted)
{
    mca_btl_rbuf_operation_t *operation;
    bool under_way;

    if (!find_local(module, wanted)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_btl_rbuf_lock(module);
    operation = mca_btl_rbuf_operation_take(module, wanted);
    if (operation == NULL) {
        leave_place(module, wanted);
        mca_btl_rbuf_unlock(module);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (operation->one_sided) {
        count_one_sided(&module->one_sided, &operation->rma);
    }
    if (operation->rma.operation == RBUF_RMA_WRITE &&
        operation->endpoint->peer->early_out != NULL) {
        /* The message does not go behind its early data. */
        rbuf_early_forget(operation->endpoint->peer, operation->local_address);
    }
    under_way = start_found(module, operation);
    mca_btl_rbuf_unlock(module);
    if (!under_way) {
        register_and_start(module, operation);
    }
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_operation_restart(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_operation_t *operation)
{
    bool under_way;

    (void) find_local(module, operation); /* there is a handle */
    mca_btl_rbuf_lock(module);
    under_way = start_found(module, operation);
    mca_btl_rbuf_unlock(module);
    if (!under_way) {
        register_and_start(module, operation);
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
        operation = next_that_waits(module);
        if (operation != NULL) {
            mca_btl_rbuf_unlock(module);
            register_and_start(module, operation);
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
