/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager messages of frequently used buffers leave from where they are: the adapter gathers header
 * and data (registration/frequent.h has the registrations).
 *
 * Open MPI hands messages to sendi, where they can but be copied, or to prepare_src and send, which
 * takes a hundred instructions more. So it does the latter while messages are gathered, and is told
 * when that begins and ends (btl/bml.h), of each endpoint with the next message for it that is
 * looked at; by sendi one in some is.
 */
#include "btl/in_place.h"

#include "btl/bml.h"
#include "module/convertor.h"
#include "module/eager_limit.h"

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

/* Where a message's data is held, or NULL. `timed`: how long its copy takes is to be told. */
static struct rbuf_frequent_held *find(mca_btl_rbuf_module_t *module,
                                       mca_btl_base_endpoint_t *endpoint, const void *base,
                                       uint32_t bytes, bool *timed)
{
    struct rbuf_frequent_held *held;

    mca_btl_rbuf_frequent_tidy(&module->registrar);
    mca_btl_rbuf_lock(module);
    held = mca_btl_rbuf_frequent_look(&module->registrar, RBUF_FREQUENT_SEND, base, bytes, timed);
    message_seen(module, endpoint, held != NULL);
    mca_btl_rbuf_unlock(module);
    return held;
}

/* The same of a message as Open MPI describes it. */
static struct rbuf_frequent_held *find_source(mca_btl_rbuf_module_t *module,
                                              mca_btl_base_endpoint_t *endpoint,
                                              const struct opal_convertor_t *convertor,
                                              size_t bytes, bool *timed)
{
    void *data = NULL;

    if (bytes >= module->registrar.frequent->least && mca_btl_rbuf_is_in_place(convertor)) {
        opal_convertor_get_current_pointer(convertor, &data);
        return find(module, endpoint, data, (uint32_t) bytes, timed);
    }
    *timed = false;
    mca_btl_rbuf_lock(module);
    message_seen(module, endpoint, false);
    mca_btl_rbuf_unlock(module);
    return NULL;
}

bool mca_btl_rbuf_in_place_sample(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  const struct opal_convertor_t *convertor, size_t bytes)
{
    bool timed;
    struct rbuf_frequent_held *held = find_source(module, endpoint, convertor, bytes, &timed);

    mca_btl_rbuf_frequent_end(&module->registrar, held);
    return timed && held == NULL;
}

mca_btl_rbuf_frag_t *mca_btl_rbuf_in_place_prepare(mca_btl_rbuf_module_t *module,
                                                   mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   size_t reserve, size_t bytes)
{
    bool timed;
    struct rbuf_frequent_held *held = find_source(module, endpoint, convertor, bytes, &timed);
    mca_btl_rbuf_frag_t *frag;
    void *data = NULL;

    mca_btl_rbuf_lock(module);
    frag = mca_btl_rbuf_frag_take_locked(module, reserve + bytes);
    if (frag == NULL && held != NULL) {
        rbuf_frequent_end(&module->registrar.frequent->table, held);
    }
    mca_btl_rbuf_unlock(module);
    if (frag != NULL) {
        if (held != NULL) {
            opal_convertor_get_current_pointer(convertor, &data);
        }
        frag->role = MCA_BTL_RBUF_IN_PLACE;
        frag->source = data;
        frag->source_bytes = bytes;
        frag->convertor = convertor;
        frag->held = held;
        frag->timed = timed;
        frag->segment.seg_addr.pval = frag->am.header + 1;
        frag->segment.seg_len = reserve + bytes;
        frag->am.channel =
            (uint8_t) (reserve + bytes <= module->room[RBUF_CONTROL] ? RBUF_CONTROL : RBUF_BULK);
    }
    return frag;
}

bool mca_btl_rbuf_in_place_send(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                mca_btl_rbuf_frag_t *frag)
{
    const struct rbuf_fab_piece data = {frag->source, (uint32_t) frag->source_bytes,
                                        frag->held->lkey};
    struct rbuf_frequent *table = &module->registrar.frequent->table;
    const uint64_t start = frag->timed ? mca_btl_rbuf_now_ns() : 0;
    bool sent;

    mca_btl_rbuf_lock(module);
    sent = rbuf_am_gather(endpoint->peer, &frag->am, &data);
    if (!sent) {
        rbuf_frequent_end(table, frag->held);
    } else {
        frag->state = MCA_BTL_RBUF_FRAG_SENDING;
    }
    if (sent && frag->timed) {
        rbuf_frequent_took(table, RBUF_FREQUENT_SEND, RBUF_FREQUENT_GATHERED, data.bytes,
                           mca_btl_rbuf_now_ns() - start);
    }
    if (sent && frag->am.bytes > module->room[RBUF_CONTROL] && frag->am.kind == RBUF_MESSAGE_USER) {
        mca_btl_rbuf_eager_by_ring(module);
    }
    mca_btl_rbuf_unlock(module);
    return sent;
}
