/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Lists of one-sided requests on whatever adapter there is, two queue pairs of one process
 * connected to each other. Without an adapter the test is skipped.
 */
#include "unit.h"

#include "adapter.h"

/* A list is posted with one doorbell, as far as there is room; of one in which the adapter refuses
 * a request, those before it are done, and the books know of no other. */
START_TEST(lists_of_requests)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory from, to;
    struct rbuf_work works[8];
    struct rbuf_fab_rma list[8];
    unsigned posted;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 8000, ADAPTER_ACCESS, &from);
    adapter_allocate(&adapter, 8000, ADAPTER_ACCESS, &to);
    pair = adapter_connect(&adapter, RBUF_BULK, 4);
    memset(from.base, 7, 8000);
    for (unsigned i = 0; i < 8; i++) {
        works[i] = (struct rbuf_work){.queue = NULL};
        list[i] = (struct rbuf_fab_rma){.verb = RBUF_FAB_WRITE,
                                        .bytes = 1000,
                                        .local = (char *) from.base + 1000 * i,
                                        .remote = (uintptr_t) to.base + 1000 * i,
                                        .lkey = from.mr->lkey,
                                        .rkey = to.mr->rkey,
                                        .work = &works[i]};
    }
    ck_assert_int_eq(rbuf_fab_post_list(pair.a, list, 8, &posted), RBUF_FAB_AGAIN);
    ck_assert_uint_eq(posted, pair.a->depth);
    ck_assert_int_eq(rbuf_fab_post_list(pair.a, list, 1, &posted), RBUF_FAB_AGAIN);
    ck_assert_uint_eq(posted, 0);
    for (unsigned i = 0; i < pair.a->depth; i++) {
        ck_assert_ptr_eq(adapter_next(adapter.port).work, &works[i]);
    }
    ck_assert_int_eq(memcmp(from.base, to.base, 1000 * pair.a->depth), 0);

    memset(to.base, 0, 8000);
    list[2].verb = RBUF_FAB_WRITE_INLINE; /* more than goes there */
    ck_assert_uint_lt(rbuf_fab_inline_max(pair.a), list[2].bytes);
    ck_assert_int_eq(rbuf_fab_post_list(pair.a, list, 4, &posted), RBUF_FAB_DEAD);
    ck_assert_uint_eq(posted, 2);
    ck_assert_uint_eq(adapter.port->fab.signalled, 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct rbuf_completion completion = adapter_next(adapter.port);

        ck_assert_ptr_eq(completion.work, &works[i]);
        ck_assert_int_eq(completion.status, 0);
    }
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    ck_assert_uint_eq(rbuf_fab_outstanding(pair.a), 0);
    ck_assert_int_eq(memcmp(from.base, to.base, 2000), 0);
    ck_assert_uint_eq(((unsigned char *) to.base)[2000], 0);
    adapter_disconnect(&pair);
    rbuf_memory_free(&from);
    rbuf_memory_free(&to);
    adapter_close(&adapter);
}
END_TEST

/* The longest one, in a queue with room for more: this file is compiled with a check of the bounds
 * of arrays. */
START_TEST(longest_list)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory from, to;
    struct rbuf_work works[RBUF_FAB_LIST] = {0};
    struct rbuf_fab_rma list[RBUF_FAB_LIST];
    unsigned posted;

    adapter_open(&adapter);
    adapter_allocate(&adapter, 8 * RBUF_FAB_LIST, ADAPTER_ACCESS, &from);
    adapter_allocate(&adapter, 8 * RBUF_FAB_LIST, ADAPTER_ACCESS, &to);
    pair = adapter_connect(&adapter, RBUF_BULK, 2 * RBUF_FAB_LIST);
    memset(from.base, 7, 8 * RBUF_FAB_LIST);
    for (unsigned i = 0; i < RBUF_FAB_LIST; i++) {
        list[i] = (struct rbuf_fab_rma){.verb = RBUF_FAB_WRITE,
                                        .bytes = 8,
                                        .local = (char *) from.base + 8 * i,
                                        .remote = (uintptr_t) to.base + 8 * i,
                                        .lkey = from.mr->lkey,
                                        .rkey = to.mr->rkey,
                                        .work = &works[i]};
    }
    ck_assert_int_eq(rbuf_fab_post_list(pair.a, list, RBUF_FAB_LIST, &posted), RBUF_FAB_OK);
    ck_assert_uint_eq(posted, RBUF_FAB_LIST);
    for (unsigned i = 0; i < RBUF_FAB_LIST; i++) {
        ck_assert_ptr_eq(adapter_next(adapter.port).work, &works[i]);
    }
    ck_assert_int_eq(memcmp(from.base, to.base, 8 * RBUF_FAB_LIST), 0);
    adapter_disconnect(&pair);
    rbuf_memory_free(&from);
    rbuf_memory_free(&to);
    adapter_close(&adapter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lists");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, lists_of_requests);
    unit_add(suite, longest_list);
    return unit_run(suite);
}
