/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * send and sendi. What cannot go now is queued in core, in order, but for answers, which go ahead
 * (core/eager/channel.h). Tags tell what answers are.
 *
 * The data stands in memory of ours when these are called, so a message is complete for Open MPI as
 * soon as it is posted or queued; only who asked for a callback waits for one. What is queued goes
 * on by itself, whatever the process does (btl/async.c). But not without bound: a program that
 * only sends would never progress, and fill the memory. When DETACHED_MOST messages to a peer are
 * under way in this manner, sendi asks to be called again as send, and that tells when the message
 * has gone.
 */
#include "btl/btl.h"

#include "btl/by_ring.h"
#include "registration/reuse.h"
#include "core/choice/choice.h"

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

/* With the kind that its tag has. What is held back for a put has no room to say that it is an RTS.
 */
static int send_message(struct rbuf_peer *peer, struct rbuf_am *am)
{
    if (am->channel == RBUF_CONTROL && rbuf_compat_is_answer(am->tag)) {
        return (int) rbuf_am_send_as(peer, am, RBUF_MESSAGE_ANSWER, am->argument);
    }
    if (am->channel == RBUF_CONTROL && rbuf_compat_is_rendezvous(am->tag) && am->argument == 0) {
        return (int) rbuf_am_send_as(peer, am, RBUF_MESSAGE_RTS, RBUF_RTS_PLAIN);
    }
    return (int) rbuf_am_send(peer, am);
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
    return send_message(peer, &frag->am) != RBUF_AM_IDLE;
}

void mca_btl_rbuf_sent(mca_btl_rbuf_module_t *module, struct rbuf_am *am, int status)
{
    mca_btl_rbuf_frag_t *frag = mca_btl_rbuf_frag_of(am);
    bool owned = frag->base.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    bool detached = frag->state == MCA_BTL_RBUF_FRAG_DETACHED;

    if (frag->role == MCA_BTL_RBUF_IN_PLACE) {
        mca_btl_rbuf_lock(module);
        module->registrar.reuse->end(&module->registrar, frag->mr);
        mca_btl_rbuf_unlock(module);
    }
    if (!detached) {
        frag->state = MCA_BTL_RBUF_FRAG_USER;
    }
    if (!detached && !mca_btl_rbuf_is_finalized(module)) {
        frag->base.des_cbfunc(&module->super, am->work.peer->user, &frag->base,
                              status == 0 ? OPAL_SUCCESS : OPAL_ERROR);
    }
    if (detached) {
        mca_btl_base_endpoint_t *endpoint = am->work.peer->user;

        atomic_fetch_sub_explicit(&endpoint->detached, 1, memory_order_relaxed);
    }
    if (detached || owned) {
        mca_btl_rbuf_lock(module);
        mca_btl_rbuf_frag_give(frag);
        mca_btl_rbuf_unlock(module);
    }
}

/* Out of line: small messages do not come here, or to the others that are so. */
__attribute__((noinline)) bool mca_btl_rbuf_pack_pieces(struct opal_convertor_t *convertor,
                                                        void *to, size_t bytes)
{
    size_t packed = bytes;

    return mca_btl_rbuf_pack(convertor, to, &packed) && packed == bytes;
}

/* Packs a message over several slots in chunks that double, like those of the superpipeline, and
 * end with a slot; each leaves while the next is copied. */
static void copy_and_write(const struct mca_btl_rbuf_outgoing *message, unsigned char *payload,
                           const unsigned char *data)
{
    struct rbuf_peer *peer = message->endpoint->peer;
    const uint32_t bytes = (uint32_t) mca_btl_rbuf_bytes_of(message);
    uint32_t chunk = (uint32_t) mca_btl_rbuf_params.ring_c0;
    uint32_t done = (uint32_t) message->header_size; /* of the payload */
    const unsigned char *from = data - message->header_size;

    memcpy(payload, message->header, message->header_size);
    while (mca_btl_rbuf_is_cut(bytes - done, chunk)) {
        const uint32_t until = rbuf_ring_long_part(peer, done + chunk);

        if (until > done) {
            memcpy(payload + done, from + done, until - done);
            done = until;
            rbuf_ring_long_write_part(peer, done);
        }
        chunk *= 2;
    }
    memcpy(payload + done, from + done, bytes - done);
}

/* Data that has to be packed goes as a whole: packing may fail, and then nothing may have left. */
__attribute__((noinline)) bool mca_btl_rbuf_send_by_slots(struct mca_btl_rbuf_outgoing message)
{
    mca_btl_rbuf_module_t *module = message.module;
    mca_btl_base_endpoint_t *endpoint = message.endpoint;
    const uint32_t bytes = (uint32_t) mca_btl_rbuf_bytes_of(&message);
    const void *data = NULL;
    bool packed = false;
    bool sent = false;
    void *slots;

    mca_btl_rbuf_lock(module);
    slots = rbuf_am_begin_long(endpoint->peer, bytes);
    if (slots != NULL && message.payload_size > 0 &&
        mca_btl_rbuf_stands_in_place(message.convertor, message.payload_size)) {
        data = mca_btl_rbuf_take_in_place(message.convertor, message.payload_size);
    }
    if (data != NULL) {
        copy_and_write(&message, slots, data);
        packed = true;
    } else if (slots != NULL) {
        packed = mca_btl_rbuf_pack_message(&message, slots);
    }
    sent = packed &&
           rbuf_ring_long_end(endpoint->peer, message.tag, mca_btl_rbuf_callback_after(endpoint));
    if (sent && bytes > module->room[RBUF_CONTROL]) {
        rbuf_eager_by_ring(&module->eager);
    }
    mca_btl_rbuf_unlock(module);
    if (packed && !sent) {
        mca_btl_rbuf_start_over(&message);
    }
    return sent;
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
        rbuf_core_raise(&module->core, RBUF_EVENT_SENT, endpoint->peer, &frag->am, &frag->am.ended,
                        0);
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
static bool send_now(const struct mca_btl_rbuf_outgoing *message)
{
    _Alignas(struct rbuf_message_header) unsigned char all[MCA_BTL_RBUF_NOW_BYTES];
    bool sent;

    if (!mca_btl_rbuf_pack_message(message, all + HEADER_BYTES)) {
        return false;
    }
    mca_btl_rbuf_lock(message->module);
    sent = rbuf_am_send_now(message->endpoint->peer, RBUF_CONTROL, message->tag,
                            (struct rbuf_message_header *) (void *) all,
                            (uint32_t) mca_btl_rbuf_bytes_of(message),
                            mca_btl_rbuf_callback_after(message->endpoint));
    mca_btl_rbuf_unlock(message->module);
    if (!sent) {
        mca_btl_rbuf_start_over(message);
    }
    return sent;
}

/* Worth a try to send from the stack; the queue pair's inline room is not looked at without the
 * lock. */
static bool is_small(const mca_btl_rbuf_module_t *module, const mca_btl_base_endpoint_t *endpoint,
                     size_t bytes)
{
    return mca_btl_rbuf_endpoint_is_open(endpoint) && mca_btl_rbuf_is_sent_inline(module, bytes);
}

/* A descriptor as large as the message; NULL: there is none now. */
static mca_btl_base_descriptor_t *descriptor_for(const struct mca_btl_rbuf_outgoing *message,
                                                 const struct mca_btl_rbuf_wanted *wanted,
                                                 uint32_t flags)
{
    return mca_btl_rbuf_alloc(&message->module->super, message->endpoint, wanted->order,
                              mca_btl_rbuf_bytes_of(message), wanted->flags | flags);
}

/* Out of line, lest it take registers of the usual path. */
__attribute__((noinline)) int mca_btl_rbuf_send_otherwise(struct mca_btl_rbuf_outgoing message,
                                                          const struct mca_btl_rbuf_wanted *wanted)
{
    mca_btl_base_module_t *btl = &message.module->super;
    mca_btl_base_descriptor_t *descriptor;

    if (is_small(message.module, message.endpoint, mca_btl_rbuf_bytes_of(&message)) &&
        send_now(&message)) {
        return OPAL_SUCCESS;
    }
    if (!mca_btl_rbuf_fits_control(message.module, mca_btl_rbuf_bytes_of(&message))) {
        mca_btl_rbuf_send_beside(message.module, message.endpoint, mca_btl_rbuf_bytes_of(&message));
    }
    if (has_many_detached(message.endpoint)) {
        if (wanted->descriptor != NULL) {
            *wanted->descriptor = descriptor_for(&message, wanted, 0);
        }
        return OPAL_ERR_RESOURCE_BUSY;
    }
    descriptor = descriptor_for(&message, wanted, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (descriptor != NULL &&
        mca_btl_rbuf_pack_message(&message, descriptor->des_segments->seg_addr.pval)) {
        descriptor->des_flags &= ~(uint32_t) MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        mca_btl_rbuf_send(btl, message.endpoint, descriptor, message.tag);
        return OPAL_SUCCESS;
    }
    if (descriptor != NULL) {
        mca_btl_rbuf_free(btl, descriptor);
    }
    if (wanted->descriptor != NULL) {
        *wanted->descriptor = NULL;
    }
    return OPAL_ERR_RESOURCE_BUSY;
}

int mca_btl_rbuf_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                       struct opal_convertor_t *convertor, void *header, size_t header_size,
                       size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t **descriptor)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    const struct mca_btl_rbuf_outgoing message = {.module = module,
                                                  .endpoint = endpoint,
                                                  .header = header,
                                                  .header_size = header_size,
                                                  .convertor = convertor,
                                                  .payload_size = payload_size,
                                                  .tag = tag};

    return mca_btl_rbuf_send_by_ring(&message)
               ? OPAL_SUCCESS
               : mca_btl_rbuf_send_otherwise(
                     message, &(struct mca_btl_rbuf_wanted){order, flags, descriptor});
}
