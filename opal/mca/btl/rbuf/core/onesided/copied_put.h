/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied puts: from memory that is not registered into registered memory of the peer. On this side
 * they are like those into a lane (core/rendezvous/sender.h); over there nobody has anything to do:
 * no flags, no acknowledgements. A put ends when its last chunk has arrived, since the adapter says
 * so. It has as many chunks under way as a lane would have buffers, and all of a peer together a
 * lane's worth (core/stage/copies.h).
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_COPIED_PUT_H
#define RBUF_CORE_COPIED_PUT_H

#include "core/rendezvous/put.h"

/* Starts a put whose offer is DIRECT: base, bytes and rkey count. It ends in RBUF_EVENT_PUT when
 * all of it is at its place, or with a status. */
void rbuf_copied_put_start(struct rbuf_peer *peer, struct rbuf_put *put);

/* ---- for core's own files ---- */

void rbuf_copied_put_open(struct rbuf_peer *peer);

/* Ends those that have not begun; rbuf_sender_fail() has ended the others. */
void rbuf_copied_put_fail(struct rbuf_peer *peer, int status);

#endif
