/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The time of a staged transfer as this component makes it, chunk by chunk.
 *
 * The paper gives no time for a pipeline folded into N buffers (section 4, "Pipeline folding"). The
 * one here follows from what each part has to wait for. For chunk i of b_i blocks, p_i bytes of
 * payload and w_i on the wire:
 *
 *     filled_i = free_(i-1) + p_i / B_copy                the sender copies chunk after chunk,
 *     free_i   = max(filled_i, acked_(i-N)) + o           and posts when the buffer is free;
 *     out_i    = max(free_i, in_(i-1) + g)                the link is FIFO, with gaps;
 *     in_i     = out_i + w_i / B_net
 *     taken_i  = max(taken_(i-1) + ack + b_i * k,         the receiver copies without a break,
 *                    here_ij + lambda + (b_i - j) * k)    or since block j came;
 *     acked_i  = taken_i + ack + lambda + 8 / B_net       the sender learns of it
 *
 * with k = block / B_copy + what a block costs otherwise, here_ij when the packet that ends block j
 * is in, and ack for chunks that somebody waits for, which are all but the last N. Packets come at
 * equal distances, but for the last, and blocks are of equal length, but for the first: so that the
 * greatest over all j is at the first block, at the first to end in the second, the last or the
 * last but one packet, and no more need be looked at. A chunk that is not taken by blocks is taken
 * at max(taken_(i-1) + ack, in_i + lambda) + b_i * k. With N infinite, k shorter than a block's
 * time on the wire, and no o, that is equation 9 with its C0 and one gap less.
 *
 * Early data, which are the first chunks that fit into their room, are posted without an RTR and
 * nobody waits for their buffers; the sender goes on with the rest when the RTR has come, and the
 * receiver begins when it has sent it.
 *
 * With a rendezvous a last message is posted behind the last chunk, on a queue pair of its own.
 * Queue pairs take turns, a packet each: it goes after the packet that is being sent and one more,
 * and what is left of the chunk goes a gap and the message's time later. Or it arrives so long
 * behind the chunk, and the receiver waits for it.
 *
 * A prediction costs some 60 ns a chunk.
 */
#ifndef RBUF_MODEL_STAGED_H
#define RBUF_MODEL_STAGED_H

#include "model/plan.h"

/* A staged transfer of `bytes` > 0, ns, by the recurrence above; the schedule must be valid. */
double rbuf_model_staged(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                         uint64_t bytes);

#endif
