/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto: has core/choice/choice.h decide where each message goes, makes what it wants
 * registered, and enters into it how long messages took and which memory was given back.
 *
 * A receive takes from its offer until Open MPI is done with it, a put in place or from staging
 * from its start until it has arrived; registrations that are made for it are not part of that,
 * they have a price of their own.
 */
#include "registration/auto.h"

#include <stdlib.h>

#include "params/help.h"
#include "registration/hooks.h"
#include "core/rendezvous/grant.h"
#include "params/params.h"
#include "params/protocol.h"

static void released(void *choice, uint64_t base, uint64_t bytes)
{
    rbuf_choice_release(choice, base, bytes);
}

int mca_btl_rbuf_auto_open(mca_btl_rbuf_registrar_t *registrar)
{
    const struct rbuf_choice_options options = {
        .cache = registrar->policy->lookup != NULL,
        .registration_ns = mca_btl_rbuf_params.registration_time,
        .registration_page_ns = mca_btl_rbuf_params.registration_page_time};

    if (mca_btl_rbuf_protocol()->travel != MCA_BTL_RBUF_TRAVEL_CHOSEN) {
        return OPAL_SUCCESS;
    }
    registrar->choice = calloc(1, sizeof(*registrar->choice));
    if (registrar->choice == NULL) {
        mca_btl_rbuf_help("no memory", opal_process_info.nodename, "opening a port", NULL);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    rbuf_choice_open(registrar->choice, &options);
    if (options.cache) {
        (void) mca_btl_rbuf_hooks_add(released, registrar->choice);
    }
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_auto_close(mca_btl_rbuf_registrar_t *registrar)
{
    if (registrar->choice != NULL) {
        mca_btl_rbuf_hooks_remove(registrar->choice);
        free(registrar->choice);
        registrar->choice = NULL;
    }
}

static enum mca_btl_rbuf_purpose purpose_of(enum rbuf_side side)
{
    return side == RBUF_SIDE_SEND ? MCA_BTL_RBUF_SOURCE : MCA_BTL_RBUF_TARGET;
}

/* Registers what was decided on, or if that is not to be had the buffer alone, or nothing. */
static mca_btl_rbuf_registration_t *make(mca_btl_rbuf_registrar_t *registrar,
                                         const struct rbuf_choice_request *request,
                                         const struct rbuf_choice_decision *decision)
{
    const enum mca_btl_rbuf_purpose purpose = purpose_of(request->side);
    struct rbuf_problem problem; /* no reason to complain: the message will be copied */
    mca_btl_rbuf_registration_t *registration = mca_btl_rbuf_registration_get(
        registrar, 0, (void *) (uintptr_t) decision->base, decision->bytes, purpose, &problem);

    if (registration == NULL &&
        (decision->base != request->base || decision->bytes != request->bytes)) {
        registration = mca_btl_rbuf_registration_get(
            registrar, 0, (void *) (uintptr_t) request->base, request->bytes, purpose, &problem);
    }
    if (registration == NULL) {
        mca_btl_rbuf_registrar_lock(registrar);
        rbuf_choice_refused(registrar->choice, request->side, request->base, request->bytes);
        mca_btl_rbuf_registrar_unlock(registrar);
    }
    return registration;
}

/* The caller holds the lock. */
static bool is_pressed(mca_btl_rbuf_registrar_t *registrar, enum rbuf_side side)
{
    return side == RBUF_SIDE_RECEIVE && rbuf_grants_wait(registrar->core);
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_auto_decide(mca_btl_rbuf_registrar_t *registrar,
                                                      enum rbuf_side side, void *base, size_t bytes,
                                                      struct mca_btl_rbuf_timing *timing)
{
    mca_btl_rbuf_registration_t *registration = NULL;
    struct rbuf_choice_request request = {
        .side = side, .base = (uintptr_t) base, .bytes = bytes, .cached = RBUF_CACHED_AS_LEFT};
    struct rbuf_choice_decision decision;

    mca_btl_rbuf_registrar_lock(registrar);
    request.pressed = is_pressed(registrar, side);
    if (rbuf_choice_wants_lookup(registrar->choice, &request)) {
        mca_btl_rbuf_registrar_unlock(registrar); /* the cache locks for itself */
        registration = mca_btl_rbuf_registration_lookup(registrar, base, bytes, purpose_of(side));
        mca_btl_rbuf_registrar_lock(registrar);
        request.cached = registration != NULL ? RBUF_CACHED_YES : RBUF_CACHED_NO;
        request.pressed = is_pressed(registrar, side);
    }
    decision = rbuf_choice_decide(registrar->choice, &request);
    mca_btl_rbuf_registrar_unlock(registrar);
    if (decision.path == RBUF_PATH_COPY) {
        mca_btl_rbuf_registration_put(registrar, registration);
        registration = NULL;
    } else if (registration == NULL) {
        registration = make(registrar, &request, &decision);
        decision.is_sample = registration != NULL;
    }
    *timing = (struct mca_btl_rbuf_timing){.of = registration != NULL ? MCA_BTL_RBUF_TIME_IN_PLACE
                                                                      : MCA_BTL_RBUF_TIME_COPY,
                                           .side = side,
                                           .is_sample = decision.is_sample,
                                           .base = base,
                                           .bytes = bytes,
                                           .since_ns = mca_btl_rbuf_now_ns()};
    return registration;
}

void mca_btl_rbuf_auto_lane(mca_btl_rbuf_registrar_t *registrar, void *base, size_t bytes,
                            struct mca_btl_rbuf_timing *timing)
{
    if (registrar->choice != NULL) {
        *timing = (struct mca_btl_rbuf_timing){.of = MCA_BTL_RBUF_TIME_LANE,
                                               .base = base,
                                               .bytes = bytes,
                                               .since_ns = mca_btl_rbuf_now_ns()};
    }
}

void mca_btl_rbuf_auto_took(mca_btl_rbuf_registrar_t *registrar,
                            const struct mca_btl_rbuf_timing *timing, uint64_t ns)
{
    if (timing->of == MCA_BTL_RBUF_TIME_NONE) {
        return;
    }
    if (timing->of == MCA_BTL_RBUF_TIME_LANE) {
        rbuf_choice_sent_staged(registrar->choice, (uintptr_t) timing->base, timing->bytes, ns);
    } else {
        rbuf_choice_took(registrar->choice, timing->side,
                         timing->of == MCA_BTL_RBUF_TIME_COPY ? RBUF_PATH_COPY : RBUF_PATH_IN_PLACE,
                         timing->is_sample, timing->bytes, ns);
    }
}
