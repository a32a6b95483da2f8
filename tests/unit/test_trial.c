/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* When the path that is not preferred may be tried (core/choice/trial.h). */
#include "core/choice/trial.h"

#include "unit.h"

static struct rbuf_preference paths;
static struct rbuf_trial trial;

static void know(uint64_t copy_ns, uint64_t in_place_ns)
{
    paths = (struct rbuf_preference){0};
    trial = (struct rbuf_trial){0};
    for (unsigned i = 0; i < RBUF_SAMPLES_MIN; i++) {
        rbuf_preference_add(&paths, RBUF_SAMPLES, RBUF_PATH_COPY, copy_ns);
        rbuf_preference_add(&paths, RBUF_SAMPLES, RBUF_PATH_IN_PLACE, in_place_ns);
    }
}

/* Units of work on that path, of `ns` each, until a probe begins. */
static unsigned units_to_probe(enum rbuf_path path, double ns)
{
    unsigned units = 0;

    while (!rbuf_trial_probe(&trial, rbuf_trial_probe_cost(&paths))) {
        ck_assert(!rbuf_trial_probe_is_due(&trial, rbuf_trial_probe_cost(&paths)));
        rbuf_trial_spend(&trial, &paths, path, ns);
        units++;
    }
    return units;
}

/* What probes cost, as a share of the time, is the same however much slower the other path is, up
 * to the bounds: then they come at least, or at most, every so many units. */
START_TEST(the_slower_the_rarer)
{
    for (unsigned more = 0; more <= 3000; more += 50) { /* percent */
        const unsigned wait = more * RBUF_PROBE_SHARE / 100;
        const unsigned units = wait < RBUF_PROBE_EVERY    ? RBUF_PROBE_EVERY
                               : wait > RBUF_PROBE_RAREST ? RBUF_PROBE_RAREST
                                                          : wait;

        know(1000, 1000 + 10 * more);
        if (more > 0) {
            ck_assert_uint_eq(units_to_probe(RBUF_PATH_COPY, 1000), units);
            ck_assert_uint_eq(units_to_probe(RBUF_PATH_COPY, 1000), units); /* and again */
        }
        know(1000 + 10 * more, 1000);
        ck_assert_uint_eq(units_to_probe(RBUF_PATH_IN_PLACE, 1000), units);
    }
}
END_TEST

START_TEST(soon_while_one_is_unknown)
{
    know(1000, 1000);
    paths.usual_ns[RBUF_PATH_COPY] = 0;
    paths.preferred = RBUF_PREFER_UNKNOWN;
    ck_assert_uint_eq(units_to_probe(RBUF_PATH_IN_PLACE, 1000), RBUF_PROBE_UNKNOWN);
}
END_TEST

/* Waits for others and work on the other path pay for no trial. */
START_TEST(what_counts)
{
    know(1000, 3000);
    ck_assert_uint_eq(units_to_probe(RBUF_PATH_COPY, 1e9), RBUF_PROBE_SHARE);
    ck_assert_uint_eq(units_to_probe(RBUF_PATH_COPY, 500), 4 * RBUF_PROBE_SHARE);
    rbuf_trial_spend(&trial, &paths, RBUF_PATH_IN_PLACE, 1e9);
    ck_assert(trial.spent_ns == 0);
    paths = (struct rbuf_preference){0}; /* none is preferred: both count */
    rbuf_trial_spend(&trial, &paths, RBUF_PATH_IN_PLACE, 700);
    rbuf_trial_spend(&trial, &paths, RBUF_PATH_COPY, 70);
    ck_assert(trial.spent_ns == 770);
}
END_TEST

/* Units of 1000 ns until a trial with registrations of 10000 ns begins, at a share of 64. */
static unsigned units_to_trial(void)
{
    unsigned units = 0;

    while (!rbuf_trial_register(&trial, 10000, 64)) {
        rbuf_trial_spend(&trial, &paths, RBUF_PATH_COPY, 1000);
        units++;
    }
    return units;
}

START_TEST(failures_double_the_wait)
{
    know(1000, 3000);
    for (unsigned i = 0; i < RBUF_TRIAL_DOUBLINGS + 3; i++) {
        ck_assert_uint_eq(units_to_trial(),
                          640u << (i < RBUF_TRIAL_DOUBLINGS ? i : RBUF_TRIAL_DOUBLINGS));
    }
    ck_assert_uint_eq(units_to_probe(RBUF_PATH_COPY, 1000), 2 * RBUF_PROBE_SHARE); /* not probes */
    trial.failures = 0;
    ck_assert_uint_eq(units_to_trial(), 640);
}
END_TEST

/* Probes and trials with registrations pay from one budget: either one tells. */
START_TEST(one_budget)
{
    know(1000, 3000);
    for (unsigned i = 0; i < 2 * RBUF_PROBE_SHARE; i++) {
        rbuf_trial_spend(&trial, &paths, RBUF_PATH_COPY, 1000);
    }
    ck_assert(rbuf_trial_probe(&trial, rbuf_trial_probe_cost(&paths)));
    ck_assert(!rbuf_trial_register(&trial, 10000, 64));
    ck_assert_uint_eq(trial.failures, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trial");

    unit_add(suite, the_slower_the_rarer);
    unit_add(suite, soon_while_one_is_unknown);
    unit_add(suite, what_counts);
    unit_add(suite, failures_double_the_wait);
    unit_add(suite, one_budget);
    return unit_run(suite);
}
