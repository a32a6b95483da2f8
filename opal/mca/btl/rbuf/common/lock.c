/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The slow sides of a module's lock (common/lock.h): the mutex, the visitor, the membarrier.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall() */
#endif
#include "common/lock.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool unbiased; /* there is no membarrier; constant once a lock was opened */

static int membarrier(int command)
{
    return (int) syscall(__NR_membarrier, command, 0);
}

void mca_btl_rbuf_lock_open(struct mca_btl_rbuf_lock *lock)
{
    /* Fails before Linux 4.14, and in a container that forbids it. */
    unbiased = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
    pthread_mutex_init(&lock->mutex, NULL);
    atomic_init(&lock->owner, false);
    atomic_init(&lock->visitor, unbiased);
}

void mca_btl_rbuf_lock_close(struct mca_btl_rbuf_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void mca_btl_rbuf_lock_wait(struct mca_btl_rbuf_lock *lock)
{
    atomic_store_explicit(&lock->owner, false, memory_order_relaxed);
    pthread_mutex_lock(&lock->mutex);
    if (unbiased) {
        return;
    }
    atomic_store_explicit(&lock->owner, true, memory_order_relaxed);
    /* Whoever takes the mutex next sees that the owner is inside. */
    pthread_mutex_unlock(&lock->mutex);
}

bool mca_btl_rbuf_lock_avoid(struct mca_btl_rbuf_lock *lock)
{
    atomic_store_explicit(&lock->owner, false, memory_order_relaxed);
    return unbiased && pthread_mutex_trylock(&lock->mutex) == 0;
}

void mca_btl_rbuf_lock_end_visit(struct mca_btl_rbuf_lock *lock)
{
    atomic_store_explicit(&lock->visitor, unbiased, memory_order_release);
    pthread_mutex_unlock(&lock->mutex);
}

bool mca_btl_rbuf_lock_visit(struct mca_btl_rbuf_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex) != 0) {
        return false;
    }
    atomic_store_explicit(&lock->visitor, true, memory_order_relaxed);
    if (!unbiased && (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 ||
                      atomic_load_explicit(&lock->owner, memory_order_acquire))) {
        mca_btl_rbuf_lock_end_visit(lock);
        return false;
    }
    return true;
}
