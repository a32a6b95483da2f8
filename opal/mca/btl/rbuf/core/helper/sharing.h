/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which rank of a node has a helper, and on which idle core: the policies of section 5 of the paper
 * that predictor.h cites.
 *
 *     off           nobody
 *     conservative  one a core, the ranks with the largest registrations; ties by the seed
 *     aggressive    everybody, evenly over the idle cores, with equation 2; nobody without any
 *     force         everybody: as aggressive, and where no core is idle with equation 1 beside the
 * ranks. The paper has no such policy, and its n counts helpers alone, not ranks that compute
 *     coordinated   as conservative, then those who can meet their deadlines by equation 2, and let
 *                   the others there meet theirs, share a core: the one for programs that
 *                   communicate much, the other for those that do not, which the paper finds each
 *                   better in its place
 *
 * How many cores are idle is the caller's to know.
 *
 * Pure functions. Threads: any.
 */
#ifndef RBUF_CORE_HELPER_SHARING_H
#define RBUF_CORE_HELPER_SHARING_H

#include <stdint.h>

enum rbuf_sharing {
    RBUF_SHARING_OFF,
    RBUF_SHARING_CONSERVATIVE,
    RBUF_SHARING_AGGRESSIVE,
    RBUF_SHARING_FORCE,
    RBUF_SHARING_COORDINATED
};

#define RBUF_SHARING_NONE (-1) /* no helper */
#define RBUF_SHARING_ANY  (-2) /* a helper, and no core of its own */

/* What a rank has posted. */
struct rbuf_sharing_rank {
    uint64_t registered_bytes; /* the most it had registered */
    uint64_t period_ns;        /* the shortest between two uses of a buffer; 0: not known yet */
    uint64_t work_ns;          /* t_p: to deregister and register its usual buffer */
};

struct rbuf_sharing_node {
    uint32_t idle;     /* cores on which no rank computes */
    uint64_t slice_ns; /* t_slice + t_cs */
    uint64_t
        seed; /* of ties: alike in all ranks of a job on a node, of any other value elsewhere */
};

struct rbuf_sharing_assignment {
    int32_t core;     /* an idle core, from 0 on, or RBUF_SHARING_NONE, RBUF_SHARING_ANY */
    uint32_t sharers; /* n of equation 2, as in helper.h: helpers on it; 0: this one is alone */
};

/* Fills assignment[0 .. ranks - 1]. All ranks of the node reckon the same from the same figures. */
void rbuf_sharing_assign(enum rbuf_sharing policy, const struct rbuf_sharing_node *node,
                         const struct rbuf_sharing_rank *rank, uint32_t ranks,
                         struct rbuf_sharing_assignment *assignment);

#endif
