/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The receiver's half of early data (core/early/early.h): who has a window, and what stands in its
 * slots.
 */
#include "core/early/early.h"

#include <errno.h>
#include <stdlib.h>

#include "core/message/channel.h"
#include "core/staged/grant.h"
#include "core/staged/staging.h"

#define LEASE_RTS   2u /* of a peer, before it is leased a window */
#define FLAG_WINDOW ((uint64_t) 1 << 63)
#define LEASED_BITS 42u              /* of a flag: a range for every sequence number of a window */
#define RETIRED_SEQ (1u << 31)       /* a window is asked back before its numbers come again */
#define SEQ_GOES_ON ((1u << 20) - 1) /* those of the next one go on where these bits are */
#define REPORT_DUE  2u               /* releases that are reported together */
#define STALE_USES  (1u << 14)       /* of a slot, after which the report is sent again */

/* RTSs of all peers, for each peer that may have a window, without one of the window's: it is idle.
 */
#define IDLE_RTS 8u

static uint32_t least(uint64_t one, uint64_t other)
{
    return (uint32_t) (one < other ? one : other);
}

static void become(const struct rbuf_peer *peer, struct rbuf_early_slot *slot,
                   enum rbuf_early_slot_state state)
{
    rbuf_trace("slot", peer->index, slot->seq, rbuf_early_slot_state_name(slot->state),
               rbuf_early_slot_state_name(state));
    slot->state = state;
}

/* ---- windows ---- */

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

void rbuf_early_in_grown(struct rbuf_core *core)
{
    uint32_t blocks = core->receive_arena.blocks;
    uint32_t keep = largest_lane(core) > blocks / 2 ? largest_lane(core) : blocks / 2;
    uint32_t wanted = wanted_windows(core);

    core->windows.most =
        wanted == 0 || keep >= blocks
            ? 0
            : least(wanted, (blocks - keep) / rbuf_early_window_blocks(&core->options.early));
}

static void free_window(struct rbuf_peer *peer)
{
    struct rbuf_early_in *in = peer->early_in;
    struct rbuf_core *core = peer->core;

    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (in->slot[i].seq > peer->early_seq) {
            peer->early_seq = in->slot[i].seq;
        }
    }
    rbuf_arena_give(&core->receive_arena, in->first,
                    rbuf_early_window_blocks(&core->options.early));
    core->windows.holder[in->number] = NULL;
    core->windows.out--;
    core->deferred_retry = true;
    free(in);
    peer->early_in = NULL;
    peer->rts_count = 0;
}

/* It is back, and no grant reads from it. */
static void free_if_unused(struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->early_in;

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
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct rbuf_peer *peer = core->peers[i];

        if (peer != NULL && peer->early_in != NULL && peer->early_in->first == first) {
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

struct rbuf_schedule rbuf_early_schedule(const struct rbuf_early_options *options,
                                         const struct rbuf_schedule *schedule)
{
    struct rbuf_schedule early = *schedule;

    early.first_blocks = (uint16_t) least(early.first_blocks, options->slot_blocks - 1);
    if (options->opening_blocks < early.first_blocks) {
        early.opening_blocks = options->opening_blocks;
    }
    return early;
}

static struct rbuf_schedule window_schedule(const struct rbuf_peer *peer)
{
    const struct rbuf_schedule schedule = rbuf_grant_schedule(peer);

    return rbuf_early_schedule(&peer->core->options.early, &schedule);
}

/* Gives the window a free number, and the word by which its chunks are announced; earlier windows
 * of that number had other words. */
static void number_window(struct rbuf_peer *peer)
{
    struct rbuf_early_windows *windows = &peer->core->windows;
    struct rbuf_early_in *in = peer->early_in;

    while (windows->holder[in->number] != NULL) { /* there are no more than numbers */
        in->number++;
    }
    windows->holder[in->number] = peer;
    in->immediate = rbuf_immediate_of_window(in->number, windows->leased);
}

static void tell_window(struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->early_in;
    const struct rbuf_core *core = peer->core;
    const struct rbuf_early_window window = {
        .base = (uintptr_t) rbuf_arena_block(&core->receive_arena, in->first),
        .flag = in->flag,
        .first = in->slot[0].seq,
        .rkey = rbuf_arena_rkey(&core->receive_arena, in->first),
        .slot_blocks = in->slot_blocks,
        .immediate = core->options.arrival == RBUF_ARRIVAL_IMMEDIATE ? in->immediate : 0,
        .schedule = in->schedule};

    rbuf_channel_send_own(peer, RBUF_MESSAGE_LEASE, RBUF_LEASE_EARLY, &window, sizeof(window));
}

/* A multiple of the number of slots. What the mailbox says of the window before is of other uses:
 * their numbers go on, in the bits that it has of them. */
static uint32_t first_seq(const struct rbuf_peer *peer)
{
    const uint32_t last =
        peer->early_seq < RETIRED_SEQ ? peer->early_seq : peer->early_seq & SEQ_GOES_ON;

    return (last / RBUF_EARLY_SLOTS + 1) * RBUF_EARLY_SLOTS;
}

/* Leases the peer a window, if there is room for it. */
static bool lease(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_arena *arena = &core->receive_arena;
    struct rbuf_early_in *in;
    uint32_t first;

    if (peer->unordered) {
        return true; /* early data are looked for by flags, and windows are for others */
    }
    if (core->windows.out >= core->windows.most || !place_window(core, &first)) {
        return false;
    }
    in = calloc(1, sizeof(*in));
    if (in == NULL) {
        rbuf_arena_give(arena, first, rbuf_early_window_blocks(&core->options.early));
        return true; /* it was not necessary */
    }
    core->windows.out++;
    core->windows.leased++;
    *in = (struct rbuf_early_in){.state = RBUF_EARLY_IN_LEASED,
                                 .first = first,
                                 .slot_blocks = core->options.early.slot_blocks,
                                 .flag = FLAG_WINDOW | core->windows.leased << LEASED_BITS,
                                 .last_rts = core->stats.rts_received,
                                 .schedule = window_schedule(peer)};
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        in->slot[i].seq = first_seq(peer) + i;
        in->released = rbuf_early_report(in->released, in->slot[i].seq);
    }
    peer->early_in = in;
    number_window(peer);
    core->stats.early_leased++;
    tell_window(peer);
    return true;
}

/* The peer whose window was not used for longest. */
static struct rbuf_peer *least_recent(const struct rbuf_core *core)
{
    struct rbuf_peer *found = NULL;

    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct rbuf_peer *peer = core->peers[i];

        if (peer != NULL && peer->early_in != NULL &&
            peer->early_in->state == RBUF_EARLY_IN_LEASED &&
            (found == NULL || peer->early_in->last_rts < found->early_in->last_rts)) {
            found = peer;
        }
    }
    return found;
}

static void ask_back(struct rbuf_peer *peer)
{
    peer->early_in->state = RBUF_EARLY_IN_RECALLED;
    peer->core->stats.early_recalled++;
    rbuf_channel_send_own(peer, RBUF_MESSAGE_RECALL, RBUF_LEASE_EARLY, NULL, 0);
}

/* Asks for the window that was not used for longest, if that is long enough. */
static void recall(struct rbuf_core *core)
{
    uint64_t patience = (uint64_t) IDLE_RTS * core->windows.most;
    struct rbuf_peer *peer;

    if (core->stats.rts_received < core->windows.next_recall) {
        return;
    }
    core->windows.next_recall = core->stats.rts_received + IDLE_RTS; /* all were looked at */
    peer = least_recent(core);
    if (peer != NULL && core->stats.rts_received - peer->early_in->last_rts >= patience) {
        ask_back(peer);
    }
}

/* There is no room for a window: true if there may be, as soon as the arena has grown or messages
 * have gone. */
static bool may_have_room(struct rbuf_core *core)
{
    bool below_most = core->windows.out < core->windows.most;

    if (below_most || core->windows.most < wanted_windows(core)) {
        return rbuf_staging_want(core, &core->receive_arena) || below_most;
    }
    return false;
}

void rbuf_early_in_returned(struct rbuf_peer *peer)
{
    struct rbuf_early_in *in = peer->early_in;

    if (in == NULL || in->state != RBUF_EARLY_IN_RECALLED) {
        peer->core->stats.messages_refused++;
        return;
    }
    in->state = RBUF_EARLY_IN_RETURNED;
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) { /* whose data the peer has dropped */
        if (in->slot[i].state == RBUF_EARLY_SLOT_UNCLAIMED) {
            become(peer, &in->slot[i], RBUF_EARLY_SLOT_FREE);
        }
    }
    in->unclaimed = 0;
    free_if_unused(peer);
}

void rbuf_early_in_remove(struct rbuf_peer *peer)
{
    if (peer->early_in != NULL) {
        free_window(peer);
    }
}

/* ---- arrivals ---- */

/* Of the chunks that `immediate` announces; those of an earlier use of the slot are forgotten. */
static struct rbuf_early_arrivals *arrivals_of(struct rbuf_early_in *in, uint32_t immediate)
{
    const uint32_t seq = immediate >> RBUF_IMMEDIATE_INDEX_BITS;
    struct rbuf_early_arrivals *arrivals = &in->arrivals[seq % RBUF_EARLY_SLOTS];

    if (arrivals->immediate != immediate) {
        *arrivals = (struct rbuf_early_arrivals){.immediate = immediate};
    }
    return arrivals;
}

void rbuf_early_in_immediate(struct rbuf_core *core, uint32_t immediate)
{
    const uint32_t of_window = immediate & ((1u << RBUF_IMMEDIATE_INDEX_BITS) - 1);
    const uint32_t number = immediate & ((1u << RBUF_IMMEDIATE_WINDOW_BITS) - 1);
    struct rbuf_peer *peer = core->windows.holder[number];

    if (peer == NULL || peer->early_in->immediate != of_window) {
        core->stats.messages_refused++;
        return;
    }
    arrivals_of(peer->early_in, immediate)->chunks++;
    rbuf_credit_consumed(peer, RBUF_FLOW_BULK);
}

uint32_t rbuf_early_in_arrived(const struct rbuf_peer *peer, uint32_t seq)
{
    const struct rbuf_early_in *in = peer->early_in;
    const struct rbuf_early_arrivals *arrivals = &in->arrivals[seq % RBUF_EARLY_SLOTS];

    return arrivals->immediate == rbuf_immediate_of_early(in->immediate, seq) ? arrivals->chunks
                                                                              : 0;
}

/* ---- slots ---- */

/* Enough releases are due together, or the sender has no slot at all, and what holds the rest waits
 * for receives: no other release may come. */
bool rbuf_early_in_owed(const struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->early_in;

    return in != NULL && in->state == RBUF_EARLY_IN_LEASED && in->unreported > 0 &&
           (in->unreported >= REPORT_DUE || in->unreported + in->unclaimed >= RBUF_EARLY_SLOTS);
}

static void report_if_owed(struct rbuf_peer *peer)
{
    if (rbuf_early_in_owed(peer)) {
        rbuf_peer_wake(peer);
    }
}

/* A use that the sender dropped is over, too. No report is needed, as it knows, but what stands in
 * its mailbox must not fall behind by as many uses as the bits there count. */
static void keep_report_new(struct rbuf_peer *peer, const struct rbuf_early_slot *slot,
                            uint32_t seq)
{
    struct rbuf_early_in *in = peer->early_in;

    if (slot->state != RBUF_EARLY_SLOT_FREE) {
        in->released = rbuf_early_report(in->released, slot->seq);
    }
    if (seq / RBUF_EARLY_SLOTS % STALE_USES == 0) {
        in->unreported += REPORT_DUE;
    }
}

/* The slot gets another use, whatever became of the last one: the sender knows that nobody will ask
 * for that. A grant that claimed it wrongly does not find it any more, and is corrected. */
static bool fill_slot(struct rbuf_peer *peer, uint32_t seq, uint32_t bytes)
{
    struct rbuf_early_in *in = peer->early_in;
    struct rbuf_early_slot *slot = &in->slot[seq % RBUF_EARLY_SLOTS];
    const uint64_t most = (uint64_t) in->slot_blocks * rbuf_block_payload(&in->schedule);

    if (seq != slot->seq + RBUF_EARLY_SLOTS || bytes > most) {
        return false;
    }
    in->unclaimed += bytes > 0;
    in->unclaimed -= slot->state == RBUF_EARLY_SLOT_UNCLAIMED;
    keep_report_new(peer, slot, seq);
    *slot = (struct rbuf_early_slot){.state = RBUF_EARLY_SLOT_FREE, .seq = seq, .bytes = bytes};
    /* Of packed data the fragments say what they are. */
    become(peer, slot, bytes > 0 ? RBUF_EARLY_SLOT_UNCLAIMED : RBUF_EARLY_SLOT_CLAIMED);
    (void) arrivals_of(in, rbuf_immediate_of_early(in->immediate, seq));
    report_if_owed(peer);
    return true;
}

/* Of a peer without a window. */
static void want_window(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;

    if (wanted_windows(core) == 0 || peer->state != RBUF_PEER_CONNECTED ||
        ++peer->rts_count < LEASE_RTS) {
        return;
    }
    peer->rts_count = LEASE_RTS;
    if (!lease(peer) && !may_have_room(core)) {
        recall(core);
    }
}

bool rbuf_early_in_rts(struct rbuf_peer *peer, uint64_t argument)
{
    struct rbuf_early_in *in = peer->early_in;

    peer->core->stats.rts_received++;
    if (in == NULL) {
        want_window(peer);
        return argument == 0;
    }
    in->last_rts = peer->core->stats.rts_received;
    if (argument == 0) {
        return true;
    }
    if (in->state == RBUF_EARLY_IN_RETURNED ||
        !fill_slot(peer, rbuf_rts_seq(argument), rbuf_rts_bytes(argument))) {
        return false;
    }
    if (rbuf_rts_seq(argument) >= RETIRED_SEQ && in->state == RBUF_EARLY_IN_LEASED) {
        ask_back(peer);
    }
    return true;
}

void rbuf_early_in_claim(struct rbuf_peer *peer, struct rbuf_early_slot *slot)
{
    peer->early_in->unclaimed -= slot->state == RBUF_EARLY_SLOT_UNCLAIMED;
    become(peer, slot, RBUF_EARLY_SLOT_CLAIMED);
    slot->claims++;
}

void rbuf_early_in_unclaim(struct rbuf_peer *peer, uint32_t seq)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->early_in, seq);

    if (slot == NULL || slot->claims == 0 || --slot->claims > 0) {
        return;
    }
    if (peer->early_in->state == RBUF_EARLY_IN_RETURNED) { /* the peer has dropped them */
        become(peer, slot, RBUF_EARLY_SLOT_FREE);
        free_if_unused(peer);
        return;
    }
    become(peer, slot, RBUF_EARLY_SLOT_UNCLAIMED);
    peer->early_in->unclaimed++;
    report_if_owed(peer);
}

void rbuf_early_in_release(struct rbuf_peer *peer, uint32_t seq)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->early_in, seq);
    struct rbuf_early_in *in = peer->early_in;

    if (slot == NULL) {
        return;
    }
    in->unclaimed -= slot->state == RBUF_EARLY_SLOT_UNCLAIMED;
    become(peer, slot, RBUF_EARLY_SLOT_FREE);
    in->released = rbuf_early_report(in->released, seq);
    in->unreported++;
    report_if_owed(peer);
    free_if_unused(peer);
}

int rbuf_early_in_report(struct rbuf_peer *peer)
{
    struct rbuf_early_in *in = peer->early_in;

    if (!rbuf_early_in_owed(peer)) {
        return 0;
    }
    switch (rbuf_words_write(peer, rbuf_words_early(), in->released)) {
    case RBUF_FAB_OK:
        in->unreported = 0;
        return 1;
    case RBUF_FAB_AGAIN:
        break;
    case RBUF_FAB_DEAD:
        rbuf_peer_break(peer, -ECONNRESET);
        break;
    }
    return 0;
}

/* ---- fragments ---- */

bool rbuf_early_in_fragment(struct rbuf_peer *peer, const void *message, uint32_t bytes,
                            uint32_t *block)
{
    const struct rbuf_fragment *fragment = message;
    struct rbuf_early_slot *slot;
    uint32_t payload;

    if (bytes < sizeof(*fragment)) {
        return false;
    }
    slot = rbuf_early_in_find(peer->early_in, fragment->seq);
    if (slot == NULL || slot->bytes > 0 || slot->state != RBUF_EARLY_SLOT_CLAIMED ||
        fragment->blocks > RBUF_FRAGMENT_BLOCKS ||
        (uint32_t) fragment->first + fragment->blocks > peer->early_in->slot_blocks) {
        return false;
    }
    payload = rbuf_block_payload(&peer->early_in->schedule);
    for (uint32_t i = 0; i < fragment->blocks; i++) {
        if (fragment->bytes[i] == 0 || fragment->bytes[i] > payload) {
            return false;
        }
    }
    if (fragment->last != 0) {
        become(peer, slot, RBUF_EARLY_SLOT_LAST);
    }
    slot->claims++;
    *block = rbuf_early_in_block(peer, fragment->seq) + fragment->first;
    peer->core->stats.early_fragments++;
    return true;
}

void rbuf_early_in_fragment_over(struct rbuf_peer *peer, const struct rbuf_fragment *fragment)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->early_in, fragment->seq);

    if (slot != NULL && slot->claims > 0 && --slot->claims == 0 &&
        slot->state == RBUF_EARLY_SLOT_LAST) {
        rbuf_early_in_release(peer, fragment->seq);
    }
}

bool rbuf_early_in_closed(struct rbuf_peer *peer, uint32_t seq)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->early_in, seq);

    if (slot == NULL || slot->bytes > 0 || slot->state != RBUF_EARLY_SLOT_CLAIMED) {
        return false;
    }
    become(peer, slot, RBUF_EARLY_SLOT_LAST);
    if (slot->claims == 0) {
        rbuf_early_in_release(peer, seq);
    }
    return true;
}

/* ---- where they stand ---- */

uint32_t rbuf_early_in_block(const struct rbuf_peer *peer, uint32_t seq)
{
    const struct rbuf_early_in *in = peer->early_in;

    return in->first + seq % RBUF_EARLY_SLOTS * in->slot_blocks;
}

uint64_t rbuf_early_in_flag(const struct rbuf_peer *peer, uint32_t seq)
{
    const struct rbuf_early_in *in = peer->early_in;

    return in->flag + (uint64_t) seq * in->slot_blocks;
}
