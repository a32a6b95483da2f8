/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Stale registrations. A device keeps the pages that were mapped when memory was registered; the
 * emulation reaches whatever is mapped now, so it would hide a registration that has outlived its
 * mapping. The kernel tells: registered ranges are watched by a userfaultfd that asks for events
 * alone, and unmapping, remapping or discarding (munmap, mmap over it, mremap, brk, MADV_DONTNEED)
 * any of it marks the regions as stale, whoever in the process does it and by whatever route. No
 * page fault is intercepted. The call that unmaps waits until the watcher has read the event;
 * programs that deregister first never meet one.
 *
 * Not seen: mappings of files other than shared memory, that before Linux 5.19, kernels before 5.7,
 * and processes that may not open a userfaultfd (neither privileged nor
 * vm.unprivileged_userfaultfd=1 nor access to /dev/userfaultfd). There an access to unmapped pages
 * still fails as a bad address.
 *
 * States of a range, by its region's stale_begin and stale_end:
 *
 *   begin > end   all of it is mapped as it was when registered
 *   else          [begin, end) has been unmapped or mapped anew; never undone, since a new
 *                 registration has a new key
 *
 * Owns the userfaultfd, the watcher thread and the list of regions with its mutex. A region is in
 * the list from before its key is published until after that is gone. The watcher writes
 * stale_begin and stale_end under the mutex; all processes read them. Lock order: memory.c's
 * entries, the list. "handling" is never taken with either of them held, since the watcher holds it
 * while it takes the list.
 */
#define _GNU_SOURCE

#include "stale.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ull

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

/* From 5.19 on shared memory can be watched, too. */
#define FEATURE_SHARED (1ull << 12) /* UFFD_FEATURE_WP_HUGETLBFS_SHMEM */

static int watch_fd = -1, stop_fd = -1;
static bool watches_shared;
static pthread_t watcher;
static int32_t watcher_pid;
/* All regions of this process, and the watching of their ranges. */
static pthread_mutex_t regions_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct memory_region *regions;
/* Held from reading an event until what it concerns is marked: the read already lets the call go on
 * that unmapped, and it must not register the same addresses anew in between. */
static pthread_mutex_t handling = PTHREAD_MUTEX_INITIALIZER;

static int open_userfaultfd(void)
{
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    int device;

    if (fd >= 0)
        return fd;
    device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0)
        return -1;
    fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
    close(device);
    return fd;
}

/* The application has unmapped or remapped a range. */
static void mark(uint64_t begin, uint64_t end)
{
    pthread_mutex_lock(&regions_mutex);
    for (struct memory_region *region = regions; region; region = region->next) {
        struct memory_region_entry *entry = region->entry;

        if (begin >= entry->addr + entry->length || end <= entry->addr)
            continue;
        if (begin < atomic_load(&entry->stale_begin))
            atomic_store(&entry->stale_begin, begin);
        if (end > atomic_load(&entry->stale_end))
            atomic_store(&entry->stale_end, end);
    }
    pthread_mutex_unlock(&regions_mutex);
}

static void handle(const struct uffd_msg *msg)
{
    switch (msg->event) {
    case UFFD_EVENT_UNMAP:
    case UFFD_EVENT_REMOVE:
        mark(msg->arg.remove.start, msg->arg.remove.end);
        break;
    case UFFD_EVENT_REMAP:
        mark(msg->arg.remap.from, msg->arg.remap.from + msg->arg.remap.len);
        break;
    default:
        break;
    }
}

/* Reads one event and acts on it; false if there is none. */
static bool handle_next(void)
{
    struct uffd_msg msg;
    bool read_one;

    pthread_mutex_lock(&handling);
    read_one = read(watch_fd, &msg, sizeof(msg)) == sizeof(msg);
    if (read_one)
        handle(&msg);
    pthread_mutex_unlock(&handling);
    return read_one;
}

static void *watch(void *unused)
{
    struct pollfd fds[2] = {{.fd = watch_fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};

    (void) unused;
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (fds[1].revents)
            return NULL;
        while (handle_next())
            ;
    }
}

void stale_start(void)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                         UFFD_FEATURE_EVENT_REMOVE |
                                         UFFD_FEATURE_PAGEFAULT_FLAG_WP};
    sigset_t all, old;

    if (!config.check_stale || (watch_fd >= 0 && watcher_pid == self.pid))
        return;
    watch_fd = open_userfaultfd();
    if (watch_fd < 0 || ioctl(watch_fd, UFFDIO_API, &api)) {
        report_at(1, "registered memory is not watched: userfaultfd: %s", strerror(errno));
        if (watch_fd >= 0)
            close(watch_fd);
        watch_fd = -1;
        return;
    }
    watches_shared = api.features & FEATURE_SHARED;
    pthread_mutex_init(&handling, NULL); /* a parent may have forked with it locked */
    stop_fd = eventfd(0, EFD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (stop_fd < 0 || pthread_create(&watcher, NULL, watch, NULL)) {
        report("registered memory is not watched: %s", strerror(errno));
        close(watch_fd);
        watch_fd = -1;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    watcher_pid = self.pid;
}

void stale_stop(void)
{
    uint64_t one = 1;

    if (watch_fd < 0 || watcher_pid != getpid())
        return;
    if (write(stop_fd, &one, sizeof(one)) == sizeof(one))
        pthread_join(watcher, NULL);
    close(watch_fd); /* ends all watching */
    close(stop_fd);
    watch_fd = stop_fd = -1;
}

bool stale_watches_shared(void)
{
    return watch_fd >= 0 && watches_shared;
}

void stale_settle(void)
{
    if (watch_fd < 0 || watcher_pid != getpid())
        return;
    pthread_mutex_lock(&handling);
    pthread_mutex_unlock(&handling);
}

static void watch_range(uint64_t addr, uint64_t length)
{
    uint64_t begin = addr & ~(PAGE - 1);
    uint64_t end = (addr + length + PAGE - 1) & ~(PAGE - 1);
    struct uffdio_register range = {.range = {.start = begin, .len = end - begin},
                                    .mode = UFFDIO_REGISTER_MODE_WP};

    if (watch_fd < 0 || begin == end)
        return;
    if (ioctl(watch_fd, UFFDIO_REGISTER, &range))
        report_at(1, "registered memory at 0x%lx is not watched: %s", begin, strerror(errno));
}

static void unwatch(uint64_t begin, uint64_t end)
{
    struct uffdio_range range = {.start = begin, .len = end - begin};

    /* Fails where nothing is mapped any more, which needs no watching. */
    if (begin < end && ioctl(watch_fd, UFFDIO_UNREGISTER, &range))
        report_at(2, "memory at 0x%lx is not mapped when it is deregistered", begin);
}

/* Ends watching a range, except where one of the regions still lies. */
static void unwatch_range(uint64_t addr, uint64_t length)
{
    uint64_t begin = addr & ~(PAGE - 1);
    uint64_t end = (addr + length + PAGE - 1) & ~(PAGE - 1);

    if (watch_fd < 0 || begin == end)
        return;
    /* Go up the range; at each step skip what another region covers, release what none does. */
    while (begin < end) {
        uint64_t free_until = end, covered_until = begin;

        for (const struct memory_region *r = regions; r; r = r->next) {
            uint64_t r_begin = r->entry->addr & ~(PAGE - 1);
            uint64_t r_end = (r->entry->addr + r->entry->length + PAGE - 1) & ~(PAGE - 1);

            if (r_begin <= begin && r_end > covered_until)
                covered_until = r_end;
            else if (r_begin > begin && r_begin < free_until)
                free_until = r_begin;
        }
        if (covered_until > begin) {
            begin = covered_until;
            continue;
        }
        unwatch(begin, free_until);
        begin = free_until;
    }
}

void stale_add(struct memory_region *region)
{
    pthread_mutex_lock(&regions_mutex);
    region->next = regions;
    regions = region;
    watch_range(region->entry->addr, region->entry->length);
    pthread_mutex_unlock(&regions_mutex);
}

void stale_remove(struct memory_region *region)
{
    struct memory_region **link;

    pthread_mutex_lock(&regions_mutex);
    for (link = &regions; *link != region; link = &(*link)->next)
        ;
    *link = region->next;
    unwatch_range(region->entry->addr, region->entry->length);
    pthread_mutex_unlock(&regions_mutex);
}

void stale_reset(void)
{
    regions = NULL;
}
