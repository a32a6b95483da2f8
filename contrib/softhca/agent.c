/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The agent thread stands in for the application when that does not poll, so that requests complete
 * though their target makes no call. While the application polls, the agent only looks at the count
 * of polls now and then.
 *
 * How the agent sleeps is in the node's agent_asleep, a futex: LIGHT while there was traffic lately
 * (a requester whose request is overdue wakes it), DEEP when there was none or the application is
 * about to block on a completion channel (any post wakes it).
 *
 *   AWAKE --the agent, between rounds--> LIGHT or DEEP
 *   LIGHT --the application, about to block--> DEEP
 *   LIGHT, DEEP --whoever has work for it, or the agent itself--> AWAKE
 *
 * Invariant: who posts to a sleeper in DEEP either is seen by it before it waits or wakes it: the
 * agent stores its state before it looks for work, the poster adds work before it looks at the
 * state, both sequentially consistent.
 *
 * Owns the thread and agent_asleep of its node. The thread makes progress under the progress lock,
 * as all do.
 */
#define _GNU_SOURCE

#include "agent.h"
#include "config.h"
#include "datagram.h"
#include "doorbells.h"
#include "engine.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACTIVE_SLEEP_NS   20000l   /* requests are under way and the application does not poll */
#define DEFERRED_SLEEP_NS 500000l  /* all that is under way is left to requesters that poll */
#define LIGHT_SLEEP_NS    2000000l /* the application polls, or has nothing to do */
#define DEEP_SLEEP_NS     200000000l
#define LIGHT_ROUNDS      20u

static pthread_t thread;
static bool running;
static int32_t running_pid;
static _Atomic bool stopping;
static _Atomic bool about_to_block; /* the application is about to block */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, long ns)
{
    struct timespec timeout = {.tv_sec = 0, .tv_nsec = ns};

    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

/* Whether somebody called before the time was over. */
static bool sleep_as(enum agent_sleep how, long ns)
{
    if (atomic_exchange(&about_to_block, false))
        how = AGENT_DEEP;
    atomic_store(&self.node->agent_asleep, how);
    /* Whoever posted before this store is found here, whoever posts after it wakes the agent. */
    if (how != AGENT_DEEP || (!atomic_load(&self.node->inbox.summary) && !datagram_waiting()))
        futex_wait(&self.node->agent_asleep, how, ns);
    return atomic_exchange(&self.node->agent_asleep, AGENT_AWAKE) == AGENT_AWAKE;
}

void agent_application_blocks(void)
{
    uint32_t light = AGENT_LIGHT;

    atomic_store(&about_to_block, true);
    atomic_compare_exchange_strong(&self.node->agent_asleep, &light, AGENT_DEEP);
}

static void *run(void *unused)
{
    uint64_t polls = 0;
    unsigned quiet = 0;
    bool called = false;

    (void) unused;
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    while (!atomic_load(&stopping)) {
        uint64_t now = atomic_load_explicit(&self.node->polls, memory_order_relaxed);

        worker = called ? CALLED_AGENT : AGENT;
        if (now != polls && !called) {
            quiet = 0;
            called = sleep_as(AGENT_LIGHT, LIGHT_SLEEP_NS);
        } else if (engine_progress()) {
            quiet = 0;
            called =
                sleep_as(AGENT_LIGHT, engine_has_deferred() ? DEFERRED_SLEEP_NS : ACTIVE_SLEEP_NS);
        } else if (quiet < LIGHT_ROUNDS) {
            quiet++;
            called = sleep_as(AGENT_LIGHT, LIGHT_SLEEP_NS);
        } else {
            called = sleep_as(AGENT_DEEP, DEEP_SLEEP_NS);
        }
        polls = now;
    }
    return NULL;
}

void agent_start(void)
{
    sigset_t all, old;
    int err;

    if (running && running_pid == self.pid)
        return;
    atomic_store(&stopping, false);
    sigfillset(&all); /* signals are the application's */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err)
        report("starting the agent: %s", strerror(err));
    running = !err;
    running_pid = self.pid;
}

void agent_stop(void)
{
    if (!running || running_pid != getpid())
        return;
    atomic_store(&stopping, true);
    agent_wake(self.node,
               AGENT_LIGHT); /* if it falls asleep just now, it wakes in time by itself */
    pthread_join(thread, NULL);
    running = false;
}
