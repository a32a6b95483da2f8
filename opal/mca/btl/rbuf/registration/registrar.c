/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar (registration/registrar.h): asks its policy, and counts. Has policy "on demand". Owns
 * what the registrars of this process have, which is constant while one is open.
 */
#include "registration/registrar.h"

#include "core/choice/choice.h"
#include "registration/reuse.h"

static const mca_btl_rbuf_policy_t *policy_of_all = &mca_btl_rbuf_on_demand;
static const struct mca_btl_rbuf_reuse *reuse_of_all;

void mca_btl_rbuf_registrars_have(const mca_btl_rbuf_policy_t *policy,
                                  const struct mca_btl_rbuf_reuse *reuse)
{
    policy_of_all = policy;
    reuse_of_all = reuse;
}

int mca_btl_rbuf_registrar_open(mca_btl_rbuf_registrar_t *registrar)
{
    const mca_btl_rbuf_policy_t *policy = policy_of_all;

    registrar->policy =
        policy->open == NULL || policy->open(registrar) ? policy : &mca_btl_rbuf_on_demand;
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

const mca_btl_rbuf_policy_t mca_btl_rbuf_on_demand = {
    .text = "registered for each use", .take = make, .give = destroy};

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

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_find(mca_btl_rbuf_registrar_t *registrar,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose)
{
    mca_btl_rbuf_registration_t *registration =
        registrar->policy->find != NULL ? registrar->policy->find(registrar, base, bytes, purpose)
                                        : NULL;

    if (registration != NULL) {
        atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(mca_btl_rbuf_registrar_t *registrar,
                                                            uint32_t rank, void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration;

    atomic_fetch_add_explicit(&registrar->lookups, 1, memory_order_relaxed);
    registration = registrar->policy->take(registrar, rank, base, bytes, purpose, problem);
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
    return make(registrar, 0, base, bytes, purpose, problem);
}

void mca_btl_rbuf_registration_give(mca_btl_rbuf_registrar_t *registrar,
                                    mca_btl_rbuf_registration_t *registration)
{
    if (registration != NULL) {
        registrar->policy->give(registrar, registration);
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
