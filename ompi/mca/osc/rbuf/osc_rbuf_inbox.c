/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The inbox: a table of what each kind of message does, and how a message gets there.
 */
#include "osc_rbuf_inbox.h"

static osc_rbuf_perform_t *perform;
static osc_rbuf_arrived_t *arrived[OSC_RBUF_KINDS]; /* NULL: the operations are all */

void osc_rbuf_inbox_set_perform(osc_rbuf_perform_t *performs)
{
    perform = performs;
}

void osc_rbuf_inbox_set(enum osc_rbuf_kind kind, osc_rbuf_arrived_t *arrives)
{
    arrived[kind] = arrives;
}

void osc_rbuf_inbox_header(struct osc_rbuf_window *window, int origin,
                           const struct osc_rbuf_header *header)
{
    if (header->kind < OSC_RBUF_KINDS && arrived[header->kind] != NULL) {
        arrived[header->kind](window, origin, header);
    }
}

bool osc_rbuf_inbox_message(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message)
{
    if (message->used < sizeof(message->header)) {
        return true;
    }
    if (message->done == 0) {
        message->done = sizeof(message->header);
    }
    if (!perform(window, message)) {
        return false;
    }
    message->used = 0;
    osc_rbuf_inbox_header(window, message->origin, &message->header);
    return true;
}
