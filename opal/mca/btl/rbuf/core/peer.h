/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The life of a peer: added, connected, failed, removed; and what is still under way to it.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_PEER_H
#define RBUF_CORE_PEER_H

#include "core/state/state.h"

/* What the connection exchange found out about a peer. */
struct rbuf_peer_link {
    struct rbuf_fab_queue *queue[RBUF_CHANNELS]; /* ready to send; owned by the caller */
    struct rbuf_mailbox *mailbox;                /* ours; NULL: that of rbuf_peer_add() */
    uint64_t their_mailbox;
    uint32_t their_mailbox_rkey;
    uint32_t their_index;
    uint16_t window[RBUF_CHANNELS];  /* receive credits that the peer gives us */
    uint16_t granted[RBUF_CHANNELS]; /* that we give it; 0: as core's options say */
    uint32_t
        their_stage_bytes; /* that it can stage at once: no chunk to it is larger; 0: unknown */
    enum rbuf_proof proof; /* CHECKSUM: writes through these queues are not placed in order here,
                              whatever core's options say, and what they bring has checksums */
    enum rbuf_words_order words; /* of those in our mailbox (core/link/words.h) */
};

/* Adds an unconnected peer, whose `mailbox` (zeroed, registered) the caller owns; it may be NULL
 * until the peer is connected. 0 or -ENOMEM. */
int rbuf_peer_add(struct rbuf_core *core, struct rbuf_mailbox *mailbox, void *user,
                  struct rbuf_peer **peer);

/* From now on the peer is posted to. */
void rbuf_peer_connected(struct rbuf_peer *peer, const struct rbuf_peer_link *link);

/* Raises RBUF_EVENT_FAILED, and behind it ends everything that is queued for the peer with an
 * error; nothing if it has failed before. The cause that a BROKEN peer has already counts, unless
 * that is only that a post failed (-ECONNRESET). What is posted comes back through
 * rbuf_core_completed(). */
void rbuf_peer_fail(struct rbuf_peer *peer, int status);

/* True when nothing of ours is queued or in flight to the peer, but for unsignalled requests. */
bool rbuf_peer_drained(const struct rbuf_peer *peer);

/* True of a peer that was connected if nothing of the user is queued, posted or granted: a peer
 * that is gone may then be removed. What core itself owes it, credits and acknowledgements, does
 * not count. Takes time by the number of grants. */
bool rbuf_peer_unused(const struct rbuf_peer *peer);

/* Posts an empty write, which the peer's adapter answers whatever its software does: probe_state is
 * RBUF_PROBE_IDLE again when it has. False: not now. */
bool rbuf_peer_probe(struct rbuf_peer *peer);

/* True when everything of ours is known to have reached the peer's memory. Probes to find out: ask
 * again after progress. */
bool rbuf_peer_flush(struct rbuf_peer *peer);

/* Frees the peer. Its queues must have been drained or destroyed and their works be back. */
void rbuf_peer_remove(struct rbuf_peer *peer);

/* For core.c: true if nothing is queued for the peer, nor owed to it. */
bool rbuf_peer_is_idle(const struct rbuf_peer *peer);

#endif
