/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * prepare_src, Open MPI's call for a fragment that send or put gets later (btl/prepare.c), and how
 * its flags tell what the fragment is.
 *
 * Any thread, without the lock.
 */
#ifndef BTL_RBUF_PREPARE_H
#define BTL_RBUF_PREPARE_H

#include "peers/endpoint.h"

mca_btl_base_descriptor_t *mca_btl_rbuf_prepare_src(mca_btl_base_module_t *btl,
                                                    mca_btl_base_endpoint_t *endpoint,
                                                    struct opal_convertor_t *convertor,
                                                    uint8_t order, size_t reserve, size_t *size,
                                                    uint32_t flags);

/* By the flags that Open MPI describes a message with. */
static inline bool mca_btl_rbuf_is_rendezvous(uint32_t flags)
{
    return (flags & MCA_BTL_DES_FLAGS_SIGNAL) && (flags & MCA_BTL_DES_FLAGS_PRIORITY);
}

#endif
