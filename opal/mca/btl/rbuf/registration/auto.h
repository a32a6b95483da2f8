/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto: asks core/choice/choice.h about each buffer, and takes the time of what follows.
 *
 * A timing belongs to its message. It is begun by the decision, or as that of a lane; it ends once,
 * when the message does, and is then entered.
 *
 * Any thread; each function says whether the lock is held.
 */
#ifndef BTL_RBUF_AUTO_H
#define BTL_RBUF_AUTO_H

#include "common/monotonic.h"
#include "core/choice/choice.h"
#include "registration/registrar.h"

/* What is timed, and entered into the choice when it ends. */
enum mca_btl_rbuf_timed {
    MCA_BTL_RBUF_TIME_NONE,
    MCA_BTL_RBUF_TIME_LANE, /* a put into a lane, where there is no choice */
    MCA_BTL_RBUF_TIME_COPY,
    MCA_BTL_RBUF_TIME_IN_PLACE
};

struct mca_btl_rbuf_timing {
    enum mca_btl_rbuf_timed of;
    enum rbuf_side side;
    bool is_sample; /* see struct rbuf_choice_decision */
    void *base;
    size_t bytes;
    uint64_t since_ns;
};

int mca_btl_rbuf_auto_open(mca_btl_rbuf_registrar_t *registrar); /* after the registrar */
void mca_btl_rbuf_auto_close(mca_btl_rbuf_registrar_t *registrar);

/* Decides on a buffer: its registration, or NULL if the message is to be copied; either way its
 * time begins. No lock is held. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_auto_decide(mca_btl_rbuf_registrar_t *registrar,
                                                      enum rbuf_side side, void *base, size_t bytes,
                                                      struct mca_btl_rbuf_timing *timing);

/* The time of a staged put begins. */
void mca_btl_rbuf_auto_lane(mca_btl_rbuf_registrar_t *registrar, void *base, size_t bytes,
                            struct mca_btl_rbuf_timing *timing);

/* That time is over, if one was begun: how long it was, ns. Before the lock is taken, which may
 * have to be waited for. */
static inline uint64_t mca_btl_rbuf_auto_elapsed(const struct mca_btl_rbuf_timing *timing)
{
    return timing->of == MCA_BTL_RBUF_TIME_NONE ? 0 : mca_btl_rbuf_now_ns() - timing->since_ns;
}

/* Enters it. The lock is held. */
void mca_btl_rbuf_auto_took(mca_btl_rbuf_registrar_t *registrar,
                            const struct mca_btl_rbuf_timing *timing, uint64_t ns);

#endif
