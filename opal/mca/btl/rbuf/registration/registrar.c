/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "registration/registrar.h"

#include "registration/cache.h"
#include "registration/helper.h"
#include "params/params.h"
#include "core/choice/choice.h"

static bool wants_cache(void)
{
    return mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_RCACHE ||
           (mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_AUTO &&
            mca_btl_rbuf_params.allow_cache == MCA_BTL_RBUF_ON);
}

int mca_btl_rbuf_registrar_open(mca_btl_rbuf_registrar_t *registrar)
{
    registrar->policy = MCA_BTL_RBUF_ON_DEMAND;
    if (wants_cache()) {
        registrar->rcache = mca_btl_rbuf_cache_open(registrar);
        registrar->policy =
            registrar->rcache != NULL ? MCA_BTL_RBUF_CACHED : MCA_BTL_RBUF_ON_DEMAND;
    } else if (mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_HELPER) {
        registrar->helper = mca_btl_rbuf_helper_open(registrar->port);
        registrar->policy =
            registrar->helper != NULL ? MCA_BTL_RBUF_HELPED : MCA_BTL_RBUF_ON_DEMAND;
    }
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_registrar_close(mca_btl_rbuf_registrar_t *registrar)
{
    switch (registrar->policy) {
    case MCA_BTL_RBUF_ON_DEMAND:
        break;
    case MCA_BTL_RBUF_CACHED:
        mca_btl_rbuf_cache_close(registrar);
        break;
    case MCA_BTL_RBUF_HELPED:
        mca_btl_rbuf_helper_close(registrar->helper);
        break;
    }
    registrar->policy = MCA_BTL_RBUF_ON_DEMAND;
}

/* Protocol auto: reports what the registration took, once. */
static void report(mca_btl_rbuf_registrar_t *registrar, void *base, size_t bytes,
                   mca_btl_rbuf_registration_t *registration)
{
    const uint64_t ns =
        registrar->choice == NULL
            ? 0
            : atomic_exchange_explicit(&registration->unreported_ns, 0, memory_order_relaxed);

    if (ns > 0) {
        mca_btl_rbuf_registrar_lock(registrar);
        rbuf_choice_registered(registrar->choice, (uintptr_t) base, bytes, ns);
        mca_btl_rbuf_registrar_unlock(registrar);
    }
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_find(mca_btl_rbuf_registrar_t *registrar,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose)
{
    mca_btl_rbuf_registration_t *registration =
        registrar->policy == MCA_BTL_RBUF_CACHED
            ? mca_btl_rbuf_cache_find(registrar, base, bytes, purpose)
            : NULL;

    if (registration != NULL) {
        atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    }
    return registration;
}

static mca_btl_rbuf_registration_t *take_cached(mca_btl_rbuf_registrar_t *registrar, void *base,
                                                size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                                struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration =
        mca_btl_rbuf_cache_take(registrar, base, bytes, purpose);

    if (registration == NULL) {
        (void) rbuf_memory_problem(registrar->port, bytes, -ENOMEM,
                                   problem); /* it tells no other */
    }
    return registration;
}

static mca_btl_rbuf_registration_t *make(mca_btl_rbuf_registrar_t *registrar, void *base,
                                         size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                         struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration =
        mca_btl_rbuf_registration_new(registrar->port, base, bytes, purpose, problem);

    if (registration != NULL) {
        atomic_fetch_add_explicit(&registrar->misses, 1, memory_order_relaxed);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(mca_btl_rbuf_registrar_t *registrar,
                                                            uint32_t rank, void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration = NULL;

    atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    switch (registrar->policy) {
    case MCA_BTL_RBUF_ON_DEMAND:
        registration = make(registrar, base, bytes, purpose, problem);
        break;
    case MCA_BTL_RBUF_CACHED:
        registration = take_cached(registrar, base, bytes, purpose, problem);
        break;
    case MCA_BTL_RBUF_HELPED:
        registration =
            mca_btl_rbuf_helper_take(registrar->helper, rank, base, bytes, purpose, problem);
        break;
    }
    if (registration != NULL) {
        report(registrar, base, bytes, registration);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_hold(mca_btl_rbuf_registrar_t *registrar,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem)
{
    atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    return make(registrar, base, bytes, purpose, problem);
}

void mca_btl_rbuf_registration_give(mca_btl_rbuf_registrar_t *registrar,
                                    mca_btl_rbuf_registration_t *registration)
{
    if (registration == NULL) {
        return;
    }
    switch (registrar->policy) {
    case MCA_BTL_RBUF_ON_DEMAND:
        mca_btl_rbuf_registration_free(registration);
        break;
    case MCA_BTL_RBUF_CACHED:
        mca_btl_rbuf_cache_give(registrar, registration);
        break;
    case MCA_BTL_RBUF_HELPED:
        mca_btl_rbuf_helper_give(registrar->helper, registration);
        break;
    }
}

/* True: something was given up. */
static bool evict(mca_btl_rbuf_registrar_t *registrar)
{
    switch (registrar->policy) {
    case MCA_BTL_RBUF_CACHED:
        return mca_btl_rbuf_cache_evict(registrar);
    case MCA_BTL_RBUF_HELPED:
        return mca_btl_rbuf_helper_evict(registrar->helper);
    case MCA_BTL_RBUF_ON_DEMAND:
        break;
    }
    return false;
}

int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_registrar_t *registrar, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem)
{
    int status;

    do {
        status = rbuf_memory_allocate(registrar->port, bytes, access, out, problem);
    } while (status == -ENOMEM && evict(registrar));
    return status;
}
