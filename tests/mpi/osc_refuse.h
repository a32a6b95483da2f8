/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Refuses osc/rbuf what it wants of Open MPI and of memory, for tests: messages, by Open MPI's
 * table of its PML; collective operations, by that of the communicator; memory, by malloc() and
 * calloc() of the program, told from that of others by its length or by who asks.
 *
 * State: what is to be refused next, and what was. Threads: memory by any, all else by the
 * program's alone.
 */
#ifndef RBUF_TESTS_MPI_OSC_REFUSE_H
#define RBUF_TESTS_MPI_OSC_REFUSE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE = 12344 }; /* bytes, of osc/rbuf's message_size: nobody else wants so many */

/* ---- memory ---- */

extern atomic_int refusals; /* that are still to come */
extern atomic_int refused;  /* that there were, since refuse() */

/* Refuses the next buffers of messages, so many times; `cursors`: cursors of types, too. */
void refuse(int times, bool cursors);

/* Refuses the how manieth allocation of osc/rbuf's own from now on; 0: none. False: none is told
 * from others, as osc/rbuf is in no file of its own. */
bool refuse_nth(int number);

/* ---- messages ---- */

struct withheld {
    unsigned char bytes[MESSAGE];
    size_t used; /* 0: nothing was refused */
    int target;
    int tag;
    MPI_Comm comm;
};

extern MPI_Comm window_comm; /* that the last message of osc/rbuf went over */
extern int window_tag;
extern uint32_t withhold; /* a message of that kind is refused next; 0: none */
extern uint32_t announce; /* the target hears of it when one of that kind has left; 0: of none */
extern struct withheld withheld;

/* From here to there messages can be refused. */
void refuse_begin(void);
void refuse_end(void);

/* Sends, and waits until it has left; nothing of that is refused. */
void send_by_pml(const void *data, size_t bytes, int target, int tag, MPI_Comm comm);

/* ---- collective operations: done, and then an error ---- */

extern bool fail_barrier, fail_sums;
extern void (*behind_sums)(void); /* called once, behind the next sums */

/* From now on those of window_comm. Windows of the same processes share it. */
void stand_between(void);

#endif
