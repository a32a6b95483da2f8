/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar's policy "helper", of protocol helper: a thread of the module registers memory
 * shortly before it is used again, as it predicts from when and where it was used before, and
 * deregisters it behind each use (core/helper/helper.h decides; this is its thread).
 *
 * What was not foreseen is registered by its taker, on the spot, and deregistered by the thread.
 * Memory hooks mark what is given back to the system. Without hooks that can be trusted, and where
 * the sharing of cores gives this process none (registration/sharing.h), registrations are made on
 * demand.
 *
 * The thread calls rbuf_register() and rbuf_deregister(), and nothing of Open MPI's.
 */
#ifndef BTL_RBUF_HELPER_H
#define BTL_RBUF_HELPER_H

#include "registration/registrar.h"

extern const mca_btl_rbuf_policy_t mca_btl_rbuf_helped;

struct mca_btl_rbuf_helper;

/* All uint64_t, to be added up. */
struct mca_btl_rbuf_helper_counters {
    uint64_t points;       /* uses of memory that the thread has seen */
    uint64_t points_lost;  /* that it has not, as they were too many */
    uint64_t predicted;    /* uses whose time was predicted: the sum of these: */
    uint64_t near;         /* within 0.5 % */
    uint64_t close;        /* within 5 % */
    uint64_t early;        /* sooner */
    uint64_t late;         /* later */
    uint64_t missed;       /* so much later that a use was predicted in vain */
    uint64_t ready;        /* takes that found their memory registered */
    uint64_t mispredicted; /* that did not, though their use was predicted */
    uint64_t unknown;      /* likewise, and it was not */
    uint64_t ahead;        /* registrations of the thread */
    uint64_t kept;         /* times that a registration was kept, as the next use was near */
    uint64_t lapsed;       /* registrations whose use has not come in time */
    uint64_t stale;        /* regions whose memory was given back */
};

/* Of a port, or NULL after a help message: registrations are made on demand. */
struct mca_btl_rbuf_helper *mca_btl_rbuf_helper_open(struct rbuf_port *port);

/* Its thread has ended, and all that nobody holds is deregistered, when this returns. */
void mca_btl_rbuf_helper_close(struct mca_btl_rbuf_helper *helper);

/* As mca_btl_rbuf_registration_take(). No lock is held, for all of these. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_helper_take(struct mca_btl_rbuf_helper *helper,
                                                      uint32_t rank, void *base, size_t bytes,
                                                      enum mca_btl_rbuf_purpose purpose,
                                                      struct rbuf_problem *problem);
void mca_btl_rbuf_helper_give(struct mca_btl_rbuf_helper *helper,
                              mca_btl_rbuf_registration_t *registration);

/* Gives up a registration that nobody uses, or waits for what the thread is just registering or
 * deregistering; false: there is nothing of these. With or without lock. */
bool mca_btl_rbuf_helper_evict(struct mca_btl_rbuf_helper *helper);

void mca_btl_rbuf_helper_count(struct mca_btl_rbuf_helper *helper,
                               struct mca_btl_rbuf_helper_counters *counters);

#endif
