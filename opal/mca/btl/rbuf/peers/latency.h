/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_LATENCY_H
#define BTL_RBUF_LATENCY_H

#include "rbuf_compat.h"

#include <stdint.h>

typedef struct mca_btl_rbuf_module_t mca_btl_rbuf_module_t;
typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;

typedef enum {
    MCA_BTL_RBUF_LATENCY_IDLE,   /* no peer is to be timed */
    MCA_BTL_RBUF_LATENCY_DUE,    /* some are */
    MCA_BTL_RBUF_LATENCY_TIMING, /* one is being timed */
    MCA_BTL_RBUF_LATENCY_NEAR    /* one is near: no further one is timed, ever */
} mca_btl_rbuf_latency_state_t;

/* Whether a peer is near (peers/latency.c); the lock guards it. */
struct mca_btl_rbuf_latency {
    mca_btl_rbuf_latency_state_t state;
    mca_btl_base_endpoint_t *endpoint; /* TIMING */
    uint64_t begun_ns;                 /* likewise */
    uint64_t looked_ns;                /* likewise: when its acknowledgement was not there yet */
    uint64_t near_ns;                  /* the longest round trip that is near; 0: not asked yet */
    uint32_t peers;                    /* that were timed, or will be */
};

/* The caller holds the lock. */
void mca_btl_rbuf_latency_connected(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_latency_forget(mca_btl_base_endpoint_t *endpoint);

/* Behind a look at the completion queues, while it is DUE or TIMING. */
void mca_btl_rbuf_latency_look(mca_btl_rbuf_module_t *module);

#endif
