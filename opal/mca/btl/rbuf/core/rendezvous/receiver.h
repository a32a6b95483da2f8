/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The receiving half of the superpipeline: blocks are taken out of lanes, and out of the slots of
 * early data, as they arrive; chunks are acknowledged; messages that name a put wait for it.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_RECEIVER_H
#define RBUF_CORE_RECEIVER_H

#include "core/state/state.h"

/* A write-with-immediate arrived on the bulk channel; its receive buffer is free. */
void rbuf_core_immediate(struct rbuf_core *core, uint32_t immediate);

/* Copies arrived blocks out, at most *budget bytes, which are taken off it. */
int rbuf_receiver_progress(struct rbuf_core *core, uint64_t *budget);
/* Copies a message that names a put which is not in place yet; false: it need not wait. */
bool rbuf_receiver_hold(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                        const struct rbuf_delivery *delivery);

#endif
