/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Buffers of one message each, of `message_size` bytes. Those that no message uses are kept for the
 * next. The lock is held, but at the end of the component.
 */
#ifndef OSC_RBUF_BUFFER_H
#define OSC_RBUF_BUFFER_H

#include "osc_rbuf_window.h"

struct osc_rbuf_buffer {
    STAILQ_ENTRY(osc_rbuf_buffer) link; /* in one list of a communicator, or of those kept */
    MPI_Request request;                /* of its send or receive, or MPI_REQUEST_NULL */
    struct osc_rbuf_buffer **home;      /* the slot that osc_rbuf_buffer_give() puts it back to;
                                           NULL: the list of those that are kept */
    struct osc_rbuf_window *window;     /* of a message that has come or that was sent; NULL: it is
                                           being packed, or its window is gone */
    int origin;                         /* rank that a message came from, or that it is sent to */
    size_t used;                        /* bytes, header included */
    size_t done;                        /* of these, bytes of a message that came and was done */
    struct osc_rbuf_envelope envelope;  /* of an active message, right before its header */
    union {
        struct osc_rbuf_header header;
        unsigned char bytes[1]; /* message_size of them */
    };
};

/* A buffer for a message, or NULL without memory. It is the caller's until it is given back. */
struct osc_rbuf_buffer *osc_rbuf_buffer_take(void);

/* Gives it back: to its home, or to those that are kept. */
void osc_rbuf_buffer_give(struct osc_rbuf_buffer *buffer);

/* As osc_rbuf_buffer_take() leaves it: with nothing behind its header. */
void osc_rbuf_buffer_clear(struct osc_rbuf_buffer *buffer);

/* Room for a record, which is cleared, with `bytes` behind it; NULL if there is none. */
struct osc_rbuf_record *osc_rbuf_buffer_append(struct osc_rbuf_buffer *buffer, size_t bytes);

/* Frees those that are kept. */
void osc_rbuf_buffers_close(void);

#endif
