/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Simulated time: a queue of things to do, each at its nanosecond. Things of the same nanosecond
 * are done in the order in which they were asked for, so a run is a function of its inputs alone.
 */
#ifndef RBUF_SIM_CLOCK_H
#define RBUF_SIM_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void sim_action(void *subject);

struct sim_event {
    uint64_t at_ns;
    uint64_t order;
    sim_action *action;
    void *subject;
};

struct sim_clock {
    uint64_t now_ns;
    uint64_t asked;         /* how many actions were ever asked for */
    struct sim_event *heap; /* the earliest first */
    size_t count;
    size_t size;
};

void sim_clock_open(struct sim_clock *clock);
void sim_clock_close(struct sim_clock *clock);

/* Does `action` at `at_ns`, or now if that is over. */
void sim_at(struct sim_clock *clock, uint64_t at_ns, sim_action *action, void *subject);

/* Goes to the next action and does it; false if there is none. */
bool sim_step(struct sim_clock *clock);

/* What calloc() and realloc() return, or the end of the test: a simulator does without memory as
 * badly as with a wrong result. */
void *sim_allocate(size_t bytes);
void *sim_reallocate(void *memory, size_t bytes);

/* Whole pages of zeros, which cost nothing before they are touched, and one behind them that must
 * not be touched. Ends the program without memory. */
void *sim_map(size_t bytes);
void sim_unmap(void *memory); /* or NULL */

#endif
