/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The choice of policies (registration/policies.h): a table by protocol. The only file that names
 * them all.
 */
#include "registration/policies.h"

#include "params/params.h"
#include "registration/registrar.h"

#if RBUF_HAVE_HELPER
#define HELPED &mca_btl_rbuf_helped
#else
#define HELPED &mca_btl_rbuf_on_demand /* params/params.c refuses protocol helper */
#endif

#if RBUF_HAVE_REUSE
#include "registration/frequent.h"
#define REUSE &mca_btl_rbuf_reuse
#else
#define REUSE NULL
#endif

static const mca_btl_rbuf_policy_t *const by_protocol[] = {
    [MCA_BTL_RBUF_SUPERPIPELINE] = &mca_btl_rbuf_on_demand,
    [MCA_BTL_RBUF_PIPELINE] = &mca_btl_rbuf_on_demand,
    [MCA_BTL_RBUF_COPY] = &mca_btl_rbuf_on_demand,
    [MCA_BTL_RBUF_REGISTER] = &mca_btl_rbuf_on_demand,
    [MCA_BTL_RBUF_RCACHE] = &mca_btl_rbuf_cached,
    [MCA_BTL_RBUF_AUTO] = &mca_btl_rbuf_cached, /* with allow_cache */
    [MCA_BTL_RBUF_HELPER] = HELPED};

static const mca_btl_rbuf_policy_t *chosen; /* NULL: closed */

void mca_btl_rbuf_policies_open(void)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    chosen = params->protocol == MCA_BTL_RBUF_AUTO && params->allow_cache == MCA_BTL_RBUF_OFF
                 ? &mca_btl_rbuf_on_demand
                 : by_protocol[params->protocol];
    mca_btl_rbuf_registrars_have(chosen, params->reuse == MCA_BTL_RBUF_ON ? REUSE : NULL);
    if (chosen->process_open != NULL) {
        chosen->process_open();
    }
}

void mca_btl_rbuf_policies_close(void)
{
    if (chosen != NULL && chosen->process_close != NULL) {
        chosen->process_close();
    }
    chosen = NULL;
}
