/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * An eager message into the peer's ring, from the data that Open MPI's convertor describes. Inline
 * in each entry point: a call would be a sixth of the instructions of a small message. What is
 * seldom stands in btl/send.c, out of line.
 *
 * No lock is held when these are called, but for those that pack.
 */
#ifndef BTL_RBUF_BY_RING_H
#define BTL_RBUF_BY_RING_H

#include <string.h>

#include "btl/callback.h"
#include "module/convertor.h"
#include "module/thresholds.h"
#include "opal/datatype/opal_convertor.h"
#include "peers/endpoint.h"

/* Packs `bytes` of what does not stand in one piece. False: it cannot be packed. */
bool mca_btl_rbuf_pack_pieces(struct opal_convertor_t *convertor, void *to, size_t bytes);

/* Straight into several slots of the ring. False: nothing has happened. */
bool mca_btl_rbuf_send_by_slots(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                struct opal_convertor_t *convertor, const void *header,
                                size_t header_size, size_t payload_size, mca_btl_base_tag_t tag);

/* Whether the convertor's next `bytes` bytes stand in one piece and as they are to be sent. Most
 * do, and opal_convertor_pack() takes several times as long to find that out. */
static inline bool mca_btl_rbuf_stands_in_place(const struct opal_convertor_t *convertor,
                                                size_t bytes)
{
    return mca_btl_rbuf_is_in_place(convertor) &&
           bytes <= convertor->local_size - convertor->bConverted;
}

/* Where these bytes stand; they count as packed from now on. */
static inline const void *mca_btl_rbuf_take_in_place(struct opal_convertor_t *convertor,
                                                     size_t bytes)
{
    void *data;

    opal_convertor_get_current_pointer(convertor, &data);
    rbuf_compat_count_packed(convertor, bytes);
    return data;
}

/* Packs what is to be sent behind `payload`'s first header_size bytes. */
static inline bool mca_btl_rbuf_pack_message(struct opal_convertor_t *convertor, const void *header,
                                             size_t header_size, size_t payload_size,
                                             unsigned char *payload)
{
    memcpy(payload, header, header_size);
    if (payload_size == 0) {
        return true;
    }
    if (!mca_btl_rbuf_stands_in_place(convertor, payload_size)) {
        return mca_btl_rbuf_pack_pieces(convertor, payload + header_size, payload_size);
    }
    memcpy(payload + header_size, mca_btl_rbuf_take_in_place(convertor, payload_size),
           payload_size);
    return true;
}

static inline void mca_btl_rbuf_start_over(struct opal_convertor_t *convertor, size_t payload_size)
{
    if (payload_size > 0) {
        size_t position = convertor->bConverted - payload_size;

        opal_convertor_set_position(convertor, &position);
    }
}

/* Straight into a slot of the peer's ring. Inline wherever it is used: a call of it would be a
 * sixth of the instructions of a small message. */
static inline __attribute__((always_inline)) bool
mca_btl_rbuf_write_slot(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                        struct opal_convertor_t *convertor, const void *header, size_t header_size,
                        size_t payload_size, mca_btl_base_tag_t tag)
{
    const uint32_t bytes = (uint32_t) (header_size + payload_size);
    struct rbuf_peer *peer = endpoint->peer;
    bool sent = false;
    void *slot;

    mca_btl_rbuf_lock(module);
    slot = rbuf_am_begin(peer, bytes);
    if (slot != NULL &&
        mca_btl_rbuf_pack_message(convertor, header, header_size, payload_size, slot)) {
        sent = rbuf_am_end(peer, tag, bytes, mca_btl_rbuf_callback_after(endpoint));
        if (!sent) {
            mca_btl_rbuf_start_over(convertor, payload_size);
        }
    }
    mca_btl_rbuf_unlock(module);
    return sent;
}

/* By one slot, or by several. False: nothing has happened. */
static inline __attribute__((always_inline)) bool
mca_btl_rbuf_send_by_ring(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                          struct opal_convertor_t *convertor, const void *header,
                          size_t header_size, size_t payload_size, mca_btl_base_tag_t tag)
{
    return mca_btl_rbuf_is_one_slot(header_size + payload_size)
               ? mca_btl_rbuf_write_slot(module, endpoint, convertor, header, header_size,
                                         payload_size, tag)
               : mca_btl_rbuf_send_by_slots(module, endpoint, convertor, header, header_size,
                                            payload_size, tag);
}

#endif
