/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copies between processes, by process_vm_readv and process_vm_writev, and within one, out of
 * shared pages; and their cost.
 *
 * The receiver of data pulls it, so that a thread that polls memory of its own is the one that
 * wrote it and sees it in order. Inline payload lies in the shared segment and is stored word by
 * word.
 *
 * Owns the costs: of one setup and one slope for each way to copy. Which thread copies, and in
 * which order two copy to one place, is decided by those who execute requests.
 */
#define _GNU_SOURCE

#include "copy.h"
#include "clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define CALIBRATION_BYTES 65536u
#define CALIBRATION_RUNS  9
#define LEARNT_BYTES      1024u
#define BLOCK             512u
#define WORD              8u
#define LINE              64u
#define BLOCKS_AT_ONCE    64
#define VECTORS           1024u /* the most that the kernel takes */

typedef uint64_t pair __attribute__((vector_size(16)));
struct unaligned_pair { /* anywhere in memory */
    pair pair __attribute__((packed));
} __attribute__((may_alias));

struct cost {
    uint64_t base_ns;
    uint64_t per_64k_ns;
};
static struct cost costs[COPIERS];

/* The part [offset, offset + length) of a list as vectors; the number of vectors. */
static unsigned slice(const struct memory_list *list, uint64_t offset, uint64_t length,
                      struct iovec *out)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < list->n_sge && length; i++) {
        uint64_t part = list->sge[i].length;

        if (offset >= part) {
            offset -= part;
            continue;
        }
        part -= offset;
        if (part > length)
            part = length;
        out[n++] = (struct iovec){.iov_base = (void *) (uintptr_t) (list->sge[i].addr + offset),
                                  .iov_len = part};
        offset = 0;
        length -= part;
    }
    return n;
}

/* Copies a few bytes, an aligned word at a time where there is one. */
static void copy_few(uint8_t *to, const uint8_t *from, uint64_t length)
{
    while (length) {
        uint64_t word;

        atomic_thread_fence(memory_order_release);
        if ((uintptr_t) to % WORD || length < WORD) {
            *(volatile uint8_t *) to++ = *from++;
            length--;
            continue;
        }
        memcpy(&word, from, WORD);
        *(volatile uint64_t *) (void *) to = word;
        to += WORD, from += WORD, length -= WORD;
    }
}

/*
 * In order of rising addresses: who acquires a word of the target, wherever in it, finds what lies
 * before. A library's copy does not do that, it stores the beginning or the end of what it is given
 * after the rest. Volatile stores keep their order in the program, and the fences, which cost
 * nothing on x86, theirs in memory. A store is of 16 aligned bytes at most, which x86 makes at
 * once.
 */
static void copy_rising(uint8_t *to, const uint8_t *from, uint64_t length)
{
    uint64_t head = -(uintptr_t) to % LINE;

    if (head > length)
        head = length;
    copy_few(to, from, head);
    for (to += head, from += head, length -= head; length >= LINE; length -= LINE) {
        const struct unaligned_pair *source = (const void *) from;
        volatile pair *target = (volatile pair *) (void *) to;
        pair a = source[0].pair, b = source[1].pair, c = source[2].pair, d = source[3].pair;

        target[0] = a;
        atomic_thread_fence(memory_order_release);
        target[1] = b;
        atomic_thread_fence(memory_order_release);
        target[2] = c;
        atomic_thread_fence(memory_order_release);
        target[3] = d;
        atomic_thread_fence(memory_order_release);
        to += LINE, from += LINE;
    }
    copy_few(to, from, length);
}

static void copy_within(const struct iovec *to, const struct iovec *from, uint64_t length)
{
    uint64_t to_done = 0, from_done = 0;

    while (length) {
        uint64_t part = length;

        if (part > to->iov_len - to_done)
            part = to->iov_len - to_done;
        if (part > from->iov_len - from_done)
            part = from->iov_len - from_done;
        copy_rising((uint8_t *) to->iov_base + to_done, (uint8_t *) from->iov_base + from_done,
                    part);
        length -= part;
        to_done += part;
        from_done += part;
        if (to_done == to->iov_len) {
            to++;
            to_done = 0;
        }
        if (from_done == from->iov_len) {
            from++;
            from_done = 0;
        }
    }
}

int copy_between(const struct memory_list *to, const struct memory_list *from, uint64_t offset,
                 uint64_t length)
{
    while (length) {
        struct iovec a[MAX_SGE + 1], b[MAX_SGE + 1];
        unsigned n_a = slice(to, offset, length, a);
        unsigned n_b = slice(from, offset, length, b);
        ssize_t n;

        if (to->pid == self.pid && from->pid == self.pid) {
            copy_within(a, b, length);
            return 0;
        }
        if (to->pid == self.pid)
            n = process_vm_readv(from->pid, a, n_a, b, n_b, 0);
        else
            n = process_vm_writev(to->pid, b, n_b, a, n_a, 0);
        if (n <= 0)
            return n < 0 && errno ? errno : EFAULT;
        offset += (uint64_t) n;
        length -= (uint64_t) n;
    }
    return 0;
}

/* How much of `length` bytes for `at` may be copied at once: not the word that ends a block, or the
 * whole, together with what is in front of it. */
static uint64_t until_word(uint64_t at, uint64_t length)
{
    uint64_t part = BLOCK - at % BLOCK;

    if (part > length)
        part = length;
    return part > WORD ? part - WORD : part;
}

/*
 * The kernel copies each vector with a string instruction, whose stores may become visible in any
 * order among themselves but not before those of the one before. So its own side is cut in front of
 * each word that ends a block of the target or the whole; a reader that waits for that word finds
 * the rest in place.
 */
int copy_in_order(const struct memory_list *to, const struct memory_list *from, uint64_t offset,
                  uint64_t length)
{
    const bool pulls = to->pid == self.pid;
    const struct memory_list *ours = pulls ? to : from, *theirs = pulls ? from : to;
    uint64_t end = offset + length;

    if (pulls && from->pid == self.pid)
        return copy_between(to, from, offset, length);
    while (offset < end) {
        struct iovec parts[2 * BLOCKS_AT_ONCE + MAX_SGE + 1], whole[MAX_SGE + 1];
        uint64_t begin = offset;
        unsigned n = 0, n_whole;
        ssize_t copied;

        while (offset < end && n + 1 < 2 * BLOCKS_AT_ONCE) {
            uint64_t part = until_word(to->sge[0].addr + offset, end - offset);

            n += slice(ours, offset, part, parts + n);
            offset += part;
        }
        n_whole = slice(theirs, begin, offset - begin, whole);
        copied = pulls ? process_vm_readv(theirs->pid, parts, n, whole, n_whole, 0)
                       : process_vm_writev(theirs->pid, parts, n, whole, n_whole, 0);
        if (copied <= 0)
            return copied < 0 && errno ? errno : EFAULT;
        offset = begin + (uint64_t) copied; /* less, if what is behind is not mapped */
    }
    return 0;
}

void copy_inline(const struct memory_list *to, const uint8_t *from, uint64_t offset,
                 uint64_t length)
{
    struct iovec parts[MAX_SGE + 1];
    unsigned n = slice(to, offset, length, parts);

    for (unsigned i = 0; i < n; i++) {
        volatile uint8_t *out = parts[i].iov_base;
        uint64_t left = parts[i].iov_len;

        for (; left && (uintptr_t) out % 8; left--)
            *out++ = *from++;
        for (; left >= 8; left -= 8, out += 8, from += 8) {
            uint64_t word;

            memcpy(&word, from, 8);
            *(volatile uint64_t *) out = word;
        }
        for (; left; left--)
            *out++ = *from++;
    }
}

int copy_fetch(uint8_t *to, const struct memory_list *from, uint64_t offset, uint64_t length)
{
    struct iovec a = {to, length}, b[MAX_SGE + 1];
    ssize_t n = process_vm_readv(from->pid, &a, 1, b, slice(from, offset, length, b), 0);

    if (n == (ssize_t) length)
        return 0;
    return n < 0 && errno ? errno : EFAULT;
}

/* Copies one vector after the other to another process; empties them. */
static int write_vectors(int32_t pid, const struct iovec *to, const struct iovec *from, unsigned *n)
{
    uint64_t length = 0;
    ssize_t copied;

    for (unsigned i = 0; i < *n; i++)
        length += to[i].iov_len;
    copied = *n ? process_vm_writev(pid, from, *n, to, *n, 0) : 0;
    *n = 0;
    if (copied == (ssize_t) length)
        return 0;
    return copied < 0 && errno ? errno : EFAULT;
}

/* By the kernel, which copies each vector with a string instruction, byte by byte where that is
 * interrupted, and in any order: so each word is a vector. */
static int write_pieces(int32_t pid, uint64_t to, const uint8_t *from, const struct piece *pieces,
                        unsigned n)
{
    struct iovec theirs[VECTORS], ours[VECTORS];
    unsigned filled = 0;

    for (unsigned i = 0; i < n; i++) {
        uint64_t at = pieces[i].begin, end = at + pieces[i].length;

        for (uint64_t next; at < end; at = next) {
            int err = filled == VECTORS ? write_vectors(pid, theirs, ours, &filled) : 0;

            if (err)
                return err;
            next = at + WORD - (to + at) % WORD;
            next = next < end ? next : end;
            theirs[filled] = (struct iovec){(void *) (uintptr_t) (to + at), next - at};
            ours[filled++] = (struct iovec){(void *) (uintptr_t) (from + at), next - at};
        }
    }
    return write_vectors(pid, theirs, ours, &filled);
}

int copy_pieces(int32_t pid, uint64_t to, const uint8_t *from, const struct piece *pieces,
                unsigned n)
{
    if (pid != self.pid)
        return write_pieces(pid, to, from, pieces, n);
    for (unsigned i = 0; i < n; i++)
        copy_few((uint8_t *) (uintptr_t) to + pieces[i].begin, from + pieces[i].begin,
                 pieces[i].length);
    return 0;
}

uint64_t copy_cost(enum copier copier, uint64_t length)
{
    const struct cost *cost = &costs[copier];

    return cost->base_ns + length * cost->per_64k_ns / CALIBRATION_BYTES;
}

void copy_took(uint64_t length, uint64_t ns)
{
    struct cost *cost = &costs[COPIER_PROCESS];
    uint64_t step = cost->per_64k_ns / 64 + 1;

    if (length < LEARNT_BYTES)
        return;
    if (ns > copy_cost(COPIER_PROCESS, length))
        cost->per_64k_ns += step;
    else if (cost->per_64k_ns > 3 * step)
        cost->per_64k_ns -= 3 * step;
}

static int copy_by_kernel(void *to, void *from, size_t length)
{
    struct iovec a = {to, length}, b = {from, length};

    return process_vm_readv(self.pid, &a, 1, &b, 1, 0) < 0 ? -1 : 0;
}

static int copy_by_process(void *to, void *from, size_t length)
{
    struct iovec a = {to, length}, b = {from, length};

    copy_within(&a, &b, length);
    return 0;
}

static uint64_t best_of(int (*copy)(void *, void *, size_t), void *to, void *from, size_t length)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < CALIBRATION_RUNS; i++) {
        uint64_t begin = clock_now(), took;

        if (copy(to, from, length))
            return 0;
        took = clock_now() - begin;
        if (took < best)
            best = took;
    }
    return best;
}

static struct cost cost_of(int (*copy)(void *, void *, size_t), uint8_t *buffer)
{
    uint64_t small = best_of(copy, buffer, buffer + CALIBRATION_BYTES, 8);
    uint64_t large = best_of(copy, buffer, buffer + CALIBRATION_BYTES, CALIBRATION_BYTES);

    return (struct cost){.base_ns = small, .per_64k_ns = large > small ? large - small : 0};
}

void copy_calibrate(void)
{
    uint8_t *buffer = mmap(NULL, 2 * CALIBRATION_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (buffer == MAP_FAILED)
        return;
    costs[COPIER_KERNEL] = cost_of(copy_by_kernel, buffer);
    costs[COPIER_PROCESS] = cost_of(copy_by_process, buffer);
    munmap(buffer, 2 * CALIBRATION_BYTES);
}
