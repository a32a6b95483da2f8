/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Policy "helped" of a registrar: the helper of its port (registration/helper.h), as the registrar
 * asks for it.
 */
#include "registration/helper.h"
#include "registration/sharing.h"

static bool open_helper(mca_btl_rbuf_registrar_t *registrar)
{
    registrar->kept = mca_btl_rbuf_helper_open(registrar->port);
    return registrar->kept != NULL;
}

static void close_helper(mca_btl_rbuf_registrar_t *registrar)
{
    mca_btl_rbuf_helper_close(registrar->kept);
}

static mca_btl_rbuf_registration_t *take(mca_btl_rbuf_registrar_t *registrar, uint32_t rank,
                                         void *base, size_t bytes,
                                         enum mca_btl_rbuf_purpose purpose,
                                         struct rbuf_problem *problem)
{
    return mca_btl_rbuf_helper_take(registrar->kept, rank, base, bytes, purpose, problem);
}

static void give(mca_btl_rbuf_registrar_t *registrar, mca_btl_rbuf_registration_t *registration)
{
    mca_btl_rbuf_helper_give(registrar->kept, registration);
}

static bool evict(mca_btl_rbuf_registrar_t *registrar)
{
    return mca_btl_rbuf_helper_evict(registrar->kept);
}

static void count(const mca_btl_rbuf_registrar_t *registrar,
                  struct mca_btl_rbuf_helper_counters *counters)
{
    mca_btl_rbuf_helper_count(registrar->kept, counters);
}

const mca_btl_rbuf_policy_t mca_btl_rbuf_helped = {.text =
                                                       "registered ahead of their use by a thread",
                                                   .process_open = mca_btl_rbuf_sharing_open,
                                                   .process_close = mca_btl_rbuf_sharing_close,
                                                   .open = open_helper,
                                                   .close = close_helper,
                                                   .take = take,
                                                   .give = give,
                                                   .evict = evict,
                                                   .count = count};
