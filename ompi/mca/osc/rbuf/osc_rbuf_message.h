/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packing messages, and sending them by MPI. They go over the window's communicator with one tag
 * (osc_rbuf_comm.h), so that those of a pair of processes keep their order. One for this process
 * itself is done at once. The lock is held. Errors are MPI's or Open MPI's. Operations of a message
 * that does not leave end with its error (osc_rbuf_results.h).
 */
#ifndef OSC_RBUF_MESSAGE_H
#define OSC_RBUF_MESSAGE_H

#include "osc_rbuf_buffer.h"

/* Room for a record, which is cleared, with `bytes` behind it in the message for a target, on the
 * path that was chosen. A full message leaves before. NULL if it cannot, or without memory. */
struct osc_rbuf_record *osc_rbuf_append(struct osc_rbuf_window *window, int target, size_t bytes);

/* Sends what was packed for a target on MPI's path. As OSC_RBUF_COMPLETE,
 * OSC_RBUF_COMPLETE_UNCHECKED or OSC_RBUF_PASSIVE_FLUSH the kind leaves also if nothing was packed.
 * With another kind the caller knows that something was. Where the operations of one of the first
 * two do not leave, the kind does alone. */
int osc_rbuf_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind);

/* Sends what was packed in a passive epoch for a target on MPI's path, and that is something.
 * It leaves at once. While many messages for the target have not left it is late instead: it leaves
 * with Open MPI's progress, and what is packed meanwhile with it. Else a program with a hundred
 * thousand requests had as many messages. */
int osc_rbuf_send_soon(struct osc_rbuf_window *window, int target);

/* Sends what is late, where it may leave now. An error becomes the window's. */
void osc_rbuf_send_late(struct osc_rbuf_comm *comm);

/* Sends a header alone. It stays the caller's, who leaves it as it is until it has come. */
int osc_rbuf_send_header(struct osc_rbuf_window *window, int target,
                         const struct osc_rbuf_header *header);

/* Sends a packed message by MPI. The buffer is no longer the caller's, even if this fails. */
int osc_rbuf_buffer_send(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind,
                         struct osc_rbuf_buffer *buffer);

/* Sends a kind alone: one of osc_rbuf_send() above, or OSC_RBUF_DONE. This needs no buffer that
 * there could be no memory for. */
int osc_rbuf_send_kind(struct osc_rbuf_window *window, int target, enum osc_rbuf_kind kind);

#endif
