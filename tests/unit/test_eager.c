/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The limit of eager messages: how long it is the lesser one after messages that found no room in
 * rings, and what ends that.
 */
#include "core/eager/limit.h"
#include "unit.h"

enum { MOST = 24 * 1024, LEAST = 12 * 1024 };

static const struct rbuf_eager usual = {.most = MOST, .least = LEAST};

/* Messages that go by a rendezvous until the limit is the greater one again. */
static uint32_t sit_out(struct rbuf_eager *eager)
{
    uint32_t messages = 0;

    while (rbuf_eager_limit(eager) == LEAST && messages < 1000000) {
        rbuf_eager_rendezvous(eager, MOST);
        messages++;
    }
    ck_assert_uint_eq(rbuf_eager_limit(eager), MOST);
    return messages;
}

static void go_by_ring(struct rbuf_eager *eager, uint32_t messages)
{
    while (messages-- > 0) {
        rbuf_eager_by_ring(eager);
    }
}

START_TEST(one_miss_is_a_short_pause)
{
    struct rbuf_eager eager = usual;

    ck_assert_uint_eq(rbuf_eager_limit(&eager), MOST);
    rbuf_eager_missed(&eager);
    ck_assert_uint_eq(rbuf_eager_limit(&eager), LEAST);
    ck_assert_uint_eq(sit_out(&eager), RBUF_EAGER_PAUSE_LEAST);
}
END_TEST

START_TEST(pauses_double_up_to_the_longest)
{
    struct rbuf_eager eager = usual;

    for (uint32_t pause = RBUF_EAGER_PAUSE_LEAST; pause < RBUF_EAGER_PAUSE_MOST; pause *= 2) {
        rbuf_eager_missed(&eager);
        ck_assert_uint_eq(sit_out(&eager), pause);
    }
    for (int i = 0; i < 2; i++) {
        rbuf_eager_missed(&eager);
        ck_assert_uint_eq(sit_out(&eager), RBUF_EAGER_PAUSE_MOST);
    }
}
END_TEST

START_TEST(messages_by_rings_make_it_short_again)
{
    struct rbuf_eager eager = usual;

    rbuf_eager_missed(&eager);
    sit_out(&eager);
    go_by_ring(&eager, RBUF_EAGER_PAUSE_LEAST); /* not more than the pause had */
    rbuf_eager_missed(&eager);
    ck_assert_uint_eq(sit_out(&eager), 2 * RBUF_EAGER_PAUSE_LEAST);
    go_by_ring(&eager, 2 * RBUF_EAGER_PAUSE_LEAST + 1);
    rbuf_eager_missed(&eager);
    ck_assert_uint_eq(sit_out(&eager), RBUF_EAGER_PAUSE_LEAST);
}
END_TEST

START_TEST(those_of_a_pause_do_not_count)
{
    struct rbuf_eager eager = usual;

    rbuf_eager_missed(&eager);
    go_by_ring(&eager, 1000); /* were on their way */
    for (int i = 0; i < 1000; i++) {
        rbuf_eager_missed(&eager);
    }
    ck_assert_uint_eq(sit_out(&eager), RBUF_EAGER_PAUSE_LEAST);
    rbuf_eager_missed(&eager);
    ck_assert_uint_eq(sit_out(&eager), 2 * RBUF_EAGER_PAUSE_LEAST);
}
END_TEST

START_TEST(longer_messages_do_not_end_a_pause)
{
    struct rbuf_eager eager = usual;

    rbuf_eager_missed(&eager);
    for (int i = 0; i < 1000; i++) {
        rbuf_eager_rendezvous(&eager, MOST + 1);
    }
    ck_assert_uint_eq(sit_out(&eager), RBUF_EAGER_PAUSE_LEAST);
}
END_TEST

START_TEST(a_limit_that_was_given_stays)
{
    struct rbuf_eager eager = {.most = LEAST, .least = LEAST};

    rbuf_eager_missed(&eager);
    ck_assert_uint_eq(eager.left, 0);
    rbuf_eager_rendezvous(&eager, LEAST);
    ck_assert_uint_eq(rbuf_eager_limit(&eager), LEAST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eager");

    unit_add(suite, one_miss_is_a_short_pause);
    unit_add(suite, pauses_double_up_to_the_longest);
    unit_add(suite, messages_by_rings_make_it_short_again);
    unit_add(suite, those_of_a_pause_do_not_count);
    unit_add(suite, longer_messages_do_not_end_a_pause);
    unit_add(suite, a_limit_that_was_given_stays);
    return unit_run(suite);
}
