/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The frames by libunwind, and the place of libmpi's code in the process, which is found once
 * (registration/call_stack.h). Without libunwind no place is known.
 */
#include "registration/call_stack.h"

#if defined(RBUF_HAVE_UNWIND) && RBUF_HAVE_UNWIND

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define DEEPEST 64 /* frames, MPI's own included */

/* Of libmpi's code, addresses. Written by open alone. */
static uintptr_t mpi_begin;
static uintptr_t mpi_end;

/* Is this the object that a function of MPI is in? */
static int visit(struct dl_phdr_info *object, size_t size, void *function)
{
    const uintptr_t address = (uintptr_t) function;

    (void) size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && address >= begin && address < begin + segment->p_memsz) {
            mpi_begin = begin;
            mpi_end = begin + segment->p_memsz;
            return 1;
        }
    }
    return 0;
}

bool mca_btl_rbuf_call_stack_open(void)
{
    void *function = dlsym(RTLD_DEFAULT, "PMPI_Wait");

    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    return function != NULL && dl_iterate_phdr(visit, function) != 0;
}

static bool is_mpi(const void *address)
{
    return (uintptr_t) address >= mpi_begin && (uintptr_t) address < mpi_end;
}

/* From the oldest frame on, up to the first of MPI's. */
uint64_t mca_btl_rbuf_call_stack_hash(void)
{
    void *frame[DEEPEST];
    uint64_t hash = 0;
    int at;

    if (mpi_end == 0) {
        return 0;
    }
    at = unw_backtrace(frame, DEEPEST);
    if (at == DEEPEST) { /* the oldest ones are missing */
        return 0;
    }
    while (--at >= 0 && !is_mpi(frame[at])) {
        hash = (hash ^ (uintptr_t) frame[at]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return at < 0 ? 0 : hash;
}

#else

bool mca_btl_rbuf_call_stack_open(void)
{
    return false;
}

uint64_t mca_btl_rbuf_call_stack_hash(void)
{
    return 0;
}

#endif
