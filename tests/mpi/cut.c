/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Replaces btl_prepare_src of each module of rbuf, once, by one that shortens fragments
 * (tests/mpi/cut.h).
 */
#include "cut.h"

#include <string.h>

#include "opal_config.h"

#include "opal/mca/btl/base/base.h"

static mca_btl_base_module_prepare_fn_t prepare;
static unsigned cut_most;
static unsigned cut_every;
static unsigned asked;

static mca_btl_base_descriptor_t *prepare_less(struct mca_btl_base_module_t *btl,
                                               struct mca_btl_base_endpoint_t *endpoint,
                                               struct opal_convertor_t *convertor, uint8_t order,
                                               size_t reserve, size_t *size, uint32_t flags)
{
    if ((flags & MCA_BTL_DES_FLAGS_PRIORITY) == 0 && *size > cut_most && ++asked % cut_every == 0) {
        *size = cut_most;
    }
    return prepare(btl, endpoint, convertor, order, reserve, size, flags);
}

void cut_fragments(unsigned most, unsigned every)
{
    mca_btl_base_selected_module_t *selected;

    cut_most = most;
    cut_every = every;
    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        mca_btl_base_module_t *module = selected->btl_module;

        if (strcmp(module->btl_component->btl_version.mca_component_name, "rbuf") == 0 &&
            module->btl_prepare_src != prepare_less) {
            prepare = module->btl_prepare_src;
            module->btl_prepare_src = prepare_less;
        }
    }
}
