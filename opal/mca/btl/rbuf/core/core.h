/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Core: the protocols of one port, without Open MPI, without libibverbs, without a clock and
 * without a thread of its own.
 *
 * A struct rbuf_core is the protocol state of one port (one BTL module), a struct rbuf_peer that of
 * one other process on it. The user (glue, or the simulator) feeds completions in, calls
 * rbuf_core_progress(), and takes events out (core/base/event.h).
 *
 *     peer           how peers come and go
 *     inbox          what is done with messages that came in, in one order
 *     onesided/      puts and gets: in place, and gets that are copied; their order
 *     rendezvous/    staged puts: grants, lanes, chunks, blocks; early data, which is written with
 *                    the rendezvous
 *     stage/         staging that grows; chunks in the send staging
 *     eager/         channels, eager rings and who has one
 *     link/          credits, words in mailboxes
 *     state/         what core knows of a port and of its peers: state.h composes what each folder
 *                    above keeps
 *     choice/        protocol auto: what is copied and what is registered
 *     base/          arenas, schedules, the wire, the contract with the fabric
 *
 * Each layer calls those below it, and includes no others. A ring that takes a message finds what
 * to do with it in the inbox's table (core/eager/incoming.h).
 *
 * Threads: every function of core is called with the module's lock held.
 */
#ifndef RBUF_CORE_CORE_H
#define RBUF_CORE_CORE_H

#include "core/eager/polling_set.h"
#include "core/eager/ring_in.h"
#include "core/inbox.h"
#include "core/link/credit.h"
#include "core/link/words.h"
#include "core/peer.h"
#include "core/rendezvous/early.h"
#include "core/rendezvous/lease.h"
#include "core/rendezvous/receiver.h"
#include "core/stage/staging.h"
#include "core/state/state.h"

/* With the staging to begin with: receive_region must hold the buffers of one message. 0, or
 * -ENOMEM and nothing is kept. */
int rbuf_core_open(struct rbuf_core *core, const struct rbuf_core_options *options,
                   const struct rbuf_region *send_region, const struct rbuf_region *receive_region);

/* Frees core's own memory, also of one that is half open. Nothing may be in flight. */
void rbuf_core_close(struct rbuf_core *core);

/* Looks at the rings that peers write, which is what costs least and hurries most: call it right
 * behind a poll of completions, and do not poll those every time while it finds something. Returns
 * the number of messages. */
static inline int rbuf_core_poll(struct rbuf_core *core)
{
    return rbuf_polling_set_poll(core);
}

/* All that was received over send/receive, when the caller looked last, has been fed in. Call it
 * now and then, with a rbuf_core_poll() in between: without, at most RBUF_CREDIT_FAR messages are
 * sent to a peer that answers none of them. */
static inline void rbuf_core_swept(struct rbuf_core *core)
{
    core->sweeps++;
}

/* Answers RBUF_EVENT_STAGING: the next rbuf_arena_step() blocks of the arena are registered, zeroed
 * and stay so until rbuf_core_close(). */
void rbuf_core_grow(struct rbuf_core *core, struct rbuf_arena *arena, uint32_t lkey, uint32_t rkey);

/* Does a bounded amount of other work; `now_ns` is monotonic and may be some microseconds old.
 * Returns the number of things done, 0 when there was nothing to do. */
int rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns);

/* A work came back; status 0 or a negative errno. A peer whose work failed fails. */
void rbuf_core_completed(struct rbuf_work *work, int status);

#endif
