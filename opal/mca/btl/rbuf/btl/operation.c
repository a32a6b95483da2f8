/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts, gets and atomics under way (btl/operation.h). Owns them, the words that atomics land in,
 * and the list of those that wait for a registration. Invariant: some are PENDING only while
 * another one is HOLDING, whose end starts the next, and their endpoints live: who takes leave of
 * one waits for them (btl/procs.c), and abandons those that are left.
 *
 * With the protocols that copy, and with auto where that is better, long puts and gets are copied
 * in chunks by core. MPI gives operations of an epoch no order, and these keep none with others.
 *
 * An operation takes the lock once to start and once to end; more often where memory has to be
 * registered, which is done without it. One without a handle that is longer than what goes inline
 * takes it once before, to find its memory registered, and once more for a fragment if that is not.
 */
#include "btl/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "btl/btl.h"
#include "btl/callback.h"
#include "core/base/trace.h"
#include "params/help.h"

static inline const char *state_name(mca_btl_rbuf_operation_state_t state)
{
    static const char *const names[] = {MCA_BTL_RBUF_OPERATION_STATES(RBUF_STATE_NAME)};

    return names[state];
}

void mca_btl_rbuf_operation_become(mca_btl_rbuf_operation_t *operation,
                                   mca_btl_rbuf_operation_state_t state)
{
    rbuf_trace("operation", operation->endpoint->peer->index, (uintptr_t) operation,
               state_name(operation->state), state_name(state));
    operation->state = state;
}

/* ---- what operations have ---- */

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

static void word_give(mca_btl_rbuf_module_t *module, const uint64_t *word)
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
    operation->state = MCA_BTL_RBUF_OPERATION_STARTING;
    if (operation->user == MCA_BTL_RBUF_OF_WINDOW) {
        operation->number = ++module->started;
        TAILQ_INSERT_TAIL(&module->under_way, operation, under_way_link);
    }
    return operation;
}

static void give(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    operation->state = MCA_BTL_RBUF_OPERATION_FREE;
    SLIST_INSERT_HEAD(&module->operations, operation, link);
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
                 enum mca_btl_rbuf_purpose purpose, size_t bytes)
{
    const bool gets = purpose == MCA_BTL_RBUF_TARGET;
    const bool timed = operation->local == MCA_BTL_RBUF_LOCAL_FRAGMENT_TIMED;
    const uint64_t start = timed ? mca_btl_rbuf_now_ns() : 0;
    void *data = operation->frag->am.header + 1;

    memcpy(gets ? operation->local_address : data, gets ? data : operation->local_address, bytes);
    if (timed) {
        module->registrar.reuse->copied(&module->registrar, purpose, (uint32_t) bytes, start);
    }
}

/* LOCAL_REUSED, if reuse has registered the memory. `timed`: its copy is to be, else. */
static bool find_reused(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                        enum mca_btl_rbuf_purpose purpose, size_t bytes, bool *timed)
{
    const struct mca_btl_rbuf_reuse *reuse = module->registrar.reuse;
    struct mca_btl_rbuf_use use = {0};

    if (reuse != NULL) {
        use = reuse->find(&module->registrar, purpose, operation->local_address, (uint32_t) bytes);
    }
    *timed = use.timed;
    if (use.mr != NULL) {
        operation->local = MCA_BTL_RBUF_LOCAL_REUSED;
        operation->use = use;
    }
    return use.mr != NULL;
}

bool mca_btl_rbuf_operation_attach(mca_btl_rbuf_module_t *module,
                                   mca_btl_rbuf_operation_t *operation,
                                   enum mca_btl_rbuf_purpose purpose, size_t bytes)
{
    mca_btl_rbuf_frag_t *frag;
    bool timed = false;

    if (!mca_btl_rbuf_fits_control(module, bytes) ||
        find_reused(module, operation, purpose, bytes, &timed)) {
        return true;
    }
    mca_btl_rbuf_lock(module);
    frag = mca_btl_rbuf_frag_take_locked(module, bytes);
    module->bounced += frag != NULL;
    mca_btl_rbuf_unlock(module);
    if (frag == NULL) {
        return false;
    }
    operation->local = timed ? MCA_BTL_RBUF_LOCAL_FRAGMENT_TIMED : MCA_BTL_RBUF_LOCAL_FRAGMENT;
    operation->frag = frag;
    if (purpose == MCA_BTL_RBUF_SOURCE) {
        copy(module, operation, purpose, bytes);
    }
    return true;
}

static bool is_at_fragment(const mca_btl_rbuf_operation_t *operation)
{
    return operation->local == MCA_BTL_RBUF_LOCAL_FRAGMENT ||
           operation->local == MCA_BTL_RBUF_LOCAL_FRAGMENT_TIMED;
}

void mca_btl_rbuf_operation_detach(mca_btl_rbuf_module_t *module,
                                   const mca_btl_rbuf_operation_t *operation)
{
    if (operation->local == MCA_BTL_RBUF_LOCAL_REUSED) {
        module->registrar.reuse->end(&module->registrar, operation->use.mr);
    } else if (is_at_fragment(operation)) {
        mca_btl_rbuf_frag_give(operation->frag);
    } else if (operation->local == MCA_BTL_RBUF_LOCAL_WORD) {
        word_give(module, operation->word);
    }
}

/* Its data came, and goes from its place to the user. No lock is held. */
static void take_out(mca_btl_rbuf_module_t *module, const mca_btl_rbuf_operation_t *operation)
{
    if (operation->local == MCA_BTL_RBUF_LOCAL_WORD) {
        *(uint64_t *) operation->local_address = *operation->word;
    } else if (is_at_fragment(operation) && operation->rma.operation == RBUF_FAB_READ) {
        copy(module, operation, MCA_BTL_RBUF_TARGET, operation->rma.bytes);
    }
}

/* ---- STARTING: into core, or to who registers ---- */

/* Copied through staging: core/onesided/copied_put.h, get.h. */
static void start_copied(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const struct rbuf_rma rma = operation->rma;
    struct rbuf_peer *peer = operation->endpoint->peer;

    mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_COPIED);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    rbuf_rma_release(peer);                          /* none of those goes behind it */
    if (operation->user == MCA_BTL_RBUF_OF_WINDOW) { /* ob1 has others to look after */
        module->copying++;
        module->one_sided.copied_puts += rma.operation == RBUF_FAB_WRITE;
        module->one_sided.copied_bytes += rma.operation == RBUF_FAB_WRITE ? rma.bytes : 0;
        mca_btl_rbuf_async_wait(module);
    }
    if (rma.operation == RBUF_FAB_READ) {
        operation->get = (struct rbuf_get){
            .target = rma.local, .remote = rma.remote, .bytes = rma.bytes, .rkey = rma.rkey};
        rbuf_get_start(peer, &operation->get);
    } else {
        operation->put = (struct rbuf_put){.source = rma.local,
                                           .offer = {.base = rma.remote,
                                                     .bytes = rma.bytes,
                                                     .rkey = rma.rkey,
                                                     .mode = RBUF_OFFER_DIRECT}};
        rbuf_copied_put_start(peer, &operation->put);
    }
}

/* Hands it to core, which may hold it until the next call of progress; should none come, the thread
 * sees to it. */
static void start_in_place(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                           mca_btl_rbuf_operation_state_t state)
{
    struct rbuf_peer *peer = operation->endpoint->peer;

    mca_btl_rbuf_operation_become(operation, state);
    mca_btl_rbuf_endpoint_use(operation->endpoint);
    if (operation->user == MCA_BTL_RBUF_OF_WINDOW && operation->local != MCA_BTL_RBUF_LOCAL_WORD) {
        rbuf_rma_hold(peer, &operation->rma);
    } else {
        rbuf_rma_start(peer, &operation->rma);
    }
    if (rbuf_rma_holds(peer)) {
        mca_btl_rbuf_async_wait(module);
    }
}

/* Its memory is registered. */
static void start_registered(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    operation->rma.lkey = operation->local_handle->registration->mr->lkey;
    module->holding++;
    start_in_place(module, operation, MCA_BTL_RBUF_OPERATION_HOLDING);
}

static void wait_for_holder(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_PENDING);
    SLIST_INSERT_HEAD(&module->pending, operation, link);
}

/* Protocol auto has a choice: the memory is worth a thought, and not registered anyway. */
static bool is_undecided(const mca_btl_rbuf_module_t *module,
                         const mca_btl_rbuf_operation_t *operation)
{
    return module->registrar.choice != NULL && operation->rma.bytes >= module->room[RBUF_CONTROL] &&
           operation->local_handle->registration == NULL;
}

/* Its memory has a handle. Behind those that wait for a registration, if there are any. */
static void start_at_handle(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    if (is_undecided(module, operation)) {
        mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_DECIDING);
    } else if (!SLIST_EMPTY(&module->pending)) {
        wait_for_holder(module, operation);
    } else if (operation->local_handle->registration != NULL) {
        start_registered(module, operation);
    } else {
        mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_REGISTERING);
    }
}

/* A write of few bytes goes inline, wherever its data is: a program may put a million of them, each
 * from an address of its own. */
static void start_inline(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const mca_btl_rbuf_handle_t *handle = operation->local_handle;

    if (handle != NULL && handle->registration != NULL) {
        operation->rma.lkey = handle->registration->mr->lkey; /* for when it is merged */
    }
    start_in_place(module, operation, MCA_BTL_RBUF_OPERATION_IN_PLACE);
}

static void start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    struct rbuf_rma *rma = &operation->rma;

    if (rma->operation == RBUF_FAB_WRITE && mca_btl_rbuf_is_inline(module, rma->bytes)) {
        start_inline(module, operation);
        return;
    }
    switch (operation->local) {
    case MCA_BTL_RBUF_LOCAL_HANDLE:
        start_at_handle(module, operation);
        return;
    case MCA_BTL_RBUF_LOCAL_UNREGISTERED:
        start_copied(module, operation);
        return;
    case MCA_BTL_RBUF_LOCAL_REUSED:
        rma->local = operation->local_address;
        rma->lkey = operation->use.lkey;
        break;
    case MCA_BTL_RBUF_LOCAL_FRAGMENT:
    case MCA_BTL_RBUF_LOCAL_FRAGMENT_TIMED:
        rma->local = operation->frag->am.header + 1;
        rma->lkey = operation->frag->am.lkey;
        break;
    case MCA_BTL_RBUF_LOCAL_WORD:
        rma->local = operation->word;
        rma->lkey = module->atomic_words.mr->lkey;
        break;
    }
    start_in_place(module, operation, MCA_BTL_RBUF_OPERATION_IN_PLACE);
}

/* ---- DECIDING and REGISTERING: without the lock ---- */

static void decide(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const enum rbuf_side side =
        operation->rma.operation == RBUF_FAB_READ ? RBUF_SIDE_GET : RBUF_SIDE_SEND;

    mca_btl_rbuf_unlock(module);
    operation->local_handle->registration =
        mca_btl_rbuf_auto_decide(&module->registrar, side, operation->local_address,
                                 operation->rma.bytes, &operation->timing);
    mca_btl_rbuf_lock(module);
    if (operation->local_handle->registration == NULL) {
        start_copied(module, operation);
    } else {
        start_at_handle(module, operation);
    }
}

/* False: the local memory cannot be registered. No lock is held. */
static bool make_registered(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                            struct rbuf_problem *problem)
{
    const bool reads = operation->rma.operation == RBUF_FAB_READ; /* into the memory */
    mca_btl_rbuf_handle_t *handle = operation->local_handle;

    if (handle->registration == NULL) {
        handle->registration = mca_btl_rbuf_registration_get(
            &module->registrar, mca_btl_rbuf_rank(operation->endpoint), handle->base, handle->bytes,
            reads ? MCA_BTL_RBUF_TARGET : MCA_BTL_RBUF_SOURCE, problem);
    }
    return handle->registration != NULL;
}

/* Where that fails while others hold registrations it waits until one of them ends: osc/rdma takes
 * no notice of a put that failed, so that what is given up here would be lost. REGISTERING still,
 * if the last one has ended meanwhile. */
static void try_to_register(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const bool alone = module->holding == 0;
    struct rbuf_problem problem;
    bool registered;

    mca_btl_rbuf_unlock(module);
    registered = make_registered(module, operation, &problem);
    mca_btl_rbuf_lock(module);
    if (registered) {
        start_registered(module, operation);
    } else if (module->holding > 0) {
        wait_for_holder(module, operation);
    } else if (alone) {
        mca_btl_rbuf_help_pinned(MCA_BTL_RBUF_PINNED_BUFFER, &problem);
        operation->status = -ENOMEM;
        mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_ENDED);
    }
}

/* ---- ENDED: back to the user ---- */

/* Tells Open MPI, without the lock. It is free for the next before that, but behind its callback if
 * a flush may wait for it: osc/rdma frees then what its callback looks at. */
static void tell(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation)
{
    const mca_btl_rbuf_operation_t ended = *operation;
    /* What is said of a put that failed waits for no data: none will come. */
    struct mca_btl_rbuf_callback callback = {.kind = MCA_BTL_RBUF_CALLBACK_PUT,
                                             .endpoint = ended.endpoint,
                                             .put_id = ended.status == 0 ? ended.put_id : 0};

    mca_btl_rbuf_operation_detach(module, &ended);
    if (ended.user == MCA_BTL_RBUF_OF_OB1) {
        give(module, operation);
    }
    mca_btl_rbuf_unlock(module);
    if (ended.local == MCA_BTL_RBUF_LOCAL_WORD) {
        mca_btl_rbuf_registration_put(&module->registrar, ended.target);
    }
    mca_btl_rbuf_callback_enter(&callback);
    /* osc/rdma has none where it flushes and gives nothing back. */
    if (ended.callback != NULL && !mca_btl_rbuf_is_finalized(module)) {
        ended.callback(&module->super, ended.endpoint, ended.local_address, ended.local_handle,
                       ended.context, ended.data, ended.status == 0 ? OPAL_SUCCESS : OPAL_ERROR);
    }
    mca_btl_rbuf_callback_leave(&callback);
    mca_btl_rbuf_lock(module);
    if (ended.user == MCA_BTL_RBUF_OF_WINDOW) {
        TAILQ_REMOVE(&module->under_way, operation, under_way_link);
        give(module, operation);
    }
}

/* One that was HOLDING is through, and its callback has given the handle back: one of those that
 * are PENDING may start; all of them may if none is left that could end. */
static void holder_ended(mca_btl_rbuf_module_t *module)
{
    mca_btl_rbuf_operation_t *operation;

    module->holding--;
    do {
        operation = SLIST_FIRST(&module->pending);
        if (operation != NULL) {
            SLIST_REMOVE_HEAD(&module->pending, link);
            mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_REGISTERING);
            mca_btl_rbuf_operation_advance(module, operation);
        }
    } while (operation != NULL && module->holding == 0);
}

mca_btl_rbuf_operation_t *mca_btl_rbuf_operation_pending(const mca_btl_rbuf_module_t *module,
                                                         const mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_operation_t *operation;

    SLIST_FOREACH(operation, &module->pending, link)
    {
        if (operation->endpoint == endpoint) {
            break;
        }
    }
    return operation;
}

void mca_btl_rbuf_operations_abandon(mca_btl_rbuf_module_t *module,
                                     const mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_rbuf_operation_t *operation;

    while ((operation = mca_btl_rbuf_operation_pending(module, endpoint)) != NULL) {
        SLIST_REMOVE(&module->pending, operation, mca_btl_rbuf_operation, link);
        operation->status = -ECONNRESET;
        mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_ENDED);
        mca_btl_rbuf_operation_advance(module, operation);
    }
}

void mca_btl_rbuf_operation_ended(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation, int status)
{
    const uint64_t ns = mca_btl_rbuf_auto_elapsed(&operation->timing);
    const mca_btl_rbuf_operation_state_t from = operation->state;

    if (status == 0) {
        take_out(module, operation);
    }
    mca_btl_rbuf_lock(module);
    if (status == 0) {
        mca_btl_rbuf_auto_took(&module->registrar, &operation->timing, ns);
    }
    module->copying -=
        from == MCA_BTL_RBUF_OPERATION_COPIED && operation->user == MCA_BTL_RBUF_OF_WINDOW;
    operation->status = status;
    mca_btl_rbuf_operation_become(operation, MCA_BTL_RBUF_OPERATION_ENDED);
    mca_btl_rbuf_operation_advance(module, operation);
    if (from == MCA_BTL_RBUF_OPERATION_HOLDING) {
        holder_ended(module);
    }
    mca_btl_rbuf_unlock(module);
}

/* ---- all of it ---- */

void mca_btl_rbuf_operation_advance(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_operation_t *operation)
{
    for (;;) {
        switch (operation->state) {
        case MCA_BTL_RBUF_OPERATION_STARTING:
            start(module, operation);
            break;
        case MCA_BTL_RBUF_OPERATION_DECIDING:
            decide(module, operation);
            break;
        case MCA_BTL_RBUF_OPERATION_REGISTERING:
            try_to_register(module, operation);
            break;
        case MCA_BTL_RBUF_OPERATION_ENDED:
            tell(module, operation);
            return;                          /* somebody else's by now, perhaps */
        case MCA_BTL_RBUF_OPERATION_PENDING: /* holder_ended() moves it on */
        case MCA_BTL_RBUF_OPERATION_STAGED:  /* and these _ended(), or _restart() */
        case MCA_BTL_RBUF_OPERATION_COPIED:
        case MCA_BTL_RBUF_OPERATION_IN_PLACE:
        case MCA_BTL_RBUF_OPERATION_HOLDING:
        case MCA_BTL_RBUF_OPERATION_FREE:
            return;
        }
    }
}
