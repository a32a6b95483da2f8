/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto's choice on made-up programs and machines (programs.h): what it costs against
 * always copying and against a registration cache that takes everything, what it learns, and what
 * it does not fall for. test_choice_buffers.c is about single buffers.
 */
#include "core/choice/choice.h"

#include "programs.h"
#include "unit.h"

static const struct {
    const char *name;
    const struct machine *machine;
} machines[] = {{"slow", &slow_network}, {"even", &even_network}, {"fast", &fast_network}};

/* From nothing used again to everything, at four sizes, on three machines: with what was to be
 * learnt, and without. */
START_TEST(never_far_behind_the_better)
{
    static const uint64_t sizes[] = {20 * KB, 64 * KB, MB, 8 * MB};

    for (size_t m = 0; m < 3; m++) {
        for (size_t s = 0; s < 4; s++) {
            for (unsigned percent = 0; percent <= 100; percent += 10) {
                struct program *program = program_open(machines[m].machine, true);
                char what[64];

                for (int i = 0; i < 3000; i++) {
                    program_pooled_or_fresh(program, percent, sizes[s]);
                }
                program_say(program, "learning");
                ck_assert(program->chosen <= 1.10 * program_better(program));
                program_restart(program);
                for (int i = 0; i < 3000; i++) {
                    program_pooled_or_fresh(program, percent, sizes[s]);
                }
                snprintf(what, sizeof(what), "%s network, %zu KB, %u %% reused", machines[m].name,
                         (size_t) sizes[s] / KB, percent);
                program_say(program, what);
                ck_assert_msg(program->chosen <= 1.03 * program_better(program), "%s", what);
                program_close(program);
            }
        }
    }
}
END_TEST

/* Where in place is faster once registered, a mixture is faster than either protocol. */
START_TEST(mixed_programs_get_both)
{
    for (unsigned percent = 30; percent <= 70; percent += 20) {
        struct program *program = program_open(&even_network, true);

        for (int i = 0; i < 2000; i++) {
            program_pooled_or_fresh(program, percent, MB);
        }
        program_say(program, "mixed");
        ck_assert(program->chosen < 0.98 * program_better(program));
        ck_assert_uint_gt(100 * program->in_place, (percent - 10) * program->messages);
        ck_assert_uint_lt(100 * program->in_place, (percent + 10) * program->messages);
        program_close(program);
    }
}
END_TEST

START_TEST(converges)
{
    struct program *program = program_open(&even_network, true);

    for (int i = 0; i < 1000; i++) {
        program_pooled_or_fresh(program, 100, MB);
    }
    program_restart(program);
    for (int i = 0; i < 1000; i++) {
        program_pooled_or_fresh(program, 100, MB);
    }
    ck_assert(program->chosen <= 1.01 * program->always_cached);
    ck_assert_uint_ge(program->in_place, 980);
    program_restart(program);
    for (int i = 0; i < 1000; i++) {
        program_pooled_or_fresh(program, 0, MB);
    }
    ck_assert_uint_le(program->in_place, 20); /* it takes some to believe it */
    program_close(program);
}
END_TEST

/* One buffer is used `life` times, released, and comes again, at the same place or at another. */
static void short_lives(struct program *program, unsigned life, unsigned lives, bool elsewhere,
                        uint64_t bytes)
{
    for (unsigned i = 0; i < lives; i++) {
        uint64_t from = FIRST + (elsewhere ? i % 1000 * 4 * bytes : 0);
        uint64_t to = from + 2 * bytes;

        for (unsigned use = 0; use < life; use++) {
            program_message(program, from, to, bytes);
        }
        program_release(program, from, to, bytes);
    }
}

/* An adversary that releases each buffer after any fixed number of uses, and so also just when it
 * was registered. */
START_TEST(short_lives_are_not_fallen_for)
{
    for (size_t m = 0; m < 3; m++) {
        for (unsigned life = 1; life <= 40; life += 1 + life / 8) {
            for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
                struct program *program = program_open(machines[m].machine, true);
                char what[64];

                short_lives(program, life, 6000 / life, elsewhere, 256 * KB);
                snprintf(what, sizeof(what), "%s network, lives of %u%s", machines[m].name, life,
                         elsewhere ? ", elsewhere" : "");
                program_say(program, what);
                ck_assert_msg(program->chosen <= 1.03 * program->always_copied &&
                                  program->chosen <= 1.15 * program->always_cached,
                              "%s", what);
                program_close(program);
            }
        }
    }
}
END_TEST

/* After many new buffers the exploration budget is full. One that comes again gets a trial
 * then, which must not take most of the few messages that reuse it: where in place is slower, they
 * would be slow. */
START_TEST(a_trial_takes_few_messages)
{
    const uint64_t from = FIRST + 16 * MB;
    const uint64_t to = from + MB;
    struct program *program = program_open(&slow_network, true);

    for (int i = 0; i < 500; i++) {
        program_pooled_or_fresh(program, 0, 20 * KB);
    }
    program_restart(program);
    for (int i = 0; i < 8; i++) {
        program_message(program, from, to, 20 * KB);
    }
    ck_assert_uint_ge(program->in_place, 1);
    ck_assert_uint_le(program->in_place, RBUF_SAMPLES_MIN + 1);
    program_close(program);
}
END_TEST

/* The first messages of a job are slow, whatever their path. That must not make copies look slow.
 */
START_TEST(a_slow_start_says_nothing)
{
    struct machine starting = slow_network;
    struct program *program = program_open(&starting, true);

    starting.staged *= 8;
    for (int i = 0; i < 5; i++) {
        program_pooled_or_fresh(program, 0, 20 * KB);
    }
    program->machine = &slow_network;
    for (int i = 0; i < 400; i++) {
        program_pooled_or_fresh(program, 0, 20 * KB);
    }
    program_restart(program);
    for (int i = 0; i < 12; i++) {
        program_message(program, FIRST + 16 * MB, FIRST + 17 * MB, 20 * KB);
    }
    ck_assert_uint_le(program->in_place, RBUF_SAMPLES_MIN + 1);
    program_close(program);
}
END_TEST

/* The machine's times wander around a tie: it does not change its mind with every message. */
START_TEST(hysteresis)
{
    struct machine tie = slow_network;
    struct program *program;
    unsigned changes = 0;
    unsigned before = 0;

    tie.staged = tie.in_place;
    tie.noise = 6;
    program = program_open(&tie, true);
    for (int i = 0; i < 5000; i++) {
        const struct rbuf_choice *choice = &program->process[RBUF_SIDE_RECEIVE]->choice;
        unsigned mind = 0;

        program_pooled_or_fresh(program, 100, MB);
        for (unsigned class = 0; class < RBUF_SIZE_CLASSES; class ++) {
            mind += (unsigned) choice->size_class[RBUF_SIDE_RECEIVE][class].paths.preferred;
        }
        changes += mind != before;
        before = mind;
    }
    printf("a tie: %u changes of mind in 5000 messages, %u in place\n", changes, program->in_place);
    ck_assert_uint_le(changes, 40);
    ck_assert(program->chosen <= 1.02 * program_better(program));
    program_close(program);
}
END_TEST

/* A program alternates between phases that reuse and phases that do not, and between machines (a
 * peer that computes meanwhile): it follows. */
START_TEST(phases)
{
    struct program *program = program_open(&even_network, true);

    for (int phase = 0; phase < 20; phase++) {
        for (int i = 0; i < 300; i++) {
            program_pooled_or_fresh(program, phase % 2 == 0 ? 100 : 0, MB);
        }
    }
    program_say(program, "phases");
    ck_assert(program->chosen < 0.95 * program_better(program));
    program_restart(program);
    program->machine = &slow_network; /* where in place is slower at this size */
    for (int i = 0; i < 2000; i++) {
        program_pooled_or_fresh(program, 100, 64 * KB);
    }
    program_say(program, "another machine");
    ck_assert(program->chosen <= 1.03 * program_better(program));
    program_close(program);
}
END_TEST

/* Sizes from 16 KB to 4 MB in the same buffers. */
START_TEST(mixed_sizes)
{
    for (size_t m = 0; m < 3; m++) {
        struct program *program = program_open(machines[m].machine, true);

        for (int i = 0; i < 24000; i++) {
            if (i == 12000) {
                program_restart(program);
            }
            uint64_t bytes = (uint64_t) (16 + program_draw(program) % 16) * KB
                             << program_draw(program) % 8;

            program_message(program, FIRST + program_draw(program) % 4 * 8 * MB,
                            FIRST + (4 + program_draw(program) % 4) * 8 * MB, bytes);
        }
        program_say(program, "mixed sizes");
        ck_assert(program->chosen <= 1.03 * program_better(program));
        program_close(program);
    }
}
END_TEST

/* One side's buffers are fresh, the other's are not. */
START_TEST(sides_decide_for_themselves)
{
    for (unsigned fresh = 0; fresh < ENDS; fresh++) {
        struct program *program = program_open(&even_network, true);

        for (int i = 0; i < 3000; i++) {
            uint64_t base[ENDS] = {FIRST + program_draw(program) % 4 * 2 * MB,
                                   FIRST + (4 + program_draw(program) % 4) * 2 * MB};

            base[fresh] = FIRST + 16 * MB;
            program_message(program, base[RBUF_SIDE_SEND], base[RBUF_SIDE_RECEIVE], MB);
            for (unsigned i = 0; i < ENDS; i++) {
                struct process *process = program->process[i];

                range_release(process->held, &process->held_count, FIRST + 16 * MB, MB);
                range_release(program->greedy[i], &program->greedy_count[i], FIRST + 16 * MB, MB);
                rbuf_choice_release(&process->choice, FIRST + 16 * MB, MB);
            }
        }
        program_say(program, fresh == RBUF_SIDE_SEND ? "the sender's are fresh"
                                                     : "the receiver's are fresh");
        ck_assert(program->chosen <= 1.03 * program_better(program));
        if (fresh == RBUF_SIDE_SEND) {
            const struct rbuf_choice_counters *counters =
                &program->process[RBUF_SIDE_SEND]->choice.counters;

            ck_assert_uint_gt(program->in_place, 2000);
            ck_assert_uint_gt(counters->reason[RBUF_SIDE_SEND][RBUF_REASON_FRESH], 2000);
            ck_assert(program->chosen < 0.95 * program_better(program));
        } else {
            ck_assert_uint_le(program->in_place, 20);
        }
        program_close(program);
    }
}
END_TEST

/* A registration for each message is made only where it is worth that. */
START_TEST(without_a_cache)
{
    struct machine cheap = fast_network;

    cheap.registering = 500;
    cheap.page = 1;
    for (int worth = 0; worth < 2; worth++) {
        struct program *program = program_open(worth ? &cheap : &slow_network, false);

        for (int i = 0; i < 3000; i++) {
            program_pooled_or_fresh(program, 50, MB);
        }
        program_say(program, worth ? "no cache, cheap" : "no cache, dear");
        ck_assert(program->chosen <= 1.03 * program->always_copied);
        if (worth) {
            ck_assert_uint_gt(program->in_place, 2500);
            ck_assert(program->chosen < 0.7 * program->always_copied);
        } else {
            ck_assert_uint_lt(program->in_place, 100);
        }
        program_close(program);
    }
}
END_TEST

/* What in place and copies take, for a receiver whose buffer is registered. Returns the messages of
 * the next `count` that are copied; of these `*samples` count as samples. */
static unsigned copies_of(struct rbuf_choice *choice, uint64_t in_place, uint64_t copied,
                          unsigned count, unsigned *samples)
{
    const struct rbuf_choice_request request = {
        .side = RBUF_SIDE_RECEIVE, .base = FIRST, .bytes = MB, .cached = RBUF_CACHED_YES};
    unsigned copies = 0;

    *samples = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct rbuf_choice_decision decision = rbuf_choice_decide(choice, &request);
        const bool is_copy = decision.path == RBUF_PATH_COPY;

        copies += is_copy;
        *samples += is_copy && decision.is_sample;
        rbuf_choice_took(choice, RBUF_SIDE_RECEIVE, decision.path, decision.is_sample, MB,
                         is_copy ? copied : in_place);
    }
    return copies;
}

/* Copies are looked at twice in a row, as the first one has no early data: the second counts. The
 * slower they are the more seldom: one that takes ten times as long does not take one part in 100.
 */
START_TEST(probes_cost_little)
{
    for (unsigned slower = 2; slower <= 64; slower *= 2) {
        static struct rbuf_choice choice;
        unsigned samples, copies;

        rbuf_choice_open(&choice, &(struct rbuf_choice_options){.cache = true});
        (void) copies_of(&choice, 20000, 20000 * slower, 1000, &samples);
        copies = copies_of(&choice, 20000, 20000 * slower, 100000, &samples);
        ck_assert_uint_ge(samples, 20);
        ck_assert_uint_le(samples, copies / 2 + 1);
        ck_assert_uint_le(100 * copies * (slower < 16 ? slower - 1 : 15), 100000);
    }
}
END_TEST

/* The sender registers in the time of a receive whose target is registered for it, too: that is no
 * sample. It goes in place from the first on, so that the receiver sees what in place takes. */
START_TEST(a_trial_is_of_both_sides)
{
    struct program *program = program_open(&fast_network, true);
    const struct rbuf_size_class *class =
        program->process[RBUF_SIDE_RECEIVE]->choice.size_class[RBUF_SIDE_RECEIVE];
    const struct rbuf_choice *sender = &program->process[RBUF_SIDE_SEND]->choice;

    for (int i = 0; i < 60; i++) {
        program_message(program, FIRST, FIRST + 16 * MB, MB);
    }
    while (class->paths.samples[RBUF_PATH_COPY] == 0) {
        class ++;
    }
    ck_assert_int_eq(class->paths.preferred, RBUF_PREFER_IN_PLACE);
    ck_assert_uint_eq(sender->counters.reason[RBUF_SIDE_SEND][RBUF_REASON_FRESH] +
                          sender->counters.reason[RBUF_SIDE_SEND][RBUF_REASON_SLOWER],
                      0);
    ck_assert_uint_ge(program->in_place, 40);
    program_close(program);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice");

    unit_add(suite, never_far_behind_the_better);
    unit_add(suite, mixed_programs_get_both);
    unit_add(suite, converges);
    unit_add(suite, short_lives_are_not_fallen_for);
    unit_add(suite, a_trial_takes_few_messages);
    unit_add(suite, a_slow_start_says_nothing);
    unit_add(suite, hysteresis);
    unit_add(suite, phases);
    unit_add(suite, mixed_sizes);
    unit_add(suite, sides_decide_for_themselves);
    unit_add(suite, without_a_cache);
    unit_add(suite, probes_cost_little);
    unit_add(suite, a_trial_is_of_both_sides);
    return unit_run(suite);
}
