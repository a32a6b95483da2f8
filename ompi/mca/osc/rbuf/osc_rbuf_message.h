/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packing and sending messages. They go over the window's communicator with one tag
 * (osc_rbuf_comm.h), so that those of a pair of processes keep their order. One for this process
 * itself is done at once. The lock is held. Errors are MPI's.
 */
#ifndef OSC_RBUF_MESSAGE_H
#define OSC_RBUF_MESSAGE_H

#include "osc_rbuf_buffer.h"

/* Room for a record with `bytes` behind it in the message for a target, or NULL without memory. A
 * full message leaves before. */
struct osc_rbuf_record *osc_rbuf_append(struct osc_rbuf_window *window, int target, size_t bytes);

/* Sends what was packed for a target; as OSC_RBUF_COMPLETE or OSC_RBUF_PASSIVE_FLUSH also if that
 * is nothing. MPI's error. */
int osc_rbuf_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind);

/* Sends what was packed in a passive epoch for a target on the way of MPI, and that is something:
 * at once, or, while many messages for it have not left, with the progress of MPI, and what is
 * packed meanwhile with it. Else a program with a hundred thousand requests had as many messages.
 * The lock is held. MPI's error. */
int osc_rbuf_send_soon(struct osc_rbuf_window *window, int target);

/* Sends what is late, where it may leave now. The lock is held. */
void osc_rbuf_send_late(struct osc_rbuf_comm *comm);

/* Sends a header alone, which stays as it is until it has come. MPI's error. */
int osc_rbuf_send_header(struct osc_rbuf_window *window, int target,
                         const struct osc_rbuf_header *header);

/* Sends a message that is packed; the buffer is no longer the caller's, even if this fails. */
int osc_rbuf_buffer_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind,
                         struct osc_rbuf_buffer *buffer);

/* Sends a kind alone, which needs no buffer that there could be no memory for. */
int osc_rbuf_send_kind(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind);

#endif
