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
#include "peers/endpoint.h"

/* A message as Open MPI hands it to sendi. Functions out of line get it by value: it is in
 * registers on the usual path, which would cost more if its address was known. */
struct mca_btl_rbuf_outgoing {
    mca_btl_rbuf_module_t *module;
    mca_btl_base_endpoint_t *endpoint;
    const void *header; /* Open MPI's, which the message begins with */
    size_t header_size;
    struct opal_convertor_t *convertor; /* of the rest */
    size_t payload_size;
    mca_btl_base_tag_t tag;
};

static inline size_t mca_btl_rbuf_bytes_of(const struct mca_btl_rbuf_outgoing *message)
{
    return message->header_size + message->payload_size;
}

/* What Open MPI wants of a descriptor, should the message need one. */
struct mca_btl_rbuf_wanted {
    uint8_t order;
    uint32_t flags;
    mca_btl_base_descriptor_t **descriptor; /* where one goes that Open MPI sends later; or NULL */
};

/* Packs `bytes` of what does not stand in one piece. False: it cannot be packed. */
bool mca_btl_rbuf_pack_pieces(struct opal_convertor_t *convertor, void *to, size_t bytes);

/* Straight into several slots of the ring. False: nothing has happened. */
bool mca_btl_rbuf_send_by_slots(struct mca_btl_rbuf_outgoing message);

/* What sendi does with a message that finds no room in a ring: it goes over send/receive. What
 * cannot go now is queued, or Open MPI has to wait: OPAL_ERR_RESOURCE_BUSY. */
int mca_btl_rbuf_send_otherwise(struct mca_btl_rbuf_outgoing message,
                                const struct mca_btl_rbuf_wanted *wanted);

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

/* Packs all of the message to `to`. False: it cannot be packed. */
static inline __attribute__((always_inline)) bool
mca_btl_rbuf_pack_message(const struct mca_btl_rbuf_outgoing *message, unsigned char *to)
{
    const size_t bytes = message->payload_size;

    memcpy(to, message->header, message->header_size);
    if (bytes == 0) {
        return true;
    }
    if (!mca_btl_rbuf_stands_in_place(message->convertor, bytes)) {
        return mca_btl_rbuf_pack_pieces(message->convertor, to + message->header_size, bytes);
    }
    memcpy(to + message->header_size, mca_btl_rbuf_take_in_place(message->convertor, bytes), bytes);
    return true;
}

/* It is packed, and does not go: it is to be packed again. */
static inline void mca_btl_rbuf_start_over(const struct mca_btl_rbuf_outgoing *message)
{
    if (message->payload_size > 0) {
        size_t position = message->convertor->bConverted - message->payload_size;

        opal_convertor_set_position(message->convertor, &position);
    }
}

/* Straight into a slot of the peer's ring. */
static inline __attribute__((always_inline)) bool
mca_btl_rbuf_write_slot(const struct mca_btl_rbuf_outgoing *message)
{
    const uint32_t bytes = (uint32_t) mca_btl_rbuf_bytes_of(message);
    struct rbuf_peer *peer = message->endpoint->peer;
    bool sent = false;
    void *slot;

    mca_btl_rbuf_lock(message->module);
    slot = rbuf_am_begin(peer, bytes);
    if (slot != NULL && mca_btl_rbuf_pack_message(message, slot)) {
        sent =
            rbuf_am_end(peer, message->tag, bytes, mca_btl_rbuf_callback_after(message->endpoint));
        if (!sent) {
            mca_btl_rbuf_start_over(message);
        }
    }
    mca_btl_rbuf_unlock(message->module);
    return sent;
}

/* By one slot, or by several. False: nothing has happened. */
static inline __attribute__((always_inline)) bool
mca_btl_rbuf_send_by_ring(const struct mca_btl_rbuf_outgoing *message)
{
    return mca_btl_rbuf_is_one_slot(mca_btl_rbuf_bytes_of(message))
               ? mca_btl_rbuf_write_slot(message)
               : mca_btl_rbuf_send_by_slots(*message);
}

#endif
