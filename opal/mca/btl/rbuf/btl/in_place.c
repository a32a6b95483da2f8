/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager messages of frequently used buffers leave from where they are: the adapter gathers header
 * and data (registration/frequent.h has the registrations).
 *
 * Open MPI calls the entry points here (sendi, prepare_src, send) in place of those of btl/send.c
 * and btl/prepare.c. They look at some messages, and leave the rest to those.
 *
 * Open MPI hands messages to sendi, where they can but be copied, or to prepare_src and send, which
 * takes a hundred instructions more. So it does the latter while messages are gathered, and is told
 * when that begins and ends (btl/bml.c), of each endpoint with the next message for it that is
 * looked at; by sendi one in some is.
 */
#include "btl/in_place.h"

#include "btl/by_ring.h"
#include "btl/btl.h"
#include "registration/frequent.h"

/* A message for the endpoint was looked at. The lock is held. */
static void message_seen(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                         bool gathered)
{
    struct rbuf_frequent *table = &module->registrar.frequent->table;
    mca_btl_rbuf_handover_t wanted;

    (void) rbuf_frequent_turn(table, gathered);
    wanted = table->in_place ? MCA_BTL_RBUF_BY_PREPARE : MCA_BTL_RBUF_BY_SENDI;
    if (endpoint->handover != wanted) {
        mca_btl_rbuf_bml_hand_over(endpoint, wanted);
    }
}

/* Where the data of a message as Open MPI describes it is registered, or NULL. `timed`: how long
 * its copy takes is to be told. */
static struct rbuf_frequent_mr *find_source(mca_btl_rbuf_module_t *module,
                                            mca_btl_base_endpoint_t *endpoint,
                                            const struct opal_convertor_t *convertor, size_t bytes,
                                            bool *timed)
{
    const bool is_looked_up =
        bytes >= module->registrar.frequent->least && mca_btl_rbuf_is_in_place(convertor);
    struct rbuf_frequent_mr *mr = NULL;
    void *data = NULL;

    *timed = false;
    if (is_looked_up) {
        opal_convertor_get_current_pointer(convertor, &data);
        mca_btl_rbuf_frequent_tidy(&module->registrar);
    }
    mca_btl_rbuf_lock(module);
    if (is_looked_up) {
        mr = mca_btl_rbuf_frequent_look(&module->registrar, RBUF_FREQUENT_SEND, data,
                                        (uint32_t) bytes, timed);
    }
    message_seen(module, endpoint, mr != NULL);
    mca_btl_rbuf_unlock(module);
    return mr;
}

/* ---- sendi ---- */

/* Looks at a message that is copied; those that follow may come by prepare_src. True: how long it
 * takes is to be told. No lock is held. */
static bool sample(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                   const struct opal_convertor_t *convertor, size_t bytes)
{
    bool timed;
    struct rbuf_frequent_mr *mr = find_source(module, endpoint, convertor, bytes, &timed);

    if (mr != NULL) {
        mca_btl_rbuf_lock(module);
        rbuf_frequent_end(&module->registrar.frequent->table, mr);
        mca_btl_rbuf_unlock(module);
    }
    return timed && mr == NULL;
}

/* Out of line, lest it take registers of the usual path. */
static __attribute__((noinline)) int sendi_looked_at(struct mca_btl_rbuf_outgoing message,
                                                     const struct mca_btl_rbuf_wanted *wanted)
{
    const bool timed =
        sample(message.module, message.endpoint, message.convertor, message.payload_size);
    const uint64_t start = timed ? mca_btl_rbuf_now_ns() : 0;
    const int status = mca_btl_rbuf_send_by_ring(&message)
                           ? OPAL_SUCCESS
                           : mca_btl_rbuf_send_otherwise(message, wanted);

    if (timed && status == OPAL_SUCCESS) {
        mca_btl_rbuf_frequent_copied(&message.module->registrar, RBUF_FREQUENT_SEND,
                                     (uint32_t) message.payload_size, start);
    }
    return status;
}

static int in_place_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                          struct opal_convertor_t *convertor, void *header, size_t header_size,
                          size_t payload_size, uint8_t order, uint32_t flags,
                          mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    mca_btl_rbuf_module_t *module = mca_btl_rbuf_module(btl);
    const struct mca_btl_rbuf_outgoing message = {.module = module,
                                                  .endpoint = endpoint,
                                                  .header = header,
                                                  .header_size = header_size,
                                                  .convertor = convertor,
                                                  .payload_size = payload_size,
                                                  .tag = tag};

    if (mca_btl_rbuf_frequent_is_due(module->registrar.frequent, payload_size)) {
        return sendi_looked_at(message, &(struct mca_btl_rbuf_wanted){order, flags, descriptor});
    }
    /* As in mca_btl_rbuf_sendi(): to pass ten arguments on takes some 16 instructions. */
    return mca_btl_rbuf_send_by_ring(&message)
               ? OPAL_SUCCESS
               : mca_btl_rbuf_send_otherwise(
                     message, &(struct mca_btl_rbuf_wanted){order, flags, descriptor});
}

/* ---- prepare_src ---- */

/* A fragment for an eager message of `bytes` of data behind `reserve`, which stays where it is:
 * either it is registered, and then gathered, or copied when it is sent. NULL: no memory. No lock
 * is held. */
static mca_btl_rbuf_frag_t *prepare(mca_btl_rbuf_module_t *module,
                                    mca_btl_base_endpoint_t *endpoint,
                                    struct opal_convertor_t *convertor, size_t reserve,
                                    size_t bytes)
{
    bool timed;
    struct rbuf_frequent_mr *mr = find_source(module, endpoint, convertor, bytes, &timed);
    mca_btl_rbuf_frag_t *frag;
    void *data = NULL;

    mca_btl_rbuf_lock(module);
    frag = mca_btl_rbuf_frag_take_locked(module, reserve + bytes);
    if (frag == NULL && mr != NULL) {
        rbuf_frequent_end(&module->registrar.frequent->table, mr);
    }
    mca_btl_rbuf_unlock(module);
    if (frag != NULL) {
        if (mr != NULL) {
            opal_convertor_get_current_pointer(convertor, &data);
        }
        frag->role = MCA_BTL_RBUF_IN_PLACE;
        frag->source = data;
        frag->source_bytes = bytes;
        frag->convertor = convertor;
        frag->mr = mr;
        frag->timed = timed;
        frag->segment.seg_addr.pval = frag->am.header + 1;
        frag->segment.seg_len = reserve + bytes;
        frag->am.channel =
            (uint8_t) (reserve + bytes <= module->room[RBUF_CONTROL] ? RBUF_CONTROL : RBUF_BULK);
    }
    return frag;
}

static mca_btl_base_descriptor_t *in_place_prepare_src(mca_btl_base_module_t *btl,
                                                       mca_btl_base_endpoint_t *endpoint,
                                                       struct opal_convertor_t *convertor,
                                                       uint8_t order, size_t reserve, size_t *size,
                                                       uint32_t flags)
{
    const bool is_eager =
        (flags & MCA_BTL_DES_FLAGS_PRIORITY) && !mca_btl_rbuf_is_rendezvous(flags);
    mca_btl_rbuf_frag_t *frag;

    if (!is_eager || *size == 0) {
        return mca_btl_rbuf_prepare_src(btl, endpoint, convertor, order, reserve, size, flags);
    }
    frag = prepare(endpoint->module, endpoint, convertor, reserve, *size);
    if (frag == NULL) {
        return NULL;
    }
    frag->base.des_flags = flags;
    return &frag->base;
}

/* ---- send ---- */

/* Sends a message that is held from where it is; false: it is to be copied. No lock is held. */
static bool gather(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                   mca_btl_rbuf_frag_t *frag)
{
    const struct rbuf_fab_piece data = {frag->source, (uint32_t) frag->source_bytes,
                                        frag->mr->lkey};
    struct rbuf_frequent *table = &module->registrar.frequent->table;
    const uint64_t start = frag->timed ? mca_btl_rbuf_now_ns() : 0;
    bool sent;

    mca_btl_rbuf_lock(module);
    sent = rbuf_am_gather(endpoint->peer, &frag->am, &data);
    if (!sent) {
        rbuf_frequent_end(table, frag->mr);
    } else {
        frag->state = MCA_BTL_RBUF_FRAG_SENDING;
    }
    if (sent && frag->timed) {
        rbuf_frequent_took(table, RBUF_FREQUENT_SEND, RBUF_PATH_IN_PLACE, data.bytes,
                           mca_btl_rbuf_now_ns() - start);
    }
    if (sent && frag->am.bytes > module->room[RBUF_CONTROL] && frag->am.kind == RBUF_MESSAGE_USER) {
        rbuf_eager_by_ring(&module->eager);
    }
    mca_btl_rbuf_unlock(module);
    return sent;
}

/* From where it is; else copied into the ring; else packed into a fragment, which is then a message
 * like any other. */
static int gather_or_copy(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                          mca_btl_rbuf_frag_t *frag, mca_btl_base_tag_t tag)
{
    const size_t header_size = frag->segment.seg_len - frag->source_bytes;
    unsigned char *header = frag->segment.seg_addr.pval;
    const struct mca_btl_rbuf_outgoing message = {.module = module,
                                                  .endpoint = endpoint,
                                                  .header = header,
                                                  .header_size = header_size,
                                                  .convertor = frag->convertor,
                                                  .payload_size = frag->source_bytes,
                                                  .tag = tag};
    size_t packed = frag->source_bytes;

    if (frag->mr != NULL) {
        frag->am.bytes = (uint32_t) frag->segment.seg_len;
        frag->am.tag = tag;
        frag->am.argument = mca_btl_rbuf_callback_after(endpoint);
        if (gather(module, endpoint, frag)) {
            return OPAL_SUCCESS;
        }
    }
    if (mca_btl_rbuf_send_by_ring(&message)) {
        mca_btl_rbuf_lock(module);
        mca_btl_rbuf_frag_give(frag);
        mca_btl_rbuf_unlock(module);
        return 1;
    }
    if (!mca_btl_rbuf_fits_control(module, frag->segment.seg_len)) {
        mca_btl_rbuf_send_beside(module, endpoint, frag->segment.seg_len);
    }
    frag->role = MCA_BTL_RBUF_MESSAGE;
    if (!mca_btl_rbuf_pack(frag->convertor, header + header_size, &packed) ||
        packed != frag->source_bytes) {
        return OPAL_ERROR;
    }
    return mca_btl_rbuf_send(&module->super, endpoint, &frag->base, tag);
}

/* The same, and tells how long a copied message took, whichever path it took. */
static int gather_or_time(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                          mca_btl_rbuf_frag_t *frag, mca_btl_base_tag_t tag)
{
    const bool timed = frag->timed && frag->mr == NULL; /* a gathered one tells by itself */
    const uint32_t bytes = (uint32_t) frag->source_bytes;
    const uint64_t start = timed ? mca_btl_rbuf_now_ns() : 0;
    const int status = gather_or_copy(module, endpoint, frag, tag);

    if (timed && status >= 0) {
        mca_btl_rbuf_frequent_copied(&module->registrar, RBUF_FREQUENT_SEND, bytes, start);
    }
    return status;
}

static int in_place_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                         mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    mca_btl_rbuf_frag_t *frag = (mca_btl_rbuf_frag_t *) descriptor;

    return frag->role == MCA_BTL_RBUF_IN_PLACE /* of this module */
               ? gather_or_time(mca_btl_rbuf_module(btl), endpoint, frag, tag)
               : mca_btl_rbuf_send(btl, endpoint, descriptor, tag);
}

void mca_btl_rbuf_in_place_enter(mca_btl_rbuf_module_t *module)
{
    module->super.btl_sendi = in_place_sendi;
    module->super.btl_prepare_src = in_place_prepare_src;
    module->super.btl_send = in_place_send;
    if (module->registrar.frequent->table.in_place) { /* of all endpoints, from the start */
        module->super.btl_flags |= MCA_BTL_FLAGS_SEND_INPLACE;
    }
}
