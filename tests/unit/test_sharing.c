/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which rank has a helper, and where, by each policy.
 */
#include "core/helper/sharing.h"
#include "unit.h"

#define RANKS 6u
#define MB    1000000ull
#define MS    1000000ull

/* The paper's nodes: 8 cores, 6 ranks (section 5). */
static const struct rbuf_sharing_node node = {.idle = 2, .slice_ns = 4 * MS, .seed = 7};
static struct rbuf_sharing_rank rank[RANKS];
static struct rbuf_sharing_assignment place[RANKS];

static void set_up(uint64_t period_ns)
{
    for (unsigned i = 0; i < RANKS; i++) {
        rank[i] = (struct rbuf_sharing_rank){.registered_bytes = (i == 2 || i == 4 ? 9 : i) * MB,
                                             .period_ns = period_ns,
                                             .work_ns = MS};
    }
}

static unsigned helpers(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < RANKS; i++) {
        count += place[i].core != RBUF_SHARING_NONE;
    }
    return count;
}

START_TEST(off)
{
    set_up(100 * MS);
    rbuf_sharing_assign(RBUF_SHARING_OFF, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), 0);
}
END_TEST

START_TEST(conservative)
{
    set_up(100 * MS);
    rbuf_sharing_assign(RBUF_SHARING_CONSERVATIVE, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), 2); /* the largest, a core each */
    ck_assert_int_ge(place[2].core, 0);
    ck_assert_int_ge(place[4].core, 0);
    ck_assert_int_ne(place[2].core, place[4].core);
    ck_assert_uint_eq(place[2].sharers, 0);
}
END_TEST

/* Ties go by the seed: not always the same ranks. */
START_TEST(ties)
{
    struct rbuf_sharing_node other = node;
    unsigned seen = 0;

    for (other.seed = 0; other.seed < 64; other.seed++) {
        memset(rank, 0, sizeof(rank));
        rbuf_sharing_assign(RBUF_SHARING_CONSERVATIVE, &other, rank, RANKS, place);
        ck_assert_uint_eq(helpers(), 2);
        for (unsigned i = 0; i < RANKS; i++) {
            seen |= (place[i].core >= 0) << i;
        }
    }
    ck_assert_uint_eq(seen, (1u << RANKS) - 1);
}
END_TEST

START_TEST(aggressive)
{
    struct rbuf_sharing_node busy = {.idle = 0}, roomy = {.idle = RANKS};

    set_up(100 * MS);
    rbuf_sharing_assign(RBUF_SHARING_AGGRESSIVE, &node, rank, RANKS, place);
    for (unsigned i = 0; i < RANKS; i++) { /* three a core, as in the paper */
        ck_assert_int_ge(place[i].core, 0);
        ck_assert_uint_eq(place[i].sharers, 3);
    }
    rbuf_sharing_assign(RBUF_SHARING_AGGRESSIVE, &roomy, rank, RANKS, place);
    for (unsigned i = 0; i < RANKS; i++) { /* equation 1 with a core each */
        ck_assert_int_ge(place[i].core, 0);
        ck_assert_uint_eq(place[i].sharers, 0);
    }
    rbuf_sharing_assign(RBUF_SHARING_AGGRESSIVE, &busy, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), 0);
    rbuf_sharing_assign(RBUF_SHARING_FORCE, &busy, rank, RANKS, place);
    for (unsigned i = 0; i < RANKS; i++) {
        ck_assert_int_eq(place[i].core, RBUF_SHARING_ANY);
        ck_assert_uint_eq(place[i].sharers, 0); /* a rank that computes is no helper */
    }
}
END_TEST

/* With long periods as aggressive, with short ones as conservative; between, as many as fit. */
START_TEST(coordinated)
{
    set_up(100 * MS);
    rbuf_sharing_assign(RBUF_SHARING_COORDINATED, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), RANKS);
    set_up(4 * MS);
    rbuf_sharing_assign(RBUF_SHARING_COORDINATED, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), 2);
    set_up(9 * MS); /* t_p and two slices: two a core */
    rbuf_sharing_assign(RBUF_SHARING_COORDINATED, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), 4);
    set_up(100 * MS);
    rank[4].period_ns = 2 * MS; /* one of the largest has no time to share */
    rbuf_sharing_assign(RBUF_SHARING_COORDINATED, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), RANKS);
    ck_assert_uint_eq(place[4].sharers, 0);
    ck_assert_uint_eq(place[2].sharers, 5);
}
END_TEST

/* Who has had no helper knows no period: the others' alone decide whether it gets one. */
START_TEST(coordinated_learns)
{
    set_up(100 * MS);
    rank[0].period_ns = 0;
    rbuf_sharing_assign(RBUF_SHARING_COORDINATED, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), RANKS);
    set_up(4 * MS);
    rank[0].period_ns = 0;
    rbuf_sharing_assign(RBUF_SHARING_COORDINATED, &node, rank, RANKS, place);
    ck_assert_uint_eq(helpers(), 2);
    ck_assert_int_eq(place[0].core, RBUF_SHARING_NONE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharing of idle cores");

    unit_add(suite, off);
    unit_add(suite, conservative);
    unit_add(suite, ties);
    unit_add(suite, aggressive);
    unit_add(suite, coordinated);
    unit_add(suite, coordinated_learns);
    return unit_run(suite);
}
