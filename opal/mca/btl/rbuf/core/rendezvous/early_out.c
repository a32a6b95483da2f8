/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sender's half of early data (core/rendezvous/early.h): which slots are free, what is written
 * to them, and which early data are a put's.
 *
 * Two messages that are under way at the same time from the same memory have the same bytes, since
 * a program must not write to it before both are sent. So the newest early data of a source that
 * nobody has taken are right for any put from it: those of a message that ended without a put, the
 * only ones that may be stale, are older than any that are not. Those that the receiver claims for
 * a put from their source are right, too: while it did so both messages were under way.
 *
 * Open MPI may put a message in parts, of which one begins where the message does; that another one
 * is taken for a message of its own is prevented when its RTS is sent (drop_within()).
 */
#include "core/rendezvous/early.h"

#include <errno.h>
#include <stdlib.h>

#include "core/eager/channel.h"
#include "core/rendezvous/sender.h"
#include "core/stage/tx_chunk.h"
#include "core/link/credit.h"

/* RTSs to a peer after which data that no put has taken are taken for a message that ended without
 * one (it was truncated to nothing, or took another path), if their slot is wanted. */
#define AGED_RTS 256u

static bool is_pending(const struct rbuf_early_data *data)
{
    return data->state == RBUF_EARLY_WRITING || data->state == RBUF_EARLY_WRITTEN;
}

static void become(const struct rbuf_peer *peer, struct rbuf_early_data *data,
                   enum rbuf_early_state state)
{
    static const char *const names[] = {RBUF_EARLY_STATES(RBUF_STATE_NAME)};

    rbuf_trace("early", peer->index, data->seq, names[data->state], names[state]);
    data->state = state;
}

/* Nothing more is written before the put asks for it. */
static void settle(struct rbuf_peer *peer, struct rbuf_early_data *data)
{
    if (data->state == RBUF_EARLY_WRITING) {
        become(peer, data, RBUF_EARLY_WRITTEN);
        peer->rendezvous.early_out->writing--;
    }
}

void rbuf_early_drop(struct rbuf_peer *peer, struct rbuf_early_data *data)
{
    settle(peer, data);
    become(peer, data, RBUF_EARLY_DROPPED);
    peer->core->stats.early_dropped++;
}

/* ---- the window ---- */

static bool window_usable(const struct rbuf_peer *peer, const struct rbuf_early_window *window)
{
    const struct rbuf_arena *arena = &peer->core->send_arena;
    const struct rbuf_schedule *schedule = &window->schedule;

    return rbuf_schedule_valid(schedule) && window->slot_blocks >= schedule->first_blocks &&
           (uint64_t) window->slot_blocks * schedule->block_bytes <= UINT32_MAX &&
           window->first % RBUF_EARLY_SLOTS == 0 && window->arrival < RBUF_ARRIVALS &&
           rbuf_tx_chunk_blocks(arena, schedule, schedule->buffer_blocks) <=
               rbuf_arena_longest(arena);
}

void rbuf_early_out_leased(struct rbuf_peer *peer, const struct rbuf_early_window *window)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;

    if (rbuf_peer_is_lost(peer)) {
        return;
    }
    if (!window_usable(peer, window) || (out != NULL && out->state != RBUF_EARLY_OUT_RETURNED)) {
        peer->core->stats.messages_refused++;
        return;
    }
    if (out == NULL) {
        out = calloc(1, sizeof(*out));
        if (out == NULL) {
            rbuf_peer_break(peer, -ENOMEM);
            return;
        }
        peer->rendezvous.early_out = out;
    }
    out->state = RBUF_EARLY_OUT_OPEN;
    out->window = *window;
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) { /* chunks that are there may not be back */
        out->slot[i] =
            (struct rbuf_early_data){.seq = window->first + i, .in_flight = out->slot[i].in_flight};
    }
}

/* Says RETURN when all that was written is known to be there. Chunks of puts that were refused may
 * be among it. */
static void give_back(struct rbuf_peer *peer)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;

    if (out->state == RBUF_EARLY_OUT_RETURNING && out->in_flight == 0) {
        out->state = RBUF_EARLY_OUT_RETURNED;
        rbuf_channel_send_own(peer, RBUF_MESSAGE_RETURN, RBUF_LEASE_EARLY, NULL, 0);
    }
}

/* What a put has taken it goes on writing: the receiver keeps the window until it has that. */
void rbuf_early_out_recalled(struct rbuf_peer *peer)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;

    if (rbuf_peer_is_lost(peer)) {
        return;
    }
    if (out == NULL || out->state != RBUF_EARLY_OUT_OPEN) {
        peer->core->stats.messages_refused++;
        return;
    }
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (is_pending(&out->slot[i])) {
            rbuf_early_drop(peer, &out->slot[i]);
        }
    }
    out->state = RBUF_EARLY_OUT_RETURNING;
    give_back(peer);
}

static void chunk_completed(struct rbuf_work *work, int status)
{
    struct rbuf_tx_chunk *chunk = rbuf_tx_chunk_of(work);
    struct rbuf_peer *peer = work->peer;

    (void) status;
    chunk->early->in_flight--;
    peer->rendezvous.early_out->in_flight--;
    if (peer->state == RBUF_PEER_CONNECTED) {
        give_back(peer);
    }
    rbuf_tx_chunk_free(peer->core, chunk);
}

void rbuf_early_out_remove(struct rbuf_peer *peer)
{
    free(peer->rendezvous.early_out);
    peer->rendezvous.early_out = NULL;
}

/* ---- slots ---- */

/* True if the peer has released the newest use of the slot. The acquire pairs with the adapter
 * placing the word; the peer wrote it after its copy out of the slot. */
static bool is_released(const struct rbuf_peer *peer, uint32_t seq)
{
    const uint64_t word = atomic_load_explicit(&peer->mailbox->early, memory_order_acquire);

    return rbuf_early_report(word, seq) == word;
}

/* True if the slot may be written, and no write to it before can come later. An adapter that does
 * not place in order may keep one back. */
static bool is_free(const struct rbuf_peer *peer, struct rbuf_early_data *data)
{
    const enum rbuf_arrival arrival =
        (enum rbuf_arrival) peer->rendezvous.early_out->window.arrival;
    const bool ordered = arrival == RBUF_ARRIVAL_BLOCK || arrival == RBUF_ARRIVAL_CHUNK;
    const bool used = data->state == RBUF_EARLY_TAKEN || data->state == RBUF_EARLY_PACKED;
    const bool over = (used && is_released(peer, data->seq)) || data->state == RBUF_EARLY_DROPPED;

    if (over && (ordered || data->in_flight == 0)) {
        become(peer, data, RBUF_EARLY_FREE);
    }
    return data->state == RBUF_EARLY_FREE;
}

/* What is in that state and was sent first. */
static struct rbuf_early_data *first_in(struct rbuf_early_out *out, enum rbuf_early_state state)
{
    struct rbuf_early_data *first = NULL;

    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        struct rbuf_early_data *data = &out->slot[i];

        if (data->state == state && (first == NULL || data->rts < first->rts)) {
            first = data;
        }
    }
    return first;
}

/* A free slot; else, if that has aged, the one whose data have waited longest for a put. */
static struct rbuf_early_data *find_slot(struct rbuf_peer *peer)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;
    struct rbuf_early_data *oldest;

    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (is_free(peer, &out->slot[i])) {
            return &out->slot[i];
        }
    }
    oldest = first_in(out, RBUF_EARLY_WRITTEN);
    if (oldest == NULL || out->rts - oldest->rts < AGED_RTS) {
        return NULL;
    }
    rbuf_early_drop(peer, oldest);
    return is_free(peer, oldest) ? oldest : NULL;
}

/* The newest early data of the source that no put has taken. */
static struct rbuf_early_data *newest_of(struct rbuf_early_out *out, const void *source)
{
    struct rbuf_early_data *newest = NULL;

    for (uint32_t i = 0; out != NULL && i < RBUF_EARLY_SLOTS; i++) {
        struct rbuf_early_data *data = &out->slot[i];

        if (is_pending(data) && data->source == source &&
            (newest == NULL || data->rts > newest->rts)) {
            newest = data;
        }
    }
    return newest;
}

/* An RTS of the source leaves without early data. */
static void note_later(struct rbuf_early_out *out, const void *source)
{
    struct rbuf_early_data *before = newest_of(out, source);

    if (out != NULL) {
        out->rts++;
    }
    if (before != NULL) {
        before->later++;
    }
}

/* An RTS for that memory leaves: a part of it may be put that begins where other early data do,
 * which may be stale. */
static void drop_within(struct rbuf_peer *peer, const void *source, uint64_t length)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;
    const uintptr_t begin = (uintptr_t) source;

    for (uint32_t i = 0; out != NULL && i < RBUF_EARLY_SLOTS; i++) {
        const uintptr_t at = (uintptr_t) out->slot[i].source;

        if (is_pending(&out->slot[i]) && at > begin && at - begin < length) {
            rbuf_early_drop(peer, &out->slot[i]);
        }
    }
}

/* The early data that the receiver has claimed, if they are of the source, and pending. */
static struct rbuf_early_data *claimed_of(struct rbuf_early_out *out, const void *source,
                                          uint32_t claimed)
{
    struct rbuf_early_data *data = out != NULL ? &out->slot[claimed % RBUF_EARLY_SLOTS] : NULL;

    return data != NULL && claimed != 0 && data->seq == claimed && is_pending(data) &&
                   data->source == source
               ? data
               : NULL;
}

/* The puts of messages without early data that are noted with these are still to come. */
static void pass_later_on(struct rbuf_early_out *out, const struct rbuf_early_data *data)
{
    struct rbuf_early_data *before = newest_of(out, data->source);

    if (before != NULL) {
        before->later += data->later;
    }
}

struct rbuf_early_data *rbuf_early_take(struct rbuf_peer *peer, const void *source,
                                        uint32_t claimed)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;
    struct rbuf_early_data *ours = claimed_of(out, source, claimed);
    struct rbuf_early_data *data = ours != NULL ? ours : newest_of(out, source);

    if (data == NULL) {
        return NULL;
    }
    if (ours == NULL && data->later > 0) { /* the put of a message without */
        data->later--;
        return NULL;
    }
    settle(peer, data);
    become(peer, data, RBUF_EARLY_TAKEN);
    if (ours != NULL) {
        pass_later_on(out, data);
    }
    return data;
}

/* All of the source: who puts in place may be no message, and an older one's data, which may be
 * stale, must not become the newest for one that is under way. */
void rbuf_early_forget(struct rbuf_peer *peer, const void *source)
{
    struct rbuf_early_data *data;

    while ((data = newest_of(peer->rendezvous.early_out, source)) != NULL) {
        rbuf_early_drop(peer, data);
    }
}

void rbuf_early_name(struct rbuf_peer *peer, uint64_t grant_id, const struct rbuf_early_data *data)
{
    const uint32_t seq = data != NULL ? data->seq : 0;

    peer->core->stats.early_named += data != NULL;
    rbuf_channel_send_own_by(peer, RBUF_CONTROL, RBUF_MESSAGE_EARLY, grant_id, &seq, sizeof(seq));
}

/* ---- writing ---- */

/* True if a chunk may be posted, as far as announcing goes: there is room, and half of the credits
 * are left to what is asked for. */
static bool may_announce(struct rbuf_peer *peer)
{
    const uint32_t kept = rbuf_credit_window(peer, RBUF_FLOW_BULK) / 2;

    return peer->rendezvous.early_out->window.immediate == 0 ||
           (rbuf_fab_has_room(peer->queue[RBUF_BULK], true) &&
            rbuf_credit_has(peer, RBUF_FLOW_BULK, kept + 1));
}

/* Where the next chunk goes, at the peer. */
static uint64_t chunk_address(const struct rbuf_early_window *window,
                              const struct rbuf_early_data *data)
{
    const uint64_t block = (uint64_t) (data->seq % RBUF_EARLY_SLOTS) * window->slot_blocks;

    return window->base + (block + data->next.first_block) * window->schedule.block_bytes;
}

static uint64_t first_flag(const struct rbuf_early_window *window, uint32_t seq)
{
    return window->flag + (uint64_t) seq * window->slot_blocks;
}

/* Posts a chunk that is filled. True: it is on its way. False: it is free again. */
static bool post(struct rbuf_peer *peer, struct rbuf_early_data *data, struct rbuf_tx_chunk *chunk,
                 bool announced)
{
    const struct rbuf_early_window *window = &peer->rendezvous.early_out->window;
    const uint32_t immediate = rbuf_immediate_of_early(window->immediate, data->seq);

    if (!rbuf_peer_posted(peer, rbuf_tx_chunk_write(chunk, &window->schedule,
                                                    first_flag(window, data->seq),
                                                    chunk_address(window, data), window->rkey,
                                                    announced ? &immediate : NULL))) {
        rbuf_tx_chunk_free(peer->core, chunk);
        return false;
    }
    chunk->work.completed = chunk_completed;
    chunk->early = data;
    data->in_flight++;
    peer->rendezvous.early_out->in_flight++;
    peer->in_flight++;
    peer->core->stats.staged_chunks++;
    peer->core->stats.staged_bytes += chunk->shape.bytes;
    data->written += chunk->shape.bytes;
    (void) rbuf_schedule_next(&window->schedule, data->bytes, &data->next);
    return true;
}

static enum rbuf_proof proof_of(const struct rbuf_early_window *window)
{
    return rbuf_arrival_proof((enum rbuf_arrival) window->arrival);
}

/* Copies the next chunk and posts it; false if it cannot be now. */
static bool copy_chunk(struct rbuf_peer *peer, struct rbuf_early_data *data, uint64_t *budget)
{
    const struct rbuf_schedule *schedule = &peer->rendezvous.early_out->window.schedule;
    uint64_t whole = data->next.bytes;
    struct rbuf_tx_chunk *chunk =
        may_announce(peer) ? rbuf_tx_chunk_take(peer, schedule, &data->next) : NULL;

    if (chunk == NULL) {
        return false;
    }
    rbuf_tx_chunk_fill(chunk, schedule, proof_of(&peer->rendezvous.early_out->window),
                       first_flag(&peer->rendezvous.early_out->window, data->seq), data->source,
                       &whole);
    *budget -= data->next.bytes < *budget ? data->next.bytes : *budget;
    return post(peer, data, chunk, peer->rendezvous.early_out->window.immediate != 0);
}

bool rbuf_early_write(struct rbuf_peer *peer, struct rbuf_early_data *data, uint64_t most,
                      uint64_t *budget)
{
    const uint64_t wanted = most < data->bytes ? most : data->bytes;
    bool goes = true;

    while (goes && *budget > 0 && data->written < wanted) {
        goes = copy_chunk(peer, data, budget);
    }
    return data->written >= wanted;
}

/* All of it, without a bound: later is too late. */
static void write_now(struct rbuf_peer *peer, struct rbuf_early_data *data, uint64_t *budget)
{
    while (data->written < data->bytes && copy_chunk(peer, data, budget)) {
    }
}

int rbuf_early_out_progress(struct rbuf_peer *peer, uint64_t *budget)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;
    int done = 0;

    while (out != NULL && out->writing > 0 && peer->state == RBUF_PEER_CONNECTED) {
        struct rbuf_early_data *data = first_in(out, RBUF_EARLY_WRITING);

        settle(peer, data);
        if (TAILQ_EMPTY(&peer->rendezvous.puts) && *budget > 0) { /* what is asked for goes first */
            write_now(peer, data, budget);
            done++;
        }
    }
    return done;
}

/* ---- the RTS ---- */

/* Bytes of a slot. */
static uint64_t slot_bytes(const struct rbuf_early_window *window)
{
    return (uint64_t) window->slot_blocks * rbuf_block_payload(&window->schedule);
}

/* Sends the RTS, with so many early bytes if a slot is free; `*data` is then its. What is held back
 * for a put has no room to say more (wire.h), and no early data. */
static int send_rts(struct rbuf_peer *peer, struct rbuf_am *am, const void *source, uint64_t bytes,
                    uint32_t announced, struct rbuf_early_data **data)
{
    struct rbuf_early_out *out = peer->rendezvous.early_out;
    const bool may =
        out != NULL && out->state == RBUF_EARLY_OUT_OPEN && bytes > 0 && am->argument == 0;
    struct rbuf_early_data *slot = may ? find_slot(peer) : NULL;

    if (slot == NULL) {
        note_later(out, source);
        return (int) (am->argument != 0 ? rbuf_am_send(peer, am)
                                        : rbuf_am_send_as(peer, am, RBUF_MESSAGE_RTS, 0));
    }
    out->rts++;
    *slot = (struct rbuf_early_data){.state = RBUF_EARLY_FREE,
                                     .seq = slot->seq + RBUF_EARLY_SLOTS,
                                     .source = source,
                                     .bytes = bytes,
                                     .rts = out->rts,
                                     .in_flight = slot->in_flight};
    become(peer, slot, RBUF_EARLY_WRITING);
    rbuf_schedule_first(&out->window.schedule, bytes, &slot->next);
    out->writing++;
    peer->core->stats.early_sent++;
    *data = slot;
    return (int) rbuf_am_send_as(peer, am, RBUF_MESSAGE_RTS,
                                 rbuf_rts_argument(slot->seq, announced));
}

/* The next chunk of what was sent first of those that the next progress would settle. */
static void write_next(struct rbuf_peer *peer)
{
    struct rbuf_early_data *data = first_in(peer->rendezvous.early_out, RBUF_EARLY_WRITING);
    uint64_t budget = peer->core->options.quantum;

    (void) copy_chunk(peer, data, &budget);
    if (data->written == data->bytes) {
        settle(peer, data);
    }
}

int rbuf_early_send(struct rbuf_peer *peer, struct rbuf_am *am, const void *source, uint64_t bytes)
{
    const struct rbuf_early_window *window;
    struct rbuf_early_data *data = NULL;
    int state;

    if (peer->rendezvous.early_out == NULL) {
        return send_rts(peer, am, source, 0, 0, &data);
    }
    window = &peer->rendezvous.early_out->window;
    drop_within(peer, source, bytes);
    bytes = rbuf_early_bytes(&window->schedule, window->slot_blocks, bytes);
    state = send_rts(peer, am, source, bytes, (uint32_t) bytes, &data);
    if (peer->rendezvous.early_out->writing > 0 && !rbuf_peer_is_lost(peer)) {
        rbuf_peer_wake(peer);
        if (state != RBUF_AM_QUEUED && TAILQ_EMPTY(&peer->rendezvous.puts)) {
            write_next(peer);
        }
    }
    return state;
}

int rbuf_early_send_none(struct rbuf_peer *peer, struct rbuf_am *am, const void *source,
                         uint64_t bytes)
{
    struct rbuf_early_data *none = NULL;

    drop_within(peer, source, bytes);
    return send_rts(peer, am, source, 0, 0, &none);
}

/* ---- packed data ---- */

int rbuf_early_send_packed(struct rbuf_peer *peer, struct rbuf_am *am, const void *source,
                           struct rbuf_early_data **data)
{
    const uint64_t bytes =
        peer->rendezvous.early_out != NULL ? slot_bytes(&peer->rendezvous.early_out->window) : 0;
    int state;

    *data = NULL;
    state = send_rts(peer, am, source, bytes, 0, data);
    if (*data != NULL) {
        settle(peer, *data);
        become(peer, *data, RBUF_EARLY_PACKED);
    }
    return state;
}

void rbuf_early_close(struct rbuf_peer *peer, const struct rbuf_early_data *data)
{
    rbuf_channel_send_own_by(peer, RBUF_BULK, RBUF_MESSAGE_EARLY, 0, &data->seq, sizeof(data->seq));
}

struct rbuf_tx_chunk *rbuf_early_begin(struct rbuf_peer *peer, struct rbuf_early_data *data)
{
    return peer->state == RBUF_PEER_CONNECTED &&
                   peer->rendezvous.early_out->state == RBUF_EARLY_OUT_OPEN &&
                   data->written < data->bytes && rbuf_fab_has_room(peer->queue[RBUF_BULK], true)
               ? rbuf_tx_chunk_take(peer, &peer->rendezvous.early_out->window.schedule, &data->next)
               : NULL;
}

void *rbuf_early_block(const struct rbuf_peer *peer, const struct rbuf_tx_chunk *chunk, uint32_t i)
{
    return chunk->data + (size_t) i * peer->rendezvous.early_out->window.schedule.block_bytes;
}

uint32_t rbuf_early_block_payload(const struct rbuf_peer *peer)
{
    return rbuf_block_payload(&peer->rendezvous.early_out->window.schedule);
}

bool rbuf_early_end(struct rbuf_peer *peer, struct rbuf_early_data *data,
                    struct rbuf_tx_chunk *chunk, uint32_t blocks)
{
    if (blocks == 0) {
        rbuf_tx_chunk_free(peer->core, chunk);
        return true;
    }
    chunk->shape.blocks = blocks;
    chunk->shape.bytes = blocks * rbuf_early_block_payload(peer);
    data->next.blocks = blocks; /* the next one goes on behind it */
    data->next.bytes = chunk->shape.bytes;
    return post(peer, data, chunk, false);
}
