/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which peers are leased a window for early data, and where it lies (core/rendezvous/lease.h).
 */
#include "core/rendezvous/lease.h"
#include "core/rendezvous/early.h"

#include <stdlib.h>

#include "core/eager/channel.h"
#include "core/stage/staging.h"
#include "core/state/state.h"

#define LEASE_RTS   2u /* of a peer, before it is leased a window */
#define FLAG_WINDOW ((uint64_t) 1 << 63)
#define LEASED_BITS 42u              /* of a flag: a range for every sequence number of a window */
#define SEQ_GOES_ON ((1u << 20) - 1) /* those of the next one go on where these bits are */

/* RTSs of all peers, for each peer that may have a window, without one of the window's: it is idle.
 */
#define IDLE_RTS 8u

static uint32_t least(uint64_t one, uint64_t other)
{
    return (uint32_t) (one < other ? one : other);
}

/* Blocks that the largest message needs. */
static uint32_t largest_lane(const struct rbuf_core *core)
{
    const struct rbuf_schedule *schedule = &core->options.schedule;

    return (uint32_t) schedule->buffers * schedule->buffer_blocks;
}

/* Windows that there would be with enough staging. */
static uint32_t wanted_windows(const struct rbuf_core *core)
{
    const struct rbuf_early_options *options = &core->options.early;

    if (options->slot_blocks < 2) {
        return 0; /* a chunk at least, and that may have a short block more */
    }
    return least(options->peers, RBUF_EARLY_PEERS_MAX);
}

void rbuf_lease_grown(struct rbuf_core *core)
{
    uint32_t blocks = core->receive_arena.blocks;
    uint32_t keep = largest_lane(core) > blocks / 2 ? largest_lane(core) : blocks / 2;
    uint32_t wanted = wanted_windows(core);

    core->rendezvous.windows.most =
        wanted == 0 || keep >= blocks
            ? 0
            : least(wanted, (blocks - keep) / rbuf_early_window_blocks(&core->options.early));
}

static void free_window(struct rbuf_peer *peer)
{
    struct rbuf_early_in *in = peer->rendezvous.early_in;
    struct rbuf_core *core = peer->core;

    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (in->slot[i].seq > peer->rendezvous.early_seq) {
            peer->rendezvous.early_seq = in->slot[i].seq;
        }
    }
    rbuf_arena_give(&core->receive_arena, in->first,
                    rbuf_early_window_blocks(&core->options.early));
    core->rendezvous.windows.holder[in->number] = NULL;
    core->rendezvous.windows.out--;
    core->rendezvous.deferred_retry = true;
    free(in);
    peer->rendezvous.early_in = NULL;
    peer->rendezvous.rts_count = 0;
}

void rbuf_lease_free_if_unused(struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;

    if (in->state != RBUF_EARLY_IN_RETURNED) {
        return;
    }
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (in->slot[i].state != RBUF_EARLY_SLOT_FREE) {
            return;
        }
    }
    free_window(peer);
}

static bool is_window(const struct rbuf_core *core, uint32_t first)
{
    for (uint32_t i = 0; i < RBUF_EARLY_PEERS_MAX; i++) {
        const struct rbuf_peer *holder = core->rendezvous.windows.holder[i];

        if (holder != NULL && holder->rendezvous.early_in->first == first) {
            return true;
        }
    }
    return false;
}

/* The run may become the place of a window: takes it, or keeps it if messages are there and nothing
 * is kept yet. */
static bool try_place(struct rbuf_core *core, uint32_t first, uint32_t blocks)
{
    struct rbuf_arena *arena = &core->receive_arena;

    if (rbuf_arena_take_at(arena, first, blocks)) {
        rbuf_arena_keep(arena, 0, 0);
        return true;
    }
    if (arena->kept_end == 0 && !is_window(core, first)) {
        rbuf_arena_keep(arena, first, blocks);
    }
    return false;
}

/* Room for a window in `*first`: as high in an extent as can be, and in the first one above what is
 * the largest message's. False if messages are everywhere: they leave the first such place in the
 * end. */
static bool place_window(struct rbuf_core *core, uint32_t *first)
{
    struct rbuf_arena *arena = &core->receive_arena;
    uint32_t blocks = rbuf_early_window_blocks(&core->options.early);
    uint32_t lowest = largest_lane(core);

    for (uint32_t i = 0; i < arena->extents; i++) {
        uint32_t end = arena->extent[i].end;

        for (; end >= lowest + blocks; end -= blocks) {
            if (try_place(core, end - blocks, blocks)) {
                *first = end - blocks;
                return true;
            }
        }
        lowest = arena->extent[i].end;
    }
    return false;
}

struct rbuf_schedule rbuf_lease_schedule(const struct rbuf_peer *peer)
{
    const struct rbuf_early_options *options = &peer->core->options.early;
    const uint64_t slot =
        (uint64_t) options->slot_blocks * peer->core->options.schedule.block_bytes;
    struct rbuf_schedule early = rbuf_peer_schedule(peer, slot);

    early.first_blocks = (uint16_t) least(early.first_blocks, options->slot_blocks - 1);
    if (options->opening_blocks < early.first_blocks) {
        early.opening_blocks = options->opening_blocks;
    }
    return early;
}

/* Gives the window a free number, and the word by which its chunks are announced; earlier windows
 * of that number had other words. */
static void number_window(struct rbuf_peer *peer)
{
    struct rbuf_early_windows *windows = &peer->core->rendezvous.windows;
    struct rbuf_early_in *in = peer->rendezvous.early_in;

    while (windows->holder[in->number] != NULL) { /* there are no more than numbers */
        in->number++;
    }
    windows->holder[in->number] = peer;
    in->immediate = rbuf_immediate_of_window(in->number, windows->leased);
}

static void tell_window(struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;
    const struct rbuf_core *core = peer->core;
    const struct rbuf_early_window window = {
        .base = (uintptr_t) rbuf_arena_block(&core->receive_arena, in->first),
        .flag = in->flag,
        .first = in->slot[0].seq,
        .rkey = rbuf_arena_extent(&core->receive_arena, in->first)->rkey,
        .slot_blocks = in->slot_blocks,
        .immediate = core->options.arrival == RBUF_ARRIVAL_IMMEDIATE ? in->immediate : 0,
        .schedule = in->schedule,
        .arrival = rbuf_peer_arrival(peer)};

    rbuf_channel_send_own(peer, RBUF_MESSAGE_LEASE, RBUF_LEASE_EARLY, &window, sizeof(window));
}

/* A multiple of the number of slots. What the mailbox says of the window before is of other uses:
 * their numbers go on, in the bits that it has of them. */
static uint32_t first_seq(const struct rbuf_peer *peer)
{
    const uint32_t last = peer->rendezvous.early_seq < RBUF_LEASE_RETIRED_SEQ
                              ? peer->rendezvous.early_seq
                              : peer->rendezvous.early_seq & SEQ_GOES_ON;

    return (last / RBUF_EARLY_SLOTS + 1) * RBUF_EARLY_SLOTS;
}

/* Leases the peer a window, if there is room for it. */
static bool lease(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_arena *arena = &core->receive_arena;
    struct rbuf_early_in *in;
    uint32_t first;

    if (core->rendezvous.windows.out >= core->rendezvous.windows.most ||
        !place_window(core, &first)) {
        return false;
    }
    in = calloc(1, sizeof(*in));
    if (in == NULL) {
        rbuf_arena_give(arena, first, rbuf_early_window_blocks(&core->options.early));
        return true; /* it was not necessary */
    }
    if (rbuf_peer_proof(peer) == RBUF_PROOF_CHECKSUM) {
        rbuf_arena_fill(arena, first, rbuf_early_window_blocks(&core->options.early), core->fill);
    }
    core->rendezvous.windows.out++;
    core->rendezvous.windows.leased++;
    *in =
        (struct rbuf_early_in){.state = RBUF_EARLY_IN_LEASED,
                               .first = first,
                               .slot_blocks = core->options.early.slot_blocks,
                               .flag = FLAG_WINDOW | core->rendezvous.windows.leased << LEASED_BITS,
                               .last_rts = core->stats.rts_received,
                               .schedule = rbuf_lease_schedule(peer)};
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        in->slot[i].seq = first_seq(peer) + i;
        in->released = rbuf_early_report(in->released, in->slot[i].seq);
    }
    peer->rendezvous.early_in = in;
    number_window(peer);
    core->stats.early_leased++;
    tell_window(peer);
    return true;
}

/* The peer whose window was not used for longest. */
static struct rbuf_peer *least_recent(const struct rbuf_core *core)
{
    struct rbuf_peer *found = NULL;

    for (uint32_t i = 0; i < RBUF_EARLY_PEERS_MAX; i++) {
        struct rbuf_peer *holder = core->rendezvous.windows.holder[i];

        if (holder != NULL && holder->rendezvous.early_in->state == RBUF_EARLY_IN_LEASED &&
            (found == NULL ||
             holder->rendezvous.early_in->last_rts < found->rendezvous.early_in->last_rts)) {
            found = holder;
        }
    }
    return found;
}

void rbuf_lease_ask_back(struct rbuf_peer *peer)
{
    peer->rendezvous.early_in->state = RBUF_EARLY_IN_RECALLED;
    peer->core->stats.early_recalled++;
    rbuf_channel_send_own(peer, RBUF_MESSAGE_RECALL, RBUF_LEASE_EARLY, NULL, 0);
}

/* Asks for the window that was not used for longest, if that is long enough. */
static void recall(struct rbuf_core *core)
{
    uint64_t patience = (uint64_t) IDLE_RTS * core->rendezvous.windows.most;
    struct rbuf_peer *peer;

    if (core->stats.rts_received < core->rendezvous.windows.next_recall) {
        return;
    }
    core->rendezvous.windows.next_recall =
        core->stats.rts_received + IDLE_RTS; /* all were looked at */
    peer = least_recent(core);
    if (peer != NULL &&
        core->stats.rts_received - peer->rendezvous.early_in->last_rts >= patience) {
        rbuf_lease_ask_back(peer);
    }
}

/* There is no room for a window: true if there may be, as soon as the arena has grown or messages
 * have gone. */
static bool may_have_room(struct rbuf_core *core)
{
    bool below_most = core->rendezvous.windows.out < core->rendezvous.windows.most;

    if (below_most || core->rendezvous.windows.most < wanted_windows(core)) {
        return rbuf_staging_want(core, &core->receive_arena) || below_most;
    }
    return false;
}

void rbuf_lease_want(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;

    if (wanted_windows(core) == 0 || peer->state != RBUF_PEER_CONNECTED ||
        ++peer->rendezvous.rts_count < LEASE_RTS) {
        return;
    }
    peer->rendezvous.rts_count = LEASE_RTS;
    if (!lease(peer) && !may_have_room(core)) {
        recall(core);
    }
}

void rbuf_lease_remove(struct rbuf_peer *peer)
{
    if (peer->rendezvous.early_in != NULL) {
        free_window(peer);
    }
}
