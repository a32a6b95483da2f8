/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Registrations of frequently used buffers, which is what reuse is made of (registration/frequent.c
 * says how). Puts and gets come by mca_btl_rbuf_reuse, eager messages by btl/in_place.c: no other
 * file includes this one.
 */
#ifndef BTL_RBUF_FREQUENT_H
#define BTL_RBUF_FREQUENT_H

#include "core/choice/frequent.h"
#include "core/choice/gather.h"
#include "registration/reuse.h"

struct mca_btl_rbuf_frequent {
    struct rbuf_frequent table;
    size_t least; /* shorter messages are not looked at, bytes */
    struct rbuf_gather gather[RBUF_FREQUENT_KINDS][RBUF_FREQUENT_SIZES];
    uint64_t spared; /* counter: uses of registered buffers that were copied all the same */
    uint64_t in_place[RBUF_FREQUENT_KINDS]; /* counters: uses that were to do without a copy */
};

/* Gives back all whose memory is gone; called before a use is looked up. No lock is held. */
void mca_btl_rbuf_frequent_give_released(mca_btl_rbuf_registrar_t *registrar);

static inline void mca_btl_rbuf_frequent_tidy(mca_btl_rbuf_registrar_t *registrar)
{
    if (rbuf_frequent_has_released(&registrar->frequent->table)) {
        mca_btl_rbuf_frequent_give_released(registrar);
    }
}

/* Whether a message that came by sendi is to be looked at. */
static inline bool mca_btl_rbuf_frequent_is_due(struct mca_btl_rbuf_frequent *frequent,
                                                size_t bytes)
{
    return bytes >= frequent->least && rbuf_frequent_is_due(&frequent->table);
}

/* The registration of memory that is used now, which stays until rbuf_frequent_end(), or NULL: it
 * is to be copied, and to tell of it if it is `timed`. The lock is held, and may be let go
 * meanwhile. */
struct rbuf_frequent_mr *mca_btl_rbuf_frequent_look(mca_btl_rbuf_registrar_t *registrar,
                                                    enum rbuf_frequent_kind kind, const void *base,
                                                    uint32_t bytes, bool *timed);

/* One that is `timed` was copied since then, and a message posted. No lock is held. */
void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_registrar_t *registrar, enum rbuf_frequent_kind kind,
                                  uint32_t bytes, uint64_t start_ns);

#endif
