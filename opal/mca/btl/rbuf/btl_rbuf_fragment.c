/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Fragments: the descriptors that Open MPI fills and sends, in registered memory of ours.
 *
 * Three pools: small ones for control messages, which are never refused while there is memory;
 * eager ones; and bulk ones for large pieces of packed data, and for eager messages that are longer
 * than control_size. The latter two have limits: at a limit
 * Open MPI gets NULL, and asks again when one of those that are under way completes. When no more
 * memory can be pinned, what travels inside the request takes fragments of a fourth pool, which is
 * not.
 */
#include "btl_rbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/base/copy.h"
#include "opal/datatype/opal_convertor.h"

#define HEADER_BYTES  sizeof(struct rbuf_message_header)
#define LINE_BYTES    64u
#define SMALL_PAYLOAD 512u
#define FIN_PAYLOAD   64u /* holds the control messages of ob1 that follow a put */
#define PINNED_FINS   256u
#define PACK_TURN     4096u
#define EAGER_LIMIT   1024u /* fragments */
#define BULK_LIMIT    64u
#define LAST_BYTES    4096u /* of the last fragments of packed data */

OBJ_CLASS_INSTANCE(mca_btl_rbuf_frag_t, mca_btl_base_descriptor_t, NULL, NULL);

void mca_btl_rbuf_pools_close(mca_btl_rbuf_module_t *module)
{
    for (int i = 0; i < MCA_BTL_RBUF_POOLS; i++) {
        struct mca_btl_rbuf_pool *pool = &module->pools[i];
        struct mca_btl_rbuf_slab *slab;

        while ((slab = SLIST_FIRST(&pool->slabs)) != NULL) {
            SLIST_REMOVE_HEAD(&pool->slabs, link);
            for (unsigned j = 0; j < slab->count; j++) {
                OBJ_DESTRUCT(&slab->frags[j]);
            }
            rbuf_memory_free(&slab->memory);
            free(slab->frags);
            free(slab);
        }
        SLIST_INIT(&pool->free);
    }
}

/* Payload begins on a cache line, behind a header at the end of one: what is copied there from a
 * line's beginning does not touch two. */
static size_t stride(const struct mca_btl_rbuf_pool *pool)
{
    return LINE_BYTES + (pool->payload + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static void frag_init(struct mca_btl_rbuf_pool *pool, struct mca_btl_rbuf_slab *slab, unsigned i)
{
    mca_btl_rbuf_frag_t *frag = &slab->frags[i];
    unsigned char *memory =
        (unsigned char *) slab->memory.base + i * stride(pool) + LINE_BYTES - HEADER_BYTES;

    OBJ_CONSTRUCT(frag, mca_btl_rbuf_frag_t);
    frag->pool = pool;
    frag->state = MCA_BTL_RBUF_FRAG_FREE;
    frag->am = (struct rbuf_am){.header = (struct rbuf_message_header *) (void *) memory,
                                .lkey = slab->memory.mr != NULL ? slab->memory.mr->lkey : 0};
    frag->base.des_segments = &frag->segment;
    frag->base.des_segment_count = 1;
    frag->base.order = MCA_BTL_NO_ORDER;
    SLIST_INSERT_HEAD(&pool->free, frag, link);
}

/* Memory for a slab. */
static bool slab_allocate(mca_btl_rbuf_module_t *module, const struct mca_btl_rbuf_pool *pool,
                          struct rbuf_memory *memory, struct rbuf_problem *problem)
{
    size_t bytes = pool->per_slab * stride(pool);

    if (!pool->unpinned) {
        return mca_btl_rbuf_memory_allocate(module, bytes, 0, memory, problem) == 0;
    }
    memory->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory->bytes = memory->mapped = bytes;
    memory->mr = NULL;
    return memory->base != MAP_FAILED;
}

/* Adds a slab of fragments to the pool. The caller holds the lock. */
static bool pool_grow(mca_btl_rbuf_module_t *module, struct mca_btl_rbuf_pool *pool,
                      struct rbuf_problem *problem)
{
    struct mca_btl_rbuf_slab *slab;

    rbuf_problem_set(problem, "memlock", -ENOMEM, "memory for fragments");
    if (pool->limit != 0 && pool->count + pool->per_slab > pool->limit) {
        return false;
    }
    slab = calloc(1, sizeof(*slab));
    if (slab == NULL) {
        return false;
    }
    slab->count = pool->per_slab;
    slab->frags = calloc(slab->count, sizeof(*slab->frags));
    if (slab->frags == NULL) {
        goto free_slab;
    }
    if (!slab_allocate(module, pool, &slab->memory, problem)) {
        goto free_frags;
    }
    for (unsigned i = 0; i < slab->count; i++) {
        frag_init(pool, slab, i);
    }
    pool->count += slab->count;
    SLIST_INSERT_HEAD(&pool->slabs, slab, link);
    return true;

free_frags:
    free(slab->frags);
free_slab:
    free(slab);
    return false;
}

/* Each pool has something from the start: when later no more memory can be pinned, user memory has
 * taken it all, what is here still goes round. */
int mca_btl_rbuf_pools_open(mca_btl_rbuf_module_t *module)
{
    const size_t inlined = module->port->max_inline;
    const bool unpinned = inlined >= HEADER_BYTES + FIN_PAYLOAD;
    const struct mca_btl_rbuf_pool pools[MCA_BTL_RBUF_POOLS] = {
        [MCA_BTL_RBUF_POOL_SMALL] = {.payload = SMALL_PAYLOAD, .per_slab = 256},
        [MCA_BTL_RBUF_POOL_EAGER] = {.payload = module->room[RBUF_CONTROL],
                                     .per_slab = 32,
                                     .limit = EAGER_LIMIT},
        [MCA_BTL_RBUF_POOL_BULK] = {.payload = module->room[RBUF_BULK],
                                    .per_slab = 8,
                                    .limit = BULK_LIMIT},
        [MCA_BTL_RBUF_POOL_RESERVE] = {.payload = unpinned ? inlined - HEADER_BYTES : FIN_PAYLOAD,
                                       .per_slab = unpinned ? 64 : PINNED_FINS,
                                       .unpinned = unpinned}};

    for (int i = 0; i < MCA_BTL_RBUF_POOLS; i++) {
        struct rbuf_problem problem;

        module->pools[i] = pools[i];
        module->pools[i].module = module;
        if (!pool_grow(module, &module->pools[i], &problem)) {
            mca_btl_rbuf_help_problem(&problem);
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
    }
    return OPAL_SUCCESS;
}

static struct mca_btl_rbuf_pool *pool_for(mca_btl_rbuf_module_t *module, size_t payload)
{
    for (int i = 0; i < MCA_BTL_RBUF_POOLS; i++) {
        if (payload <= module->pools[i].payload) {
            return &module->pools[i];
        }
    }
    return NULL;
}

static mca_btl_rbuf_frag_t *pool_take(mca_btl_rbuf_module_t *module, struct mca_btl_rbuf_pool *pool)
{
    struct rbuf_problem problem; /* not said: there is less than there could be, no more */
    mca_btl_rbuf_frag_t *frag;

    if (SLIST_EMPTY(&pool->free) && !pool_grow(module, pool, &problem)) {
        return NULL;
    }
    frag = SLIST_FIRST(&pool->free);
    SLIST_REMOVE_HEAD(&pool->free, link);
    frag->state = MCA_BTL_RBUF_FRAG_USER;
    frag->role = MCA_BTL_RBUF_MESSAGE;
    return frag;
}

mca_btl_rbuf_frag_t *mca_btl_rbuf_frag_take(mca_btl_rbuf_module_t *module, size_t payload)
{
    struct mca_btl_rbuf_pool *pool = pool_for(module, payload);
    struct mca_btl_rbuf_pool *reserve = &module->pools[MCA_BTL_RBUF_POOL_RESERVE];
    mca_btl_rbuf_frag_t *frag;

    if (pool == NULL) {
        return NULL;
    }
    mca_btl_rbuf_lock(module);
    frag = pool_take(module, pool);
    if (frag == NULL && payload <= reserve->payload) {
        /* ob1 would send the FIN of a put later, when nothing says any more behind which data. */
        frag = pool_take(module, reserve);
    }
    mca_btl_rbuf_unlock(module);
    return frag;
}

mca_btl_rbuf_frag_t *mca_btl_rbuf_frag_take_locked(mca_btl_rbuf_module_t *module, int pool)
{
    return pool_take(module, &module->pools[pool]);
}

void mca_btl_rbuf_frag_give(mca_btl_rbuf_frag_t *frag)
{
    frag->state = MCA_BTL_RBUF_FRAG_FREE;
    SLIST_INSERT_HEAD(&frag->pool->free, frag, link);
}

mca_btl_base_descriptor_t *mca_btl_rbuf_alloc(mca_btl_base_module_t *btl,
                                              mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                              size_t size, uint32_t flags)
{
    mca_btl_rbuf_frag_t *frag = mca_btl_rbuf_frag_take(mca_btl_rbuf_module(btl), size);

    (void) endpoint;
    (void) order;
    if (frag == NULL) {
        return NULL;
    }
    frag->segment.seg_addr.pval = frag->am.header + 1;
    frag->segment.seg_len = size;
    frag->base.des_flags = flags;
    frag->am.channel =
        (uint8_t) (size <= mca_btl_rbuf_module(btl)->room[RBUF_CONTROL] ? RBUF_CONTROL : RBUF_BULK);
    return &frag->base;
}

int mca_btl_rbuf_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    mca_btl_rbuf_frag_t *frag = (mca_btl_rbuf_frag_t *) descriptor;
    mca_btl_rbuf_module_t *module = frag->pool->module;

    (void) btl;
    mca_btl_rbuf_lock(module);
    if (frag->state == MCA_BTL_RBUF_FRAG_SENDING) {
        frag->state = MCA_BTL_RBUF_FRAG_DETACHED;
    } else if (frag->state == MCA_BTL_RBUF_FRAG_USER) {
        mca_btl_rbuf_frag_give(frag);
    }
    mca_btl_rbuf_unlock(module);
    return OPAL_SUCCESS;
}

/*
 * How much of packed data the next fragment takes: the schedule of the superpipeline without its
 * blocks. After S bytes the next of the sizes C0 q^i is C0 + S (q - 1), so the offset is all that
 * has to be known. A fragment is unpacked when all of it is there: the last ones are small, so that
 * little is left to do behind the last byte.
 */
size_t mca_btl_rbuf_packed_size(const mca_btl_base_module_t *btl,
                                const struct opal_convertor_t *convertor, size_t reserve)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    size_t offset = convertor->bConverted;
    size_t left = convertor->local_size - offset;
    size_t most = btl->btl_max_send_size - reserve;
    size_t first = params->c0 < params->early_c0 ? params->c0 : params->early_c0;
    size_t grown = first + (size_t) ((offset >> 16) * (params->q - RBUF_GROWTH_ONE)) +
                   (size_t) (((offset & 0xffff) * (params->q - RBUF_GROWTH_ONE)) >> 16);

    if (grown > left / 2) {
        grown = left >= 2 * LAST_BYTES ? left / 2 : left;
    }
    return grown < most ? grown : most;
}

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
    return (flags & MCA_BTL_DES_FLAGS_PRIORITY) && bytes <= module->room[RBUF_CONTROL]
               ? RBUF_CONTROL
               : RBUF_BULK;
}

/* The rendezvous of a contiguous message, with some of it as payload or none: what follows may be
 * early data. Every message that may be put comes by here, which core relies on
 * (core/early/early_out.c). */
static void prepare_early(const mca_btl_base_endpoint_t *endpoint,
                          const struct opal_convertor_t *convertor, mca_btl_rbuf_frag_t *rendezvous)
{
    const size_t offset = convertor->bConverted;
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    void *rest;

    if (offset >= convertor->local_size || params->early_data != MCA_BTL_RBUF_ON ||
        (params->protocol != MCA_BTL_RBUF_SUPERPIPELINE && params->protocol != MCA_BTL_RBUF_AUTO) ||
        !mca_btl_rbuf_is_alone(endpoint)) {
        return;
    }
    opal_convertor_get_offset_pointer(convertor, offset, &rest);
    rendezvous->role = MCA_BTL_RBUF_RTS;
    rendezvous->source = rest;
    rendezvous->source_bytes = convertor->local_size - offset;
}

/*
 * Scattered data goes by way of a small buffer that stays in the first cache. Lines of a fragment
 * were last read by another processor or an adapter, and a packing loop that writes there waits for
 * one line after the other; rbuf_copy() has several under way. (contrib/speed.sh packed:infini has
 * vectors beside contiguous bytes.) Not for peers of another kind: Open MPI 4.1.4 resumes their
 * conversion in the wrong place.
 */
static bool pack_in_turns(struct opal_convertor_t *convertor, unsigned char *to, size_t *bytes)
{
    _Alignas(LINE_BYTES) unsigned char turn[PACK_TURN];
    size_t done = 0;
    size_t packed = 1;

    while (done < *bytes && packed > 0) { /* none: an element larger than what is left */
        struct iovec piece = {.iov_base = (IOVBASE_TYPE *) turn};
        uint32_t pieces = 1;

        piece.iov_len = packed = *bytes - done < PACK_TURN ? *bytes - done : PACK_TURN;
        if (opal_convertor_pack(convertor, &piece, &pieces, &packed) < 0) {
            return false;
        }
        rbuf_copy(to + done, turn, packed);
        done += packed;
    }
    *bytes = done;
    return true;
}

bool mca_btl_rbuf_pack(struct opal_convertor_t *convertor, void *to, size_t *bytes)
{
    struct iovec piece = {.iov_base = (IOVBASE_TYPE *) to, .iov_len = *bytes};
    uint32_t pieces = 1;

    if (opal_convertor_need_buffers(convertor) && (convertor->flags & CONVERTOR_HOMOGENEOUS) != 0 &&
        (convertor->flags & RBUF_CONVERTOR_DEVICE) == 0) {
        return pack_in_turns(convertor, to, bytes);
    }
    return opal_convertor_pack(convertor, &piece, &pieces, bytes) >= 0;
}

/* What packed data has as early data, or what comes behind that. */
static mca_btl_base_descriptor_t *prepare_claimed(const mca_btl_rbuf_module_t *module,
                                                  mca_btl_rbuf_frag_t *frag, size_t reserve,
                                                  size_t *size, uint32_t flags)
{
    if (frag == NULL) {
        return NULL;
    }
    *size = frag->packed;
    frag->segment.seg_len = reserve + *size;
    frag->base.des_flags = flags;
    frag->am.channel = (uint8_t) channel_for(module, reserve + *size, flags);
    return &frag->base;
}

static bool is_rendezvous(uint32_t flags)
{
    return (flags & MCA_BTL_DES_FLAGS_SIGNAL) && (flags & MCA_BTL_DES_FLAGS_PRIORITY);
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
    if (is_rendezvous(flags) && offered <= MCA_BTL_RBUF_RENDEZVOUS_LOOK) {
        return 0;
    }
    if (reserve + offered <= module->room[RBUF_CONTROL]) {
        return offered;
    }
    most = mca_btl_rbuf_packed_size(&module->super, convertor, reserve);
    if (is_rendezvous(flags) && most > room) {
        most = room;
    }
    return most < offered ? most : offered;
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

    if (endpoint->peer->early_out == NULL || opal_convertor_need_buffers(convertor) ||
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

    (void) order;
    endpoint = is_fragment ? mca_btl_rbuf_endpoint_first(endpoint) : endpoint;
    module = endpoint->module;
    payload = payload_of(module, convertor, flags, reserve, *size);
    if (is_fragment && reserve + sizeof(struct rbuf_fragment) <= SMALL_PAYLOAD &&
        mca_btl_rbuf_packed_claim(module, endpoint, convertor, reserve, *size, &frag)) {
        return prepare_claimed(module, frag, reserve, size, flags);
    }
    if (is_fragment) {
        forget_early(module, endpoint, convertor);
    }
    frag = mca_btl_rbuf_frag_take(module, reserve + payload);
    if (frag == NULL) {
        return NULL;
    }
    if (payload > 0 &&
        !mca_btl_rbuf_pack(convertor, (unsigned char *) (frag->am.header + 1) + reserve,
                           &payload)) {
        mca_btl_rbuf_free(btl, &frag->base);
        return NULL;
    }
    *size = payload;
    frag->segment.seg_addr.pval = frag->am.header + 1;
    frag->segment.seg_len = reserve + *size;
    frag->base.des_flags = flags;
    frag->am.channel = (uint8_t) channel_for(module, reserve + *size, flags);
    if (is_rendezvous(flags)) {
        prepare_rest(module, endpoint, convertor, frag);
    }
    return &frag->base;
}
