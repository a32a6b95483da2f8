/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What decides by size and settings which path a message takes, for who sends it and for who shows
 * that (report/explain.c). Sizes are bytes as they are handed to the transport, Open MPI's header
 * among them.
 */
#ifndef BTL_RBUF_THRESHOLDS_H
#define BTL_RBUF_THRESHOLDS_H

#include "module/module.h"
#include "params/params.h"
#include "params/protocol.h"
#include "verbs/queue_pair.h"

/* Most of a message that is built on the stack, to travel inside its request. */
#define MCA_BTL_RBUF_NOW_BYTES RBUF_QUEUE_INLINE_ASKED

/* Whether one slot of a ring takes it, else it takes several. */
static inline bool mca_btl_rbuf_is_one_slot(size_t bytes)
{
    return bytes + sizeof(struct rbuf_ring_trailer) <= mca_btl_rbuf_params.ring_slot_size;
}

/* Whether a message over several slots goes on in chunks, of which the next is `chunk` bytes, as so
 * many bytes of it are left. */
static inline bool mca_btl_rbuf_is_cut(size_t left, uint64_t chunk)
{
    return chunk > 0 && left > 2 * chunk;
}

/* Whether it travels inside its request over send/receive; the port's room stands for the queue
 * pair's. */
static inline bool mca_btl_rbuf_is_sent_inline(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    const size_t all = sizeof(struct rbuf_message_header) + bytes;

    return all <= MCA_BTL_RBUF_NOW_BYTES && all <= module->port->max_inline;
}

/* Whether it fits the receive buffers of small messages, else it takes one of the large. */
static inline bool mca_btl_rbuf_fits_control(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return bytes <= module->room[RBUF_CONTROL];
}

/* Whether a write of so many bytes needs no registered memory. */
static inline bool mca_btl_rbuf_is_inline(const mca_btl_rbuf_module_t *module, size_t bytes)
{
    return bytes <= rbuf_queue_inline(module->port, RBUF_BULK);
}

/* Whether the protocol copies: of the program's memory it registers windows alone. Messages go
 * through staging, and puts and gets are copied on this side. */
static inline bool mca_btl_rbuf_copies(void)
{
    return mca_btl_rbuf_protocol()->travel == MCA_BTL_RBUF_TRAVEL_STAGED;
}

/* Whether the receiver of a rendezvous registers its buffer at once, and stages what cannot be. */
static inline bool mca_btl_rbuf_registers(void)
{
    return mca_btl_rbuf_protocol()->travel == MCA_BTL_RBUF_TRAVEL_IN_PLACE;
}

/* Whether contiguous messages begin behind their rendezvous, before it is answered. */
static inline bool mca_btl_rbuf_begins_early(void)
{
    return mca_btl_rbuf_params.early_data == MCA_BTL_RBUF_ON && mca_btl_rbuf_protocol()->early;
}

#endif
