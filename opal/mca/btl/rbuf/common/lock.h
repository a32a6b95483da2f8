/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A module's lock, biased towards the process's only thread.
 *
 * While Open MPI knows of one thread (MPI_THREAD_SINGLE), that one is the owner: it enters and
 * leaves by two plain stores and a load. The one other thread that may come in is the listener's,
 * for async progress (btl/async.c), seldom and only when nobody is inside: it is the visitor,
 * and pays for both with membarrier(2). With more threads all take the mutex. So they do on a
 * kernel without membarrier: there the owner finds a visitor always.
 *
 *     owner                               visitor, holding the mutex
 *     owner = 1                           visitor = 1
 *     compiler barrier                    membarrier: a full fence on every processor
 *                                         that runs a thread of this process
 *     visitor? then wait for the mutex    owner? then leave at once
 *
 * Wherever the membarrier falls in the owner's two steps, one of the two sees the other's store.
 * What the one has written inside, the other sees: each clears its word with release, and the other
 * reads it with acquire before it goes in.
 */
#ifndef BTL_RBUF_LOCK_H
#define BTL_RBUF_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct mca_btl_rbuf_lock {
    pthread_mutex_t mutex;
    atomic_bool owner;   /* inside, or about to look whether there is a visitor */
    atomic_bool visitor; /* likewise; written with the mutex held */
};

void mca_btl_rbuf_lock_open(struct mca_btl_rbuf_lock *lock);
void mca_btl_rbuf_lock_close(struct mca_btl_rbuf_lock *lock);

/* The owner has met the visitor: waits until that has left, and is inside. Or goes away, false. */
void mca_btl_rbuf_lock_wait(struct mca_btl_rbuf_lock *lock);
bool mca_btl_rbuf_lock_avoid(struct mca_btl_rbuf_lock *lock);

/* The visitor enters; false: somebody is inside. */
bool mca_btl_rbuf_lock_visit(struct mca_btl_rbuf_lock *lock);
void mca_btl_rbuf_lock_end_visit(struct mca_btl_rbuf_lock *lock);

/* The owner's first step; false if there is a visitor. */
static inline bool mca_btl_rbuf_lock_claim(struct mca_btl_rbuf_lock *lock)
{
    atomic_store_explicit(&lock->owner, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the visitor's membarrier makes it a real one */
    return !atomic_load_explicit(&lock->visitor, memory_order_acquire);
}

/* `shared`: more than one thread may come in besides the visitor. */
static inline void mca_btl_rbuf_lock_enter(struct mca_btl_rbuf_lock *lock, bool shared)
{
    if (shared) {
        pthread_mutex_lock(&lock->mutex);
    } else if (!mca_btl_rbuf_lock_claim(lock)) {
        mca_btl_rbuf_lock_wait(lock);
    }
}

/* False: somebody else is inside. */
static inline bool mca_btl_rbuf_lock_try(struct mca_btl_rbuf_lock *lock, bool shared)
{
    if (shared) {
        return pthread_mutex_trylock(&lock->mutex) == 0;
    }
    return mca_btl_rbuf_lock_claim(lock) || mca_btl_rbuf_lock_avoid(lock);
}

static inline void mca_btl_rbuf_lock_leave(struct mca_btl_rbuf_lock *lock)
{
    /* Set if and only if the mutex is not held. */
    if (atomic_load_explicit(&lock->owner, memory_order_relaxed)) {
        atomic_store_explicit(&lock->owner, false, memory_order_release);
    } else {
        pthread_mutex_unlock(&lock->mutex);
    }
}

#endif
