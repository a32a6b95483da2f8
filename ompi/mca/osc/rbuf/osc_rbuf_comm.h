/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Communicators that messages of windows travel over. Windows of the same processes share one: a
 * program with hundreds of windows has one communicator more, and one set of receives.
 *
 * Each window has a collective operation in its fences. On a shared communicator those of two
 * windows come in the same order everywhere, as long as one thread at a time is inside of MPI. So
 * with MPI_THREAD_MULTIPLE each window has a communicator of its own.
 *
 * The tag of a message is the number of its window: windows are made in the same order everywhere,
 * and a number is not used again. All processes give a communicator the same id, which none of them
 * has given to another one that is shared: by it they find out whether they mean the same.
 *
 * The lock guards the list of communicators, and all of each but `mpi` and `id`, which do not
 * change. osc_rbuf_message.c puts messages into `sending` and `late`, and takes them out of `late`;
 * osc_rbuf_reply.c takes `spare`, which comes back by itself.
 */
#ifndef OSC_RBUF_COMM_H
#define OSC_RBUF_COMM_H

#include "osc_rbuf_buffer.h"

#include "opal/class/opal_hash_table.h"

enum { OSC_RBUF_RECEIVES = 4 };

struct osc_rbuf_comm {
    LIST_ENTRY(osc_rbuf_comm) link;
    MPI_Comm mpi;
    long id;
    int users;                 /* windows, those that are being made included */
    uint32_t numbers;          /* given to windows */
    opal_hash_table_t windows; /* by their numbers */

    STAILQ_HEAD(, osc_rbuf_buffer) sending; /* have not left, the oldest first */
    STAILQ_HEAD(, osc_rbuf_buffer) late; /* being packed; to leave behind some that are `sending` */
    STAILQ_HEAD(, osc_rbuf_buffer) held; /* of fence epochs that have not begun here */
    struct osc_rbuf_buffer *spare; /* for results, while there is no memory; NULL: it is in use */
    struct osc_rbuf_buffer *receiving[OSC_RBUF_RECEIVES]; /* a ring, in the order of their starts */
    unsigned next_receive;
};

/* The id of the one that a window over `comm` can share; 0: there is none. No lock is held. */
long osc_rbuf_comm_shared(MPI_Comm comm);

/* The highest id that was given here. No lock is held. */
long osc_rbuf_comm_ids(void);

/* Gives the window a number in the communicator that a window over `comm` can share: there is one.
 * Every process of it calls this; one without memory for the window with NULL, which is an error.
 * MPI's error. No lock is held. */
int osc_rbuf_comm_join(struct osc_rbuf_window *window, MPI_Comm comm);

/* Makes a communicator with that id for the window. Collective over `comm`; an error of MPI at all
 * processes if one of them fails. No lock is held. */
int osc_rbuf_comm_make(struct osc_rbuf_window *window, MPI_Comm comm, long id);

/* The window leaves its communicator, and the last one frees it, which is collective. Nobody sends
 * to the window any more. No lock is held. */
void osc_rbuf_comm_leave(struct osc_rbuf_window *window);

/* Progress visits it first from now on. The lock is held. */
void osc_rbuf_comm_use(struct osc_rbuf_comm *comm);

/* Frees the buffers of messages that have left. The lock is held. */
void osc_rbuf_comm_reap(struct osc_rbuf_comm *comm);

/* Handles what has come for windows, and frees what has left. Returns the number of messages that
 * it handled. The lock is held. */
int osc_rbuf_comms_progress(void);

#endif
