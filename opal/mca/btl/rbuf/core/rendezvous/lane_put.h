/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The way of a put into the lane of the receiver's offer: each chunk goes to a buffer of the lane,
 * flags and all, when the chunk that last used that buffer is acknowledged, or none did. The put
 * ends when its last chunk is posted: the user's memory is free then.
 */
#ifndef RBUF_CORE_LANE_PUT_H
#define RBUF_CORE_LANE_PUT_H

#include "core/rendezvous/put.h"

extern const struct rbuf_put_way rbuf_put_to_lane;

#endif
