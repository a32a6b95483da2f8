/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * send and sendi. What cannot go now is queued in core, in order.
 *
 * The data stands in memory of ours when these are called, so a message is complete for Open MPI as
 * soon as it is posted or queued; only who asked for a callback waits for one. What is queued goes
 * on by itself, whatever the process does (btl/async.c). But not without bound: a program that
 * only sends would never progress, and fill the memory. When DETACHED_MOST messages to a peer are
 * under way in this manner, sendi asks to be called again as send, and that tells when the message
 * has gone.
 */
#include "btl/send.h"

#include "btl/async.h"
#include "btl/callback.h"
#include "peers/connect.h"
#include "module/convertor.h"
#include "module/eager_limit.h"
#include "module/fragment.h"
#include "peers/packed.h"
#include "registration/reuse.h"
#include "params/params.h"
#include "module/thresholds.h"
#include "core/choice/choice.h"
#include "opal/datatype/opal_convertor.h"

#define HEADER_BYTES  sizeof(struct rbuf_message_header)
#define DETACHED_MOST 256u

/* True if Open MPI is to wait for messages to the peer: many that it does not wait for are under
 * way. Not for the message about a put that is through (btl/callback.h): later it would not be
 * held any more until the data is in place. */
static bool has_many_detached(const mca_btl_base_endpoint_t *endpoint)
{
    return atomic_load_explicit(&endpoint->detached, memory_order_relaxed) >= DETACHED_MOST &&
           mca_btl_rbuf_callback_after(endpoint) == 0;
}

static void count_fragment(mca_btl_rbuf_module_t *module, size_t bytes)
{
    module->fragments++;
    module->fragment_bytes += bytes;
}

void mca_btl_rbuf_send_beside(mca_btl_rbuf_module_t *module,
                              const mca_btl_base_endpoint_t *endpoint, size_t bytes)
{
    mca_btl_rbuf_eager_beside(module, endpoint->peer,
                              atomic_load_explicit(&endpoint->detached, memory_order_relaxed),
                              bytes);
}

/* With early data, unless protocol auto expects that these would be of no use. True if it is
 * on its way. Holds the lock. */
static bool start_rendezvous(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag)
{
    struct rbuf_choice *choice = endpoint->module->registrar.choice;

    if (choice != NULL && rbuf_choice_expects_in_place(choice, (uintptr_t) frag->source)) {
        return rbuf_early_send_none(endpoint->peer, &frag->am, frag->source, frag->source_bytes) !=
               RBUF_AM_IDLE;
    }
    return rbuf_early_send(endpoint->peer, &frag->am, frag->source, frag->source_bytes) !=
           RBUF_AM_IDLE;
}

/* Sends; true if the fragment is on its way, false if it is through already. Holds the lock. */
static bool start(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag,
                  mca_btl_base_tag_t tag)
{
    struct rbuf_peer *peer = endpoint->peer;

    frag->am.bytes = (uint32_t) frag->segment.seg_len;
    frag->am.tag = tag;
    /* Not the fragments of packed data that ob1 may send from a put's callback too: they would be
     * held, and be overtaken by those sent later. */
    frag->am.argument =
        frag->am.channel == RBUF_CONTROL ? mca_btl_rbuf_callback_after(endpoint) : 0;
    mca_btl_rbuf_endpoint_use(endpoint);
    switch (frag->role) {
    case MCA_BTL_RBUF_RTS:
        return start_rendezvous(endpoint, frag);
    case MCA_BTL_RBUF_RTS_PACKED:
        return mca_btl_rbuf_packed_start(endpoint, frag);
    case MCA_BTL_RBUF_FRAGMENT:
        count_fragment(endpoint->module, frag->packed);
        frag->am.bytes += (uint32_t) (sizeof(struct rbuf_fragment) - frag->packed);
        return rbuf_am_send_as(peer, &frag->am, RBUF_MESSAGE_FRAGMENT, 0) != RBUF_AM_IDLE;
    case MCA_BTL_RBUF_MESSAGE:
    case MCA_BTL_RBUF_IN_PLACE: /* does not come here */
        break;
    }
    if (frag->am.channel == RBUF_BULK && (frag->base.des_flags & MCA_BTL_DES_FLAGS_PRIORITY)) {
        return rbuf_am_send_as(peer, &frag->am, RBUF_MESSAGE_LONG, 0) != RBUF_AM_IDLE;
    }
    if (frag->am.channel == RBUF_BULK) {
        count_fragment(endpoint->module, frag->am.bytes);
    }
    return rbuf_am_send(peer, &frag->am) != RBUF_AM_IDLE;
}

void mca_btl_rbuf_sent(mca_btl_rbuf_module_t *module, struct rbuf_am *am, int status)
{
    mca_btl_rbuf_frag_t *frag = mca_btl_rbuf_frag_of(am);
    bool owned = frag->base.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    bool detached = frag->state == MCA_BTL_RBUF_FRAG_DETACHED;

    if (frag->role == MCA_BTL_RBUF_IN_PLACE) {
        mca_btl_rbuf_lock(module);
        module->registrar.reuse->end(&module->registrar, frag->held);
        mca_btl_rbuf_unlock(module);
    }
    if (!detached) {
        frag->state = MCA_BTL_RBUF_FRAG_USER;
    }
    if (!detached && !mca_btl_rbuf_is_finalized(module)) {
        frag->base.des_cbfunc(&module->super, am->peer->user, &frag->base,
                              status == 0 ? OPAL_SUCCESS : OPAL_ERROR);
    }
    if (detached) {
        mca_btl_base_endpoint_t *endpoint = am->peer->user;

        atomic_fetch_sub_explicit(&endpoint->detached, 1, memory_order_relaxed);
    }
    if (detached || owned) {
        mca_btl_rbuf_lock(module);
        mca_btl_rbuf_frag_give(frag);
        mca_btl_rbuf_unlock(module);
    }
}

/* Whether the convertor's next `bytes` bytes stand in one piece and as they are to be sent. Most
 * do, and opal_convertor_pack() takes several times as long to find that out. */
static inline bool stand_in_place(const struct opal_convertor_t *convertor, size_t bytes)
{
    return mca_btl_rbuf_is_in_place(convertor) &&
           bytes <= convertor->local_size - convertor->bConverted;
}

/* Where these bytes stand; they count as packed from now on. */
static inline const void *take_in_place(struct opal_convertor_t *convertor, size_t bytes)
{
    void *data;

    opal_convertor_get_current_pointer(convertor, &data);
    rbuf_compat_count_packed(convertor, bytes);
    return data;
}

static __attribute__((noinline)) bool pack_pieces(struct opal_convertor_t *convertor, void *to,
                                                  size_t bytes)
{
    size_t packed = bytes;

    return mca_btl_rbuf_pack(convertor, to, &packed) && packed == bytes;
}

/* Packs what is to be sent behind `payload`'s first header_size bytes. */
static inline bool pack(struct opal_convertor_t *convertor, const void *header, size_t header_size,
                        size_t payload_size, unsigned char *payload)
{
    memcpy(payload, header, header_size);
    if (payload_size == 0) {
        return true;
    }
    if (!stand_in_place(convertor, payload_size)) {
        return pack_pieces(convertor, payload + header_size, payload_size);
    }
    memcpy(payload + header_size, take_in_place(convertor, payload_size), payload_size);
    return true;
}

static void start_over(struct opal_convertor_t *convertor, size_t payload_size)
{
    if (payload_size > 0) {
        size_t position = convertor->bConverted - payload_size;

        opal_convertor_set_position(convertor, &position);
    }
}

/* Straight into a slot of the peer's ring. Inline wherever it is used: a call of it would be a
 * sixth of the instructions of a small message. */
static inline __attribute__((always_inline)) bool
send_by_ring(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
             struct opal_convertor_t *convertor, const void *header, size_t header_size,
             size_t payload_size, mca_btl_base_tag_t tag)
{
    const uint32_t bytes = (uint32_t) (header_size + payload_size);
    struct rbuf_peer *peer = endpoint->peer;
    bool sent = false;
    void *slot;

    mca_btl_rbuf_lock(module);
    slot = rbuf_am_begin(peer, bytes);
    if (slot != NULL && pack(convertor, header, header_size, payload_size, slot)) {
        sent = rbuf_am_end(peer, tag, bytes, mca_btl_rbuf_callback_after(endpoint));
        if (!sent) {
            start_over(convertor, payload_size);
        }
    }
    mca_btl_rbuf_unlock(module);
    return sent;
}

/* Packs a message over several slots in chunks that double, like those of the superpipeline, and
 * end with a slot; each leaves while the next is copied. */
static void copy_and_write(struct rbuf_peer *peer, unsigned char *payload, uint32_t bytes,
                           const void *header, size_t header_size, const unsigned char *data)
{
    uint32_t chunk = (uint32_t) mca_btl_rbuf_params.ring_c0;
    uint32_t done = (uint32_t) header_size; /* of the payload */
    const unsigned char *from = data - header_size;

    memcpy(payload, header, header_size);
    while (mca_btl_rbuf_is_cut(bytes - done, chunk)) {
        const uint32_t until = rbuf_ring_long_part(peer, bytes, done + chunk);

        if (until > done) {
            memcpy(payload + done, from + done, until - done);
            done = until;
            rbuf_ring_long_write_part(peer, bytes, done);
        }
        chunk *= 2;
    }
    memcpy(payload + done, from + done, bytes - done);
}

/* Straight into several slots of the ring. Out of line: small messages do not come here. Data that
 * has to be packed goes as a whole: packing may fail, and then nothing may have left. */
static __attribute__((noinline)) bool send_by_slots(mca_btl_rbuf_module_t *module,
                                                    mca_btl_base_endpoint_t *endpoint,
                                                    struct opal_convertor_t *convertor,
                                                    const void *header, size_t header_size,
                                                    size_t payload_size, mca_btl_base_tag_t tag)
{
    uint32_t bytes = (uint32_t) (header_size + payload_size);
    const void *data = NULL;
    bool packed = false;
    bool sent = false;
    void *slots;

    mca_btl_rbuf_lock(module);
    slots = rbuf_am_begin_long(endpoint->peer, bytes);
    if (slots != NULL && payload_size > 0 && stand_in_place(convertor, payload_size)) {
        data = take_in_place(convertor, payload_size);
    }
    if (data != NULL) {
        copy_and_write(endpoint->peer, slots, bytes, header, header_size, data);
        packed = true;
    } else if (slots != NULL) {
        packed = pack(convertor, header, header_size, payload_size, slots);
    }
    sent = packed &&
           rbuf_am_end_long(endpoint->peer, tag, bytes, mca_btl_rbuf_callback_after(endpoint));
    if (sent && bytes > module->room[RBUF_CONTROL]) {
        mca_btl_rbuf_eager_by_ring(module);
    }
    mca_btl_rbuf_unlock(module);
    if (packed && !sent) {
        start_over(convertor, payload_size);
    }
    return sent;
}

static inline __attribute__((always_inline)) bool
copy_by_ring(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
             struct opal_convertor_t *convertor, const void *header, size_t header_size,
             size_t payload_size, mca_btl_base_tag_t tag)
{
    return mca_btl_rbuf_is_one_slot(header_size + payload_size)
               ? send_by_ring(module, endpoint, convertor, header, header_size, payload_size, tag)
               : send_by_slots(module, endpoint, convertor, header, header_size, payload_size, tag);
}

bool mca_btl_rbuf_send_by_ring(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                               struct opal_convertor_t *convertor, const void *header,
                               size_t header_size, size_t payload_size, mca_btl_base_tag_t tag)
{
    return copy_by_ring(module, endpoint, convertor, header, header_size, payload_size, tag);
}

int mca_btl_rbuf_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    mca_btl_rbuf_frag_t *frag = (mca_btl_rbuf_frag_t *) descriptor;
    bool owned = descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    bool callback = descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    bool detached;
    bool under_way;

    detached =
        owned && !callback && (descriptor->des_cbfunc == NULL || !has_many_detached(endpoint));
    if (frag->pool->module != module) { /* see mca_btl_rbuf_prepare_src() */
        return mca_btl_rbuf_send(&frag->pool->module->super, mca_btl_rbuf_endpoint_first(endpoint),
                                 descriptor, tag);
    }
    mca_btl_rbuf_lock(module);
    frag->state = detached ? MCA_BTL_RBUF_FRAG_DETACHED : MCA_BTL_RBUF_FRAG_SENDING;
    under_way = start(endpoint, frag, tag);
    if (under_way && detached) {
        atomic_fetch_add_explicit(&endpoint->detached, 1, memory_order_relaxed);
    }
    if (!under_way && callback) {
        /* The callback comes from progress like any other, not out of this call. */
        rbuf_core_raise(&module->core, RBUF_EVENT_SENT, endpoint->peer, &frag->am, 0);
    } else if (!under_way && owned) {
        mca_btl_rbuf_frag_give(frag);
    } else if (!under_way) {
        frag->state = MCA_BTL_RBUF_FRAG_USER;
    }
    if (module->core.queued > 0) {
        mca_btl_rbuf_async_wait(module);
    }
    mca_btl_rbuf_unlock(module);
    return callback || (under_way && !detached) ? OPAL_SUCCESS : 1;
}

/* One piece on the stack, straight into the request. */
static bool send_now(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                     struct opal_convertor_t *convertor, const void *header, size_t header_size,
                     size_t payload_size, mca_btl_base_tag_t tag)
{
    _Alignas(struct rbuf_message_header) unsigned char message[MCA_BTL_RBUF_NOW_BYTES];
    bool sent;

    if (!pack(convertor, header, header_size, payload_size, message + HEADER_BYTES)) {
        return false;
    }
    mca_btl_rbuf_lock(module);
    sent = rbuf_am_send_now(
        endpoint->peer, RBUF_CONTROL, tag, (struct rbuf_message_header *) (void *) message,
        (uint32_t) (header_size + payload_size), mca_btl_rbuf_callback_after(endpoint));
    mca_btl_rbuf_unlock(module);
    if (!sent) {
        start_over(convertor, payload_size);
    }
    return sent;
}

/* Worth a try to send from the stack; the queue pair's inline room is not looked at without the
 * lock. */
static bool is_small(const mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *endpoint,
                     size_t bytes)
{
    return endpoint->state == MCA_BTL_RBUF_CONNECTED && mca_btl_rbuf_is_sent_inline(module, bytes);
}

/* Over send/receive; what cannot go now is queued, or Open MPI has to wait. Out of line, lest it
 * take registers of the usual way. */
static __attribute__((noinline)) int
send_otherwise(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
               struct opal_convertor_t *convertor, const void *header, size_t header_size,
               size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
               mca_btl_base_descriptor_t **descriptor)
{
    mca_btl_base_module_t *btl = &module->super;
    size_t bytes = header_size + payload_size;
    mca_btl_base_descriptor_t *message = NULL;

    if (is_small(module, endpoint, bytes) &&
        send_now(module, endpoint, convertor, header, header_size, payload_size, tag)) {
        return OPAL_SUCCESS;
    }
    if (!mca_btl_rbuf_fits_control(module, bytes)) {
        mca_btl_rbuf_send_beside(module, endpoint, bytes);
    }
    if (has_many_detached(endpoint)) {
        if (descriptor != NULL) {
            *descriptor = mca_btl_rbuf_alloc(btl, endpoint, order, bytes, flags);
        }
        return OPAL_ERR_RESOURCE_BUSY;
    }
    message =
        mca_btl_rbuf_alloc(btl, endpoint, order, bytes, flags | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (message != NULL &&
        pack(convertor, header, header_size, payload_size, message->des_segments->seg_addr.pval)) {
        message->des_flags &= ~(uint32_t) MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        mca_btl_rbuf_send(btl, endpoint, message, tag);
        return OPAL_SUCCESS;
    }
    if (message != NULL) {
        mca_btl_rbuf_free(btl, message);
    }
    if (descriptor != NULL) {
        *descriptor = NULL;
    }
    return OPAL_ERR_RESOURCE_BUSY;
}

int mca_btl_rbuf_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                       struct opal_convertor_t *convertor, void *header, size_t header_size,
                       size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t **descriptor)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);

    return copy_by_ring(module, endpoint, convertor, header, header_size, payload_size, tag)
               ? OPAL_SUCCESS
               : send_otherwise(module, endpoint, convertor, header, header_size, payload_size,
                                order, flags, tag, descriptor);
}
