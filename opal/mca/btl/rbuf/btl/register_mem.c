/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * register_mem and deregister_mem: where the path of a message is decided, by the exact flags that
 * Open MPI asks for.
 *
 * - REMOTE_READ alone, the source of a send before its rendezvous: NULL, so that the receiver
 * decides.
 * - REMOTE_WRITE alone, the target of a receive: a grant of staging, or a registration; never NULL,
 *   since Open MPI would wait for ever.
 * - None, the source of a put, or with protocol auto LOCAL_WRITE alone, the target of a get:
 * nothing yet.
 * - Anything else, one-sided communication: truly registered, or NULL.
 */
#include "btl/register_mem.h"

#include <stdlib.h>

#include "btl/btl.h"
#include "btl/callback.h"
#include "params/help.h"
#include "module/thresholds.h"

#define REMOTE                                                                                     \
    (MCA_BTL_REG_FLAG_REMOTE_READ | MCA_BTL_REG_FLAG_REMOTE_WRITE | MCA_BTL_REG_FLAG_REMOTE_ATOMIC)

static mca_btl_rbuf_handle_t *handle_make(void *base, size_t bytes)
{
    mca_btl_rbuf_handle_t *handle = malloc(sizeof(*handle));

    if (handle != NULL) {
        *handle = (mca_btl_rbuf_handle_t){
            .state = MCA_BTL_RBUF_HANDLE_LAZY, .base = base, .bytes = bytes};
    }
    return handle;
}

/* Makes `handle` one of `registration`, whose offer tells a peer where to write; false if that is
 * NULL. */
static bool handle_hold(mca_btl_rbuf_handle_t *handle, mca_btl_rbuf_registration_t *registration)
{
    if (registration == NULL) {
        return false;
    }
    handle->registration = registration;
    handle->state = MCA_BTL_RBUF_HANDLE_REGISTERED;
    handle->offer = (struct rbuf_offer){.base = (uintptr_t) handle->base,
                                        .bytes = handle->bytes,
                                        .rkey = registration->mr->rkey,
                                        .mode = RBUF_OFFER_DIRECT};
    return true;
}

static bool handle_register(mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *endpoint,
                            mca_btl_rbuf_handle_t *handle, enum mca_btl_rbuf_purpose purpose,
                            struct rbuf_problem *problem)
{
    return handle_hold(
        handle, mca_btl_rbuf_registration_get(&module->registrar, mca_btl_rbuf_rank(endpoint),
                                              handle->base, handle->bytes, purpose, problem));
}

/* Protocol auto: registers the target of a receive if that is worth it. */
static bool handle_choose(mca_btl_rbuf_module_t *module, mca_btl_rbuf_handle_t *handle)
{
    return handle_hold(handle,
                       mca_btl_rbuf_auto_decide(&module->registrar, RBUF_SIDE_RECEIVE, handle->base,
                                                handle->bytes, &handle->timing));
}

static bool handle_grant(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                         mca_btl_rbuf_handle_t *handle)
{
    const uint32_t early = mca_btl_rbuf_callback_early(endpoint);

    mca_btl_rbuf_lock(module);
    handle->grant =
        rbuf_grant_open(endpoint->peer, handle->base, handle->bytes, handle, early, &handle->offer);
    mca_btl_rbuf_unlock(module);
    handle->state = MCA_BTL_RBUF_HANDLE_GRANT;
    return handle->grant != NULL;
}

static mca_btl_rbuf_handle_t *register_target(mca_btl_rbuf_module_t *module,
                                              mca_btl_base_endpoint_t *endpoint, void *base,
                                              size_t bytes)
{
    mca_btl_rbuf_handle_t *handle = handle_make(base, bytes);
    struct rbuf_problem problem;

    if (handle == NULL) {
        return NULL;
    }
    if (module->registrar.choice != NULL
            ? handle_choose(module, handle)
            : mca_btl_rbuf_registers() &&
                  handle_register(module, endpoint, handle, MCA_BTL_RBUF_TARGET, &problem)) {
        return handle;
    }
    if (!handle_grant(module, endpoint, handle)) {
        free(handle);
        mca_btl_rbuf_help("no memory", opal_process_info.nodename, "granting a receive", NULL);
        return NULL;
    }
    return handle;
}

static void window_add(mca_btl_rbuf_module_t *module, mca_btl_rbuf_handle_t *handle)
{
    mca_btl_rbuf_lock(module);
    handle->state = MCA_BTL_RBUF_HANDLE_WINDOW;
    SLIST_INSERT_HEAD(&module->windows, handle, link);
    mca_btl_rbuf_unlock(module);
}

mca_btl_rbuf_handle_t *mca_btl_rbuf_window_at(mca_btl_rbuf_module_t *module, uint64_t address,
                                              size_t bytes)
{
    mca_btl_rbuf_handle_t *handle;

    mca_btl_rbuf_lock(module);
    SLIST_FOREACH(handle, &module->windows, link)
    {
        const uint64_t base = (uintptr_t) handle->base;

        if (address >= base && address - base <= handle->bytes &&
            handle->bytes - (address - base) >= bytes) {
            break;
        }
    }
    mca_btl_rbuf_unlock(module);
    return handle;
}

mca_btl_base_registration_handle_t *mca_btl_rbuf_register_mem(mca_btl_base_module_t *btl,
                                                              mca_btl_base_endpoint_t *endpoint,
                                                              void *base, size_t size,
                                                              uint32_t flags)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    struct rbuf_problem problem;
    mca_btl_rbuf_handle_t *handle;

    switch (flags) {
    case MCA_BTL_REG_FLAG_REMOTE_READ:
        return NULL;
    case MCA_BTL_REG_FLAG_REMOTE_WRITE:
        if (endpoint != MCA_BTL_ENDPOINT_ANY) {
            return register_target(module, endpoint, base, size);
        }
        break;
    case 0:
        return handle_make(base, size);
    case MCA_BTL_REG_FLAG_LOCAL_WRITE:
        if (module->registrar.choice != NULL) {
            return handle_make(base, size);
        }
        break;
    default:
        break;
    }
    handle = handle_make(base, size);
    if (handle == NULL) {
        mca_btl_rbuf_help("no memory", opal_process_info.nodename,
                          "registering memory of one-sided communication", NULL);
        return NULL;
    }
    /* One-sided code says what it may do with memory that cannot be written: nothing, or read it.
     */
    if (!handle_register(module, NULL, handle, MCA_BTL_RBUF_TARGET, &problem) &&
        !handle_register(module, NULL, handle, MCA_BTL_RBUF_SOURCE, &problem)) {
        mca_btl_rbuf_help_pinned((flags & REMOTE) != 0 ? MCA_BTL_RBUF_PINNED_WINDOW
                                                       : MCA_BTL_RBUF_PINNED_BUFFER,
                                 &problem);
        free(handle);
        return NULL;
    }
    handle->offer.mode = RBUF_OFFER_WINDOW;
    if ((flags & MCA_BTL_REG_FLAG_REMOTE_ATOMIC) != 0) {
        window_add(module, handle);
    }
    return handle;
}

int mca_btl_rbuf_deregister_mem(mca_btl_base_module_t *btl,
                                mca_btl_base_registration_handle_t *handle)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    const uint64_t ns = mca_btl_rbuf_auto_elapsed(&handle->timing);

    mca_btl_rbuf_lock(module);
    mca_btl_rbuf_auto_took(&module->registrar, &handle->timing, ns);
    if (handle->grant != NULL) {
        /* By its id: del_procs may have closed it, and it may be another handle's by now. */
        struct rbuf_grant *grant = rbuf_grant_find(&module->core, handle->offer.id);

        if (grant != NULL) {
            rbuf_grant_close(grant);
        }
    }
    if (handle->state == MCA_BTL_RBUF_HANDLE_WINDOW) {
        SLIST_REMOVE(&module->windows, handle, mca_btl_base_registration_handle_t, link);
    }
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_registration_put(&module->registrar, handle->registration);
    free(handle);
    return OPAL_SUCCESS;
}

/* The grant may have been closed since the event raised, or be another one by now, and its handle
 * be freed: only a grant that waits for this is looked at, and a handle by who holds the lock. */
void mca_btl_rbuf_grant_expired(mca_btl_rbuf_module_t *module, struct rbuf_grant *grant)
{
    mca_btl_rbuf_registration_t *registration;
    mca_btl_rbuf_handle_t *handle = NULL;
    mca_btl_rbuf_handle_t memory;
    struct rbuf_problem problem;
    bool waits;

    mca_btl_rbuf_lock(module);
    if (grant->state == RBUF_GRANT_REGISTERING) {
        handle = grant->user;
        memory = *handle;
    }
    mca_btl_rbuf_unlock(module);
    if (handle == NULL) {
        return;
    }
    registration = mca_btl_rbuf_registration_get(&module->registrar, 0, memory.base, memory.bytes,
                                                 MCA_BTL_RBUF_TARGET, &problem);
    mca_btl_rbuf_lock(module);
    waits = grant->state == RBUF_GRANT_REGISTERING && grant->user == handle;
    if (waits && registration != NULL) {
        handle->registration = registration;
        rbuf_grant_direct(grant, registration->mr->rkey);
        registration = NULL;
    } else if (waits) {
        rbuf_grant_not_direct(grant);
    }
    mca_btl_rbuf_unlock(module);
    mca_btl_rbuf_registration_put(&module->registrar, registration);
}
