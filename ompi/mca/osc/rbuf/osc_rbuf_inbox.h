/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What has come for a window, by MPI or from this process itself: first a message's operations are
 * done, then what its kind says. The files above say what they do with it when the component opens,
 * so that what brings messages calls nothing above. The tables do not change from then on. The lock
 * is held where messages come.
 */
#ifndef OSC_RBUF_INBOX_H
#define OSC_RBUF_INBOX_H

#include "osc_rbuf_buffer.h"

/* Does all operations of a message from `done` on, and sends what comes of them. False: there is no
 * memory for the next result, and it has to be called again, when what was sent has left. */
typedef bool osc_rbuf_perform_t(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message);

/* All of a message has been done. */
typedef void osc_rbuf_arrived_t(struct osc_rbuf_window *window, int origin,
                                const struct osc_rbuf_header *header);

void osc_rbuf_inbox_set_perform(osc_rbuf_perform_t *perform);
void osc_rbuf_inbox_set(enum osc_rbuf_kind kind, osc_rbuf_arrived_t *arrived);

/* Does what a message says, or what is left of it: used becomes 0. False as above. */
bool osc_rbuf_inbox_message(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message);

/* One that has a header alone. */
void osc_rbuf_inbox_header(struct osc_rbuf_window *window, int origin,
                           const struct osc_rbuf_header *header);

#endif
