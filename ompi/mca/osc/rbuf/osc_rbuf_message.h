/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages of osc/rbuf: a header and records, each of a multiple of eight bytes. They go over the
 * window's communicator with one tag (osc_rbuf_comm.h), so that those of a pair of processes keep
 * their order. All functions want the lock held.
 */
#ifndef OSC_RBUF_MESSAGE_H
#define OSC_RBUF_MESSAGE_H

#include "osc_rbuf.h"

enum osc_rbuf_kind {
    OSC_RBUF_POST = 1,           /* the sender's window is open for the receiver */
    OSC_RBUF_FENCE_DATA,         /* operations of a fence epoch: counted */
    OSC_RBUF_GROUP_DATA,         /* operations of an access epoch that goes on */
    OSC_RBUF_COMPLETE,           /* its last operations, perhaps none: it is over */
    OSC_RBUF_COMPLETE_UNCHECKED, /* likewise, and its start had MPI_MODE_NOCHECK */
    OSC_RBUF_POST_ASK,           /* the sender waits for the post of that number */
    OSC_RBUF_POST_UNCHECKED,     /* which had MPI_MODE_NOCHECK */
    OSC_RBUF_REPLY,              /* results */
    OSC_RBUF_ASK,                /* to be told when so many fences have ended there */
    OSC_RBUF_ENDED,              /* so many have */
    OSC_RBUF_PASSIVE_DATA,       /* operations of a passive epoch */
    OSC_RBUF_PASSIVE_FLUSH,      /* its last operations, perhaps none: DONE is to answer */
    OSC_RBUF_DONE                /* results, perhaps none: all before that flush is done */
};

enum osc_rbuf_record_kind {
    OSC_RBUF_NOTHING, /* its operation failed at the origin */
    OSC_RBUF_PUT,
    OSC_RBUF_GET,
    OSC_RBUF_ACCUMULATE,
    OSC_RBUF_GET_ACCUMULATE,
    OSC_RBUF_COMPARE_SWAP, /* the new element, then the one compared with */
    OSC_RBUF_TYPE,         /* a piece of a description: the derived type of what follows */
    OSC_RBUF_RESULT        /* of `wanted` bytes; without payload: there is none */
};

/* Behind it the payload, padded to eight bytes. */
struct osc_rbuf_record {
    uint32_t kind;
    uint32_t payload;     /* bytes */
    int64_t displacement; /* in units of the target */
    uint64_t first;       /* bytes from there, or from the start of a result or description;
                             accumulates: number of the first element; no result: MPI's error */
    uint64_t wanted;      /* bytes of a result or description; accumulates: elements of it */
    uint64_t count;       /* of the target type */
    int32_t type;         /* accumulates: the predefined type of the elements, as in Fortran */
    int32_t op;           /* likewise */
    int32_t result;       /* number of the result at the origin */
    uint32_t derived;     /* the target is `count` of the last OSC_RBUF_TYPE, else of `type` */
};

struct osc_rbuf_buffer {
    STAILQ_ENTRY(osc_rbuf_buffer) link;
    MPI_Request request;
    struct osc_rbuf_buffer **home;     /* where it goes when it is free; NULL: to the others */
    struct osc_rbuf_window *window;    /* of a message that came, that is late or under way; NULL:
                                          it is being packed, or its window is gone */
    int origin;                        /* likewise; the target of one that goes */
    size_t used;                       /* bytes, header included */
    size_t done;                       /* bytes of a message that came */
    struct osc_rbuf_envelope envelope; /* of an active message, right before its header */
    union {
        struct osc_rbuf_header header;
        unsigned char bytes[1]; /* message_size of them */
    };
};

static inline size_t osc_rbuf_padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t) 7;
}

/* Most bytes behind a record in one message. */
size_t osc_rbuf_room(void);

/* Before the records of an operation, with `bytes` behind them in all, are packed for a target. A
 * message may leave in the middle of an epoch only once its target has opened its window: if they
 * do not fit this waits for that, with the lock given up. So it is not given up between them. */
void osc_rbuf_make_way(struct osc_rbuf_window *window, int target, size_t records, size_t bytes);

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

/* A buffer for a message, or NULL without memory. It is the caller's until it is given back. */
struct osc_rbuf_buffer *osc_rbuf_buffer_take(void);
void osc_rbuf_buffer_give(struct osc_rbuf_buffer *buffer);

/* Frees buffers that no window uses any more. */
void osc_rbuf_messages_close(void);

#endif
