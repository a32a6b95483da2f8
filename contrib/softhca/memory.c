/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory regions. The entry that other processes check keys against lies in the node's span.
 *
 * Registration makes the pages present and then takes its modelled time; time spent on faulting
 * pages in comes on top, since a device would have had to wait for that as well.
 *
 * States of an entry:
 *
 *   key 0    free
 *   key set  registered: all else was written before, with release; look-ups acquire the key and
 *            compare it, and generations tell a key from the entry's earlier ones
 *
 * Owns the entries of this node. They are taken and given back under one mutex, held from the
 * choice of an entry until its key is published. Checks by any thread of any process, without a
 * lock; whoever first uses a stale range reports it.
 */
#define _GNU_SOURCE

#include "memory.h"
#include "clock.h"
#include "config.h"
#include "fault.h"
#include "shared_pages.h"
#include "stale.h"
#include "stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE 4096ull

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static pthread_mutex_t entries_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_index = 1;
static _Atomic uint32_t domains;

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct protection_domain *domain =
        fault_call(CALL_ALLOC_PD) ? NULL : calloc(1, sizeof(*domain));

    if (!domain)
        return NULL;
    domain->number = atomic_fetch_add(&domains, 1) + 1;
    domain->pd.context = context;
    domain->pd.handle = domain->number;
    return &domain->pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

void memory_reset(void)
{
    next_index = 1;
}

static uint64_t pages_of(uint64_t addr, uint64_t length)
{
    return length ? (addr + length - 1) / PAGE - addr / PAGE + 1 : 0;
}

static long faults_so_far(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Whether the kernel has the advices below: from 5.14 on. It says EINVAL to those that it does not
 * know, and also to writing where the mapping forbids it. */
static bool kernel_populates(void)
{
    char here = 0;

    return madvise((void *) ((uintptr_t) &here & ~(uintptr_t) (PAGE - 1)), PAGE,
                   MADV_POPULATE_READ) == 0;
}

/* Makes the pages present. EFAULT if some are not mapped as the access needs it. */
static int make_present(uint64_t addr, uint64_t length, unsigned access)
{
    uint64_t begin = addr & ~(PAGE - 1);
    uint64_t end = (addr + length + PAGE - 1) & ~(PAGE - 1);
    bool writes =
        access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

    if (!length)
        return 0;
    if (!madvise((void *) (uintptr_t) begin, end - begin,
                 writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
        return 0;
    if (errno == EINVAL && kernel_populates())
        return EFAULT;
    if (errno == EINVAL) { /* the first access faults them in */
        for (uint64_t page = begin; page < end; page += PAGE) {
            unsigned char present;

            if (mincore((void *) (uintptr_t) page, PAGE, &present))
                return EFAULT;
        }
        return 0;
    }
    return errno == ENOMEM || errno == EFAULT ? EFAULT : errno;
}

/* Takes a free entry; keys of an entry differ by generation from use to use. */
static struct memory_region_entry *take_entry(uint32_t *key)
{
    for (uint32_t tried = 0; tried < MAX_REGIONS; tried++) {
        uint32_t index = next_index++ % MAX_REGIONS;
        struct memory_region_entry *entry = &self.node->regions[index];

        if (atomic_load_explicit(&entry->key, memory_order_relaxed) || !index)
            continue;
        entry->generation = entry->generation % 255 + 1;
        *key = index << 8 | entry->generation;
        return entry;
    }
    return NULL;
}

static bool exceeds_limit(size_t length)
{
    uint64_t limit = fault_memlock();

    return limit && stats_registered_now() + length > limit;
}

/* Enters a region with all but its mr, which the caller fills in; NULL if there is no room. */
static struct memory_region *enter_region(struct ibv_pd *pd, void *addr, size_t length,
                                          uint64_t iova, unsigned access,
                                          const struct shared_pages *pages, uint32_t *key)
{
    struct memory_region *region = calloc(1, sizeof(*region));
    struct memory_region_entry *entry;

    if (!region)
        return NULL;
    stale_settle();
    pthread_mutex_lock(&entries_mutex);
    entry = take_entry(key);
    if (!entry) {
        pthread_mutex_unlock(&entries_mutex);
        free(region);
        return NULL;
    }
    entry->domain = pd->handle;
    entry->access = access;
    entry->iova = iova;
    entry->length = length;
    entry->addr = (uintptr_t) addr;
    entry->pages = *pages;
    atomic_store(&entry->stale_begin, UINT64_MAX);
    atomic_store(&entry->stale_end, 0);
    atomic_store(&entry->stale_reported, false);
    region->entry = entry;
    stale_add(region);
    atomic_store_explicit(&entry->key, *key, memory_order_release);
    pthread_mutex_unlock(&entries_mutex);
    return region;
}

/* Has the pages brought in; 0 or the errno value. What faults took is added to *took, ns. */
static int bring_in(void *addr, size_t length, unsigned access, uint64_t *took)
{
    long faults = faults_so_far();
    uint64_t begin = clock_now();
    int err = make_present((uintptr_t) addr, length, access);

    if (faults_so_far() != faults)
        *took += clock_now() - begin;
    return err;
}

static struct ibv_mr *register_region(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                      unsigned access)
{
    uint64_t begin = clock_now(), took = 0;
    uint64_t model = config.registration.base_ns +
                     config.registration.page_ns * pages_of((uintptr_t) addr, length);
    struct memory_region *region = NULL;
    struct shared_pages pages;
    uint32_t key;
    int err;

    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
        !(access & IBV_ACCESS_LOCAL_WRITE)) {
        errno = EINVAL;
        return NULL;
    }
    if (fault_registration(length))
        return NULL;
    if (exceeds_limit(length)) {
        errno = ENOMEM;
        return NULL;
    }
    pages = shared_pages_give((uintptr_t) addr, length);
    err = bring_in(addr, length, access, &took);
    if (!err)
        region = enter_region(pd, addr, length, iova, access, &pages, &key);
    if (!region) {
        shared_pages_take_back(&pages);
        errno = err ? err : ENOMEM;
        return NULL;
    }
    region->mr = (struct ibv_mr){.context = pd->context,
                                 .pd = pd,
                                 .addr = addr,
                                 .length = length,
                                 .handle = key >> 8,
                                 .lkey = key,
                                 .rkey = key};
    stats_registered(length);
    report_at(2, "registers %p, %zu bytes, access 0x%x, key 0x%x%s", addr, length, access, key,
              pages.number ? ", shared pages" : "");
    spin_until(begin + model + took);
    return &region->mr;
}

#undef ibv_reg_mr
EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return register_region(pd, addr, length, (uintptr_t) addr, (unsigned) access);
}

#undef ibv_reg_mr_iova
EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                      int access)
{
    return register_region(pd, addr, length, iova, (unsigned) access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                       unsigned int access)
{
    if (access & IBV_ACCESS_ON_DEMAND) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    return register_region(pd, addr, length, iova, access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
    struct memory_region *region = (struct memory_region *) mr;
    uint64_t begin = clock_now();
    uint64_t model = config.deregistration.base_ns +
                     config.deregistration.page_ns * pages_of((uintptr_t) mr->addr, mr->length);

    if (fault_call(CALL_DEREG_MR))
        return errno;
    pthread_mutex_lock(&entries_mutex);
    atomic_store_explicit(&region->entry->key, 0, memory_order_release);
    shared_pages_take_back(&region->entry->pages);
    stale_remove(region);
    pthread_mutex_unlock(&entries_mutex);
    stats_deregistered(mr->length);
    report_at(2, "deregisters key 0x%x", mr->lkey);
    free(region);
    spin_until(begin + model);
    return 0;
}

static bool is_stale(struct memory_region_entry *entry, uint64_t addr, uint64_t length)
{
    if (addr >= atomic_load_explicit(&entry->stale_end, memory_order_acquire) ||
        addr + length <= atomic_load_explicit(&entry->stale_begin, memory_order_relaxed))
        return false;
    if (!atomic_exchange(&entry->stale_reported, true)) {
        report("stale registration: key 0x%x is used for %lu bytes at 0x%lx, unmapped or remapped "
               "since it was registered",
               atomic_load(&entry->key), length, addr);
        stats_stale();
    }
    return true;
}

/* The address of a range inside an entry, or 0. */
static uint64_t inside(struct memory_region_entry *entry, uint32_t domain, uint64_t addr,
                       uint64_t length, unsigned access)
{
    uint64_t offset;

    if (!entry || entry->domain != domain || (entry->access & access) != access)
        return 0;
    offset = addr - entry->iova;
    if (addr < entry->iova || offset > entry->length || length > entry->length - offset)
        return 0;
    return is_stale(entry, entry->addr + offset, length) ? 0 : entry->addr + offset;
}

enum ibv_wc_status memory_check_local(uint32_t domain, const struct ibv_sge *sge, unsigned access)
{
    if (!sge->length)
        return IBV_WC_SUCCESS;
    return inside(segment_region(self.node, sge->lkey), domain, sge->addr, sge->length, access)
               ? IBV_WC_SUCCESS
               : IBV_WC_LOC_PROT_ERR;
}

uint64_t memory_translate(struct node *owner, uint32_t domain, uint32_t key, uint64_t addr,
                          uint64_t length, unsigned access)
{
    return inside(segment_region(owner, key), domain, addr, length, access);
}

static const char *access_name(unsigned access)
{
    switch (access) {
    case IBV_ACCESS_REMOTE_WRITE:
        return "write";
    case IBV_ACCESS_REMOTE_READ:
        return "read";
    case IBV_ACCESS_REMOTE_ATOMIC:
        return "atomic";
    default:
        return "access";
    }
}

void memory_report_refusal(struct node *owner, struct queue_pair_entry *target,
                           const struct work_request *request, unsigned access)
{
    const struct memory_region_entry *entry = segment_region(owner, request->remote_key);
    char why[120];

    if (!(atomic_load(&target->access) & access))
        snprintf(why, sizeof(why), "the queue pair does not take it");
    else if (!entry)
        snprintf(why, sizeof(why), "the key is of no registration");
    else if (entry->domain != target->domain)
        snprintf(why, sizeof(why), "the key is of another protection domain");
    else if ((entry->access & access) != access)
        snprintf(why, sizeof(why), "the registration has access 0x%x alone", entry->access);
    else
        snprintf(why, sizeof(why), "the registration is of %lu bytes at 0x%lx", entry->length,
                 entry->iova);
    report_at(1, "a %s of %u bytes at 0x%lx with key 0x%x is refused: %s", access_name(access),
              request->length, request->remote_addr, request->remote_key, why);
}
