/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory of our own and of users, registered with whatever adapter there is. Without an adapter the
 * test is skipped.
 */
#include "unit.h"

#include <errno.h>
#include <sys/mman.h>

#include "adapter.h"

static uint64_t registered_now(void)
{
    return atomic_load(&rbuf_memory_stats.registered);
}

START_TEST(memory_is_counted)
{
    struct adapter adapter;
    struct rbuf_memory memory;
    struct rbuf_problem problem;
    struct ibv_mr *mr;
    uint64_t before;
    char *user = malloc(100000);

    adapter_open(&adapter);
    before = registered_now();
    adapter_allocate(&adapter, 100000, ADAPTER_ACCESS, &memory);
    ck_assert_uint_eq((uintptr_t) memory.base % 4096, 0);
    ck_assert_uint_eq(memory.bytes % 4096, 0);
    ck_assert_uint_ge(memory.bytes, 100000);
    for (size_t i = 0; i < memory.bytes; i++) {
        ck_assert_int_eq(((char *) memory.base)[i], 0);
    }
    ck_assert_uint_eq(registered_now(), before + memory.bytes);
    adapter_ok(rbuf_register(adapter.port, user, 100000, IBV_ACCESS_LOCAL_WRITE, &mr, &problem),
               &problem);
    ck_assert_uint_eq(registered_now(), before + memory.bytes + 100000);
    ck_assert_uint_ge(atomic_load(&rbuf_memory_stats.peak), registered_now());
    ck_assert_int_eq(rbuf_deregister(mr), 0);
    ck_assert_int_eq(rbuf_deregister(NULL), 0);
    rbuf_memory_free(&memory);
    ck_assert_ptr_null(memory.base);
    rbuf_memory_free(&memory);
    ck_assert_uint_eq(registered_now(), before);
    adapter_close(&adapter);
    ck_assert_uint_eq(registered_now(), 0);
    ck_assert_uint_eq(atomic_load(&rbuf_memory_stats.registrations),
                      atomic_load(&rbuf_memory_stats.deregistrations));
    free(user);
}
END_TEST

/* Registered piece by piece, as regions of their own one behind the other, up to the end. */
START_TEST(a_range_is_registered_as_wanted)
{
    const size_t huge = (size_t) 2 << 20;
    const size_t pieces[] = {huge, 4096, huge, 100 * huge};
    struct adapter adapter;
    struct rbuf_range range;
    struct rbuf_problem problem;
    uint64_t before;
    size_t bytes = 0;

    adapter_open(&adapter);
    before = registered_now();
    adapter_ok(rbuf_range_open(adapter.port, 5 * huge - 1, &range, &problem), &problem);
    ck_assert_uint_eq((uintptr_t) range.base % huge, 0);
    ck_assert_uint_eq(range.bytes, 5 * huge);
    ck_assert_uint_eq(registered_now(), before);
    for (unsigned i = 0; i < 4; i++) {
        size_t next = pieces[i] < range.bytes - bytes ? pieces[i] : range.bytes - bytes;

        adapter_ok(rbuf_range_extend(adapter.port, &range, pieces[i], ADAPTER_ACCESS, &problem),
                   &problem);
        ck_assert_uint_eq(range.regions, i + 1);
        ck_assert_ptr_eq(range.mr[i]->addr, range.base + bytes);
        ck_assert_uint_eq(range.mr[i]->length, next);
        for (size_t byte = bytes; byte < bytes + next; byte++) {
            ck_assert(range.base[byte] == 0);
        }
        bytes += next;
        ck_assert_uint_eq(range.registered, bytes);
        ck_assert_uint_eq(registered_now(), before + bytes);
    }
    ck_assert_uint_eq(bytes, range.bytes);
    ck_assert_int_eq(rbuf_range_extend(adapter.port, &range, 1, ADAPTER_ACCESS, &problem), -EINVAL);
    ck_assert_uint_eq(range.regions, 4);
    rbuf_range_close(&range);
    ck_assert_ptr_null(range.base);
    rbuf_range_close(&range);
    ck_assert_uint_eq(registered_now(), before);
    adapter_close(&adapter);
}
END_TEST

/* True if nothing is mapped at the page. */
static bool is_unmapped(const char *page)
{
    return msync((void *) (uintptr_t) page, 4096, MS_ASYNC) != 0 && errno == ENOMEM;
}

START_TEST(large_memory_is_in_huge_pages)
{
    const size_t huge = (size_t) 2 << 20;
    const size_t sizes[] = {huge / 4, huge - 4096, huge, huge + 8192, 3 * huge};
    struct adapter adapter;

    adapter_open(&adapter);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t mapped = sizes[i] < huge ? huge : sizes[i];
        uint64_t before = registered_now();
        struct rbuf_memory memory;
        const char *base;

        adapter_allocate(&adapter, sizes[i], ADAPTER_ACCESS, &memory);
        base = memory.base;
        ck_assert_uint_eq((uintptr_t) base % huge, 0);
        ck_assert_uint_eq(registered_now(), before + sizes[i]); /* no more than was asked for */
        ck_assert(!is_unmapped(base + mapped - 4096));
        rbuf_memory_free(&memory);
        for (size_t page = 0; page < mapped; page += 4096) {
            ck_assert(is_unmapped(base + page));
        }
    }
    adapter_close(&adapter);
}
END_TEST

START_TEST(registration_that_cannot_be)
{
    struct adapter adapter;
    struct rbuf_problem problem;
    struct ibv_mr *mr = NULL;
    void *hole = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t before;

    adapter_open(&adapter);
    before = registered_now();
    munmap(hole, 1 << 20);
    ck_assert_int_lt(
        rbuf_register(adapter.port, hole, 1 << 20, IBV_ACCESS_LOCAL_WRITE, &mr, &problem), 0);
    ck_assert(strcmp(problem.topic, "reg-failed") == 0 || strcmp(problem.topic, "memlock") == 0);
    ck_assert_uint_gt(strlen(problem.value), 0);
    ck_assert_uint_gt(strlen(problem.remedy), 0);
    ck_assert_uint_eq(registered_now(), before);
    adapter_close(&adapter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, memory_is_counted);
    unit_add(suite, large_memory_is_in_huge_pages);
    unit_add(suite, a_range_is_registered_as_wanted);
    unit_add(suite, registration_that_cannot_be);
    return unit_run(suite);
}
