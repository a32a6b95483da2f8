/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The receiving half of the superpipeline: takes blocks out of lanes as they arrive.
 *
 * A block has arrived when its flag has the value that this use of the block was promised. Writer
 * of the flag: the peer's adapter, after the payload in front of it, on fabrics that place a write
 * in order. Reader: here, with acquire, before the payload is read.
 *
 * On other fabrics a flag has a checksum, and may be there before some of the payload. The block is
 * copied out and the checksum made of what was copied. If it is right all of the block is there; if
 * not the copy is made again later, into the same buffer. So until a block is taken the bytes of it
 * in the user's buffer may be anything, which the receive's memory may be until it completes. A
 * block that is still wrong check_timeout_ns after the sender has said that it is done has been
 * damaged: that is an error, and the peer is lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/rendezvous/receiver.h"
#include "core/eager/channel.h"
#include "core/base/copy.h"
#include "core/base/fill.h"
#include "core/stage/flag.h"
#include "core/rendezvous/grant.h"
#include "core/link/words.h"
#include "core/rendezvous/early.h"

static const struct rbuf_schedule *schedule_of(const struct rbuf_grant *grant)
{
    return grant->part == RBUF_GRANT_PART_EARLY ? &grant->peer->rendezvous.early_in->schedule
                                                : &grant->schedule;
}

static unsigned char *block_address(const struct rbuf_grant *grant, uint32_t block)
{
    const struct rbuf_arena *arena = &grant->peer->core->receive_arena;
    const struct rbuf_chunk *chunk = &grant->chunk;
    uint32_t buffer;

    if (grant->part == RBUF_GRANT_PART_EARLY) {
        return rbuf_arena_block(arena, rbuf_early_in_block(grant->peer, grant->early_seq) +
                                           (uint32_t) chunk->first_block + block);
    }
    buffer = (uint32_t) (chunk->index % grant->schedule.buffers);
    return rbuf_arena_block(arena, grant->lane_first + buffer * grant->stride_blocks + block);
}

static uint64_t read_flag(const struct rbuf_grant *grant, uint32_t block)
{
    uint32_t payload = rbuf_block_payload(schedule_of(grant));
    const _Atomic uint64_t *flag =
        (const _Atomic uint64_t *) (const void *) (block_address(grant, block) + payload);

    return atomic_load_explicit(flag, memory_order_acquire);
}

static bool flag_is(const struct rbuf_grant *grant, uint32_t block, uint64_t use)
{
    return rbuf_flag_is(rbuf_peer_proof(grant->peer), read_flag(grant, block), use);
}

/* True if these are early data that are longer than the receive. */
static bool is_cut_short(const struct rbuf_grant *grant)
{
    return grant->part == RBUF_GRANT_PART_EARLY && grant->early_bytes > grant->bytes;
}

/* How the next block is seen. Of early data that are longer than the receive the rest of the last
 * chunk must be there, too, before the slot is anybody else's. */
static enum rbuf_arrival arrival_of(const struct rbuf_grant *grant)
{
    const enum rbuf_arrival arrival = rbuf_peer_arrival(grant->peer);

    if (!is_cut_short(grant)) {
        return arrival;
    }
    return arrival == RBUF_ARRIVAL_BLOCK           ? RBUF_ARRIVAL_CHUNK
           : arrival == RBUF_ARRIVAL_BLOCK_CHECKED ? RBUF_ARRIVAL_CHUNK_CHECKED
                                                   : arrival;
}

/* True if the block of the current chunk has come, as its checksum proves; `use` is its flag's. */
static bool is_complete(const struct rbuf_grant *grant, uint32_t block, uint64_t use)
{
    const uint32_t payload = rbuf_block_payload(schedule_of(grant));
    const uint32_t bytes = block == 0 ? grant->chunk.first_bytes : payload;
    const unsigned char *from = block_address(grant, block) + payload - bytes;
    const uint64_t flag = read_flag(grant, block);

    return flag == rbuf_flag_checked(use, rbuf_checksum(from, bytes));
}

/* True if all of the current chunk may be read; none of its blocks has been yet. One flag says so
 * of the others where a write is placed in order. Where it is not each block is proved when it is
 * copied, but for those that a short receive does not copy. */
static bool chunk_is_there(const struct rbuf_grant *grant)
{
    const uint32_t last = grant->chunk.blocks - 1;

    if (!flag_is(grant, last, grant->flag + last)) {
        return false;
    }
    if (rbuf_peer_proof(grant->peer) == RBUF_PROOF_ORDER || !is_cut_short(grant)) {
        return true;
    }
    for (uint32_t block = 0; block <= last; block++) {
        if (!is_complete(grant, block, grant->flag + block)) {
            grant->peer->core->stats.blocks_incomplete++;
            return false;
        }
    }
    return true;
}

/* True if it is not known yet what is to be read: the grant asked, or what it claimed has gone, and
 * will be corrected. */
static bool is_open(const struct rbuf_grant *grant)
{
    return grant->early == RBUF_GRANT_EARLY_ASKED ||
           (grant->part == RBUF_GRANT_PART_EARLY && !rbuf_grant_early_is_there(grant));
}

/* True if the next block may be read, or tried, if it has a checksum. */
static bool block_here(struct rbuf_grant *grant)
{
    if (is_open(grant)) {
        return false;
    }
    switch (arrival_of(grant)) {
    case RBUF_ARRIVAL_BLOCK:
    case RBUF_ARRIVAL_BLOCK_CHECKED:
        return flag_is(grant, grant->block, grant->flag);
    case RBUF_ARRIVAL_CHUNK:
    case RBUF_ARRIVAL_CHUNK_CHECKED:
        return grant->block > 0 || chunk_is_there(grant); /* the first waits for all */
    case RBUF_ARRIVAL_IMMEDIATE:
        return grant->chunk.index < (grant->part == RBUF_GRANT_PART_EARLY
                                         ? rbuf_early_in_arrived(grant->peer, grant->early_seq)
                                         : grant->chunks_arrived);
    }
    return false;
}

/* Fills the chunk whose last block was copied out: the peer may write there again. */
static void refill(const struct rbuf_grant *grant)
{
    const uint32_t payload = rbuf_block_payload(&grant->schedule);
    const uint32_t unused = payload - grant->chunk.first_bytes;
    const size_t bytes = (size_t) grant->chunk.blocks * grant->schedule.block_bytes;
    const uint32_t from = unused / 8 * 8;

    rbuf_fill(block_address(grant, 0) + from, bytes - from, grant->peer->core->fill);
}

/* The last block of a chunk was copied out: owes an acknowledgement if a later chunk waits for it.
 */
static void chunk_done(struct rbuf_grant *grant)
{
    struct rbuf_peer *peer = grant->peer;

    if (grant->part == RBUF_GRANT_PART_LANE && grant->chunk.index < grant->acks_wanted) {
        if (rbuf_peer_proof(peer) == RBUF_PROOF_CHECKSUM) {
            refill(grant);
        }
        rbuf_acks_add(peer, grant->slot);
        (void) rbuf_acks_write(peer);
    }
    grant->block = 0;
}

/* Behind the last block of the early data, with more to come in the lane. */
static void early_done(struct rbuf_grant *grant)
{
    if (grant->early == RBUF_GRANT_EARLY_NAMED) {
        rbuf_grant_early_over(grant);
    }
    rbuf_grant_begin(grant, RBUF_GRANT_PART_LANE);
}

/* Copies the first `bytes` of the `whole` bytes of the block's payload at `from`, and returns the
 * checksum of them all. When that is right none of them changes any more, so those that a receive
 * has room for may be read a second time. */
static uint64_t copy_with_checksum(unsigned char *to, const unsigned char *from, uint32_t bytes,
                                   uint32_t whole)
{
    uint64_t sum;

    if (bytes == whole) {
        return rbuf_copy_checksum(to, from, bytes);
    }
    sum = rbuf_checksum(from, whole);
    rbuf_copy(to, from, bytes);
    return sum;
}

/* Copies the first `bytes` of the next block's payload out, which has `whole` bytes; false: the
 * block is not complete yet. */
static bool copy_block(struct rbuf_grant *grant, uint32_t bytes, uint32_t whole)
{
    const uint32_t payload = rbuf_block_payload(schedule_of(grant));
    const unsigned char *from = block_address(grant, grant->block) + payload - whole;
    uint64_t flag;

    rbuf_copy_soon(grant->to + 2 * payload);
    if (rbuf_peer_proof(grant->peer) == RBUF_PROOF_ORDER) {
        rbuf_copy(grant->to, from, bytes);
        return true;
    }
    flag = read_flag(grant, grant->block);
    if (flag == rbuf_flag_checked(grant->flag, copy_with_checksum(grant->to, from, bytes, whole))) {
        return true;
    }
    grant->peer->core->stats.blocks_incomplete++;
    return false;
}

/* The sender has said that all is written, and long after that a block is not complete. */
static void end_if_damaged(const struct rbuf_grant *grant)
{
    const struct rbuf_core *core = grant->peer->core;

    if (core->options.check_timeout_ns != 0 && !STAILQ_EMPTY(&grant->held) &&
        core->now_ns - grant->held_ns > core->options.check_timeout_ns) {
        rbuf_peer_break(grant->peer, -EBADMSG);
    }
}

enum block_taken { BLOCK_TAKEN, BLOCK_INCOMPLETE, BLOCK_LAST };

/* Copies the next block out. A receive may be shorter than the early data. */
static enum block_taken take_block(struct rbuf_grant *grant, uint64_t *budget)
{
    const struct rbuf_schedule *schedule = schedule_of(grant);
    const uint32_t payload = rbuf_block_payload(schedule);
    const uint32_t here = grant->block == 0 ? grant->chunk.first_bytes : payload;
    const uint64_t left = (uint64_t) (grant->base + grant->bytes - grant->to);
    const uint32_t bytes = here < left ? here : (uint32_t) left;

    *budget -= bytes < *budget ? bytes : *budget;
    if (!copy_block(grant, bytes, here)) {
        end_if_damaged(grant);
        return BLOCK_INCOMPLETE;
    }
    if (grant->part == RBUF_GRANT_PART_LANE && grant->to == grant->base + grant->early_bytes) {
        rbuf_grant_early_over(grant); /* the peer has gone on behind them: they were these */
    }
    grant->to += bytes;
    grant->flag++;
    grant->peer->core->stats.staged_received += bytes;
    if (bytes == left) {
        return BLOCK_LAST;
    }
    if (++grant->block < grant->chunk.blocks) {
        return BLOCK_TAKEN;
    }
    chunk_done(grant);
    if (!rbuf_schedule_next(schedule, rbuf_grant_part_bytes(grant), &grant->chunk)) {
        early_done(grant);
    }
    return BLOCK_TAKEN;
}

int rbuf_receiver_progress(struct rbuf_core *core, uint64_t *budget)
{
    struct rbuf_grant *grant = TAILQ_FIRST(&core->rendezvous.receiving);
    struct rbuf_grant *next;
    uint64_t before = *budget;

    for (; grant != NULL && *budget > 0; grant = next) {
        enum block_taken taken = BLOCK_TAKEN;

        next = TAILQ_NEXT(grant, link);
        while (taken == BLOCK_TAKEN && *budget > 0 && block_here(grant)) {
            taken = take_block(grant, budget);
        }
        if (taken == BLOCK_LAST) {
            rbuf_grant_placed(grant);
        } else if (*budget == 0 && next != NULL) {
            /* The others go first next time. */
            TAILQ_REMOVE(&core->rendezvous.receiving, grant, link);
            TAILQ_INSERT_TAIL(&core->rendezvous.receiving, grant, link);
        }
    }
    if (*budget == before) {
        return 0;
    }
    core->rendezvous.copied_ns = core->now_ns;
    core->rendezvous.moved_ns = core->now_ns;
    return 1;
}

/* No credit goes back for what is refused: a correct peer announces chunks of its own grants alone,
 * and those stay STAGED until all are here, or the peer is lost. */
void rbuf_core_immediate(struct rbuf_core *core, uint32_t immediate)
{
    struct rbuf_grant *grant;

    if ((immediate & RBUF_IMMEDIATE_EARLY) != 0) {
        rbuf_early_in_immediate(core, immediate);
        return;
    }
    grant = rbuf_grant_announced(core, immediate);
    if (grant == NULL) {
        core->stats.messages_refused++;
        return;
    }
    grant->chunks_arrived++;
    rbuf_credit_consumed(grant->peer, RBUF_FLOW_BULK);
}

bool rbuf_receiver_hold(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                        const struct rbuf_delivery *delivery)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_grant *grant =
        header->argument != 0 ? rbuf_grant_find(core, header->argument) : NULL;
    struct rbuf_held *held;

    if (grant == NULL || grant->state != RBUF_GRANT_STAGED || grant->peer != peer) {
        return false;
    }
    held = malloc(sizeof(*held) + delivery->bytes);
    if (held == NULL) {
        rbuf_peer_break(peer, -ENOMEM);
        return true;
    }
    held->delivery = *delivery;
    held->delivery.origin = RBUF_ORIGIN_HELD;
    held->delivery.buffer = NULL;
    held->delivery.data = held->data;
    memcpy(held->data, delivery->data, delivery->bytes);
    core->stats.messages_held++;
    grant->held_ns = STAILQ_EMPTY(&grant->held) ? core->now_ns : grant->held_ns;
    STAILQ_INSERT_TAIL(&grant->held, held, link);
    return true;
}
