/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns the bitmap of marked descriptors, its mutex and the handlers of fork (close_on_fork.h). The
 * mutex is held across fork(), so that the child finds the bitmap whole.
 */
#include "common/close_on_fork.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define DESCRIPTORS_MOST (1 << 20) /* the kernel's own limit of a process, by default */
#define WORD_BITS        64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registered = PTHREAD_ONCE_INIT;

/* Under the mutex: a bit a descriptor; no bit is set from word `words` on. */
static uint64_t marked[DESCRIPTORS_MOST / WORD_BITS];
static size_t words;

static bool is_marked(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS_MOST && (marked[fd / WORD_BITS] >> fd % WORD_BITS & 1) != 0;
}

static void before_fork(void)
{
    (void) pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    (void) pthread_mutex_unlock(&lock);
}

/* The process may have had other threads, so only what is async-signal-safe. The thread that calls
 * fork() has the mutex, and is this one. */
static void in_child(void)
{
    for (size_t i = 0; i < words; i++) {
        for (; marked[i] != 0; marked[i] &= marked[i] - 1) {
            (void) close((int) (i * WORD_BITS) + __builtin_ctzll(marked[i]));
        }
    }
    words = 0;
    (void) pthread_mutex_unlock(&lock);
}

/* Without memory for that children keep what they inherit. */
static void register_handlers(void)
{
    (void) pthread_atfork(before_fork, in_parent, in_child);
}

void rbuf_close_on_fork_begin(void)
{
    (void) pthread_once(&registered, register_handlers);
    (void) pthread_mutex_lock(&lock);
}

void rbuf_close_on_fork_end(void)
{
    (void) pthread_mutex_unlock(&lock);
}

void rbuf_close_on_fork_mark(int fd)
{
    if (fd < 0 || fd >= DESCRIPTORS_MOST) {
        return;
    }
    marked[fd / WORD_BITS] |= UINT64_C(1) << fd % WORD_BITS;
    if (words <= (size_t) fd / WORD_BITS) {
        words = (size_t) fd / WORD_BITS + 1;
    }
}

void rbuf_close_on_fork_unmark(int fd)
{
    if (is_marked(fd)) {
        marked[fd / WORD_BITS] &= ~(UINT64_C(1) << fd % WORD_BITS);
    }
}

void rbuf_close_on_fork_close(int fd)
{
    rbuf_close_on_fork_begin();
    if (is_marked(fd) || fd >= DESCRIPTORS_MOST) {
        rbuf_close_on_fork_unmark(fd);
        (void) close(fd);
    }
    rbuf_close_on_fork_end();
}
