/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar's policy "cached": OPAL's grdma cache keeps registrations until their memory is given
 * back, of which its memory hooks tell. It locks for itself, and calls back to register and
 * deregister. What it keeps is counted: a look into an empty cache is left out. Where there is no
 * cache, or its hooks are blind, registrations are made on demand, after a help message.
 */
#include "registration/registrar.h"

#include "params/help.h"
#include "verbs/port.h"
#include "registration/hooks.h"
#include "opal/mca/rcache/base/base.h"

/* For the cache, which hands it through: who only looks for a registration wants none made. */
#define ONLY_LOOKING MCA_RCACHE_FLAGS_RESV0

/* Rights in the cache's terms. */
static int32_t rights_for(enum mca_btl_rbuf_purpose purpose)
{
    return purpose == MCA_BTL_RBUF_SOURCE ? MCA_RCACHE_ACCESS_REMOTE_READ : MCA_RCACHE_ACCESS_ANY;
}

/* The cache's call to register. */
static int cache_register(void *data, void *base, size_t bytes, mca_rcache_base_registration_t *reg)
{
    const enum mca_btl_rbuf_purpose purpose = reg->access_flags == rights_for(MCA_BTL_RBUF_SOURCE)
                                                  ? MCA_BTL_RBUF_SOURCE
                                                  : MCA_BTL_RBUF_TARGET;
    mca_btl_rbuf_registration_t *registration = (mca_btl_rbuf_registration_t *) reg;
    mca_btl_rbuf_registrar_t *registrar = data;
    struct rbuf_problem problem;
    int status;

    if ((reg->flags & ONLY_LOOKING) != 0) {
        return OPAL_ERR_NOT_FOUND;
    }
    status = mca_btl_rbuf_registration_make(registrar->port, base, bytes, purpose, registration,
                                            &problem);
    if (status != 0) {
        /* With the latter the cache evicts and asks again, which is of no use to the former. */
        return mca_btl_rbuf_registration_is_unwritable(status) ? OPAL_ERR_PERM
                                                               : OPAL_ERR_OUT_OF_RESOURCE;
    }
    reg->access_flags = rights_for(registration->rights);
    atomic_fetch_add_explicit(&registrar->misses, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&registrar->cached, 1, memory_order_relaxed);
    return OPAL_SUCCESS;
}

static int cache_deregister(void *data, mca_rcache_base_registration_t *reg)
{
    mca_btl_rbuf_registrar_t *registrar = data;

    if (rbuf_deregister(((mca_btl_rbuf_registration_t *) reg)->mr) != 0) {
        return OPAL_ERROR;
    }
    atomic_fetch_sub_explicit(&registrar->cached, 1, memory_order_relaxed);
    return OPAL_SUCCESS;
}

static bool open_cache(mca_btl_rbuf_registrar_t *registrar)
{
    mca_rcache_base_resources_t resources = {.cache_name = registrar->port->name,
                                             .reg_data = registrar,
                                             .sizeof_reg = sizeof(mca_btl_rbuf_registration_t),
                                             .register_mem = cache_register,
                                             .deregister_mem = cache_deregister};
    mca_rcache_base_module_t *cache = mca_rcache_base_module_create("grdma", registrar, &resources);

    if (cache == NULL) {
        mca_btl_rbuf_help("no cache", opal_process_info.nodename, NULL);
    } else if (!mca_btl_rbuf_hooks_see_heap()) {
        mca_btl_rbuf_help("blind hooks", opal_process_info.nodename, NULL);
        mca_rcache_base_module_destroy(cache);
        cache = NULL;
    }
    registrar->kept = cache;
    return cache != NULL;
}

static void close_cache(mca_btl_rbuf_registrar_t *registrar)
{
    mca_rcache_base_module_destroy(registrar->kept);
}

static mca_btl_rbuf_registration_t *ask(mca_btl_rbuf_registrar_t *registrar, void *base,
                                        size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                        uint32_t flags)
{
    mca_rcache_base_module_t *cache = registrar->kept;
    mca_rcache_base_registration_t *reg = NULL;
    int status = cache->rcache_register(cache, base, bytes, flags, rights_for(purpose), &reg);

    return status == OPAL_SUCCESS ? (mca_btl_rbuf_registration_t *) reg : NULL;
}

/* What the cache has, or makes. */
static mca_btl_rbuf_registration_t *get(mca_btl_rbuf_registrar_t *registrar, uint32_t rank,
                                        void *base, size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                        struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration = ask(registrar, base, bytes, purpose, 0);

    (void) rank;
    if (registration == NULL) {
        (void) rbuf_memory_problem(registrar->port, bytes, -ENOMEM,
                                   problem); /* the cache tells no other */
    }
    return registration;
}

/* A look takes about a microsecond, also into an empty cache. */
static mca_btl_rbuf_registration_t *lookup(mca_btl_rbuf_registrar_t *registrar, void *base,
                                           size_t bytes, enum mca_btl_rbuf_purpose purpose)
{
    return atomic_load_explicit(&registrar->cached, memory_order_relaxed) == 0
               ? NULL
               : ask(registrar, base, bytes, purpose, ONLY_LOOKING);
}

static void put(mca_btl_rbuf_registrar_t *registrar, mca_btl_rbuf_registration_t *registration)
{
    mca_rcache_base_module_t *cache = registrar->kept;

    cache->rcache_deregister(cache, &registration->base);
}

static bool evict(mca_btl_rbuf_registrar_t *registrar)
{
    mca_rcache_base_module_t *cache = registrar->kept;

    return cache->rcache_evict(cache);
}

const mca_btl_rbuf_policy_t mca_btl_rbuf_cached = {.text = "registrations kept in a cache",
                                                   .open = open_cache,
                                                   .close = close_cache,
                                                   .get = get,
                                                   .put = put,
                                                   .lookup = lookup,
                                                   .evict = evict};
