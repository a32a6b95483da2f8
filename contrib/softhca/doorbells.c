/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sets of queue pairs that have something to do. A bit stays set while its queue pair has work; the
 * consumer clears it and then looks once more at the work, the producer adds work and then looks at
 * the bit, both with sequential consistency, so that one of the two always sees the other. The
 * summary has a bit for each word that is not empty; one that is set too long costs a look.
 *
 * And waking an agent: its futex word goes from LIGHT or DEEP to AWAKE by whoever wakes it; who
 * succeeds in that makes the one system call.
 *
 * Owns no memory: the sets are in nodes, and one of each process in engine.c. Any thread of any
 * process may add and wake; the consumer is named where the set is declared.
 */
#define _GNU_SOURCE

#include "doorbells.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

bool doorbells_ring(struct doorbells *set, uint32_t index)
{
    _Atomic uint64_t *word = &set->word[index / 64];
    uint64_t bit = 1ull << (index % 64);

    if (atomic_load(word) & bit)
        return false;
    if (atomic_fetch_or(word, bit) & bit)
        return false;
    atomic_fetch_or(&set->summary, 1ull << (index / 64));
    return true;
}

void doorbells_clear(struct doorbells *set, uint32_t index)
{
    _Atomic uint64_t *word = &set->word[index / 64];
    uint64_t bit = 1ull << (index % 64);

    if (atomic_fetch_and(word, ~bit) & ~bit)
        return;
    atomic_fetch_and(&set->summary, ~(1ull << (index / 64)));
    if (atomic_load(word))
        atomic_fetch_or(&set->summary, 1ull << (index / 64));
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void agent_wake(struct node *node, enum agent_sleep lightest)
{
    uint32_t asleep = atomic_load(&node->agent_asleep);

    if (asleep < lightest)
        return;
    if (atomic_compare_exchange_strong(&node->agent_asleep, &asleep, AGENT_AWAKE))
        futex_wake(&node->agent_asleep);
}
