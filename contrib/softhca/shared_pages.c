/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The owner puts a file in memory under its region and publishes descriptor and number with the
 * key; others open the descriptor through /proc, which takes the same user and no privilege, and
 * keep their view of it until the owner has another file in its place.
 *
 * Invariants: the number of a file never repeats in a fabric, and is in the owner's shared_files as
 * long as a region is in the file; a view is used while its number is there, and only made of the
 * very file (device and inode). Nothing is shared where the kernel does not tell of memory that is
 * unmapped (stale.h): a copy by the process itself would die of it, where the kernel's fails.
 *
 * Threads: files and shared_files of this node are under a mutex, views under the progress lock.
 * Only the owner writes its shared_files; numbers are given out by all processes, by an atomic
 * addition.
 */
#define _GNU_SOURCE

#include "shared_pages.h"
#include "config.h"
#include "stale.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE          4096u
#define LEAST_BYTES   65536u
#define PAGES_AT_ONCE 512u
#define EVER_PRESENT  (3ull << 62) /* in an entry of pagemap: present, or swapped out */

/* A file under memory of this process; its number is in the node's shared_files. */
struct file {
    uint64_t begin, end;
    uint64_t device, inode;
    uint32_t regions;
    int fd;
};

/* Another process's file. */
struct view {
    uint64_t number; /* 0: none yet */
    uint8_t *base;   /* NULL: could not be mapped */
    uint64_t length;
};

static pthread_mutex_t files_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct file files[SHARED_FILES];
static struct view views[MAX_NODES][SHARED_FILES]; /* under the progress lock */

/* Hooks that look for memory that users give back shall not see these: hence no calls of the C
 * library's mmap and munmap. */
static void *map_shared(void *at, uint64_t length, int protection, int flags, int fd)
{
    return (void *) syscall(SYS_mmap, at, length, protection, MAP_SHARED | flags, fd, 0);
}

static void unmap(const struct view *view)
{
    if (view->base)
        syscall(SYS_munmap, view->base, view->length);
}

void shared_pages_reset(void)
{
    pthread_mutex_init(&files_mutex, NULL); /* a parent may have forked with it locked */
    for (uint32_t i = 0; i < SHARED_FILES; i++) {
        if (files[i].regions)
            close(files[i].fd);
    }
    for (uint32_t slot = 0; slot < MAX_NODES; slot++) {
        for (uint32_t i = 0; i < SHARED_FILES; i++) {
            if (views[slot][i].number)
                unmap(&views[slot][i]);
        }
    }
    memset(files, 0, sizeof(files));
    memset(views, 0, sizeof(views));
}

/* The first page tells most buffers of users from pools, without a file being opened. */
static bool first_page_is_present(uint64_t addr)
{
    unsigned char present;

    return mincore((void *) (uintptr_t) addr, PAGE, &present) || (present & 1);
}

static bool is_untouched(uint64_t addr, uint64_t length)
{
    uint64_t entries[PAGES_AT_ONCE], page = addr / PAGE, end = page + length / PAGE;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool untouched = fd >= 0;

    while (untouched && page < end) {
        uint64_t n = end - page < PAGES_AT_ONCE ? end - page : PAGES_AT_ONCE;

        untouched = pread(fd, entries, n * 8, (off_t) (page * 8)) == (ssize_t) (n * 8);
        for (uint64_t i = 0; untouched && i < n; i++)
            untouched = !(entries[i] & EVER_PRESENT);
        page += n;
    }
    if (fd >= 0)
        close(fd);
    return untouched;
}

/* Whether the range is of mappings of that file without a gap, or of private anonymous ones where
 * inode is 0. Heaps are left alone, whose end moves. */
static bool is_mapping_of(uint64_t inode, uint64_t addr, uint64_t length)
{
    uint64_t end = addr + length;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    if (!maps)
        return false;
    while (addr < end && fgets(line, sizeof(line), maps)) {
        uint64_t from, to, file;
        char access[5], name[8] = "";

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %7s", &from, &to, access,
                   &file, name) < 4 ||
            to <= addr)
            continue;
        if (from > addr || file != inode || strcmp(access, inode ? "rw-s" : "rw-p") ||
            (!inode && name[0] && strncmp(name, "[anon", 5)))
            break;
        addr = to;
    }
    fclose(maps);
    return addr >= end;
}

/* Puts a new file under the range; false, and nothing has changed, if there is none to be had. */
static bool put_under(struct file *file, uint64_t addr, uint64_t length)
{
    void *at = (void *) (uintptr_t) addr;
    struct stat status;
    int fd = memfd_create("softhca", MFD_CLOEXEC);

    if (fd < 0)
        return false;
    if (ftruncate(fd, (off_t) length) || fstat(fd, &status) || !is_untouched(addr, length) ||
        map_shared(at, length, PROT_READ | PROT_WRITE, MAP_FIXED, fd) != at) {
        close(fd);
        return false;
    }
    (void) madvise(at, length, MADV_DONTFORK);
    (void) madvise(at, length, MADV_HUGEPAGE);
    *file = (struct file){.begin = addr,
                          .end = addr + length,
                          .device = status.st_dev,
                          .inode = status.st_ino,
                          .fd = fd};
    atomic_store(&self.node->shared_files[file - files],
                 atomic_fetch_add(&self.fabric->shared_files, 1) + 1);
    return true;
}

/* The file that is under the range already, or an unused entry. */
static struct file *find_file(uint64_t addr, uint64_t length)
{
    struct file *unused = NULL;

    for (struct file *file = files + SHARED_FILES; file-- > files;) {
        if (!file->regions)
            unused = file;
        else if (file->begin <= addr && addr + length <= file->end &&
                 is_mapping_of(file->inode, addr, length)) /* it may have been mapped anew */
            return file;
    }
    return unused;
}

static struct shared_pages give(uint64_t addr, uint64_t length)
{
    struct file *file = find_file(addr, length);

    if (!file ||
        (!file->regions && (first_page_is_present(addr) || !is_mapping_of(0, addr, length) ||
                            !put_under(file, addr, length))))
        return (struct shared_pages){.number = 0};
    file->regions++;
    return (struct shared_pages){.number = atomic_load(&self.node->shared_files[file - files]),
                                 .offset = addr - file->begin,
                                 .device = file->device,
                                 .inode = file->inode,
                                 .index = (uint32_t) (file - files),
                                 .fd = file->fd};
}

struct shared_pages shared_pages_give(uint64_t addr, uint64_t length)
{
    struct shared_pages pages = {.number = 0};

    if (!config.share_pages || !stale_watches_shared() || length < LEAST_BYTES || addr % PAGE ||
        length % PAGE)
        return pages;
    pthread_mutex_lock(&files_mutex);
    pages = give(addr, length);
    pthread_mutex_unlock(&files_mutex);
    return pages;
}

void shared_pages_take_back(const struct shared_pages *pages)
{
    struct file *file = &files[pages->index];

    if (!pages->number)
        return;
    pthread_mutex_lock(&files_mutex);
    if (--file->regions == 0) {
        atomic_store(&self.node->shared_files[pages->index], 0);
        if (is_mapping_of(file->inode, file->begin, file->end - file->begin))
            (void) madvise((void *) (uintptr_t) file->begin, file->end - file->begin, MADV_DOFORK);
        close(file->fd);
    }
    pthread_mutex_unlock(&files_mutex);
}

/* Maps what the descriptor is of, if that is the file meant. */
static void map_view(struct view *view, int fd, const struct shared_pages *pages)
{
    struct stat status;
    void *base;

    if (fstat(fd, &status) || status.st_dev != pages->device || status.st_ino != pages->inode)
        return;
    base = map_shared(NULL, (uint64_t) status.st_size, PROT_READ | PROT_WRITE, MAP_POPULATE, fd);
    if (base == MAP_FAILED)
        return;
    (void) madvise(base, (size_t) status.st_size, MADV_DONTFORK);
    view->base = base;
    view->length = (uint64_t) status.st_size;
}

static void make_view(struct view *view, uint32_t slot, const struct shared_pages *pages)
{
    char path[64];
    int fd;

    unmap(view);
    *view = (struct view){.number = pages->number};
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) atomic_load(&self.fabric->nodes[slot].pid),
             pages->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        map_view(view, fd, pages);
        close(fd);
    }
    if (!view->base)
        report_at(1, "%s is not mapped, and left to the kernel", path);
}

/* The view of the file that a region of that node is in; NULL if it has private pages, or there is
 * no view to be had. */
static const struct view *view_of(struct node *owner, uint32_t slot,
                                  const struct memory_region_entry *entry)
{
    const struct shared_pages *pages = &entry->pages;
    struct view *view;

    if (!pages->number || pages->index >= SHARED_FILES ||
        atomic_load(&owner->shared_files[pages->index]) != pages->number)
        return NULL;
    view = &views[slot][pages->index];
    if (view->number != pages->number)
        make_view(view, slot, pages);
    return view->base && pages->offset + entry->length <= view->length ? view : NULL;
}

/* Where this process has `addr` of the node's region under `key`; 0 if it has no view of that. */
static uint64_t mapped_address(struct node *owner, uint32_t slot, uint32_t key, uint64_t addr)
{
    const struct memory_region_entry *entry = segment_region(owner, key);
    const struct view *view = entry ? view_of(owner, slot, entry) : NULL;

    return view ? (uintptr_t) view->base + entry->pages.offset + (addr - entry->iova) : 0;
}

bool shared_pages_map_list(uint32_t slot, const struct work_request *request, struct ibv_sge *out)
{
    struct node *owner = segment_node(slot);

    if (!stale_watches_shared())
        return false;
    for (uint32_t i = 0; i < request->n_sge; i++) {
        const struct ibv_sge *sge = &request->sge[i];

        out[i] = *sge;
        out[i].addr = mapped_address(owner, slot, sge->lkey, sge->addr);
        if (!out[i].addr)
            return false;
    }
    return true;
}

uint64_t shared_pages_map_target(uint32_t slot, const struct work_request *request)
{
    return stale_watches_shared()
               ? mapped_address(segment_node(slot), slot, request->remote_key, request->remote_addr)
               : 0;
}
