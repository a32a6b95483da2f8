/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/onesided (tests/inspect/onesided.h).
 */
#include "inspect/onesided.h"

#include "core/onesided/get.h"
#include "core/onesided/rma.h"
#include "core/rendezvous/put.h"
#include "core/stage/copies.h"

uint32_t inspect_gets_begun(const struct rbuf_peer *peer)
{
    const struct rbuf_get *get;
    uint32_t begun = 0;

    TAILQ_FOREACH(get, &peer->onesided.gets, link)
    {
        begun++;
    }
    return begun;
}

/* Of the puts that have begun, those that are copied to their place. */
static uint32_t copied_puts_begun(const struct rbuf_peer *peer)
{
    const struct rbuf_put *put;
    uint32_t begun = 0;

    TAILQ_FOREACH(put, &peer->rendezvous.puts, link)
    {
        begun += put->ops != &rbuf_put_to_lane;
    }
    return begun;
}

/* Some wait only while as many as may have begun. */
static const char *copies_fault(const struct rbuf_copies *copies)
{
    if (copies->begun > RBUF_COPIED_AT_ONCE) {
        return "no more copied operations have begun than may";
    }
    if (copies->begun < RBUF_COPIED_AT_ONCE && !STAILQ_EMPTY(&copies->waiting)) {
        return "a copied operation waits only while as many as may have begun";
    }
    return copies->begun > 0 || copies->bytes == 0 ? NULL
                                                   : "chunks under way are of what has begun";
}

/* Those that are held are the last on the list of what is not posted. */
static const char *held_fault(const struct rbuf_peer *peer)
{
    const struct rbuf_rma *rma = peer->onesided.held_first;
    uint32_t held = 0;

    for (; rma != NULL; rma = TAILQ_NEXT(rma, link)) {
        held++;
    }
    return held == peer->onesided.held ? NULL : "operations that are held are counted right";
}

const char *inspect_onesided_fault(const struct rbuf_peer *peer)
{
    const char *fault;

    if (rbuf_peer_is_lost(peer)) { /* whose operations are being ended */
        return NULL;
    }
    fault = copies_fault(&peer->onesided.copied_puts);
    fault = fault != NULL ? fault : copies_fault(&peer->onesided.copied_gets);
    if (fault == NULL && (peer->onesided.copied_gets.begun != inspect_gets_begun(peer) ||
                          peer->onesided.copied_puts.begun != copied_puts_begun(peer))) {
        fault = "copied operations that have begun are counted right";
    }
    return fault != NULL ? fault : held_fault(peer);
}
