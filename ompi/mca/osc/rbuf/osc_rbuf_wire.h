/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages of osc/rbuf as they travel: a header, and records behind it, each of a multiple of eight
 * bytes. Numbers are in the processors' order of bytes: all processes of a job have the same one.
 * No state. Who changes anything here gives OSC_RBUF_FORM another number.
 */
#ifndef OSC_RBUF_WIRE_H
#define OSC_RBUF_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* Of messages and records: processes whose numbers differ do not pack. */
enum { OSC_RBUF_FORM = 6 };

/* Stands before a message that goes as an active message of the transport (osc_rbuf_am.h). */
struct osc_rbuf_envelope {
    uint64_t key;   /* of the receiver's window */
    int64_t origin; /* the sender's rank in it */
};

/* Begins every message. */
struct osc_rbuf_header {
    uint32_t kind;   /* enum osc_rbuf_kind */
    uint32_t fences; /* that had ended at the sender, modulo 2^32: the number of its epoch. Of the
                        three kinds about a post, its number. 0 where nobody looks */
};

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

enum { OSC_RBUF_KINDS = OSC_RBUF_DONE + 1 };

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
    uint32_t kind;        /* enum osc_rbuf_record_kind */
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

/* Bytes that a payload takes in a message. */
static inline size_t osc_rbuf_padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t) 7;
}

#endif
