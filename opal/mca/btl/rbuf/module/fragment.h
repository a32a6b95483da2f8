/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Fragments: what Open MPI fills and rbuf sends, a descriptor with the message's memory, in pools
 * by size.
 *
 * The module's lock guards pools and what a fragment says of itself, but for one that Open MPI
 * fills.
 */
#ifndef BTL_RBUF_FRAGMENT_H
#define BTL_RBUF_FRAGMENT_H

#include "rbuf_compat.h"

#include <stdbool.h>
#include <sys/queue.h>

#include "core/eager/channel.h"
#include "verbs/memory.h"

typedef struct mca_btl_rbuf_module_t mca_btl_rbuf_module_t;
typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;

typedef enum {
    MCA_BTL_RBUF_FRAG_FREE,    /* in its pool */
    MCA_BTL_RBUF_FRAG_USER,    /* Open MPI fills it */
    MCA_BTL_RBUF_FRAG_SENDING, /* Open MPI waits for its completion */
    MCA_BTL_RBUF_FRAG_DETACHED /* on its way, and nobody waits: free when it is back */
} mca_btl_rbuf_frag_state_t;

typedef enum {
    MCA_BTL_RBUF_MESSAGE,
    MCA_BTL_RBUF_RTS,        /* a rendezvous that may have early data, of `source` */
    MCA_BTL_RBUF_RTS_PACKED, /* likewise, of packed data (peers/packed.c) */
    MCA_BTL_RBUF_IN_PLACE,   /* eager, and not packed yet: with reuse */
    MCA_BTL_RBUF_FRAGMENT    /* whose payload is early data: Open MPI's header is behind ours */
} mca_btl_rbuf_frag_role_t;

/* Open MPI shows the data of a rendezvous if it may take some of it along: that much, then. A
 * multiple of the sizes of elements, as buffered sends take it along. */
#define MCA_BTL_RBUF_RENDEZVOUS_LOOK 64u

/* A descriptor with its message. Memory: [header][payload] in a slab of its pool. */
typedef struct mca_btl_rbuf_frag {
    mca_btl_base_descriptor_t base; /* first: Open MPI's view */
    mca_btl_base_segment_t segment;
    mca_btl_rbuf_frag_state_t state;
    struct mca_btl_rbuf_pool *pool;
    struct rbuf_am am;
    SLIST_ENTRY(mca_btl_rbuf_frag) link;
    mca_btl_rbuf_frag_role_t role;

    const void *source;                 /* RTS: of what is put; IN_PLACE: where it is registered */
    size_t source_bytes;                /* likewise */
    struct opal_convertor_t *convertor; /* IN_PLACE: which packs it */
    bool timed; /* IN_PLACE: how long it takes to send is to be told, gathered or copied */
    struct rbuf_frequent_mr *mr; /* IN_PLACE: it is fetched from there */
    size_t packed;               /* of a fragment with or behind early data: its payload, bytes */
} mca_btl_rbuf_frag_t;

OBJ_CLASS_DECLARATION(mca_btl_rbuf_frag_t);

struct mca_btl_rbuf_slab {
    SLIST_ENTRY(mca_btl_rbuf_slab) link;
    struct rbuf_memory memory;
    mca_btl_rbuf_frag_t frags[]; /* per_slab of its pool */
};

/* Fragments of one payload size; grows by slabs up to a limit. */
struct mca_btl_rbuf_pool {
    mca_btl_rbuf_module_t *module; /* whose adapter knows the memory */
    size_t payload;                /* bytes */
    unsigned per_slab;
    unsigned limit; /* fragments; 0: none */
    unsigned count;
    bool unpinned; /* what is sent from it travels inside the request */
    SLIST_HEAD(, mca_btl_rbuf_frag) free;
    SLIST_HEAD(, mca_btl_rbuf_slab) slabs;
};

#define MCA_BTL_RBUF_SMALL_PAYLOAD 512u /* of the first pool, bytes */

enum {
    MCA_BTL_RBUF_POOL_SMALL,
    MCA_BTL_RBUF_POOL_EAGER,
    MCA_BTL_RBUF_POOL_BULK,
    MCA_BTL_RBUF_POOL_RESERVE, /* for small messages, when no more memory can be pinned */
    MCA_BTL_RBUF_POOLS
};

/* The fragment that a message of core's is part of. */
static inline mca_btl_rbuf_frag_t *mca_btl_rbuf_frag_of(struct rbuf_am *am)
{
    return (mca_btl_rbuf_frag_t *) (void *) ((char *) am - offsetof(mca_btl_rbuf_frag_t, am));
}

bool mca_btl_rbuf_pools_open(mca_btl_rbuf_module_t *module); /* false, after a message */
void mca_btl_rbuf_pools_close(mca_btl_rbuf_module_t *module);
mca_btl_rbuf_frag_t *mca_btl_rbuf_frag_take(mca_btl_rbuf_module_t *module, size_t payload);
/* Registered in any case; the caller holds the lock, likewise to give one back. */
mca_btl_rbuf_frag_t *mca_btl_rbuf_frag_take_locked(mca_btl_rbuf_module_t *module, size_t payload);
void mca_btl_rbuf_frag_give(mca_btl_rbuf_frag_t *frag);
mca_btl_base_descriptor_t *mca_btl_rbuf_alloc(mca_btl_base_module_t *btl,
                                              mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                              size_t size, uint32_t flags);
int mca_btl_rbuf_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor);

#endif
