/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts into lanes (core/rendezvous/lane_put.h): their window, their copy, their write.
 */
#include "core/rendezvous/lane_put.h"

#include "core/stage/tx_chunk.h"

/* True if the buffer of chunk `next` is free at the receiver. The acquire pairs with the adapter
 * placing the peer's count, which follows the copy out of the buffer. */
static bool window_open(const struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    uint64_t behind;
    uint64_t word;

    if (put->next.index < offer->schedule.buffers) {
        return true;
    }
    behind = put->next.index - offer->schedule.buffers;
    word = atomic_load_explicit(&put->peer->mailbox->ack[offer->slot], memory_order_acquire);
    return (int64_t) (word - offer->acks) > (int64_t) behind;
}

static void fill(struct rbuf_put *put, uint64_t *budget)
{
    rbuf_tx_chunk_fill(put->filling, &put->offer.schedule,
                       rbuf_arrival_proof((enum rbuf_arrival) put->offer.arrival), put->offer.flag,
                       put->rest, budget);
}

static enum rbuf_fab_status write_chunk(struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    const struct rbuf_schedule *schedule = &offer->schedule;
    uint64_t buffer = put->next.index % schedule->buffers;
    uint64_t address = offer->lane + buffer * offer->stride_blocks * schedule->block_bytes;
    const uint32_t immediate = rbuf_immediate(offer->id);

    return rbuf_tx_chunk_write(put->filling, schedule, offer->flag, address, offer->rkey,
                               offer->arrival == RBUF_ARRIVAL_IMMEDIATE ? &immediate : NULL);
}

static bool step(struct rbuf_put *put)
{
    return rbuf_schedule_next(&put->offer.schedule, put->rest_bytes, &put->next);
}

const struct rbuf_put_way rbuf_put_to_lane = {.window_open = window_open,
                                              .fill = fill,
                                              .write = write_chunk,
                                              .step = step,
                                              .posted = RBUF_PUT_DONE};
