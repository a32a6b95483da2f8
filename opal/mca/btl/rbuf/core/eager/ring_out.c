/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sender's half of eager rings (core/eager/ring.h): writes messages, and opens and hands back
 * the rings that peers lease.
 *
 *     NONE -> WAITING -> OPEN -> CLOSING -> NONE; CLOSING -> REINVITED -> WAITING or OPEN
 */
#include "core/eager/ring_out.h"

#include "core/eager/channel.h"
#include "core/eager/ring_long.h"
#include "core/eager/ring_word.h"

#define TRAILER_BYTES ((uint32_t) sizeof(struct rbuf_ring_trailer))
#define SILENT        2u /* counts without a message after which a ring makes room for another */

/* The next message goes into the next slot, on both sides. */
static void advance(struct rbuf_ring_out *out)
{
    out->use++;
    if (out->local_end == out->last_end) {
        out->local_end = out->memory->base;
        out->remote_end = out->offer.base;
    }
    out->local_end += out->slot_bytes;
    out->remote_end += out->offer.slot_bytes;
}

/* Writes the last `length` bytes of the slot; inline, if it may be, which spares the adapter to
 * fetch them. Inline: it is most of what a small message does here. */
static inline __attribute__((always_inline)) enum rbuf_fab_status write_slot(struct rbuf_peer *peer,
                                                                             uint32_t length)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    struct rbuf_fab_queue *queue = peer->queue[RBUF_CONTROL];

    return rbuf_fab_post_write(queue, &out->request, out->local_end - length, length,
                               out->remote_end - length, length <= rbuf_fab_inline_max(queue));
}

static inline void fill_trailer(struct rbuf_peer *peer, enum rbuf_message_kind kind, uint8_t tag,
                                uint32_t bytes, uint64_t argument)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    struct rbuf_ring_trailer *trailer =
        (struct rbuf_ring_trailer *) (void *) (out->local_end - TRAILER_BYTES);

    rbuf_channel_fill(peer, &trailer->header, (uint8_t) kind, tag, argument);
    atomic_store_explicit(&trailer->word, out->use << RBUF_RING_SIZE_BITS | bytes,
                          memory_order_relaxed);
}

/* The slot was posted, if the status says so. */
static inline bool took_slot(struct rbuf_peer *peer, uint32_t bytes, enum rbuf_fab_status status)
{
    if (!rbuf_peer_posted(peer, status)) {
        return false;
    }
    advance(&peer->eager.ring_out);
    rbuf_ring_out_posted(peer, 1, bytes);
    return true;
}

/* The same with a checksum. Apart from the usual path, lest it take registers of that. */
static __attribute__((noinline)) bool end_checked(struct rbuf_peer *peer,
                                                  enum rbuf_message_kind kind, uint8_t tag,
                                                  uint32_t bytes, uint64_t argument)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;
    const uint32_t length = rbuf_ring_length(bytes);
    struct rbuf_ring_trailer *trailer =
        (struct rbuf_ring_trailer *) (void *) (out->local_end - TRAILER_BYTES);
    uint64_t sum;

    rbuf_channel_fill(peer, &trailer->header, (uint8_t) kind, tag, argument);
    sum = rbuf_checksum(out->local_end - length, length - sizeof(trailer->word));
    atomic_store_explicit(&trailer->word,
                          rbuf_ring_word(out->proof, out->use, bytes) |
                              rbuf_checksum_of_use(sum, out->use),
                          memory_order_relaxed);
    return took_slot(peer, bytes, write_slot(peer, length));
}

static inline __attribute__((always_inline)) bool end(struct rbuf_peer *peer,
                                                      enum rbuf_message_kind kind, uint8_t tag,
                                                      uint32_t bytes, uint64_t argument)
{
    if (peer->eager.ring_out.proof == RBUF_PROOF_CHECKSUM) {
        return end_checked(peer, kind, tag, bytes, argument);
    }
    fill_trailer(peer, kind, tag, bytes, argument);
    return took_slot(peer, bytes, write_slot(peer, rbuf_ring_length(bytes)));
}

bool rbuf_ring_out_end(struct rbuf_peer *peer, enum rbuf_message_kind kind, uint8_t tag,
                       uint32_t bytes, uint64_t argument)
{
    return end(peer, kind, tag, bytes, argument);
}

bool rbuf_ring_out_end_user(struct rbuf_peer *peer, uint8_t tag, uint32_t bytes, uint64_t argument)
{
    if (!end(peer, RBUF_MESSAGE_USER, tag, bytes, argument)) {
        return false;
    }
    peer->core->stats.messages_sent++;
    return true;
}

bool rbuf_ring_out_gather(struct rbuf_peer *peer, uint8_t tag, uint32_t bytes, uint64_t argument,
                          const struct rbuf_fab_piece *data, struct rbuf_work *work)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;
    const uint32_t length = rbuf_ring_length(bytes);
    const unsigned char *begin = out->local_end - length;
    const struct rbuf_fab_piece pieces[] = {{begin, bytes - data->bytes, out->memory->lkey},
                                            *data,
                                            {begin + bytes, length - bytes, out->memory->lkey}};

    if (out->proof == RBUF_PROOF_CHECKSUM) {
        return false; /* nobody has read the data */
    }
    fill_trailer(peer, RBUF_MESSAGE_USER, tag, bytes, argument);
    return took_slot(peer, bytes,
                     rbuf_fab_gather(peer->queue[RBUF_CONTROL], pieces, 3, out->remote_end - length,
                                     out->offer.rkey, work));
}

/* ---- coming and going ---- */

static bool offer_makes_sense(const struct rbuf_ring_offer *offer)
{
    return offer->slots >= 2 && offer->slots <= RBUF_RING_SLOTS_MAX &&
           offer->slot_bytes >= RBUF_RING_SLOT_BYTES_MIN &&
           offer->slot_bytes <= RBUF_RING_SLOT_BYTES_MAX && offer->slot_bytes % 64 == 0 &&
           offer->first_use % offer->slots == 0 && offer->proof <= RBUF_PROOF_CHECKSUM &&
           (offer->longest <= offer->slot_bytes - TRAILER_BYTES ||
            (offer->slots >= 4 &&
             offer->longest <= rbuf_ring_long_most(offer->slots / 2, offer->slot_bytes)));
}

/* Cuts our memory into as many slots as the peer's ring has; room for the header at least. */
static uint32_t slot_bytes_here(const struct rbuf_core *core, const struct rbuf_ring_offer *offer)
{
    uint32_t ours =
        core->options.ring.slots * core->options.ring.slot_bytes / offer->slots / 64 * 64;

    return ours < offer->slot_bytes ? ours : offer->slot_bytes;
}

/* The longest message over several slots: they must be as far apart here as they are there, and our
 * memory have as many behind them; 0: none. */
static uint32_t longest_here(const struct rbuf_core *core, const struct rbuf_ring_offer *offer)
{
    const size_t ours = rbuf_ring_memory_bytes(&core->options.ring) / offer->slot_bytes;
    uint32_t most;

    if (slot_bytes_here(core, offer) < offer->slot_bytes || ours <= offer->slots) {
        return 0;
    }
    most = rbuf_ring_long_most((uint32_t) ours - offer->slots + 1, offer->slot_bytes);
    return most < offer->longest ? most : offer->longest;
}

static void open_ring(struct rbuf_peer *peer, struct rbuf_ring_memory *memory)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;

    out->memory = memory;
    out->slot_bytes = slot_bytes_here(peer->core, &out->offer);
    out->room = out->slot_bytes - TRAILER_BYTES;
    out->longest = longest_here(peer->core, &out->offer);
    out->proof = (enum rbuf_proof) out->offer.proof;
    out->use = out->offer.first_use;
    out->local_end = memory->base + out->slot_bytes;
    out->last_end = memory->base + (size_t) out->offer.slots * out->slot_bytes;
    out->remote_end = out->offer.base + out->offer.slot_bytes;
    rbuf_fab_prepare_write(&out->request, memory->lkey, out->offer.rkey);
    /* Whatever counts came of the ring before. */
    rbuf_credit_restart(peer, RBUF_FLOW_RING, out->offer.slots);
    out->counted = out->use;
    out->silent = 0;
    out->state = RBUF_RING_OUT_OPEN;
    TAILQ_INSERT_TAIL(&peer->core->eager.rings.open, peer, eager.ring_out.link);
    peer->core->stats.ring_opened++;
}

/* Takes the peer off the list that it is on. */
static void leave_list(struct rbuf_peer *peer)
{
    struct rbuf_rings *rings = &peer->core->eager.rings;

    if (peer->eager.ring_out.state == RBUF_RING_OUT_WAITING) {
        TAILQ_REMOVE(&rings->waiting, peer, eager.ring_out.link);
    } else if (peer->eager.ring_out.state == RBUF_RING_OUT_OPEN) {
        TAILQ_REMOVE(&rings->open, peer, eager.ring_out.link);
    }
}

/* Closed to us from now on. The adapter is done with our slots when it has sent this message. More
 * than one may be out, as a ring is declined that was offered before the first has left: the last
 * of them counts, lest one that is for an earlier ring be taken for that of a later one. */
static void hand_back(struct rbuf_peer *peer)
{
    leave_list(peer);
    peer->eager.ring_out.state = RBUF_RING_OUT_CLOSING;
    peer->eager.ring_out.returns++;
    rbuf_channel_send_own(peer, RBUF_MESSAGE_RETURN, RBUF_LEASE_RING, NULL, 0);
}

/* Opens the ring that was offered, if there is memory for our side of it. */
static void accept_or_wait(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_ring_memory *memory = NULL;

    bool wanted = core->eager.rings.out < rbuf_rings_out_most(&core->options.ring) &&
                  slot_bytes_here(core, &peer->eager.ring_out.offer) >= RBUF_RING_SLOT_BYTES_MIN;

    if (wanted) {
        memory = rbuf_ring_memory_take(core);
    }
    if (memory != NULL) {
        core->eager.rings.out++;
        open_ring(peer, memory);
    } else if (wanted && core->eager.rings.supply == RBUF_RING_SUPPLY_ASKED) {
        peer->eager.ring_out.state = RBUF_RING_OUT_WAITING;
        TAILQ_INSERT_TAIL(&core->eager.rings.waiting, peer, eager.ring_out.link);
    } else {
        hand_back(peer);
    }
}

/* Rings that we have no use for any more go back when all that we may have are taken: the receivers
 * recall them only when they get enough from others to know that we are silent. */
void rbuf_ring_out_count(struct rbuf_core *core)
{
    bool full = core->eager.rings.out == rbuf_rings_out_most(&core->options.ring);
    struct rbuf_peer *peer = TAILQ_FIRST(&core->eager.rings.open);

    core->eager.rings.counted = core->stats.messages_sent;
    while (peer != NULL) {
        struct rbuf_peer *next = TAILQ_NEXT(peer, eager.ring_out.link);
        struct rbuf_ring_out *out = &peer->eager.ring_out;

        out->silent = out->use == out->counted ? out->silent + 1 : 0;
        out->counted = out->use;
        if (full && out->silent >= SILENT) {
            hand_back(peer);
        }
        peer = next;
    }
}

void rbuf_ring_out_invited(struct rbuf_peer *peer, const struct rbuf_ring_offer *offer)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;

    if (peer->state != RBUF_PEER_CONNECTED) {
        return; /* if it is lost, its ring before may still have its memory */
    }
    if (!offer_makes_sense(offer)) {
        peer->core->stats.messages_refused++;
        return;
    }
    if (peer->core->stats.messages_sent - peer->core->eager.rings.counted >=
        peer->core->eager.set.period) {
        rbuf_ring_out_count(peer->core); /* who sends and gets little takes few epochs */
    }
    switch (out->state) {
    case RBUF_RING_OUT_NONE:
        out->offer = *offer;
        accept_or_wait(peer);
        break;
    case RBUF_RING_OUT_CLOSING: /* it has our RETURN sooner than we have that completion */
        out->offer = *offer;
        out->state = RBUF_RING_OUT_REINVITED;
        break;
    case RBUF_RING_OUT_WAITING:
    case RBUF_RING_OUT_OPEN:
    case RBUF_RING_OUT_REINVITED:
        peer->core->stats.messages_refused++;
        break;
    }
}

void rbuf_ring_out_recalled(struct rbuf_peer *peer)
{
    switch (peer->eager.ring_out.state) {
    case RBUF_RING_OUT_WAITING:
    case RBUF_RING_OUT_OPEN:
    case RBUF_RING_OUT_REINVITED: /* the RETURN that is out was for the ring before */
        hand_back(peer);
        break;
    case RBUF_RING_OUT_CLOSING: /* handed back already, the two crossed */
    case RBUF_RING_OUT_NONE:    /* likewise, and that is known to have left */
        break;
    }
}

static void give_memory_back(struct rbuf_peer *peer)
{
    if (peer->eager.ring_out.memory != NULL) {
        rbuf_ring_memory_return(peer->core, peer->eager.ring_out.memory);
        peer->eager.ring_out.memory = NULL;
        peer->core->eager.rings.out--;
    }
}

void rbuf_ring_out_handed_back(struct rbuf_peer *peer)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;

    if (--out->returns > 0) {
        return;
    }
    if (out->state == RBUF_RING_OUT_CLOSING) {
        give_memory_back(peer);
        out->state = RBUF_RING_OUT_NONE;
    } else if (out->state == RBUF_RING_OUT_REINVITED) {
        give_memory_back(peer);
        accept_or_wait(peer);
    }
}

void rbuf_ring_out_supplied(struct rbuf_core *core)
{
    struct rbuf_peer *peer;
    uint32_t count = 0;

    TAILQ_FOREACH(peer, &core->eager.rings.waiting, eager.ring_out.link)
    {
        count++;
    }
    while (count-- > 0) { /* who has to wait on goes to the end */
        peer = TAILQ_FIRST(&core->eager.rings.waiting);
        leave_list(peer);
        peer->eager.ring_out.state = RBUF_RING_OUT_NONE;
        accept_or_wait(peer);
    }
}

void rbuf_ring_out_fail(struct rbuf_peer *peer)
{
    leave_list(peer);
    peer->eager.ring_out.state = RBUF_RING_OUT_NONE; /* the memory stays: the adapter may read it */
}

void rbuf_ring_out_remove(struct rbuf_peer *peer)
{
    leave_list(peer);
    give_memory_back(peer);
}
