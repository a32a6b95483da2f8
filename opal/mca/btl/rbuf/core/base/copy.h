/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copying between user memory and staging blocks.
 *
 * memcpy() of common C libraries uses `rep movsb` at a block's size, which is several times slower
 * when (destination - source) mod 4096 is small and positive. With 8 of every 4096 bytes taken by a
 * flag that is what happens once a message, so the copy here is a plain vector loop.
 */
#ifndef RBUF_CORE_COPY_H
#define RBUF_CORE_COPY_H

#include <stddef.h>

/* Copies `bytes` between regions that do not overlap. Any alignment, any thread. */
void rbuf_copy(void *to, const void *from, size_t bytes);

/* Asks for the page table entry of memory that is copied from or to soon: neither hardware
 * prefetching nor a copy's own loads reach across a page. Never faults; the address may be any. */
static inline void rbuf_copy_soon(const void *address)
{
    __builtin_prefetch(address);
}

#endif
