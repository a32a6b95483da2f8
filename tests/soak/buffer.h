/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Buffers of every kind of memory that a program uses, with guard bytes around them. Most come back
 * at the same addresses with other pages behind them, which is what a stale registration would show
 * at. Buffers of a round are all given back at its end.
 */
#ifndef RBUF_TESTS_SOAK_BUFFER_H
#define RBUF_TESTS_SOAK_BUFFER_H

#include "soak.h"

enum buffer_kind {
    BUFFER_HEAP,      /* malloc, free */
    BUFFER_MAPPED,    /* mmap, munmap */
    BUFFER_REPLACED,  /* the same addresses every round, mapped anew each time */
    BUFFER_DISCARDED, /* the same addresses, MADV_DONTNEED between uses */
    BUFFER_KEPT,      /* the same addresses and pages every time */
    BUFFER_STACK,     /* of the round */
    BUFFER_KINDS
};

struct buffer {
    char *bytes; /* for the message */
    size_t count;
    enum buffer_kind kind;
    char *memory; /* with the guards */
    size_t whole;
};

void buffers_open(void);
void buffers_close(void);

/* Calls `body` with stack for BUFFER_STACK; kinds without room are given from the heap. */
void buffers_round(void (*body)(void *), void *context);

/* A buffer of any kind, filled with SOAK_UNTOUCHED. */
struct buffer buffer_take(struct dice *dice, size_t count);

/* Checks the guards, overwrites the bytes (nothing may still read them) and gives them back. */
void buffer_give(struct buffer *buffer, const char *what);

#endif
