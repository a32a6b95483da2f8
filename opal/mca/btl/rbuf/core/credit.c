/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/credit.h"

#include <errno.h>

#include "core/core.h"

/*
 * The peer's count of what it took off, from the mailbox. The acquire pairs with the adapter
 * placing the peer's word: what the peer's software did before (reposting the buffer, freeing the
 * slot) is done.
 */
static void read_mailbox(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    struct rbuf_credit *credit = &peer->credit[flow];
    uint32_t taken =
        (uint32_t) atomic_load_explicit(&peer->mailbox->credit[flow], memory_order_acquire);

    if ((int32_t) (taken - credit->taken) > 0 && (int32_t) (credit->sent - taken) >= 0) {
        credit->taken = taken;
    }
}

bool rbuf_credit_look(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    read_mailbox(peer, flow);
    return rbuf_credit_left(&peer->credit[flow]) > 0;
}

/* True if half a window of the flow is owed. */
static bool owes(const struct rbuf_peer *peer, int flow)
{
    const struct rbuf_credit *credit = &peer->credit[flow];
    uint32_t half = peer->core->options.window[flow] / 2u;

    return credit->consumed - credit->returned >= (half > 0 ? half : 1);
}

bool rbuf_credit_owed(const struct rbuf_peer *peer)
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        if (owes(peer, flow)) {
            return true;
        }
    }
    return false;
}

void rbuf_credit_consumed(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    peer->credit[flow].consumed++;
    if (peer->state == RBUF_PEER_CONNECTED && owes(peer, flow)) {
        rbuf_peer_wake(peer);
    }
}

int rbuf_credit_write(struct rbuf_peer *peer)
{
    int done = 0;

    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        struct rbuf_credit *credit = &peer->credit[flow];
        uint64_t count = credit->consumed;
        uint64_t address = peer->their_mailbox + offsetof(struct rbuf_mailbox, credit) +
                           (uint64_t) flow * sizeof(uint64_t);
        enum rbuf_fab_status status;

        if (!owes(peer, flow)) {
            continue;
        }
        status = rbuf_fab_write_inline(peer->queue[RBUF_CONTROL], &count, sizeof(count), address,
                                       peer->their_mailbox_rkey, NULL);
        if (status == RBUF_FAB_DEAD) {
            rbuf_peer_fail(peer, -ECONNRESET);
        }
        if (status != RBUF_FAB_OK) {
            break;
        }
        credit->returned = credit->consumed;
        peer->core->stats.credits_written++;
        done++;
    }
    return done;
}
