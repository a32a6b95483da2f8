/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The owner puts a file in memory under its region and publishes descriptor and number with the
 * key; others open the descriptor through /proc, which takes the same user and no privilege, and
 * keep their views until another one needs the place. The number never repeats in a fabric, so a
 * view is of the file it was made for or is not found.
 */
#define _GNU_SOURCE

#include "shared_pages.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE          4096u
#define LEAST_BYTES   65536u
#define PAGES_AT_ONCE 512u
#define FILES         128u
#define VIEWS         256u
#define EVER_PRESENT  (3ull << 62) /* in an entry of pagemap: present, or swapped out */

/* A file under memory of this process, while the region that it was made for lasts. */
struct file {
    uint64_t number; /* 0: free */
    uint64_t begin, end;
    ino_t inode;
    int fd;
};

/* Another process's file. */
struct view {
    uint64_t number; /* 0: free */
    uint8_t *base;   /* NULL: could not be mapped */
    uint64_t length;
};

static pthread_mutex_t files_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES];
static struct view views[VIEWS]; /* under the progress lock */

void shared_pages_reset(void)
{
    pthread_mutex_init(&files_mutex, NULL); /* a parent may have forked with it locked */
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
static bool is_mapping_of(ino_t inode, uint64_t addr, uint64_t length)
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
    if (ftruncate(fd, (off_t) length) || fstat(fd, &status) ||
        mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != at) {
        close(fd);
        return false;
    }
    (void) madvise(at, length, MADV_DONTFORK);
    (void) madvise(at, length, MADV_HUGEPAGE);
    *file = (struct file){.number = atomic_fetch_add(&self.fabric->shared_pages, 1) + 1,
                          .begin = addr,
                          .end = addr + length,
                          .inode = status.st_ino,
                          .fd = fd};
    return true;
}

/* The file that is under the range already, or a free place. */
static struct file *find_file(uint64_t addr, uint64_t length)
{
    struct file *free_place = NULL;

    for (struct file *file = files; file < files + FILES; file++) {
        if (!file->number)
            free_place = file;
        else if (file->begin <= addr && addr + length <= file->end &&
                 is_mapping_of(file->inode, addr, length)) /* it may have been mapped anew */
            return file;
    }
    return free_place;
}

static struct shared_pages give(uint64_t addr, uint64_t length)
{
    struct file *file = find_file(addr, length);
    struct shared_pages pages = {.fd = -1};

    if (!file)
        return pages;
    if (file->number) {
        pages.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
        if (pages.fd < 0)
            return pages;
    } else if (!first_page_is_present(addr) && is_untouched(addr, length) &&
               is_mapping_of(0, addr, length) && put_under(file, addr, length)) {
        pages.fd = file->fd;
    } else {
        return pages;
    }
    pages.number = file->number;
    pages.offset = addr - file->begin;
    return pages;
}

struct shared_pages shared_pages_give(uint64_t addr, uint64_t length)
{
    struct shared_pages pages = {.fd = -1};

    if (!config.share_pages || length < LEAST_BYTES || addr % PAGE || length % PAGE)
        return pages;
    pthread_mutex_lock(&files_mutex);
    pages = give(addr, length);
    pthread_mutex_unlock(&files_mutex);
    return pages;
}

void shared_pages_take_back(const struct shared_pages *pages)
{
    if (!pages->number)
        return;
    pthread_mutex_lock(&files_mutex);
    for (struct file *file = files; file < files + FILES; file++) {
        if (file->number == pages->number && file->fd == pages->fd)
            file->number = 0;
    }
    close(pages->fd);
    pthread_mutex_unlock(&files_mutex);
}

static void make_view(struct view *view, uint32_t slot, const struct shared_pages *pages)
{
    char path[64];
    struct stat status;
    void *base = MAP_FAILED;
    int fd;

    if (view->base)
        munmap(view->base, view->length);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) atomic_load(&self.fabric->ports[slot].pid),
             pages->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && !fstat(fd, &status))
        base = mmap(NULL, (size_t) status.st_size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE, fd, 0);
    *view = (struct view){.number = pages->number};
    if (base != MAP_FAILED) {
        view->base = base;
        view->length = (uint64_t) status.st_size;
    } else {
        report_at(1, "%s is not mapped and read by the kernel instead: %s", path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
}

bool shared_pages_reach(uint32_t slot, const struct work_request *request, struct ibv_sge *out)
{
    struct port *owner = segment_port(slot);

    for (uint32_t i = 0; i < request->n_sge; i++) {
        const struct ibv_sge *sge = &request->sge[i];
        const struct memory_region_entry *entry = segment_region(owner, sge->lkey);
        const struct view *view;

        if (!entry || !entry->pages.number)
            return false;
        view = &views[entry->pages.number % VIEWS];
        if (view->number != entry->pages.number)
            make_view(&views[entry->pages.number % VIEWS], slot, &entry->pages);
        if (!view->base)
            return false;
        out[i] = *sge;
        out[i].addr = (uintptr_t) view->base + entry->pages.offset + (sge->addr - entry->iova);
    }
    return true;
}
