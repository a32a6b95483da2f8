/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Registrations of user memory, by two policies: made for each use, or kept by OPAL's grdma cache
 * (protocols rcache and auto). The cache locks for itself; without it a registration belongs to its
 * taker.
 *
 * All rights are asked for at once, since the cache treats a request for more rights as a miss; a
 * source that may not be written is registered for reading alone. The cache is told which rights
 * were had: such memory may become writable and a target, and its registration is then no good.
 */
#include "btl_rbuf_registrar.h"

#include <stdlib.h>

#include "btl_rbuf_help.h"
#include "btl_rbuf_hooks.h"
#include "btl_rbuf_params.h"
#include "core/choice/choice.h"
#include "opal/mca/rcache/base/base.h"

#define ALL_ACCESS                                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                   \
     IBV_ACCESS_REMOTE_ATOMIC)

/* For the cache, which hands it through: who only looks for a registration wants none made. */
#define ONLY_LOOKING MCA_RCACHE_FLAGS_RESV0

static bool is_unwritable(int status)
{
    return status == -EFAULT || status == -EACCES || status == -EINVAL;
}

/* What the cache is asked for. */
static int32_t rights_for(enum mca_btl_rbuf_purpose purpose)
{
    return purpose == MCA_BTL_RBUF_SOURCE ? MCA_RCACHE_ACCESS_REMOTE_READ : MCA_RCACHE_ACCESS_ANY;
}

/* Registers for all rights, or for reading a source that cannot be written. Sets *rights to what
 * was had, in the cache's terms. */
static int make(mca_btl_rbuf_module_t *module, void *base, size_t bytes,
                enum mca_btl_rbuf_purpose purpose, mca_btl_rbuf_registration_t *registration,
                int32_t *rights, struct rbuf_problem *problem)
{
    unsigned access = module->port->atomics ? ALL_ACCESS : ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC;
    uint64_t start = mca_btl_rbuf_now_ns();
    int status = rbuf_register(module->port, base, bytes, access, &registration->mr, problem);

    *rights = rights_for(MCA_BTL_RBUF_TARGET);
    if (is_unwritable(status) && purpose == MCA_BTL_RBUF_SOURCE) {
        *rights = rights_for(MCA_BTL_RBUF_SOURCE);
        status = rbuf_register(module->port, base, bytes, IBV_ACCESS_REMOTE_READ, &registration->mr,
                               problem);
    }
    atomic_init(&registration->unreported_ns, mca_btl_rbuf_now_ns() - start);
    return status;
}

/* The cache's call to register. */
static int cache_register(void *data, void *base, size_t bytes, mca_rcache_base_registration_t *reg)
{
    mca_btl_rbuf_registration_t *registration = (mca_btl_rbuf_registration_t *) reg;
    mca_btl_rbuf_module_t *module = data;
    struct rbuf_problem problem;
    int32_t rights;
    int status;

    if ((reg->flags & ONLY_LOOKING) != 0) {
        return OPAL_ERR_NOT_FOUND;
    }
    status = make(module, base, bytes,
                  reg->access_flags == rights_for(MCA_BTL_RBUF_SOURCE) ? MCA_BTL_RBUF_SOURCE
                                                                       : MCA_BTL_RBUF_TARGET,
                  registration, &rights, &problem);
    if (status != 0) {
        /* With the latter the cache evicts and asks again, which is of no use to the former. */
        return is_unwritable(status) ? OPAL_ERR_PERM : OPAL_ERR_OUT_OF_RESOURCE;
    }
    reg->access_flags = rights;
    atomic_fetch_add_explicit(&module->misses, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&module->cached, 1, memory_order_relaxed);
    return OPAL_SUCCESS;
}

static int cache_deregister(void *data, mca_rcache_base_registration_t *reg)
{
    mca_btl_rbuf_module_t *module = data;

    if (rbuf_deregister(((mca_btl_rbuf_registration_t *) reg)->mr) != 0) {
        return OPAL_ERROR;
    }
    atomic_fetch_sub_explicit(&module->cached, 1, memory_order_relaxed);
    return OPAL_SUCCESS;
}

int mca_btl_rbuf_registrar_open(mca_btl_rbuf_module_t *module)
{
    mca_rcache_base_resources_t resources = {.cache_name = module->port->name,
                                             .reg_data = module,
                                             .sizeof_reg = sizeof(mca_btl_rbuf_registration_t),
                                             .register_mem = cache_register,
                                             .deregister_mem = cache_deregister};

    if (mca_btl_rbuf_params.protocol != MCA_BTL_RBUF_RCACHE &&
        (mca_btl_rbuf_params.protocol != MCA_BTL_RBUF_AUTO ||
         mca_btl_rbuf_params.allow_cache == MCA_BTL_RBUF_OFF)) {
        return OPAL_SUCCESS;
    }
    module->rcache = mca_rcache_base_module_create("grdma", module, &resources);
    if (module->rcache == NULL) {
        mca_btl_rbuf_help("no cache", opal_process_info.nodename, NULL);
    } else if (!mca_btl_rbuf_hooks_see_heap()) {
        mca_btl_rbuf_help("blind hooks", opal_process_info.nodename, NULL);
        mca_btl_rbuf_registrar_close(module);
    }
    return OPAL_SUCCESS;
}

void mca_btl_rbuf_registrar_close(mca_btl_rbuf_module_t *module)
{
    if (module->rcache != NULL) {
        mca_rcache_base_module_destroy(module->rcache);
        module->rcache = NULL;
    }
}

static mca_btl_rbuf_registration_t *take_cached(mca_btl_rbuf_module_t *module, void *base,
                                                size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                                uint32_t flags)
{
    mca_rcache_base_registration_t *reg = NULL;
    int status = module->rcache->rcache_register(module->rcache, base, bytes, flags,
                                                 rights_for(purpose), &reg);

    return status == OPAL_SUCCESS ? (mca_btl_rbuf_registration_t *) reg : NULL;
}

/* Protocol auto: tells the choice what the registration took, if it does not know yet. */
static void tell(mca_btl_rbuf_module_t *module, void *base, size_t bytes,
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
    mca_btl_rbuf_registration_t *registration = NULL;

    /* A look takes about a microsecond, also into an empty cache. */
    if (module->rcache != NULL && atomic_load_explicit(&module->cached, memory_order_relaxed) > 0) {
        registration = take_cached(module, base, bytes, purpose, ONLY_LOOKING);
    }
    if (registration != NULL) {
        atomic_fetch_add_explicit(&module->lookups, 1, memory_order_relaxed);
    }
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration;
    int32_t rights;

    atomic_fetch_add_explicit(&module->lookups, 1, memory_order_relaxed);
    if (module->rcache != NULL) {
        registration = take_cached(module, base, bytes, purpose, 0);
        if (registration != NULL) {
            tell(module, base, bytes, registration);
        } else {
            rbuf_problem_set(problem, "reg-failed", -ENOMEM, "%zu bytes at %p, through the cache",
                             bytes, base);
            rbuf_problem_value(problem, "%llu bytes are registered already",
                               (unsigned long long) rbuf_memory_stats.registered);
            rbuf_problem_remedy(problem, "raise the limit on locked memory (ulimit -l)");
        }
        return registration;
    }
    registration = calloc(1, sizeof(*registration));
    if (registration == NULL) {
        rbuf_problem_set(problem, "reg-failed", -ENOMEM, "%zu bytes at %p", bytes, base);
        return NULL;
    }
    if (make(module, base, bytes, purpose, registration, &rights, problem) != 0) {
        free(registration);
        return NULL;
    }
    tell(module, base, bytes, registration);
    atomic_fetch_add_explicit(&module->misses, 1, memory_order_relaxed);
    return registration;
}

void mca_btl_rbuf_registration_give(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_registration_t *registration)
{
    if (registration == NULL) {
        return;
    }
    if (module->rcache != NULL) {
        module->rcache->rcache_deregister(module->rcache, &registration->base);
    } else {
        rbuf_deregister(registration->mr);
        free(registration);
    }
}

int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_module_t *module, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem)
{
    int status;

    do {
        status = rbuf_memory_allocate(module->port, bytes, access, out, problem);
    } while (status == -ENOMEM && module->rcache != NULL &&
             module->rcache->rcache_evict(module->rcache));
    return status;
}
