/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Mailboxes: registered words that peers write, one an endpoint that is used.
 *
 * They come out of slabs, each a region of memory. A slab without a mailbox in use is given back,
 * but for one: a process that leaves its last peer for the next does not pin memory anew. What is
 * given back may be another peer's at once, so nobody may be able to write it any more: the queue
 * pairs of the endpoint are destroyed.
 *
 * The caller holds the module's lock.
 */
#include "module/module.h"

#include <stdlib.h>

#include "params/help.h"

#define SLAB_MAILBOXES 63u /* with 576 bytes each a slab is 9 pages */
#define SLAB_FREE      ((UINT64_C(1) << SLAB_MAILBOXES) - 1)

struct mca_btl_rbuf_mailbox_slab {
    SLIST_ENTRY(mca_btl_rbuf_mailbox_slab) link;
    struct rbuf_memory memory;
    uint64_t free; /* a bit a mailbox */
};

/* One more slab, at the head of the list; NULL, after a message, if there is no memory. */
static struct mca_btl_rbuf_mailbox_slab *grow(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_mailbox_slab *slab = calloc(1, sizeof(*slab));
    struct rbuf_problem problem;

    if (slab == NULL) {
        return NULL;
    }
    if (mca_btl_rbuf_memory_allocate(&module->registrar,
                                     SLAB_MAILBOXES * sizeof(struct rbuf_mailbox),
                                     IBV_ACCESS_REMOTE_WRITE, &slab->memory, &problem) != 0) {
        mca_btl_rbuf_help_problem(&problem);
        free(slab);
        return NULL;
    }
    slab->free = SLAB_FREE;
    SLIST_INSERT_HEAD(&module->mailbox_slabs, slab, link);
    return slab;
}

static void release(mca_btl_rbuf_module_t *module, struct mca_btl_rbuf_mailbox_slab *slab)
{
    SLIST_REMOVE(&module->mailbox_slabs, slab, mca_btl_rbuf_mailbox_slab, link);
    rbuf_memory_free(&slab->memory);
    free(slab);
}

static struct mca_btl_rbuf_mailbox_slab *slab_of(const mca_btl_rbuf_module_t *module,
                                                 const struct rbuf_mailbox *mailbox)
{
    struct mca_btl_rbuf_mailbox_slab *slab;

    SLIST_FOREACH(slab, &module->mailbox_slabs, link)
    {
        if ((uintptr_t) mailbox - (uintptr_t) slab->memory.base < slab->memory.bytes) {
            return slab;
        }
    }
    return NULL;
}

static struct mca_btl_rbuf_mailbox_slab *slab_with_room(const mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_mailbox_slab *slab;

    SLIST_FOREACH(slab, &module->mailbox_slabs, link)
    {
        if (slab->free != 0) {
            return slab;
        }
    }
    return NULL;
}

bool mca_btl_rbuf_mailboxes_reserve(mca_btl_rbuf_module_t *module)
{
    return slab_with_room(module) != NULL || grow(module) != NULL;
}

struct rbuf_mailbox *mca_btl_rbuf_mailbox_take(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_mailbox_slab *slab = slab_with_room(module);
    struct rbuf_mailbox *mailbox;
    int i;

    if (slab == NULL && (slab = grow(module)) == NULL) {
        return NULL;
    }
    i = __builtin_ctzll(slab->free);
    slab->free &= ~(UINT64_C(1) << i);
    mailbox = (struct rbuf_mailbox *) slab->memory.base + i;
    memset(mailbox, 0, sizeof(*mailbox)); /* another peer may have counted in it */
    return mailbox;
}

void mca_btl_rbuf_mailbox_give(mca_btl_rbuf_module_t *module, struct rbuf_mailbox *mailbox)
{
    struct mca_btl_rbuf_mailbox_slab *slab = slab_of(module, mailbox);
    struct mca_btl_rbuf_mailbox_slab *other;

    slab->free |= UINT64_C(1) << (mailbox - (struct rbuf_mailbox *) slab->memory.base);
    if (slab->free != SLAB_FREE) {
        return;
    }
    SLIST_FOREACH(other, &module->mailbox_slabs, link)
    {
        if (other != slab && other->free == SLAB_FREE) {
            release(module, slab);
            return;
        }
    }
}

uint32_t mca_btl_rbuf_mailbox_rkey(const mca_btl_rbuf_module_t *module,
                                   const struct rbuf_mailbox *mailbox)
{
    return slab_of(module, mailbox)->memory.mr->rkey;
}

void mca_btl_rbuf_mailboxes_close(mca_btl_rbuf_module_t *module)
{
    while (!SLIST_EMPTY(&module->mailbox_slabs)) {
        release(module, SLIST_FIRST(&module->mailbox_slabs));
    }
}
