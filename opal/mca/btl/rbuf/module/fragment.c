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
#include "module/module.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "params/help.h"

#define HEADER_BYTES sizeof(struct rbuf_message_header)
#define LINE_BYTES   64u
#define FIN_PAYLOAD  64u /* holds the control messages of ob1 that follow a put */
#define PINNED_FINS  256u
#define EAGER_LIMIT  1024u /* fragments */
#define BULK_LIMIT   64u

OBJ_CLASS_INSTANCE(mca_btl_rbuf_frag_t, mca_btl_base_descriptor_t, NULL, NULL);

void mca_btl_rbuf_pools_close(mca_btl_rbuf_module_t *module)
{
    const bool destructs = rbuf_compat_class_is_there(OBJ_CLASS(mca_btl_rbuf_frag_t));

    for (int i = 0; i < MCA_BTL_RBUF_POOLS; i++) {
        struct mca_btl_rbuf_pool *pool = &module->pools[i];
        struct mca_btl_rbuf_slab *slab;

        while ((slab = SLIST_FIRST(&pool->slabs)) != NULL) {
            SLIST_REMOVE_HEAD(&pool->slabs, link);
            for (unsigned j = 0; destructs && j < pool->per_slab; j++) {
                OBJ_DESTRUCT(&slab->frags[j]);
            }
            rbuf_memory_free(&slab->memory);
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
        return mca_btl_rbuf_memory_allocate(&module->registrar, bytes, 0, memory, problem) == 0;
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
    slab = calloc(1, sizeof(*slab) + pool->per_slab * sizeof(slab->frags[0]));
    if (slab == NULL || !slab_allocate(module, pool, &slab->memory, problem)) {
        free(slab);
        return false;
    }
    for (unsigned i = 0; i < pool->per_slab; i++) {
        frag_init(pool, slab, i);
    }
    pool->count += pool->per_slab;
    SLIST_INSERT_HEAD(&pool->slabs, slab, link);
    return true;
}

/* Each pool has something from the start: when later no more memory can be pinned, user memory has
 * taken it all, what is here still goes round. */
bool mca_btl_rbuf_pools_open(mca_btl_rbuf_module_t *module)
{
    const size_t inlined = module->port->max_inline;
    const bool unpinned = inlined >= HEADER_BYTES + FIN_PAYLOAD;
    const struct mca_btl_rbuf_pool pools[MCA_BTL_RBUF_POOLS] = {
        [MCA_BTL_RBUF_POOL_SMALL] = {.payload = MCA_BTL_RBUF_SMALL_PAYLOAD, .per_slab = 256},
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
            return false;
        }
    }
    return true;
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

mca_btl_rbuf_frag_t *mca_btl_rbuf_frag_take_locked(mca_btl_rbuf_module_t *module, size_t payload)
{
    return pool_take(module, pool_for(module, payload));
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
