/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packing: the data that Open MPI's convertors know, into memory of ours.
 */
#ifndef BTL_RBUF_CONVERTOR_H
#define BTL_RBUF_CONVERTOR_H

#include "rbuf_compat.h"

#include <stdbool.h>

/* Whether the data stands in one piece and as it is to be sent. */
static inline bool mca_btl_rbuf_is_in_place(const struct opal_convertor_t *convertor)
{
    return (convertor->flags & CONVERTOR_NO_OP) != 0 && !opal_convertor_need_buffers(convertor);
}

/* Packs *bytes bytes at most; says how many. */
bool mca_btl_rbuf_pack(struct opal_convertor_t *convertor, void *to, size_t *bytes);

/* Bytes that the next fragment of packed data takes, behind `reserve` for Open MPI's header. */
size_t mca_btl_rbuf_packed_size(const mca_btl_base_module_t *btl,
                                const struct opal_convertor_t *convertor, size_t reserve);

#endif
