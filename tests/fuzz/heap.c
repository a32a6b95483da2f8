/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a thread holds on the heap: the sanitizer's hooks add and subtract in a variable of the
 * thread's own. The sanitizer's own sum is of the process, and a thread of libFuzzer's (it watches
 * the limit of memory) allocates while it starts, which may be during any of the first inputs.
 *
 * What was there before the hooks, and what one thread allocates and another frees, moves the sum
 * for good: sums can be compared, and mean nothing alone.
 */
#include "fuzz.h"

#include <sanitizer/allocator_interface.h>

static _Thread_local size_t held; /* bytes; wraps */

static void on_malloc(const volatile void *block, size_t bytes)
{
    (void) block;
    held += bytes;
}

static void on_free(const volatile void *block)
{
    /* A bad pointer is for the sanitizer to report, which looks at it after this. */
    if (block != NULL && __sanitizer_get_ownership(block)) {
        held -= __sanitizer_get_allocated_size(block);
    }
}

size_t fuzz_heap(void)
{
    static bool installed;

    if (!installed) {
        installed = true;
        fuzz_require(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0,
                     "the sanitizer takes hooks");
    }
    return held;
}
