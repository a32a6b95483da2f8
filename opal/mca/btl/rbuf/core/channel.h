/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Active messages over the send/receive channels, with credits.
 *
 * A message is posted when the peer has a receive credit for us and the send queue has room; else
 * it queues, in order, and nothing fails. Credits come back as cumulative counts, piggybacked on
 * every message and, when half a window is owed, by an inline RDMA write that needs no credit
 * itself: two peers with full windows can always free each other.
 *
 * Invariants, a channel: sent - taken <= window; returned never passes consumed; the order of
 * posting is the order of rbuf_am_send().
 */
#ifndef RBUF_CORE_CHANNEL_H
#define RBUF_CORE_CHANNEL_H

#include "core/core.h"

enum rbuf_am_state { RBUF_AM_IDLE, RBUF_AM_QUEUED, RBUF_AM_POSTED };

/* One message to send. The user sets everything down to `bytes` and owns it again when it is IDLE.
 */
struct rbuf_am {
    struct rbuf_message_header *header; /* in sendable memory, the payload right behind it */
    uint32_t lkey;  /* of that memory; not looked at if the message goes inline */
    uint32_t bytes; /* payload */
    uint8_t tag;
    uint8_t channel; /* enum rbuf_channel_id */
    uint64_t after;  /* id of the put whose data must be in place first, or 0 */

    uint8_t kind; /* core's, like everything below */
    enum rbuf_am_state state;
    struct rbuf_peer *peer;
    struct rbuf_work work;
    TAILQ_ENTRY(rbuf_am) link;
};

/* Sends or queues. IDLE: done, the buffer is free and no event follows. QUEUED or POSTED: a
 * RBUF_EVENT_SENT will say when the buffer is free. On a failed peer that event has a status. */
enum rbuf_am_state rbuf_am_send(struct rbuf_peer *peer, struct rbuf_am *am);

/* Sends `message` (header and `bytes` of payload in one piece of any memory) now and inline, or
 * does nothing and returns false. The caller keeps the memory. */
bool rbuf_am_send_now(struct rbuf_peer *peer, enum rbuf_channel_id channel, uint8_t tag,
                      struct rbuf_message_header *message, uint32_t bytes, uint64_t after);

/* For core's own files. */
int rbuf_channel_progress(struct rbuf_peer *peer);
bool rbuf_channel_idle(const struct rbuf_peer *peer);
void rbuf_channel_fail(struct rbuf_peer *peer, int status);
void rbuf_channel_sent(struct rbuf_am *am, int status);
bool rbuf_channel_take_credit(struct rbuf_peer *peer, enum rbuf_channel_id channel);
void rbuf_channel_consumed(struct rbuf_peer *peer, enum rbuf_channel_id channel);
void rbuf_channel_piggyback(struct rbuf_peer *peer, const struct rbuf_message_header *header);
void rbuf_channel_send_grant(struct rbuf_peer *peer, const struct rbuf_offer *offer);

#endif
