/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * prepare_src: what of a message goes along, by which channel, and what of the rest may be early
 * data.
 */
#include "btl/btl.h"

#include "module/convertor.h"
#include "module/thresholds.h"
#include "core/rendezvous/early.h"

/*
 * Fragments of packed data go over the bulk channel, also a small last one: nothing small waits
 * behind large fragments, and those of a message stay in order. (ob1 may take them in any order,
 * but the unpacking of Open MPI 4.1.4 writes outside of the buffer when the last one comes first.)
 * For the same reason, and as it unpacks nested types wrongly out of order, they all go by the
 * first of several ports, though ob1 deals them out among these. Eager messages and rendezvous,
 * which ask for priority, use the control channel, if they fit its receive buffers. (Between the
 * channels ob1 sees to the order of messages.)
 */
static enum rbuf_channel_id channel_for(const mca_btl_rbuf_module_t *module, size_t bytes,
                                        uint32_t flags)
{
    return (flags & MCA_BTL_DES_FLAGS_PRIORITY) && mca_btl_rbuf_fits_control(module, bytes)
               ? RBUF_CONTROL
               : RBUF_BULK;
}

/* The rendezvous of a contiguous message, with some of it as payload or none: what follows may be
 * early data. Every message that may be put comes by here, which core relies on
 * (core/rendezvous/early_out.c). */
static void prepare_early(const mca_btl_base_endpoint_t *endpoint,
                          const struct opal_convertor_t *convertor, mca_btl_rbuf_frag_t *rendezvous)
{
    const size_t offset = convertor->bConverted;
    void *rest;

    if (offset >= convertor->local_size || !mca_btl_rbuf_begins_early() ||
        !mca_btl_rbuf_is_alone(endpoint)) {
        return;
    }
    opal_convertor_get_offset_pointer(convertor, offset, &rest);
    rendezvous->role = MCA_BTL_RBUF_RTS;
    rendezvous->source = rest;
    rendezvous->source_bytes = convertor->local_size - offset;
}

/*
 * How much of the data goes along in a message.
 *
 * All of it, if Open MPI offers all: eager messages must have it, and the rendezvous of a
 * synchronous send, whose rest Open MPI would not put. Other rendezvous have as much as the control
 * channel takes, or nothing, if Open MPI offers no more than it has to for us to see the data.
 */
static size_t payload_of(const mca_btl_rbuf_module_t *module,
                         const struct opal_convertor_t *convertor, uint32_t flags, size_t reserve,
                         size_t offered)
{
    const size_t left = convertor->local_size - convertor->bConverted;
    const size_t room = module->room[RBUF_CONTROL] - reserve;
    size_t most;

    if ((flags & MCA_BTL_DES_FLAGS_PRIORITY) && offered == left) {
        return offered;
    }
    if (mca_btl_rbuf_is_rendezvous(flags) && offered <= MCA_BTL_RBUF_RENDEZVOUS_LOOK) {
        return 0;
    }
    if (reserve + offered <= module->room[RBUF_CONTROL]) {
        return offered;
    }
    most = mca_btl_rbuf_packed_size(&module->super, convertor, reserve);
    if (mca_btl_rbuf_is_rendezvous(flags) && most > room) {
        most = room;
    }
    return most < offered ? most : offered;
}

/* Packs `*payload` bytes behind `reserve`, or fewer; says how many. */
static bool pack_behind(struct opal_convertor_t *convertor, mca_btl_rbuf_frag_t *frag,
                        size_t reserve, size_t *payload)
{
    frag->segment.seg_addr.pval = frag->am.header + 1;
    return *payload == 0 ||
           mca_btl_rbuf_pack(convertor, (unsigned char *) (frag->am.header + 1) + reserve, payload);
}

/* The rendezvous is about to leave: what follows it may be early data. */
static void prepare_rest(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                         const struct opal_convertor_t *convertor, mca_btl_rbuf_frag_t *rendezvous)
{
    if (convertor->bConverted < convertor->local_size) { /* else it has all of a synchronous send */
        mca_btl_rbuf_eager_rendezvous(module, convertor->local_size);
    }
    if (opal_convertor_need_buffers(convertor)) {
        mca_btl_rbuf_packed_prepare(module, endpoint, convertor, rendezvous);
    } else {
        prepare_early(endpoint, convertor, rendezvous);
    }
}

/* A contiguous message goes in fragments: its receiver takes other than the whole in one piece, and
 * no put will take its early data. */
static void forget_early(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                         const struct opal_convertor_t *convertor)
{
    void *rest;

    if (!rbuf_early_may_begin(endpoint->peer) || opal_convertor_need_buffers(convertor) ||
        convertor->bConverted >= convertor->local_size) {
        return;
    }
    opal_convertor_get_offset_pointer(convertor, convertor->bConverted, &rest);
    mca_btl_rbuf_lock(module);
    rbuf_early_forget(endpoint->peer, rest);
    mca_btl_rbuf_unlock(module);
}

mca_btl_base_descriptor_t *mca_btl_rbuf_prepare_src(mca_btl_base_module_t *btl,
                                                    mca_btl_base_endpoint_t *endpoint,
                                                    struct opal_convertor_t *convertor,
                                                    uint8_t order, size_t reserve, size_t *size,
                                                    uint32_t flags)
{
    const bool is_fragment = !(flags & MCA_BTL_DES_FLAGS_PRIORITY);
    mca_btl_rbuf_module_t *module;
    mca_btl_rbuf_frag_t *frag;
    size_t payload;
    bool is_claimed; /* has early data, or comes behind them */

    (void) order;
    endpoint = is_fragment ? mca_btl_rbuf_endpoint_first(endpoint) : endpoint;
    module = endpoint->module;
    is_claimed = is_fragment &&
                 reserve + sizeof(struct rbuf_fragment) <= MCA_BTL_RBUF_SMALL_PAYLOAD &&
                 mca_btl_rbuf_packed_claim(module, endpoint, convertor, reserve, *size, &frag);
    if (is_fragment && !is_claimed) {
        forget_early(module, endpoint, convertor);
    }
    if (!is_claimed) {
        payload = payload_of(module, convertor, flags, reserve, *size);
        frag = mca_btl_rbuf_frag_take(module, reserve + payload);
    }
    if (frag == NULL) {
        return NULL;
    }
    if (is_claimed) {
        payload = frag->packed;
    } else if (!pack_behind(convertor, frag, reserve, &payload)) {
        mca_btl_rbuf_free(btl, &frag->base);
        return NULL;
    }
    *size = payload;
    frag->segment.seg_len = reserve + *size;
    frag->base.des_flags = flags;
    frag->am.channel = (uint8_t) channel_for(module, reserve + *size, flags);
    if (mca_btl_rbuf_is_rendezvous(flags)) {
        prepare_rest(module, endpoint, convertor, frag);
    }
    return &frag->base;
}
