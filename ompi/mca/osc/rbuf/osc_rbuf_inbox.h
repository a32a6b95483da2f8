/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What has come for a window, by MPI or from this process itself: first a message's operations are
 * done, then what its kind says. Files above say what they do with a kind when the component opens:
 * so the files that bring messages call nothing above them. From then on the tables do not change,
 * and need no lock. The lock is held where messages come. Active messages do not come here
 * (osc_rbuf_am.c).
 */
#ifndef OSC_RBUF_INBOX_H
#define OSC_RBUF_INBOX_H

#include "osc_rbuf_buffer.h"

/* Does all operations of a message from `done` on, and sends what comes of them. False: there is no
 * memory for the next result, and it has to be called again, when what was sent has left. */
typedef bool osc_rbuf_perform_t(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message);

/* All operations of a message have been done. */
typedef void osc_rbuf_arrived_t(struct osc_rbuf_window *window, int origin,
                                const struct osc_rbuf_header *header);

/* When the component opens, each kind once. A kind that nobody sets has operations alone. */
void osc_rbuf_inbox_set_perform(osc_rbuf_perform_t *perform);
void osc_rbuf_inbox_set(enum osc_rbuf_kind kind, osc_rbuf_arrived_t *arrived);

/* Does what a message says, or what is left of it: `used` becomes 0 then. False as above. The
 * buffer stays the caller's. */
bool osc_rbuf_inbox_message(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message);

/* The same for a message that has a header alone. */
void osc_rbuf_inbox_header(struct osc_rbuf_window *window, int origin,
                           const struct osc_rbuf_header *header);

#endif
