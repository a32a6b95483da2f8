/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "registration/registrar.h"

#include "module/module.h"
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

int mca_btl_rbuf_registrar_open(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_registrar *registrar = &module->registrar;

    registrar->policy = MCA_BTL_RBUF_ON_DEMAND;
    if (wants_cache()) {
        registrar->rcache = mca_btl_rbuf_cache_open(module);
        registrar->policy =
            registrar->rcache != NULL ? MCA_BTL_RBUF_CACHED : MCA_BTL_RBUF_ON_DEMAND;
    } else if (mca_btl_rbuf_params.protocol == MCA_BTL_RBUF_HELPER) {
        registrar->helper = mca_btl_rbuf_helper_open(module);
        registrar->policy =
            registrar->helper != NULL ? MCA_BTL_RBUF_HELPED : MCA_BTL_RBUF_ON_DEMAND;
    }
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_registrar_close(mca_btl_rbuf_module_t *module)
{
    switch (module->registrar.policy) {
    case MCA_BTL_RBUF_ON_DEMAND:
        break;
    case MCA_BTL_RBUF_CACHED:
        mca_btl_rbuf_cache_close(module);
        break;
    case MCA_BTL_RBUF_HELPED:
        mca_btl_rbuf_helper_close(module->registrar.helper);
        break;
    }
    module->registrar.policy = MCA_BTL_RBUF_ON_DEMAND;
}

/* Protocol auto: reports what the registration took, once. */
static void report(mca_btl_rbuf_module_t *module, void *base, size_t bytes,
                   mca_btl_rbuf_registration_t *registration)
{
    const uint64_t ns =
        module->choice == NULL
            ? 0
            : atomic_exchange_explicit(&registration->unreported_ns, 0, memory_order_relaxed);

    if (ns > 0) {
        mca_btl_rbuf_lock(module);
        rbuf_choice_registered(module->choice, (uintptr_t) base, bytes, ns);
        mca_btl_rbuf_unlock(module);
    }
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_find(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose)
{
    mca_btl_rbuf_registration_t *registration =
        module->registrar.policy == MCA_BTL_RBUF_CACHED
            ? mca_btl_rbuf_cache_find(module, base, bytes, purpose)
            : NULL;

    if (registration != NULL) {
        atomic_fetch_add_explicit(&module->registrar.lookups, 1, memory_order_relaxed);
    }
    return registration;
}

static mca_btl_rbuf_registration_t *take_cached(mca_btl_rbuf_module_t *module, void *base,
                                                size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                                struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration =
        mca_btl_rbuf_cache_take(module, base, bytes, purpose);

    if (registration == NULL) {
        (void) rbuf_memory_problem(module->port, bytes, -ENOMEM, problem); /* it tells no other */
    }
    return registration;
}

static mca_btl_rbuf_registration_t *make(mca_btl_rbuf_module_t *module, void *base, size_t bytes,
                                         enum mca_btl_rbuf_purpose purpose,
                                         struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration =
        mca_btl_rbuf_registration_new(module->port, base, bytes, purpose, problem);

    if (registration != NULL) {
        atomic_fetch_add_explicit(&module->registrar.misses, 1, memory_order_relaxed);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(mca_btl_rbuf_module_t *module,
                                                            const mca_btl_base_endpoint_t *endpoint,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration = NULL;

    atomic_fetch_add_explicit(&module->registrar.lookups, 1, memory_order_relaxed);
    switch (module->registrar.policy) {
    case MCA_BTL_RBUF_ON_DEMAND:
        registration = make(module, base, bytes, purpose, problem);
        break;
    case MCA_BTL_RBUF_CACHED:
        registration = take_cached(module, base, bytes, purpose, problem);
        break;
    case MCA_BTL_RBUF_HELPED:
        registration = mca_btl_rbuf_helper_take(module->registrar.helper, endpoint, base, bytes,
                                                purpose, problem);
        break;
    }
    if (registration != NULL) {
        report(module, base, bytes, registration);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_hold(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem)
{
    atomic_fetch_add_explicit(&module->registrar.lookups, 1, memory_order_relaxed);
    return make(module, base, bytes, purpose, problem);
}

void mca_btl_rbuf_registration_give(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_registration_t *registration)
{
    if (registration == NULL) {
        return;
    }
    switch (module->registrar.policy) {
    case MCA_BTL_RBUF_ON_DEMAND:
        mca_btl_rbuf_registration_free(registration);
        break;
    case MCA_BTL_RBUF_CACHED:
        mca_btl_rbuf_cache_give(module, registration);
        break;
    case MCA_BTL_RBUF_HELPED:
        mca_btl_rbuf_helper_give(module->registrar.helper, registration);
        break;
    }
}

/* True: something was given up. */
static bool evict(mca_btl_rbuf_module_t *module)
{
    switch (module->registrar.policy) {
    case MCA_BTL_RBUF_CACHED:
        return mca_btl_rbuf_cache_evict(module);
    case MCA_BTL_RBUF_HELPED:
        return mca_btl_rbuf_helper_evict(module->registrar.helper);
    case MCA_BTL_RBUF_ON_DEMAND:
        break;
    }
    return false;
}

int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_module_t *module, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem)
{
    int status;

    do {
        status = rbuf_memory_allocate(module->port, bytes, access, out, problem);
    } while (status == -ENOMEM && evict(module));
    return status;
}
