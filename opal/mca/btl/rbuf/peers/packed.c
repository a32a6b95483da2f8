/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data (core/rendezvous/early.h) of packed messages: those whose datatype is not contiguous,
 * so that Open MPI's convertor packs them.
 *
 * Open MPI hands over the convertor of such a message for its RTS, and again for each fragment
 * after the receiver's ACK. In between, a clone of the convertor packs the first bytes of the
 * message, and rbuf writes them into a slot at the receiver. When Open MPI then asks for the
 * fragments of these bytes, rbuf sends only Open MPI's headers: each names the blocks of the slot
 * that are its payload. The clone packs all further fragments, too, and these are sent whole.
 *
 * Order. All of this goes by one queue pair, so that the receiver unpacks in order. Open MPI 4.1.4
 * unpacks datatypes with nested loops wrongly out of order.
 *
 * Limit. While more than IN_FLIGHT_MOST chunks are in flight none is packed: the first fragment
 * waits behind all chunks that were posted before it, and the receiver can unpack nothing until
 * then.
 *
 * One message. An endpoint has one such message at a time. Its convertor identifies it: no other
 * message uses that between the RTS and the last fragment. For each fragment rbuf adds to the count
 * of packed bytes in Open MPI's convertor, and does not move its position in the datatype: Open MPI
 * 4.1.4 moves it wrongly with nested loops. If Open MPI asks for bytes at another position than the
 * clone's, rbuf drops what is left in the slot and sets the clone to that position. From then on no
 * message of the connection has early data.
 *
 *     NONE -> PREPARED    Open MPI has prepared the RTS
 *     PREPARED -> PACKING the RTS is sent, with a slot; without one PREPARED -> NONE
 *     PACKING -> ASKED    Open MPI asks for the first fragment
 *     ASKED -> NONE       Open MPI has the last fragment
 *     ASKED -> ASTRAY     Open MPI has asked for another position
 *     ASTRAY -> BARRED    Open MPI has the last fragment; the end
 *
 * Threads: the module's lock guards all of it.
 */
#include "peers/endpoint.h"

#include <stdlib.h>

#include "module/convertor.h"
#include "params/params.h"
#include "core/rendezvous/early.h"
#include "core/stage/tx_chunk.h"

#define IN_FLIGHT_MOST 1u
#define BLOCKS_MOST    64u /* of early data */

/* What the packed messages of an endpoint wait for. */
typedef enum {
    MCA_BTL_RBUF_PACKED_NONE,     /* the next message */
    MCA_BTL_RBUF_PACKED_BARRED,   /* nothing: Open MPI once asked for another position */
    MCA_BTL_RBUF_PACKED_PREPARED, /* its RTS to be sent */
    MCA_BTL_RBUF_PACKED_PACKING,  /* progress, which packs: on module->packing */
    MCA_BTL_RBUF_PACKED_ASKED,    /* Open MPI to ask for the next fragment: no more early data */
    MCA_BTL_RBUF_PACKED_ASTRAY    /* the same; it is the last that had early data */
} mca_btl_rbuf_packed_state_t;

/* The packed message to an endpoint that has early data. */
struct mca_btl_rbuf_packed {
    mca_btl_rbuf_packed_state_t state;
    mca_btl_base_endpoint_t *endpoint;
    const struct opal_convertor_t *convertor; /* Open MPI's */
    struct opal_convertor_t clone;            /* its clone, which packs */
    size_t claimed;                           /* bytes, that Open MPI asked for */
    const mca_btl_rbuf_frag_t *rendezvous;    /* PREPARED: its RTS */
    struct rbuf_early_data *early;            /* its slot; NULL: it was given up */
    uint32_t blocks;                          /* that are packed there */
    uint32_t named;                           /* of them, those that Open MPI asked for */
    uint32_t bytes[BLOCKS_MOST];              /* in each */
    TAILQ_ENTRY(mca_btl_rbuf_packed) link;
};

static bool is_possible(const mca_btl_base_endpoint_t *endpoint,
                        const struct opal_convertor_t *convertor)
{
    return mca_btl_rbuf_params.early_data == MCA_BTL_RBUF_ON && mca_btl_rbuf_is_alone(endpoint) &&
           mca_btl_rbuf_endpoint_is_open(endpoint) &&
           (convertor->flags & RBUF_CONVERTOR_DEVICE) == 0 &&
           convertor->bConverted < convertor->local_size;
}

/* The message is over, or goes on as any other. */
static void leave(struct mca_btl_rbuf_packed *packed)
{
    if (packed->state == MCA_BTL_RBUF_PACKED_PACKING) {
        TAILQ_REMOVE(&packed->endpoint->module->packing, packed, link);
    }
    packed->state = packed->state == MCA_BTL_RBUF_PACKED_ASTRAY ? MCA_BTL_RBUF_PACKED_BARRED
                                                                : MCA_BTL_RBUF_PACKED_NONE;
}

/* What is left of its early data will not be asked for. */
static void abandon(struct mca_btl_rbuf_packed *packed)
{
    if (packed->early != NULL && (packed->named < packed->blocks || packed->blocks == 0)) {
        rbuf_early_close(packed->endpoint->peer, packed->early);
    }
    packed->early = NULL;
    packed->named = packed->blocks;
}

/* For an endpoint that has none yet; NULL without memory. */
static struct mca_btl_rbuf_packed *packed_make(mca_btl_base_endpoint_t *endpoint)
{
    struct mca_btl_rbuf_packed *packed = calloc(1, sizeof(*packed)); /* NONE */

    if (packed != NULL) {
        OBJ_CONSTRUCT(&packed->clone, opal_convertor_t);
        packed->endpoint = endpoint;
    }
    return packed;
}

/* The endpoint's, made if it has none. Its last message is over once Open MPI uses that
 * convertor for another one: rbuf did not see its last fragment. */
static struct mca_btl_rbuf_packed *packed_of(mca_btl_base_endpoint_t *endpoint,
                                             const struct opal_convertor_t *convertor)
{
    struct mca_btl_rbuf_packed *packed = endpoint->packed;

    if (packed == NULL) {
        return endpoint->packed = packed_make(endpoint);
    }
    if (packed->state > MCA_BTL_RBUF_PACKED_PREPARED && packed->convertor == convertor) {
        abandon(packed);
        leave(packed);
    }
    return packed;
}

void mca_btl_rbuf_packed_prepare(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                 const struct opal_convertor_t *convertor,
                                 mca_btl_rbuf_frag_t *frag)
{
    struct mca_btl_rbuf_packed *packed;

    mca_btl_rbuf_lock(module);
    packed = is_possible(endpoint, convertor) ? packed_of(endpoint, convertor) : NULL;
    if (packed != NULL && (packed->state == MCA_BTL_RBUF_PACKED_NONE ||
                           packed->state == MCA_BTL_RBUF_PACKED_PREPARED)) {
        opal_convertor_cleanup(&packed->clone);
        opal_convertor_clone(convertor, &packed->clone, 1);
        packed->state = MCA_BTL_RBUF_PACKED_PREPARED;
        packed->convertor = convertor;
        packed->claimed = convertor->bConverted;
        packed->rendezvous = frag;
        frag->role = MCA_BTL_RBUF_RTS_PACKED;
    }
    mca_btl_rbuf_unlock(module);
}

/* ---- packing ---- */

static bool all_packed(const struct mca_btl_rbuf_packed *packed)
{
    return packed->clone.bConverted >= packed->clone.local_size;
}

/* Packs one block; false if nothing came of it. */
static bool pack_block(struct mca_btl_rbuf_packed *packed, struct rbuf_tx_chunk *chunk, uint32_t i,
                       uint32_t payload)
{
    size_t bytes = payload;

    if (all_packed(packed) ||
        !mca_btl_rbuf_pack(&packed->clone, rbuf_early_block(packed->endpoint->peer, chunk, i),
                           &bytes) ||
        bytes == 0) {
        return false;
    }
    packed->bytes[packed->blocks + i] = (uint32_t) bytes;
    return true;
}

/* Packs the next chunk of the slot; false if there can be none now, or no more. */
static bool pack_chunk(struct mca_btl_rbuf_packed *packed)
{
    struct rbuf_peer *peer = packed->endpoint->peer;
    const uint32_t payload = rbuf_early_block_payload(peer);
    struct rbuf_tx_chunk *chunk;
    uint32_t most;
    uint32_t blocks = 0;

    if (all_packed(packed) || packed->early->in_flight > IN_FLIGHT_MOST ||
        packed->blocks == BLOCKS_MOST) {
        return false;
    }
    chunk = rbuf_early_begin(peer, packed->early);
    if (chunk == NULL) {
        return false;
    }
    most = BLOCKS_MOST - packed->blocks;
    most = chunk->shape.blocks < most ? chunk->shape.blocks : most;
    while (blocks < most && pack_block(packed, chunk, blocks, payload)) {
        blocks++;
    }
    if (!rbuf_early_end(peer, packed->early, chunk, blocks)) {
        return false;
    }
    packed->blocks += blocks;
    return true;
}

int mca_btl_rbuf_packed_progress(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_packed *packed;
    int done = 0;

    TAILQ_FOREACH(packed, &module->packing, link)
    {
        done += pack_chunk(packed);
    }
    return done;
}

bool mca_btl_rbuf_packed_start(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag)
{
    struct mca_btl_rbuf_packed *packed = endpoint->packed;
    int state;

    if (packed == NULL || packed->state != MCA_BTL_RBUF_PACKED_PREPARED ||
        packed->rendezvous != frag) { /* another one was prepared before this one was sent */
        return rbuf_am_send(endpoint->peer, &frag->am) != RBUF_AM_IDLE;
    }
    state = rbuf_early_send_packed(endpoint->peer, &frag->am, packed->convertor, &packed->early);
    packed->blocks = packed->named = 0;
    packed->state = MCA_BTL_RBUF_PACKED_NONE;
    if (packed->early != NULL) {
        packed->state = MCA_BTL_RBUF_PACKED_PACKING;
        TAILQ_INSERT_TAIL(&endpoint->module->packing, packed, link);
        (void) pack_chunk(packed);
    }
    return state != RBUF_AM_IDLE;
}

/* ---- what Open MPI asks for ---- */

/* What Open MPI asks for is not what comes next. From the beginning, in one move, the clone does
 * get there. */
static void start_anew(struct mca_btl_rbuf_packed *packed, size_t position)
{
    size_t beginning = 0;

    abandon(packed);
    packed->state = MCA_BTL_RBUF_PACKED_ASTRAY;
    opal_convertor_set_position(&packed->clone, &beginning);
    packed->claimed = position;
    opal_convertor_set_position(&packed->clone, &position);
}

/* Blocks that wait, as many as a fragment of `most` bytes can have; 0 if the first is too long. */
static uint32_t blocks_for(const struct mca_btl_rbuf_packed *packed, size_t most, size_t *bytes)
{
    uint32_t blocks = 0;

    *bytes = 0;
    while (packed->named + blocks < packed->blocks && blocks < RBUF_FRAGMENT_BLOCKS &&
           *bytes + packed->bytes[packed->named + blocks] <= most) {
        *bytes += packed->bytes[packed->named + blocks];
        blocks++;
    }
    return blocks;
}

/* A fragment whose payload is there already: what is sent is Open MPI's header. */
static mca_btl_rbuf_frag_t *name_blocks(mca_btl_rbuf_module_t *module,
                                        struct mca_btl_rbuf_packed *packed, uint32_t blocks,
                                        size_t bytes)
{
    mca_btl_rbuf_frag_t *frag = mca_btl_rbuf_frag_take_locked(module, MCA_BTL_RBUF_SMALL_PAYLOAD);
    struct rbuf_fragment *fragment;

    if (frag == NULL) {
        return NULL;
    }
    fragment = (struct rbuf_fragment *) (void *) (frag->am.header + 1);
    *fragment = (struct rbuf_fragment){.seq = packed->early->seq,
                                       .first = (uint16_t) packed->named,
                                       .blocks = (uint8_t) blocks,
                                       .last = packed->named + blocks == packed->blocks};
    for (uint32_t i = 0; i < blocks; i++) {
        fragment->bytes[i] = packed->bytes[packed->named + i];
    }
    packed->named += blocks;
    frag->role = MCA_BTL_RBUF_FRAGMENT;
    frag->packed = bytes;
    frag->segment.seg_addr.pval = fragment + 1;
    return frag;
}

/* A fragment that is packed now. */
static mca_btl_rbuf_frag_t *pack_fragment(mca_btl_rbuf_module_t *module,
                                          struct mca_btl_rbuf_packed *packed, size_t reserve,
                                          size_t most)
{
    mca_btl_rbuf_frag_t *frag = mca_btl_rbuf_frag_take_locked(module, module->room[RBUF_BULK]);
    size_t bytes = mca_btl_rbuf_packed_size(&module->super, &packed->clone, reserve);

    if (frag == NULL) {
        return NULL;
    }
    bytes = bytes < most ? bytes : most;
    if (!mca_btl_rbuf_pack(&packed->clone, (unsigned char *) (frag->am.header + 1) + reserve,
                           &bytes)) {
        mca_btl_rbuf_frag_give(frag);
        return NULL;
    }
    frag->packed = bytes;
    frag->segment.seg_addr.pval = frag->am.header + 1;
    return frag;
}

/* What comes next of the message. */
static mca_btl_rbuf_frag_t *next_fragment(mca_btl_rbuf_module_t *module,
                                          struct mca_btl_rbuf_packed *packed, size_t reserve,
                                          size_t most)
{
    size_t bytes;
    const uint32_t blocks = blocks_for(packed, most, &bytes);

    return blocks > 0 ? name_blocks(module, packed, blocks, bytes)
                      : pack_fragment(module, packed, reserve, most);
}

bool mca_btl_rbuf_packed_claim(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                               struct opal_convertor_t *convertor, size_t reserve, size_t most,
                               mca_btl_rbuf_frag_t **out)
{
    struct mca_btl_rbuf_packed *packed;
    mca_btl_rbuf_frag_t *frag = NULL;
    bool ours;

    mca_btl_rbuf_lock(module);
    packed = endpoint->packed;
    ours = packed != NULL && packed->state > MCA_BTL_RBUF_PACKED_PREPARED &&
           packed->convertor == convertor;
    if (ours && packed->state == MCA_BTL_RBUF_PACKED_PACKING) {
        leave(packed);
        packed->state = MCA_BTL_RBUF_PACKED_ASKED;
        if (packed->blocks == 0) {
            abandon(packed);
        }
    }
    if (ours && (packed->claimed != convertor->bConverted ||
                 (packed->named < packed->blocks && packed->bytes[packed->named] > most))) {
        start_anew(packed, convertor->bConverted);
    }
    if (ours) {
        frag = next_fragment(module, packed, reserve, most);
    }
    if (frag != NULL) {
        packed->claimed += frag->packed;
        rbuf_compat_count_packed(convertor, frag->packed);
        if (all_packed(packed) && packed->named == packed->blocks) {
            leave(packed);
        }
    }
    mca_btl_rbuf_unlock(module);
    *out = frag;
    return ours;
}

bool mca_btl_rbuf_packed_under_way(const mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->packed != NULL && endpoint->packed->state >= MCA_BTL_RBUF_PACKED_PREPARED;
}

void mca_btl_rbuf_packed_close(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->packed != NULL) {
        leave(endpoint->packed);
        if (rbuf_compat_class_is_there(OBJ_CLASS(opal_convertor_t))) {
            OBJ_DESTRUCT(&endpoint->packed->clone);
        }
        free(endpoint->packed);
        endpoint->packed = NULL;
    }
}
