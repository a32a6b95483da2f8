/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar (registration/registrar.h): asks its policy, and counts. Has policy "on demand": a
 * registration has one reference, that of get, and put frees it. Owns which policy and which reuse
 * the registrars of this process have. The parameters choose them, once, and no other file names
 * them. What configure left out is never chosen.
 */
#include "registration/registrar.h"

#include "core/choice/choice.h"
#include "params/params.h"
#include "registration/reuse.h"

/* ---- policy on demand ---- */

static mca_btl_rbuf_registration_t *make(mca_btl_rbuf_registrar_t *registrar, uint32_t rank,
                                         void *base, size_t bytes,
                                         enum mca_btl_rbuf_purpose purpose,
                                         struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration =
        mca_btl_rbuf_registration_new(registrar->port, base, bytes, purpose, problem);

    (void) rank;
    if (registration != NULL) {
        atomic_fetch_add_explicit(&registrar->misses, 1, memory_order_relaxed);
    }
    return registration;
}

static void destroy(mca_btl_rbuf_registrar_t *registrar, mca_btl_rbuf_registration_t *registration)
{
    (void) registrar;
    mca_btl_rbuf_registration_free(registration);
}

static const mca_btl_rbuf_policy_t on_demand = {
    .text = "registered for each use", .get = make, .put = destroy};

/* ---- what is chosen ---- */

#if RBUF_HAVE_HELPER
#define HELPED &mca_btl_rbuf_helped
#else
#define HELPED &on_demand /* params/check.c refuses protocol helper */
#endif

#if RBUF_HAVE_REUSE
#define REUSE &mca_btl_rbuf_reuse
#else
#define REUSE NULL
#endif

/* Without `default`: that has become another one before registrars open (module/default.c). */
static const mca_btl_rbuf_policy_t *const by_protocol[] = {
    [MCA_BTL_RBUF_SUPERPIPELINE] = &on_demand,
    [MCA_BTL_RBUF_PIPELINE] = &on_demand,
    [MCA_BTL_RBUF_COPY] = &on_demand,
    [MCA_BTL_RBUF_REGISTER] = &on_demand,
    [MCA_BTL_RBUF_RCACHE] = &mca_btl_rbuf_cached,
    [MCA_BTL_RBUF_AUTO] = &mca_btl_rbuf_cached, /* with allow_cache */
    [MCA_BTL_RBUF_HELPER] = HELPED};

static const mca_btl_rbuf_policy_t *policy_of_all; /* NULL: closed */
static const struct mca_btl_rbuf_reuse *reuse_of_all;

void mca_btl_rbuf_registrars_open(void)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    policy_of_all = params->protocol == MCA_BTL_RBUF_AUTO && params->allow_cache == MCA_BTL_RBUF_OFF
                        ? &on_demand
                        : by_protocol[params->protocol];
    reuse_of_all = params->reuse == MCA_BTL_RBUF_ON ? REUSE : NULL;
    if (policy_of_all->process_open != NULL) {
        policy_of_all->process_open();
    }
}

void mca_btl_rbuf_registrars_close(void)
{
    if (policy_of_all != NULL && policy_of_all->process_close != NULL) {
        policy_of_all->process_close();
    }
    policy_of_all = NULL;
}

int mca_btl_rbuf_registrar_open(mca_btl_rbuf_registrar_t *registrar)
{
    const mca_btl_rbuf_policy_t *policy = policy_of_all;

    registrar->policy = policy->open == NULL || policy->open(registrar) ? policy : &on_demand;
    return reuse_of_all != NULL ? reuse_of_all->open(registrar) : OPAL_SUCCESS;
}

void mca_btl_rbuf_registrar_close(mca_btl_rbuf_registrar_t *registrar)
{
    if (registrar->reuse != NULL) {
        registrar->reuse->close(registrar);
    }
    if (registrar->policy != NULL && registrar->policy->close != NULL) {
        registrar->policy->close(registrar);
    }
    registrar->policy = NULL;
}

/* ---- of all policies ---- */

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

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_lookup(mca_btl_rbuf_registrar_t *registrar,
                                                              void *base, size_t bytes,
                                                              enum mca_btl_rbuf_purpose purpose)
{
    mca_btl_rbuf_registration_t *registration =
        registrar->policy->lookup != NULL
            ? registrar->policy->lookup(registrar, base, bytes, purpose)
            : NULL;

    if (registration != NULL) {
        atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_get(mca_btl_rbuf_registrar_t *registrar,
                                                           uint32_t rank, void *base, size_t bytes,
                                                           enum mca_btl_rbuf_purpose purpose,
                                                           struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration;

    atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    registration = registrar->policy->get(registrar, rank, base, bytes, purpose, problem);
    if (registration != NULL) {
        report(registrar, base, bytes, registration);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registrar_new(mca_btl_rbuf_registrar_t *registrar,
                                                        void *base, size_t bytes,
                                                        enum mca_btl_rbuf_purpose purpose,
                                                        struct rbuf_problem *problem)
{
    atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    return make(registrar, 0, base, bytes, purpose, problem);
}

void mca_btl_rbuf_registration_put(mca_btl_rbuf_registrar_t *registrar,
                                   mca_btl_rbuf_registration_t *registration)
{
    if (registration != NULL) {
        registrar->policy->put(registrar, registration);
    }
}

int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_registrar_t *registrar, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem)
{
    bool (*const evict)(mca_btl_rbuf_registrar_t *) = registrar->policy->evict;
    int status;

    do {
        status = rbuf_memory_allocate(registrar->port, bytes, access, out, problem);
    } while (status == -ENOMEM && evict != NULL && evict(registrar));
    return status;
}
