/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Made-up programs and machines, on which protocol auto's choice is tried: what it costs against
 * always copying and against a registration cache that takes everything.
 *
 * A program is a sequence of messages, each from a buffer of the sender into one of the receiver,
 * that may be released afterwards. A machine says what a message takes by each path. Both sides
 * have a choice of their own, as in two processes. Deterministic; one thread.
 */
#ifndef RBUF_UNIT_PROGRAMS_H
#define RBUF_UNIT_PROGRAMS_H

#include "core/choice/choice.h"

#define ENDS  2u /* of a message: RBUF_SIDE_RECEIVE and RBUF_SIDE_SEND */
#define KB    1024u
#define MB    (1024u * KB)
#define HELD  512u /* registrations that the made-up cache can keep */
#define PAGE  4096u
#define FIRST UINT64_C(0x10000000)

/* Times are ns and ns a KB. */
struct machine {
    uint64_t wire_kb;     /* in place */
    uint64_t in_place;    /* and besides */
    uint64_t staged_kb;   /* through both sides' staging */
    uint64_t staged;      /* and besides */
    uint64_t copied_kb;   /* through the sender's staging alone */
    uint64_t copied;      /* and besides */
    uint64_t registering; /* one registration */
    uint64_t page;        /* and each page of it */
    unsigned noise;       /* percent, of every time */
};

extern const struct machine slow_network; /* copies are fast and hidden behind the wire */
extern const struct machine even_network; /* copies are barely as fast as the wire */
extern const struct machine fast_network; /* copies are what takes the time */

struct range {
    uint64_t base;
    uint64_t end;
};

/* One process. */
struct process {
    struct rbuf_choice choice;
    struct range held[HELD];
    unsigned held_count;
};

struct program {
    const struct machine *machine;
    struct process *process[ENDS];
    bool without_cache;
    bool refusing;    /* nothing can be registered now */
    unsigned refused; /* attempts to */
    unsigned looked;  /* buffers up before a decision */
    uint64_t seed;
    double always_copied; /* ns of all messages so far, by protocol */
    double always_cached;
    double chosen;
    unsigned in_place; /* messages, as chosen */
    unsigned messages;
    struct range greedy[ENDS][HELD]; /* what a cache that takes everything holds */
    unsigned greedy_count[ENDS];
};

struct program *program_open(const struct machine *machine, bool cache);
void program_close(struct program *program);

/* A message. */
void program_message(struct program *program, uint64_t from, uint64_t to, uint64_t bytes);

/* One with buffers of a small pool, or with fresh ones, which always get the same addresses. */
void program_pooled_or_fresh(struct program *program, unsigned percent, uint64_t bytes);

/* Both sides give the buffers back to the system. */
void program_release(struct program *program, uint64_t from, uint64_t to, uint64_t bytes);

/* Forgets what it has cost so far: the learning is over. */
void program_restart(struct program *program);

/* What it would have cost by the better of always copying and always caching, ns. */
double program_better(const struct program *program);

void program_say(const struct program *program, const char *what);

/* A process's registrations that touch the buffer are gone. */
void range_release(struct range *held, unsigned *count, uint64_t base, uint64_t bytes);

/* A number of 31 bits, by the program's seed. */
uint32_t program_draw(struct program *program);

#endif
