/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of memory regions, step by step in one thread: every change of state, and what hooks do
 * in each. Threads are in test_mr_threads.c.
 */
#include "core/helper/mr.h"
#include "unit.h"

#define PAGE   RBUF_MR_PAGE
#define BASE   (100 * (uint64_t) PAGE)
#define PLACES 4u

static struct rbuf_mrs mrs;
static int handle;

static void open_it(void)
{
    ck_assert_int_eq(rbuf_mrs_open(&mrs, PLACES), 0);
}

/* Registered by a taker. */
static struct rbuf_mr *take_new(uint64_t base, uint64_t bytes)
{
    struct rbuf_mr *mr;

    ck_assert_int_eq(rbuf_mr_take(&mrs, base, bytes, 1, &mr), RBUF_MR_TO_REGISTER);
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_REGISTERING);
    rbuf_mr_publish(mr, &handle, 1);
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_IN_USE);
    return mr;
}

/* Used once, deregistered, and planned. */
static struct rbuf_mr *plan_new(uint64_t base, uint64_t bytes)
{
    struct rbuf_mr *mr = take_new(base, bytes);

    ck_assert(rbuf_mr_give(&mrs, mr));
    ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr);
    ck_assert(rbuf_mr_deregister(mr));
    ck_assert(rbuf_mr_deregistered(mr, true));
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_PLANNED);
    return mr;
}

START_TEST(whole_pages_and_what_is_inside)
{
    struct rbuf_mr *mr, *other;

    open_it();
    mr = take_new(BASE + 100, 2 * PAGE);
    ck_assert_uint_eq(rbuf_mr_begin(mr), BASE);
    ck_assert_uint_eq(rbuf_mr_end(mr), BASE + 3 * PAGE);
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE + PAGE, 2 * PAGE, 1, &other), RBUF_MR_TAKEN);
    ck_assert_ptr_eq(other, mr);
    ck_assert(!rbuf_mr_give(&mrs, mr)); /* two users */
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_IN_USE);
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, 4 * PAGE, 1, &other), RBUF_MR_TO_REGISTER);
    rbuf_mr_abandon(other);
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 3, &other), RBUF_MR_TO_REGISTER);
    ck_assert_ptr_ne(other, mr); /* not registered for that */
    rbuf_mr_abandon(other);
    ck_assert(rbuf_mr_give(&mrs, mr));
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_IDLE);
    rbuf_mrs_close(&mrs);
}
END_TEST

START_TEST(planned)
{
    struct rbuf_mr *mr, *other;

    open_it();
    mr = plan_new(BASE, PAGE);
    ck_assert(rbuf_mr_register(mr));
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_COMING);
    ck_assert_ptr_eq(other, mr); /* the helper is late */
    ck_assert_int_eq(rbuf_mr_claim(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TO_REGISTER);
    ck_assert_ptr_ne(other, mr);
    rbuf_mr_abandon(other);
    rbuf_mr_registered(&mrs, mr, &handle);
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TAKEN);
    ck_assert_ptr_eq(other, mr);
    ck_assert(!rbuf_mr_deregister(mr));
    rbuf_mr_give(&mrs, mr);
    ck_assert(rbuf_mr_deregister(mr));
    ck_assert(rbuf_mr_deregistered(mr, true));
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TO_REGISTER);
    ck_assert_ptr_eq(other, mr); /* before the helper */
    ck_assert(!rbuf_mr_register(mr));
    ck_assert_uint_eq(mrs.counters.registered, 1);
    ck_assert_uint_eq(mrs.counters.planned, 1);
    ck_assert_uint_eq(mrs.counters.late, 1);
    ck_assert_uint_eq(mrs.counters.unknown, 2);
    rbuf_mrs_close(&mrs);
}
END_TEST

START_TEST(hook_in_each_state)
{
    struct rbuf_mr *mr, *other;

    open_it();
    mr = plan_new(BASE, PAGE); /* planned: nothing is registered ahead */
    ck_assert(!rbuf_mr_stale(&mrs, BASE - PAGE, PAGE));
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_PLANNED);
    rbuf_mr_stale(&mrs, BASE + PAGE - 1, 1);
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_ABSENT);
    ck_assert(!rbuf_mr_register(mr));

    mr = plan_new(BASE, PAGE); /* while the helper registers */
    ck_assert(rbuf_mr_register(mr));
    rbuf_mr_stale(&mrs, BASE, 1);
    rbuf_mr_registered(&mrs, mr, &handle);
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_STALE);
    ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr);
    ck_assert(rbuf_mr_deregister(mr));
    ck_assert(!rbuf_mr_deregistered(mr, true));
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_ABSENT);

    mr = plan_new(BASE, PAGE); /* idle: nobody else gives it back */
    ck_assert(rbuf_mr_register(mr));
    rbuf_mr_registered(&mrs, mr, &handle);
    ck_assert(rbuf_mr_stale(&mrs, 0, UINT64_MAX));
    ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr);
    ck_assert(rbuf_mr_deregister(mr));
    ck_assert(!rbuf_mr_deregistered(mr, false));

    mr = take_new(BASE, PAGE); /* in use: with the last user */
    rbuf_mr_stale(&mrs, BASE, PAGE);
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TO_REGISTER);
    ck_assert_ptr_ne(other, mr);
    rbuf_mr_abandon(other);
    ck_assert(!rbuf_mr_deregister(mr));
    ck_assert_ptr_null(rbuf_mr_returned(&mrs));
    ck_assert(rbuf_mr_give(&mrs, mr));
    ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr);
    ck_assert(rbuf_mr_deregister(mr));
    ck_assert(!rbuf_mr_deregistered(mr, true));

    mr = take_new(BASE, PAGE); /* while the helper deregisters */
    rbuf_mr_give(&mrs, mr);
    ck_assert(rbuf_mr_deregister(mr));
    rbuf_mr_stale(&mrs, BASE, PAGE);
    ck_assert(!rbuf_mr_deregistered(mr, true));
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_ABSENT);
    ck_assert_uint_eq(mrs.counters.stale, 5);
    rbuf_mrs_close(&mrs);
}
END_TEST

/* While a taker registers: its message may still use that, and nobody else. */
START_TEST(hook_while_a_taker_registers)
{
    struct rbuf_mr *mr, *other;

    open_it();
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &mr), RBUF_MR_TO_REGISTER);
    rbuf_mr_stale(&mrs, BASE, PAGE);
    rbuf_mr_publish(mr, &handle, 1);
    ck_assert_int_eq(rbuf_mr_state(mr), RBUF_MR_STALE);
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TO_REGISTER);
    ck_assert_ptr_ne(other, mr);
    ck_assert(!rbuf_mr_deregister(mr));
    rbuf_mr_give(&mrs, mr);
    ck_assert(rbuf_mr_deregister(mr));
    rbuf_mrs_close(&mrs);
}
END_TEST

/* However many are given back, none is lost, and each comes once and in order. */
START_TEST(list)
{
    struct rbuf_mr *mr[PLACES], *other;

    open_it();
    for (unsigned i = 0; i < PLACES; i++) {
        mr[i] = take_new(BASE + i * PAGE, PAGE);
    }
    ck_assert_int_eq(rbuf_mr_take(&mrs, 0, PAGE, 1, &other), RBUF_MR_NO_SLOT);
    ck_assert_uint_eq(mrs.counters.full, 1);
    for (unsigned i = 0; i < PLACES; i++) {
        ck_assert_int_eq(rbuf_mr_give(&mrs, mr[i]), i == 0);
        ck_assert_int_eq(rbuf_mr_take(&mrs, BASE + i * PAGE, PAGE, 1, &other), RBUF_MR_TAKEN);
        ck_assert(!rbuf_mr_give(&mrs, mr[i])); /* it is there already */
    }
    for (unsigned i = 0; i < PLACES; i++) {
        ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr[i]);
    }
    ck_assert_ptr_null(rbuf_mr_returned(&mrs));
    rbuf_mrs_close(&mrs);
}
END_TEST

/* What is kept wakes nobody, the helper learns that it was used, and nothing is lost behind that.
 */
START_TEST(kept)
{
    struct rbuf_mr *mr, *other;

    open_it();
    mr = take_new(BASE, PAGE);
    ck_assert(rbuf_mr_give(&mrs, mr));
    rbuf_mr_keep(mr); /* too late: it is on the list */
    ck_assert(!rbuf_mr_unkeep(mr));
    ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr);
    rbuf_mr_keep(mr);
    ck_assert(!rbuf_mr_unkeep(mr));
    rbuf_mr_keep(mr);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TAKEN);
        ck_assert(!rbuf_mr_give(&mrs, mr));
    }
    ck_assert(!rbuf_mr_any_returned(&mrs));
    ck_assert_int_eq(rbuf_mr_take(&mrs, BASE, PAGE, 1, &other), RBUF_MR_TAKEN);
    ck_assert(rbuf_mr_unkeep(mr));
    ck_assert(rbuf_mr_give(&mrs, mr));
    ck_assert_ptr_eq(rbuf_mr_returned(&mrs), mr);
    rbuf_mrs_close(&mrs);
}
END_TEST

START_TEST(covered)
{
    struct rbuf_mr *small, *large;

    open_it();
    small = take_new(BASE, PAGE);
    ck_assert(!rbuf_mr_covered(&mrs, small));
    large = take_new(BASE, 2 * PAGE);
    ck_assert(rbuf_mr_covered(&mrs, small));
    ck_assert(!rbuf_mr_covered(&mrs, large));
    rbuf_mrs_close(&mrs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory regions");

    unit_add(suite, whole_pages_and_what_is_inside);
    unit_add(suite, planned);
    unit_add(suite, hook_in_each_state);
    unit_add(suite, hook_while_a_taker_registers);
    unit_add(suite, list);
    unit_add(suite, kept);
    unit_add(suite, covered);
    return unit_run(suite);
}
