/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Buffers by mmap(), so that new ones are new to every transport; bytes that differ everywhere.
 */
#define _GNU_SOURCE
#include "bench/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { LINE = 64, PAGE = 4096 };

/* Ends the whole job: without memory for its buffers a rank has nothing to measure. */
static void no_memory(size_t bytes)
{
    fprintf(stderr, "rbuf-bench: no memory for buffers of %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* There is at least a byte behind each message, which nobody may write, but in an array. */
static void map_area(struct bench_area *area, const struct bench_layout *layout, int slots)
{
    const size_t unit = layout->span < PAGE && !layout->pages ? LINE : PAGE;

    area->slots = (size_t) slots;
    area->stride =
        layout->array ? layout->span + (layout->span == 0) : (layout->span + unit) & ~(unit - 1);
    area->base = mmap(NULL, area->stride * area->slots, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area->base == MAP_FAILED) {
        no_memory(area->stride * area->slots);
    }
}

static void unmap_area(struct bench_area *area)
{
    if (area->base != NULL) {
        munmap(area->base, area->stride * area->slots);
        area->base = NULL;
    }
}

void bench_buffers_open(struct bench_buffers *buffers, const struct bench_layout *layout, int slots,
                        int reps, int reuse)
{
    const size_t bytes = layout->size + sizeof(uint64_t);

    *buffers = (struct bench_buffers){.layout = layout,
                                      .slots = slots,
                                      .send = calloc((size_t) slots, sizeof(char *)),
                                      .recv = calloc((size_t) slots, sizeof(char *)),
                                      .packed = malloc(bytes),
                                      .reuse = bench_reuse_start((int64_t) slots * reps, reuse)};
    if (buffers->send == NULL || buffers->recv == NULL || buffers->packed == NULL) {
        no_memory(bytes);
    }
    if (buffers->reuse.reused_left > 0) {
        map_area(&buffers->reused_send, layout, slots);
        map_area(&buffers->reused_recv, layout, slots);
    }
}

void bench_buffers_close(struct bench_buffers *buffers)
{
    bench_buffers_release(buffers);
    unmap_area(&buffers->reused_send);
    unmap_area(&buffers->reused_recv);
    free(buffers->send);
    free(buffers->recv);
    free(buffers->packed);
}

static void choose_buffers(struct bench_buffers *buffers)
{
    buffers->reuse_before = buffers->reuse;
    for (int m = 0; m < buffers->slots; m++) {
        const bool reused = bench_reuse_next(&buffers->reuse);
        if (!reused && buffers->fresh_send.base == NULL) {
            map_area(&buffers->fresh_send, buffers->layout, buffers->slots);
            map_area(&buffers->fresh_recv, buffers->layout, buffers->slots);
        }
        const struct bench_area *send = reused ? &buffers->reused_send : &buffers->fresh_send;
        const struct bench_area *recv = reused ? &buffers->reused_recv : &buffers->fresh_recv;
        buffers->send[m] = send->base + (size_t) m * send->stride;
        buffers->recv[m] = recv->base + (size_t) m * recv->stride;
        buffers->last_reused = reused;
    }
}

static size_t slot_bytes(const struct bench_buffers *buffers)
{
    const struct bench_area *area =
        buffers->reused_send.base != NULL ? &buffers->reused_send : &buffers->fresh_send;

    return area->stride;
}

/*
 * Adds message `m` of `rank` in repetition `rep`, without gaps, by exclusive or: no two words of it
 * are equal, nor is one zero, and with another rank, message, or repetition of the 16384 next to
 * it, it differs everywhere.
 */
static void mix_packed(char *packed, size_t size, int rank, int rep, int m)
{
    const uint64_t first =
        ((uint64_t) (rep + 1) << 50) + ((uint64_t) m << 32) + ((uint64_t) (rank + 1) << 30);

    for (size_t i = 0; i < (size + 7) / 8; i++) {
        uint64_t word;

        memcpy(&word, packed + 8 * i, 8);
        word ^= (first + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        memcpy(packed + 8 * i, &word, 8);
    }
}

/* That message, or of several ranks all together. */
static void write_packed(char *packed, size_t size, struct bench_ranks ranks, int rep, int m)
{
    memset(packed, 0, (size + 7) / 8 * 8);
    for (int rank = ranks.first; rank < ranks.first + ranks.count; rank++) {
        mix_packed(packed, size, rank, rep, m);
    }
}

static void evict(const char *memory, size_t bytes)
{
#ifdef __x86_64__
    for (size_t i = 0; i < bytes; i += LINE) {
        _mm_clflush(memory + i);
    }
    _mm_mfence();
#else
    /* Other lines take the place of these: those of more memory than most caches hold. */
    static char others[64 << 20];
    volatile char *all = others;
    (void) memory;
    (void) bytes;
    for (size_t i = 0; i < sizeof others; i += LINE) {
        all[i]++;
    }
#endif
}

void bench_buffers_prepare(struct bench_buffers *buffers, int rank, int rep, enum bench_cache cache)
{
    choose_buffers(buffers);
    const size_t bytes = slot_bytes(buffers);
    for (int m = 0; m < buffers->slots; m++) {
        memset(buffers->recv[m], 0, bytes);
    }
    for (int m = 0; m < buffers->slots; m++) {
        write_packed(buffers->packed, buffers->layout->size, (struct bench_ranks){rank, 1}, rep, m);
        if (buffers->layout->kind != BENCH_BYTES) {
            memset(buffers->send[m], 0, bytes);
        }
        bench_layout_unpack(buffers->layout, buffers->send[m], buffers->packed);
    }
    for (int m = 0; m < buffers->slots && cache != BENCH_WARM; m++) {
        evict(buffers->recv[m], bytes);
        if (cache == BENCH_COLD) {
            evict(buffers->send[m], bytes);
        }
    }
}

bool bench_buffers_first_reuse(const struct bench_buffers *buffers)
{
    return buffers->reuse_before.reused_left == buffers->reuse_before.reused &&
           buffers->reuse.reused_left < buffers->reuse.reused;
}

void bench_buffers_repeat(struct bench_buffers *buffers)
{
    buffers->reuse = buffers->reuse_before;
}

static bool message_right(struct bench_buffers *buffers, int m, struct bench_ranks from, int rep)
{
    const struct bench_layout *layout = buffers->layout;
    char *expected = malloc(layout->size + 8);
    bool right = expected != NULL;

    if (right) {
        write_packed(expected, layout->size, from, rep, m);
        bench_layout_pack(layout, buffers->recv[m], buffers->packed);
        right = memcmp(buffers->packed, expected, layout->size) == 0;
    }
    free(expected);
    if (!right) {
        return false;
    }
    /* What remains without the message is what nobody may have written. */
    memset(buffers->packed, 0, layout->size);
    bench_layout_unpack(layout, buffers->recv[m], buffers->packed);
    for (size_t i = 0; i < slot_bytes(buffers); i++) {
        if (buffers->recv[m][i] != 0) {
            return false;
        }
    }
    return true;
}

long bench_buffers_check(struct bench_buffers *buffers, int first, int count,
                         struct bench_ranks from, int rep)
{
    long bad = 0;

    for (int m = first; m < first + count; m++) {
        if (!message_right(buffers, m, from, rep)) {
            fprintf(stderr, "rbuf-bench: message %d of %zu bytes in repetition %d is wrong\n", m,
                    buffers->layout->size, rep);
            bad++;
        }
    }
    return bad;
}

void bench_buffers_release(struct bench_buffers *buffers)
{
    unmap_area(&buffers->fresh_send);
    unmap_area(&buffers->fresh_recv);
}
