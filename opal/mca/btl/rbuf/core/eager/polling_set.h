/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The polling set: the peers whose eager messages come through rings of ours (Liu, Wu and Panda,
 * "High Performance RDMA-Based MPI Implementation over InfiniBand", 2004, sections 3.3 and 4.7).
 *
 * It has a limit, so that polling costs what the set costs and not what the job does. Who sends
 * `threshold` small messages over send/receive is invited while there is a slot. When there is
 * none, the replacement victim is recalled, but only for somebody who is clearly busier, and not
 * before a full epoch has counted it: two peers with like traffic do not chase each other. A member
 * that has fallen silent is recalled as well: the set shrinks.
 *
 * Traffic is counted in messages, not in time, and those of a member that found its ring full count
 * as the others: every `period` small messages all counts are halved, and the set is put in order,
 * the busiest first. The period grows with the limit, so that few of many messages change the set:
 * at most `limit` members leave in a period of at least 64 * limit messages.
 *
 * A peer may decline, because it sends by as many rings as it has memory for. It is invited again
 * after a while, and each time that it declines that while doubles.
 *
 * Leaving is a handshake: RECALL from the receiver, RETURN from the sender as its last word on the
 * ring, in sequence with all messages before. Only then is the memory used for another peer.
 */
#ifndef RBUF_CORE_POLLING_SET_H
#define RBUF_CORE_POLLING_SET_H

#include <stdint.h>

#include "core/eager/ring.h"
#include "core/eager/ring_in.h"
#include "core/state/state.h"

/* True if the word is that of the message: the use is right, whatever the rest. */
static inline bool rbuf_watch_hit(const struct rbuf_watch *watch, uint64_t word)
{
    return word - watch->expected < watch->span;
}

/* A set of at most `limit` members. 0, or -ENOMEM; close it then, too. */
int rbuf_polling_set_open(struct rbuf_core *core, uint32_t limit);
void rbuf_polling_set_close(struct rbuf_core *core);

/* Due when `period` small messages have come. */
void rbuf_polling_set_age(struct rbuf_core *core);

/* A message of the peer with `bytes` of payload came over send/receive. */
void rbuf_polling_set_received(struct rbuf_peer *peer, uint32_t bytes);

void rbuf_polling_set_back(struct rbuf_peer *peer);       /* the peer hands its ring back */
void rbuf_polling_set_drained(struct rbuf_ring_in *ring); /* no message of it is out any more */
void rbuf_polling_set_fail(struct rbuf_peer *peer);       /* not polled any more */
void rbuf_polling_set_remove(struct rbuf_peer *peer);     /* its memory is free */

/* Takes what has arrived in the rings of the set; returns the number of messages. */
static inline int rbuf_polling_set_poll(struct rbuf_core *core)
{
    const struct rbuf_watch *watch = core->eager.set.watch;
    const struct rbuf_watch *end = watch + core->eager.set.count;
    int done = 0;

    /* Taking a message may end its ring. The watches behind it then move up by one, and the last
     * one that this loop reads is left over: rbuf_ring_in_take() takes nothing from a ring that is
     * not polled any more, and looks again at one that is. */
    for (; watch < end; watch++) {
        /* rbuf_ring_in_take() reads it again, with acquire. */
        if (rbuf_watch_hit(watch, atomic_load_explicit(watch->word, memory_order_relaxed))) {
            done += rbuf_ring_in_take(watch->ring);
        }
    }
    if (core->eager.set.traffic >= core->eager.set.period) {
        rbuf_polling_set_age(core);
    }
    return done;
}

#endif
