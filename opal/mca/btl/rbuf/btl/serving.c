/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A module's part of the service (btl/service.h): who listens, and who calls the handler.
 *
 * Messages of the service leave core's queue of events for one of their own, in their order, as
 * soon as anybody looks: the process in its progress, or the listener's thread in a visit, which
 * leaves all others where they are. There the first waits until the handler takes it, and its place
 * in a ring or receive buffer with it.
 *
 *     OFF -> ON -> CALLING -> ON -> OFF
 *     CALLING -> ENDING -> OFF       nobody listens any more while the handler is called
 *
 * The handler is called in state CALLING and without the lock by the process, or with the lock held
 * by the listener's thread, which goes away in that state: so one call at a time, and in order. An
 * answer's fragment is taken before the call: what the handler has done is never undone since there
 * is no memory to say so.
 */
#include "btl/btl.h"

#include <errno.h>
#include <sched.h>

#include "params/params.h"
#include "rbuf_version.h"

#define MESSAGES 64 /* for the handler in one call of progress */
#define ROUNDS   64 /* of progress in one visit, while there is something to do */

/* Who listens. Written before a module serves and after it has ceased to, and read in between with
 * that module's lock held or in state CALLING or ENDING. */
static const struct mca_btl_rbuf_service_handler *handler;

/* The lock is held. */
static mca_btl_rbuf_serving_state_t state_of(const mca_btl_rbuf_module_t *module)
{
    return atomic_load_explicit(&module->serving.state, memory_order_relaxed);
}

static void become(mca_btl_rbuf_module_t *module, mca_btl_rbuf_serving_state_t state)
{
    atomic_store_explicit(&module->serving.state, state, memory_order_relaxed);
}

static bool is_calling(const mca_btl_rbuf_module_t *module)
{
    return state_of(module) == MCA_BTL_RBUF_SERVING_CALLING ||
           state_of(module) == MCA_BTL_RBUF_SERVING_ENDING;
}

/* ---- messages that wait ---- */

/* Gives back what a message occupied. */
static void release(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    if (mca_btl_rbuf_release(event)) {
        mca_btl_rbuf_post_receives(module);
    }
}

void mca_btl_rbuf_serving_keep(mca_btl_rbuf_module_t *module, const struct rbuf_event *event)
{
    if (!mca_btl_rbuf_serving_is_on(&module->serving)) {
        release(module, event); /* its sender is not served any more, and waits for nothing */
    } else if (!rbuf_events_push(&module->serving.waiting, event)) {
        release(module, event);
        mca_btl_rbuf_endpoint_lost(event->peer->user, -ENOMEM);
    }
}

bool mca_btl_rbuf_serving_is_busy(const mca_btl_rbuf_module_t *module)
{
    return is_calling(module) || !rbuf_events_empty(&module->serving.waiting);
}

static void drop_all(mca_btl_rbuf_module_t *module)
{
    struct rbuf_event event;

    while (rbuf_events_pop(&module->serving.waiting, &event)) {
        release(module, &event);
    }
}

/* ---- the handler ---- */

/* What cannot go now goes with the caller's progress, or the thread's next visit. */
static void answer_send(struct rbuf_peer *peer, mca_btl_rbuf_frag_t *frag, size_t bytes)
{
    mca_btl_base_endpoint_t *endpoint = peer->user;

    frag->segment.seg_addr.pval = frag->am.header + 1;
    frag->segment.seg_len = bytes;
    frag->base.des_flags = MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    frag->base.des_cbfunc = NULL;
    frag->state = MCA_BTL_RBUF_FRAG_DETACHED;
    frag->am.channel = RBUF_CONTROL;
    frag->am.bytes = (uint32_t) bytes;
    frag->am.tag = MCA_BTL_RBUF_SERVICE_TAG;
    frag->am.argument = 0;
    mca_btl_rbuf_endpoint_use(endpoint);
    if (rbuf_am_send(peer, &frag->am) == RBUF_AM_IDLE) {
        mca_btl_rbuf_frag_give(frag);
    } else {
        atomic_fetch_add_explicit(&endpoint->detached, 1, memory_order_relaxed);
    }
}

static bool call(mca_btl_rbuf_module_t *module, enum mca_btl_rbuf_service_caller caller,
                 const struct rbuf_event *event, struct mca_btl_rbuf_service_answer *answer)
{
    const struct mca_btl_rbuf_service_handler *listener = handler;
    const struct rbuf_delivery *delivery = &event->delivery;
    bool done;

    if (caller == MCA_BTL_RBUF_SERVICE_THREAD) {
        return listener->handle(caller, delivery->data, delivery->bytes, answer);
    }
    become(module, MCA_BTL_RBUF_SERVING_CALLING);
    mca_btl_rbuf_unlock(module);
    done = listener->handle(caller, delivery->data, delivery->bytes, answer);
    mca_btl_rbuf_lock(module);
    become(module, state_of(module) == MCA_BTL_RBUF_SERVING_ENDING ? MCA_BTL_RBUF_SERVING_OFF
                                                                   : MCA_BTL_RBUF_SERVING_ON);
    return done;
}

/* A fragment for an answer, or NULL. The listener's thread takes one that is there: more memory may
 * cost Open MPI's cache some of its own. */
static mca_btl_rbuf_frag_t *answer_frag(mca_btl_rbuf_module_t *module,
                                        enum mca_btl_rbuf_service_caller caller)
{
    return caller == MCA_BTL_RBUF_SERVICE_THREAD &&
                   SLIST_EMPTY(&module->pools[MCA_BTL_RBUF_POOL_EAGER].free)
               ? NULL
               : mca_btl_rbuf_frag_take_locked(module, module->room[RBUF_CONTROL]);
}

/* Hands over the first message that waits. False: not now. */
static bool serve_first(mca_btl_rbuf_module_t *module, enum mca_btl_rbuf_service_caller caller)
{
    struct rbuf_events *waiting = &module->serving.waiting;
    struct rbuf_event event = rbuf_events_first(waiting);
    mca_btl_rbuf_frag_t *frag = answer_frag(module, caller);
    struct mca_btl_rbuf_service_answer answer = {.room = module->room[RBUF_CONTROL]};

    if (frag == NULL) {
        return false;
    }
    answer.data = frag->am.header + 1;
    if (!call(module, caller, &event, &answer)) {
        mca_btl_rbuf_frag_give(frag);
        return false;
    }
    (void) rbuf_events_pop(waiting, &event);
    if (answer.bytes > 0) {
        answer_send(event.peer, frag, answer.bytes);
    } else {
        mca_btl_rbuf_frag_give(frag);
    }
    release(module, &event);
    return true;
}

static int serve(mca_btl_rbuf_module_t *module, enum mca_btl_rbuf_service_caller caller)
{
    int count = 0;

    while (count < MESSAGES && state_of(module) == MCA_BTL_RBUF_SERVING_ON &&
           !rbuf_events_empty(&module->serving.waiting) && serve_first(module, caller)) {
        count++;
    }
    return count;
}

int mca_btl_rbuf_serving_progress(mca_btl_rbuf_module_t *module)
{
    if (mca_btl_rbuf_is_finalized(module)) {
        drop_all(module);
        return 0;
    }
    return serve(module, MCA_BTL_RBUF_SERVICE_PROCESS);
}

/* ---- the listener's thread ---- */

/* The end of a message that nobody waits for, such as our answers: its fragment is free. */
static bool take_sent(const struct rbuf_event *event)
{
    mca_btl_base_endpoint_t *endpoint;
    mca_btl_rbuf_frag_t *frag;

    if (event->kind != RBUF_EVENT_SENT) {
        return false;
    }
    frag = mca_btl_rbuf_frag_of(event->am);
    if (frag->state != MCA_BTL_RBUF_FRAG_DETACHED || frag->role != MCA_BTL_RBUF_MESSAGE) {
        return false;
    }
    endpoint = event->am->work.peer->user;
    atomic_fetch_sub_explicit(&endpoint->detached, 1, memory_order_relaxed);
    mca_btl_rbuf_frag_give(frag);
    return true;
}

/* Takes what this thread may act on out of core's queue; the others keep their order. Raises no
 * event: a message for which there is no memory stays, with all behind it, and the process sees to
 * it. */
static void pick(mca_btl_rbuf_module_t *module)
{
    struct rbuf_events *events = &module->core.events;
    struct rbuf_event event;
    bool room = mca_btl_rbuf_serving_is_on(&module->serving);

    if (rbuf_events_are_late(events)) {
        return; /* none may go round */
    }
    for (uint32_t left = rbuf_events_count(events); left > 0; left--) {
        (void) rbuf_events_pop(events, &event);
        if (mca_btl_rbuf_serving_wants(&event)) {
            room = room && rbuf_events_push(&module->serving.waiting, &event);
        }
        if (!(mca_btl_rbuf_serving_wants(&event) ? room : take_sent(&event))) {
            (void) rbuf_events_push(events, &event); /* into the room that it had */
        }
    }
}

void mca_btl_rbuf_serving_visit(mca_btl_rbuf_module_t *module)
{
    if (module->state != MCA_BTL_RBUF_RUNNING || mca_btl_rbuf_is_finalized(module)) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        (void) mca_btl_rbuf_module_advance(module);
        pick(module);
        if (serve(module, MCA_BTL_RBUF_SERVICE_THREAD) == 0) {
            break;
        }
    }
}

/* ---- for the component that listens ---- */

static size_t most(const mca_btl_base_module_t *btl)
{
    return ((const mca_btl_rbuf_module_t *) btl)->room[RBUF_CONTROL];
}

static bool start(mca_btl_rbuf_module_t *module)
{
    bool ready;

    mca_btl_rbuf_lock(module);
    ready = module->serving.waiting.ring != NULL || rbuf_events_open(&module->serving.waiting) == 0;
    if (ready) {
        become(module, MCA_BTL_RBUF_SERVING_ON);
        mca_btl_rbuf_async_wait(module);
    }
    mca_btl_rbuf_unlock(module);
    return ready;
}

/* False: another thread's call of the handler is under way. */
static bool stop(mca_btl_rbuf_module_t *module)
{
    bool over;

    mca_btl_rbuf_lock(module);
    over = !is_calling(module);
    become(module, over ? MCA_BTL_RBUF_SERVING_OFF : MCA_BTL_RBUF_SERVING_ENDING);
    if (over) {
        drop_all(module);
    }
    mca_btl_rbuf_unlock(module);
    return over;
}

static void end(void)
{
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        mca_btl_rbuf_module_t *module = mca_btl_rbuf_process.modules[i];

        while (module != NULL && !stop(module)) {
            sched_yield();
        }
    }
    handler = NULL;
}

static bool listen_for(const struct mca_btl_rbuf_service_handler *listener)
{
    bool ready = mca_btl_rbuf_params.async_progress > 0;

    handler = listener;
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count && ready; i++) {
        mca_btl_rbuf_module_t *module = mca_btl_rbuf_process.modules[i];

        ready = module == NULL || start(module);
    }
    if (!ready) {
        end();
    }
    return ready;
}

static bool message_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                         const void *header, size_t header_bytes,
                         struct opal_convertor_t *convertor, size_t bytes)
{
    return mca_btl_rbuf_sendi(btl, endpoint, convertor, (void *) (uintptr_t) header, header_bytes,
                              bytes, MCA_BTL_NO_ORDER, MCA_BTL_DES_FLAGS_PRIORITY,
                              MCA_BTL_RBUF_SERVICE_TAG, NULL) == OPAL_SUCCESS;
}

static struct mca_btl_rbuf_service service = {.version = RBUF_VERSION,
                                              .bytes = sizeof(service),
                                              .most = most,
                                              .listen = listen_for,
                                              .end = end,
                                              .send = message_send};

void mca_btl_rbuf_serving_offer(void)
{
    mca_btl_active_message_callback_t *entry =
        mca_btl_base_active_message_trigger + MCA_BTL_RBUF_SERVICE_TAG;

    if (entry->cbfunc == NULL && entry->cbdata == NULL) {
        entry->cbdata = &service;
    }
}

void mca_btl_rbuf_serving_take_back(void)
{
    mca_btl_active_message_callback_t *entry =
        mca_btl_base_active_message_trigger + MCA_BTL_RBUF_SERVICE_TAG;

    if (entry->cbdata == &service) {
        entry->cbdata = NULL;
    }
}
