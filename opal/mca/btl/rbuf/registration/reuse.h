/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reuse as the rest of the component sees it: functions that a registrar has where it is on, and
 * NULL where it is off. registration/frequent.c has them; eager messages have entry points of their
 * own with it (btl/in_place.h).
 */
#ifndef BTL_RBUF_REUSE_H
#define BTL_RBUF_REUSE_H

#include "registration/registrar.h"

struct rbuf_frequent_mr;

/* All uint64_t. */
struct mca_btl_rbuf_reuse_counters {
    uint64_t looked_up;  /* uses */
    uint64_t added;      /* of these, the ones of buffers that were new */
    uint64_t refused;    /* of these, the ones that were not counted */
    uint64_t registered; /* buffers */
    uint64_t given_up;   /* of these, gone again */
    uint64_t spared;     /* uses of registered buffers that were copied all the same */
    uint64_t puts;       /* that were to do without a copy */
    uint64_t gets;       /* likewise */
    uint64_t held;       /* a level: buffers registered now */
    uint64_t most;       /* a level: uses of the buffer that is used most */
    uint64_t most_bytes; /* a level: of that, the longest use */
};

/* What is known of the memory of an operation. */
struct mca_btl_rbuf_use {
    struct rbuf_frequent_mr *mr; /* its registration, until end(); NULL: it is to be copied */
    uint32_t lkey;               /* of that */
    bool timed;                  /* how long the copy takes is to be told */
};

struct mca_btl_rbuf_reuse {
    /* Sets registrar->reuse and ->frequent, behind the registrar's policy, or leaves NULL there
     * where it cannot be had, and has said so. An OPAL error after a help message. */
    int (*open)(mca_btl_rbuf_registrar_t *registrar);
    void (*close)(mca_btl_rbuf_registrar_t *registrar);

    /* Memory that is to be put from (a source), or got into, now. No lock is held. */
    struct mca_btl_rbuf_use (*find)(mca_btl_rbuf_registrar_t *registrar,
                                    enum mca_btl_rbuf_purpose purpose, const void *base,
                                    uint32_t bytes);

    /* A use that is timed was copied since then. No lock is held. */
    void (*copied)(mca_btl_rbuf_registrar_t *registrar, enum mca_btl_rbuf_purpose purpose,
                   uint32_t bytes, uint64_t start_ns);

    /* The data was fetched, or has arrived, or never will. The lock is held. */
    void (*end)(mca_btl_rbuf_registrar_t *registrar, struct rbuf_frequent_mr *mr);

    /* Adds what was counted to the sum of registrars. */
    void (*count)(const mca_btl_rbuf_registrar_t *registrar,
                  struct mca_btl_rbuf_reuse_counters *sum);
};

extern const struct mca_btl_rbuf_reuse mca_btl_rbuf_reuse; /* not in a build without reuse */

#endif
