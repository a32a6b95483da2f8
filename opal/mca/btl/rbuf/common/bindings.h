/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where the processes of a job may run, and whether some of a host have too few processors for
 * themselves. A process that waits polls: on a processor that it shares it keeps away the one that
 * it waits for, until the scheduler takes turns, after milliseconds.
 *
 * Each process can have a processor of its own unless some processes, together, may run on fewer
 * processors than they are (Hall 1935). Looked at are, for each process, all that may run only
 * where it may. That finds every shortage where two processes' sets are equal, nested or disjoint,
 * as cores, NUMA nodes and whole machines are, and never one that is none.
 *
 * Threads: none of its own; one caller at a time.
 */
#ifndef RBUF_COMMON_BINDINGS_H
#define RBUF_COMMON_BINDINGS_H

#include <stdbool.h>
#include <stdint.h>

struct rbuf_bindings;

struct rbuf_shortage {
    uint32_t hosts;      /* that have one */
    uint32_t host;       /* the worst: most processes a processor; of equal ones the first */
    uint32_t processes;  /* there, of which each ... */
    uint32_t processors; /* ... may run on some of these only; at least 1 */
};

/* NULL: no memory. */
struct rbuf_bindings *rbuf_bindings_new(void);
void rbuf_bindings_free(struct rbuf_bindings *bindings); /* or NULL */

/* A process of that host (any number) may run on these processors (cpuset.h). A list that says
 * nothing, and one that finds no memory, is left out. */
void rbuf_bindings_add(struct rbuf_bindings *bindings, uint32_t host, const char *list);

/* False: there is none, and `*shortage` is untouched. */
bool rbuf_bindings_shortage(struct rbuf_bindings *bindings, struct rbuf_shortage *shortage);

#endif
