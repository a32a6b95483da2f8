/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The memory of a message: where it lies, its bytes before and after, and what is around it. */
#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GUARD = 64,
    PAGE = 4096,
    STACK = SOAK_M,
    REPLACED = 128 * SOAK_M,
    DISCARDED = 64 * SOAK_M,
    KEPT = 8 * SOAK_M
};

/* Memory handed out from its beginning on, and all of it taken back at once. */
struct region {
    char *base;
    size_t size;
    size_t used;
};

static struct region regions[BUFFER_KINDS]; /* of the kinds that have one */

static void region_map(enum buffer_kind kind, size_t size, int protection)
{
    void *base = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED) {
        soak_wrong("no address space for %zu bytes", size);
    }
    regions[kind] = (struct region){.base = base, .size = size};
}

void buffers_open(void)
{
    region_map(BUFFER_REPLACED, REPLACED, PROT_NONE);
    region_map(BUFFER_DISCARDED, DISCARDED, PROT_READ | PROT_WRITE);
    region_map(BUFFER_KEPT, KEPT, PROT_READ | PROT_WRITE);
}

void buffers_close(void)
{
    for (int kind = 0; kind < BUFFER_KINDS; kind++) {
        if (regions[kind].base != NULL && kind != BUFFER_STACK) {
            munmap(regions[kind].base, regions[kind].size);
        }
        regions[kind] = (struct region){.base = NULL};
    }
}

void __attribute__((noinline)) buffers_round(void (*body)(void *), void *context)
{
    char stack[STACK] __attribute__((aligned(PAGE)));

    regions[BUFFER_STACK] = (struct region){.base = stack, .size = sizeof(stack)};
    regions[BUFFER_REPLACED].used = 0;
    regions[BUFFER_DISCARDED].used = 0;
    regions[BUFFER_KEPT].used = 0;
    body(context);
    regions[BUFFER_STACK] = (struct region){.base = NULL};
}

/* Pages of a region, or NULL if there are not as many left. On the stack not even whole pages. */
static char *region_take(enum buffer_kind kind, size_t size)
{
    struct region *region = &regions[kind];
    const size_t grain = kind == BUFFER_STACK ? 16 : PAGE;
    const size_t rounded = (size + grain - 1) / grain * grain;
    char *memory = region->base + region->used;

    if (region->base == NULL || region->size - region->used < rounded) {
        return NULL;
    }
    if (kind == BUFFER_REPLACED &&
        mmap(memory, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        soak_wrong("no memory for %zu bytes mapped over others", rounded);
    }
    region->used += rounded;
    return memory;
}

static char *take(enum buffer_kind *kind, size_t size)
{
    char *memory = NULL;

    switch (*kind) {
    case BUFFER_HEAP:
    case BUFFER_KINDS:
        break;
    case BUFFER_MAPPED:
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? soak_memory(SIZE_MAX) : memory;
    case BUFFER_REPLACED:
    case BUFFER_DISCARDED:
    case BUFFER_KEPT:
    case BUFFER_STACK:
        memory = region_take(*kind, size);
        break;
    }
    if (memory == NULL) {
        *kind = BUFFER_HEAP;
        memory = soak_memory(size);
    }
    return memory;
}

struct buffer buffer_take(struct dice *dice, size_t count)
{
    static const int weights[] = {30, 20, 15, 10, 15, 10, -1};
    const size_t shift = dice_percent(dice, 50) ? 0 : dice_below(dice, 64);
    struct buffer buffer = {.count = count, .whole = count + 2 * GUARD + shift};

    buffer.kind = (enum buffer_kind) dice_weighted(dice, weights);
    buffer.memory = take(&buffer.kind, buffer.whole);
    buffer.bytes = buffer.memory + GUARD + shift;
    memset(buffer.memory, SOAK_UNTOUCHED, buffer.whole);
    return buffer;
}

static void check_guards(const struct buffer *buffer, const char *what)
{
    const size_t before = (size_t) (buffer->bytes - buffer->memory);
    const size_t behind = buffer->whole - before - buffer->count;

    if (untouched_match(buffer->memory, before) != before) {
        soak_wrong("%s: written before the buffer of %zu bytes", what, buffer->count);
    }
    if (untouched_match(buffer->bytes + buffer->count, behind) != behind) {
        soak_wrong("%s: written behind the buffer of %zu bytes", what, buffer->count);
    }
}

void buffer_give(struct buffer *buffer, const char *what)
{
    const size_t pages = (buffer->whole + PAGE - 1) / PAGE * PAGE;

    check_guards(buffer, what);
    memset(buffer->memory, 0xee, buffer->whole);
    switch (buffer->kind) {
    case BUFFER_HEAP:
        free(buffer->memory);
        break;
    case BUFFER_MAPPED:
        munmap(buffer->memory, buffer->whole);
        break;
    case BUFFER_REPLACED:
        if (mmap(buffer->memory, pages, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
            soak_wrong("no address space over %zu bytes", pages);
        }
        break;
    case BUFFER_DISCARDED:
        madvise(buffer->memory, pages, MADV_DONTNEED);
        break;
    case BUFFER_KEPT:
    case BUFFER_STACK:
    case BUFFER_KINDS:
        break;
    }
    buffer->bytes = NULL;
    buffer->memory = NULL;
}
