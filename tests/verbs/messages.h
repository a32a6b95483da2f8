/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Well-formed messages of the connection exchange, to be sent as they are or spoilt.
 */
#ifndef RBUF_TEST_MESSAGES_H
#define RBUF_TEST_MESSAGES_H

#include <string.h>

#include "connect/exchange.h"

/* A side whose values tell one `seed` from another. */
static inline struct rbuf_exchange
message_make(enum rbuf_exchange_kind kind, const uint8_t token[RBUF_TOKEN_BYTES], uint32_t seed)
{
    struct rbuf_exchange message = {.side = {.job = 7,
                                             .rank = seed,
                                             .port = 0,
                                             .their_port = 1,
                                             .address = {.subnet = 0xfe80000000000000u,
                                                         .lid = (uint16_t) (seed + 1),
                                                         .mtu = RBUF_MTU_4096,
                                                         .link_layer = RBUF_LINK_INFINIBAND,
                                                         .gid_kind = RBUF_GID_INFINIBAND,
                                                         .max_rd_atomic = 16},
                                             .queue = {{.qpn = 100 + seed, .psn = 200 + seed},
                                                       {.qpn = 300 + seed, .psn = 400 + seed}},
                                             .mailbox = 0x7f0000001000u + 64 * (uint64_t) seed,
                                             .mailbox_rkey = 500 + seed,
                                             .peer_index = seed,
                                             .window = {32, 8},
                                             .stage_bytes = 1u << 20,
                                             .room = {12288, 65536}}};

    memcpy(message.side.token, token, RBUF_TOKEN_BYTES);
    (void) rbuf_exchange_seal(&message, kind,
                              kind == RBUF_EXCHANGE_REJ ? RBUF_REJECT_CLOSING : RBUF_REJECT_NONE);
    return message;
}

#endif
