/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The time of a transfer in place: an RDMA write from the user's buffer into the user's buffer.
 */
#ifndef RBUF_MODEL_IN_PLACE_H
#define RBUF_MODEL_IN_PLACE_H

#include "model/plan.h"

/* Which sides of an in-place transfer have to register: both is the naive protocol of section 2,
 * none a hit in a registration cache on both sides. */
enum rbuf_registered {
    RBUF_REGISTERED_BOTH,
    RBUF_REGISTERED_SENDER,
    RBUF_REGISTERED_RECEIVER,
    RBUF_REGISTERED_NONE
};

/*
 * An RDMA write in place, ns. Without a rendezvous both sides register at the same time and the
 * receiver sees the last byte arrive. With one, the receiver registers before its RTR, the
 * sender after it (SERIAL) or while the RTS is under way (the others: in place there are no early
 * data), and the receiver learns of it by a message that leaves when the write has completed at the
 * sender: two more latencies.
 */
double rbuf_model_in_place(const struct rbuf_machine *machine, uint64_t bytes,
                           enum rbuf_registered registered, enum rbuf_rendezvous rendezvous);

#endif
