/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Decides when an injected fault happens. What is random is a function of the seed, the node, what
 * it is for and its count, so that threads that race do not change it.
 *
 * Counts are atomic: calls come from any thread. A link that is down is seen by all in the node's
 * down_until_ns (link_is_down()).
 *
 * Owns those counts, of this process alone, and the words down_until_ns of its node: 0 while a link
 * is up, else when it comes back.
 */
#define _GNU_SOURCE

#include "fault.h"
#include "clock.h"
#include "config.h"
#include "event.h"
#include "fault_list.h"
#include "segment.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static _Atomic uint64_t calls[FAULT_CALLS];
static _Atomic uint64_t requests, registrations;

static const int errors[FAULT_CALLS] = {
    [CALL_GET_DEVICE_LIST] = ENOSYS, [CALL_OPEN_DEVICE] = EIO,      [CALL_QUERY_DEVICE] = EIO,
    [CALL_QUERY_PORT] = EIO,         [CALL_QUERY_GID] = EIO,        [CALL_QUERY_PKEY] = EIO,
    [CALL_ALLOC_PD] = ENOMEM,        [CALL_REG_MR] = ENOMEM,        [CALL_DEREG_MR] = EBUSY,
    [CALL_CREATE_CQ] = ENOMEM,       [CALL_POLL_CQ] = EIO,          [CALL_CREATE_QP] = ENOMEM,
    [CALL_MODIFY_QP] = EINVAL,       [CALL_CREATE_SRQ] = ENOMEM,    [CALL_POST_SEND] = ENOMEM,
    [CALL_POST_RECV] = ENOMEM,       [CALL_POST_SRQ_RECV] = ENOMEM, [CALL_RESIZE_CQ] = ENOMEM,
};

/* A number that any change of an argument changes all bits of. */
static uint64_t chance(uint64_t what, uint64_t count)
{
    uint64_t x = (config.faults.seed + self.slot) * 0x9e3779b97f4a7c15ull;

    x = (x ^ what) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 31 ^ count) * 0x94d049bb133111ebull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

static bool chosen(const struct fault_choice *choice, uint64_t what, uint64_t count)
{
    switch (choice->kind) {
    case FAULT_NTH:
        return count == choice->n;
    case FAULT_FROM:
        return count >= choice->n;
    case FAULT_CHANCE:
        return chance(what, count) % 100 < choice->n;
    default:
        return false;
    }
}

int fault_call_slowly(enum fault_call call, size_t bytes)
{
    const struct faults *faults = &config.faults;
    uint64_t count;

    if (call == CALL_REG_MR && bytes < faults->large)
        return 0;
    count = atomic_fetch_add(&calls[call], 1) + 1;
    if (chosen(&faults->slow[call], 2 * call, count))
        spin_until(clock_now() + faults->slow_ns[call]);
    if (!chosen(&faults->fail[call], 2 * call + 1, count))
        return 0;
    report_at(1, "fault: call %lu of %s fails", count, fault_call_names[call]);
    errno = errors[call];
    return errno;
}

uint64_t fault_memlock(void)
{
    const struct faults *faults = &config.faults;

    uint64_t count;

    if (!faults->memlock)
        return config.memlock;
    count = atomic_fetch_add(&registrations, 1) + 1;
    if (count == faults->memlock_after)
        report_at(1, "fault: the limit of registered memory is %lu bytes", faults->memlock);
    return count < faults->memlock_after ? config.memlock : faults->memlock;
}

static void take_link_down(uint32_t port, uint64_t ns)
{
    atomic_store(&self.node->down_until_ns[port], ns ? clock_now() + ns : UINT64_MAX);
    report_at(1, "fault: the link of port %u goes down", port + 1);
    event_of_port(port, IBV_EVENT_PORT_ERR);
}

/* Those that the number of the process's requests brings down. */
static void take_links_down(uint64_t count)
{
    for (uint32_t port = 0; port < config.n_ports; port++) {
        const struct fault_down *down = &config.faults.down[port];

        if (down->wanted && down->after == count)
            take_link_down(port, down->ns);
    }
}

void fault_start(void)
{
    for (uint32_t port = 0; port < config.n_ports; port++) {
        if (config_device(port)->is_down)
            atomic_store(&self.node->down_until_ns[port], UINT64_MAX);
    }
    take_links_down(0);
}

static void bring_link_up(uint32_t port, uint64_t now)
{
    _Atomic uint64_t *down = &self.node->down_until_ns[port];
    uint64_t until = atomic_load_explicit(down, memory_order_relaxed);

    if (!until || now < until || !atomic_compare_exchange_strong(down, &until, 0))
        return;
    report_at(1, "fault: the link of port %u is up again", port + 1);
    event_of_port(port, IBV_EVENT_PORT_ACTIVE);
}

void fault_link_step(uint64_t now)
{
    if (!config.faults.any_down)
        return;
    for (uint32_t port = 0; port < config.n_ports; port++)
        bring_link_up(port, now);
}

bool fault_request(uint64_t n)
{
    const struct faults *faults = &config.faults;

    if (faults->kill_after || faults->any_down) {
        uint64_t count = atomic_fetch_add(&requests, 1) + 1;

        take_links_down(count);
        if (count == faults->kill_after) {
            report_at(1, "fault: killed at request %lu", count);
            kill(getpid(), SIGKILL);
        }
    }
    if (n != faults->qp_error_after)
        return false;
    report_at(1, "fault: request %lu of a queue pair fails", n);
    return true;
}

uint64_t fault_lateness(uint32_t queue_pair, uint64_t count)
{
    const struct faults *faults = &config.faults;

    return faults->late_ns +
           (faults->jitter_ns ? chance(queue_pair + 1000ull, count) % faults->jitter_ns : 0);
}

bool fault_overtakes(uint32_t queue_pair, uint64_t count)
{
    const uint64_t percent = config.faults.overtake;

    return percent && chance(queue_pair + 2000000000ull, count) % 100 < percent;
}

uint32_t fault_completion_entries(uint32_t asked)
{
    uint64_t most = config.faults.cq_entries;

    return most && most < asked ? (uint32_t) most : asked;
}

bool fault_hides_receives(uint64_t taken, uint64_t *since_ns)
{
    const struct faults *faults = &config.faults;

    if (!faults->rnr_after || taken + 1 < faults->rnr_after)
        return false;
    if (!*since_ns) {
        *since_ns = clock_now();
        report_at(1, "fault: a receive queue looks empty");
    }
    return !faults->rnr_ns || clock_now() < *since_ns + faults->rnr_ns;
}
