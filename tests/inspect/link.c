/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/link (tests/inspect/link.h).
 */
#include "inspect/link.h"

uint64_t inspect_taken(const struct rbuf_peer *peer, enum rbuf_flow flow)
{
    return peer->link.credit[flow].taken;
}

uint64_t inspect_under_way(const struct rbuf_peer *peer, enum rbuf_flow flow)
{
    return peer->link.credit[flow].sent - peer->link.credit[flow].taken;
}

const char *inspect_credits_fault(const struct rbuf_peer *peer)
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        const struct rbuf_credit *credit = &peer->link.credit[flow];

        if (credit->sent - credit->taken > credit->window) {
            return "no more is out than there are credits";
        }
        if ((uint16_t) credit->consumed != peer->link.counts.mine[flow]) {
            return "what is advertised of a flow is what was taken off";
        }
    }
    return NULL;
}

void inspect_count_sent(struct rbuf_peer *peer, enum rbuf_flow flow, uint64_t messages)
{
    peer->link.credit[flow].sent = peer->link.credit[flow].taken = messages;
}

void inspect_count_received(struct rbuf_peer *peer, enum rbuf_flow flow, uint64_t messages)
{
    peer->link.credit[flow].consumed = messages;
    peer->link.counts.mine[flow] = peer->link.counts.advertised[flow] = (uint16_t) messages;
}
