/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory regions: arenas of our own, and registrations of user memory.
 *
 * Relaxed ordering is never asked for: flags are polled in memory that the adapter writes. Arenas
 * are kept out of children of fork (MADV_DONTFORK); verbs/fork.h has what the kernel may need
 * besides.
 *
 * Threads: all functions may be called from any thread without a lock; counters are C11 atomics,
 * relaxed, of the whole process.
 */
#ifndef RBUF_VERBS_MEMORY_H
#define RBUF_VERBS_MEMORY_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/problem.h"

struct rbuf_port;

struct rbuf_memory {
    void *base;    /* page-aligned, zeroed; registering makes it resident; NULL: none */
    size_t bytes;  /* whole pages, registered */
    size_t mapped; /* bytes of address space: as many, or a whole huge page for fewer */
    struct ibv_mr *mr;
};

#define RBUF_RANGE_REGIONS 32u

/* Address space that is registered piece by piece, from its start on. */
struct rbuf_range {
    unsigned char *base; /* page-aligned, zeroed; resident as far as it is registered; NULL: none */
    size_t bytes;        /* whole pages */
    size_t mapped;       /* likewise, of address space: as in struct rbuf_memory */
    size_t registered;   /* of `bytes`, the first */
    unsigned regions;    /* each begins where the one before it ends */
    struct ibv_mr *mr[RBUF_RANGE_REGIONS];
};

struct rbuf_memory_stats {
    _Atomic uint64_t registered; /* bytes now */
    _Atomic uint64_t peak;       /* bytes */
    _Atomic uint64_t registrations;
    _Atomic uint64_t deregistrations;
};

extern struct rbuf_memory_stats rbuf_memory_stats;

/* Allocates `bytes` rounded up to pages and registers them with `access` (IBV_ACCESS_*) and local
 * write. Topics: "memlock", "reg-failed". */
int rbuf_memory_allocate(struct rbuf_port *port, size_t bytes, unsigned access,
                         struct rbuf_memory *out, struct rbuf_problem *problem);

/* The same in pages of the usual size, for memory of which each peer has some: a huge page is
 * resident as a whole, even if little of it is registered. */
int rbuf_memory_allocate_small(struct rbuf_port *port, size_t bytes, unsigned access,
                               struct rbuf_memory *out, struct rbuf_problem *problem);

/* Says which limit was in the way of registering so many bytes, or that something else was; returns
 * `error`, a negative errno. Topics "memlock", whose remedy is the limit's alone, and "reg-failed":
 * who knows what the memory was for knows the rest. */
int rbuf_memory_problem(const struct rbuf_port *port, size_t bytes, int error,
                        struct rbuf_problem *problem);

/* A memory whose base is NULL is left alone. */
void rbuf_memory_free(struct rbuf_memory *memory);

/* Address space for `bytes` bytes, rounded up to pages; nothing is registered. Topic: "memlock". */
int rbuf_range_open(struct rbuf_port *port, size_t bytes, struct rbuf_range *range,
                    struct rbuf_problem *problem);

/* Registers the next `bytes` bytes, or all that is left if that is less, as a region of its own,
 * with `access` and local write. On failure the range stays as it is. One thread at a time. Topics:
 * as above, and those of rbuf_memory_allocate(). */
int rbuf_range_extend(struct rbuf_port *port, struct rbuf_range *range, size_t bytes,
                      unsigned access, struct rbuf_problem *problem);

/* A range whose base is NULL is left alone. */
void rbuf_range_close(struct rbuf_range *range);

/* Registers [base, base + bytes) of the user; `access` as it is given, 0 is local read. */
int rbuf_register(struct rbuf_port *port, void *base, size_t bytes, unsigned access,
                  struct ibv_mr **mr, struct rbuf_problem *problem);

/* 0 or a negative errno (the region is then counted as gone). NULL is left alone. */
int rbuf_deregister(struct ibv_mr *mr);

/* Soft RLIMIT_MEMLOCK, bytes; SIZE_MAX if there is none or the process may exceed it. */
size_t rbuf_memlock_limit(void);

#endif
