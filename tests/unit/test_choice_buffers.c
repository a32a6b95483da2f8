/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What protocol auto's choice knows of single buffers, and makes of it: whether one is registered,
 * could not be, or is no longer; whether its next message will go in place; what a registration
 * costs; and that what it knows has bounds.
 */
#include "core/choice/choice.h"

#include <math.h>

#include "programs.h"
#include "unit.h"

/* What cannot be registered is not asked for again and again. */
START_TEST(refusals)
{
    static struct rbuf_choice choice;
    const struct rbuf_choice_options options = {
        .cache = true, .registration_ns = 16000, .registration_page_ns = 250};
    const struct rbuf_choice_request request = {
        .side = RBUF_SIDE_RECEIVE, .base = FIRST, .bytes = MB};
    unsigned wanted = 0;

    rbuf_choice_open(&choice, &options);
    for (int i = 0; i < 10000; i++) {
        struct rbuf_choice_decision decision = rbuf_choice_decide(&choice, &request);

        if (decision.path == RBUF_PATH_IN_PLACE) {
            rbuf_choice_refused(&choice, request.side, request.base, request.bytes);
            wanted++;
        }
        rbuf_choice_took(&choice, request.side, RBUF_PATH_COPY, decision.is_sample, MB, 300000);
    }
    ck_assert_uint_ge(wanted, 1);
    ck_assert_uint_le(wanted, 20);
    ck_assert_uint_eq(choice.counters.refused, wanted);
}
END_TEST

/* Registrations fail from some time on, though they were worth it until then: attempts become rare,
 * and when there is room again it is found out. */
START_TEST(refusals_later)
{
    struct machine cheap = fast_network;

    cheap.registering = 500;
    cheap.page = 1;
    for (int cache = 0; cache < 2; cache++) {
        struct program *program = program_open(cache ? &fast_network : &cheap, cache);

        for (int i = 0; i < 3000; i++) {
            program_pooled_or_fresh(program, 50, MB);
        }
        ck_assert_uint_gt(program->in_place, 1000);
        program_restart(program);
        program->refusing = true;
        program->process[RBUF_SIDE_SEND]->held_count = 0; /* were given up for the first attempt */
        program->process[RBUF_SIDE_RECEIVE]->held_count = 0;
        for (int i = 0; i < 10000; i++) {
            program_pooled_or_fresh(program, 50, MB);
        }
        printf("%u attempts in 10000 messages, none of which can succeed\n", program->refused);
        ck_assert_uint_ge(program->refused, 1);
        ck_assert_uint_le(program->refused, 40);
        program_restart(program);
        program->refusing = false;
        for (int i = 0; i < 10000; i++) {
            program_pooled_or_fresh(program, 50, MB);
        }
        program_say(program, "there is room again");
        ck_assert_uint_gt(program->in_place, 3000);
        program_close(program);
    }
}
END_TEST

/* A message whose registration was refused is one use of its buffer, not two. */
START_TEST(refusals_are_no_uses)
{
    static struct rbuf_choice choice;
    const struct rbuf_choice_options options = {.cache = true};
    const struct rbuf_choice_request request = {.side = RBUF_SIDE_SEND, .base = FIRST, .bytes = MB};

    rbuf_choice_open(&choice, &options);
    (void) rbuf_choice_decide(&choice, &request);
    rbuf_choice_refused(&choice, request.side, request.base, request.bytes);
    ck_assert_uint_eq(rbuf_reuse_find(&choice.reuse, FIRST)->uses, 1);
}
END_TEST

/* No staging: what is registered goes in place though that is slower. */
START_TEST(pressure)
{
    struct program *program = program_open(&slow_network, true);
    struct process *process = program->process[RBUF_SIDE_RECEIVE];
    struct rbuf_choice_request request = {
        .side = RBUF_SIDE_RECEIVE, .bytes = 20 * KB, .cached = RBUF_CACHED_YES};
    struct rbuf_choice_decision decision;

    for (int i = 0; i < 3000; i++) {
        program_pooled_or_fresh(program, 100, 20 * KB);
    }
    ck_assert_uint_gt(process->held_count, 0);
    request.base = process->held[0].base + 12232 % PAGE;
    decision = rbuf_choice_decide(&process->choice, &request);
    ck_assert_int_eq(decision.path, RBUF_PATH_COPY);
    ck_assert(!rbuf_choice_wants_lookup(&process->choice, &request));
    request.pressed = true;
    ck_assert(rbuf_choice_wants_lookup(&process->choice,
                                       &request)); /* whether it is registered matters */
    decision = rbuf_choice_decide(&process->choice, &request);
    ck_assert_int_eq(decision.path, RBUF_PATH_IN_PLACE);
    ck_assert_int_eq(decision.reason, RBUF_REASON_PRESSED);
    program_close(program);
}
END_TEST

/* So many buffers are looked up in 1000 messages, so many percent of them of a pool, on that
 * machine. */
static unsigned looks_on(const struct machine *machine, unsigned percent, uint64_t bytes)
{
    struct program *program = program_open(machine, true);
    unsigned looked;

    for (int i = 0; i < 3000; i++) {
        program_pooled_or_fresh(program, percent, bytes);
    }
    looked = program->looked;
    for (int i = 0; i < 1000; i++) {
        program_pooled_or_fresh(program, percent, bytes);
    }
    looked = program->looked - looked;
    program_close(program);
    return looked;
}

/* Where copies are faster a buffer is not looked up, but now and then. That the answers are as good
 * is for never_far_behind_the_better() to see. */
START_TEST(looked_up_where_it_matters)
{
    const unsigned copied = looks_on(&slow_network, 50, 20 * KB);

    ck_assert_uint_ge(copied, 1000 / RBUF_LOOKUP_EVERY);
    ck_assert_uint_le(copied, 150);
    ck_assert_uint_le(looks_on(&slow_network, 0, 20 * KB), 100); /* none is registered */
    ck_assert_uint_ge(looks_on(&fast_network, 50, MB), 1000);
}
END_TEST

/* The cache gave the registration up: that is found out before the buffer counts as registered. */
START_TEST(a_lost_registration_is_noticed)
{
    struct program *program = program_open(&slow_network, true);
    struct process *process = program->process[RBUF_SIDE_RECEIVE];
    struct rbuf_choice_request request = {.side = RBUF_SIDE_RECEIVE, .bytes = 20 * KB};
    const struct rbuf_buffer_use *use;

    for (int i = 0; i < 3000; i++) {
        program_pooled_or_fresh(program, 100, 20 * KB);
    }
    ck_assert_uint_gt(process->held_count, 0);
    request.base = process->held[0].base + 12232 % PAGE;
    use = rbuf_reuse_find(&process->choice.reuse, request.base);
    ck_assert_int_ne(use->state, RBUF_BUFFER_UNREGISTERED);
    for (uint32_t i = 0; i < RBUF_LOOKUP_EVERY; i++) {
        const bool looks = rbuf_choice_wants_lookup(&process->choice, &request);

        request.cached = looks ? RBUF_CACHED_NO : RBUF_CACHED_AS_LEFT;
        ck_assert_int_ne(rbuf_choice_decide(&process->choice, &request).reason, RBUF_REASON_PROBE);
        ck_assert(!looks || use->state == RBUF_BUFFER_UNREGISTERED);
    }
    ck_assert_int_eq(use->state, RBUF_BUFFER_UNREGISTERED);
    program_close(program);
}
END_TEST

/* Of a source whose last message went in place the next one is expected to; not of one that was
 * staged since, came back from the system, or was never seen. */
START_TEST(the_sender_knows_what_to_expect)
{
    static struct rbuf_choice choice;
    const struct rbuf_choice_options options = {.cache = true};
    const struct rbuf_choice_request request = {.side = RBUF_SIDE_SEND, .base = FIRST, .bytes = MB};

    rbuf_choice_open(&choice, &options);
    ck_assert(!rbuf_choice_expects_in_place(&choice, FIRST));
    (void) rbuf_choice_decide(&choice, &request);
    ck_assert(rbuf_choice_expects_in_place(&choice, FIRST));
    ck_assert(!rbuf_choice_expects_in_place(&choice, FIRST + MB));
    rbuf_choice_sent_staged(&choice, FIRST, MB, 1000);
    ck_assert(!rbuf_choice_expects_in_place(&choice, FIRST));
    (void) rbuf_choice_decide(&choice, &request);
    rbuf_choice_release(&choice, FIRST, MB);
    ck_assert(!rbuf_choice_expects_in_place(&choice, FIRST));
}
END_TEST

/* A sender's message from a buffer that was used before and is not registered, on a machine where
 * it takes so long. */
static struct rbuf_choice_decision send_from(struct rbuf_choice *choice, uint64_t copied,
                                             uint64_t in_place)
{
    const struct rbuf_choice_request request = {.side = RBUF_SIDE_SEND, .base = FIRST, .bytes = MB};
    const struct rbuf_choice_decision decision = rbuf_choice_decide(choice, &request);
    const uint64_t ns = decision.path == RBUF_PATH_COPY ? copied : in_place;

    rbuf_choice_took(choice, request.side, decision.path, decision.is_sample, MB, ns);
    return decision;
}

/* While trials fail they become rare. After one that did not fail they begin anew, and what was
 * known of in place long ago does not count in them. */
START_TEST(trials_begin_anew)
{
    static struct rbuf_choice choice;
    const struct rbuf_choice_options options = {.cache = true, .registration_ns = 10000};
    const struct rbuf_size_class *class = choice.size_class[RBUF_SIDE_SEND];
    unsigned trials = 0;

    rbuf_choice_open(&choice, &options);
    for (unsigned i = 0; i < RBUF_SAMPLES; i++) {
        rbuf_choice_took(&choice, RBUF_SIDE_SEND, RBUF_PATH_COPY, true, MB, 100000);
        rbuf_choice_took(&choice, RBUF_SIDE_SEND, RBUF_PATH_IN_PLACE, true, MB, 200000);
    }
    while (class->paths.samples[RBUF_PATH_COPY] == 0) {
        class ++;
    }
    for (int i = 0; i < 10000; i++) {
        trials += send_from(&choice, 100000, 200000).reason == RBUF_REASON_TRIAL;
    }
    ck_assert_uint_ge(trials, 3);
    ck_assert_uint_le(trials, 60);
    ck_assert_uint_eq(class->trial.failures, RBUF_TRIAL_DOUBLINGS);
    trials = 0;
    for (int i = 0; i < 10000 && class->paths.preferred != RBUF_PREFER_IN_PLACE; i++) {
        trials += send_from(&choice, 100000, 50000).reason == RBUF_REASON_TRIAL;
    }
    ck_assert_int_eq(class->paths.preferred, RBUF_PREFER_IN_PLACE);
    ck_assert_uint_le(trials, 2 * RBUF_SAMPLES_MIN);
    (void) send_from(&choice, 100000, 50000);
    ck_assert_uint_eq(class->trial.failures, 0);
}
END_TEST

/* The line through what was measured. */
START_TEST(registration_costs)
{
    struct rbuf_registration_cost cost;

    rbuf_registration_cost_open(&cost, 30000, 150);
    ck_assert_uint_eq(rbuf_registration_cost_of(&cost, 256) / 100, (30000 + 150 * 256) / 100);
    for (int i = 0; i < 200; i++) {
        rbuf_registration_cost_add(&cost, 1u << i % 12, 68000 + (200u << i % 12));
    }
    for (uint64_t pages = 1; pages <= 4096; pages *= 4) {
        double real = 68000 + 200 * (double) pages;

        ck_assert(fabs((double) rbuf_registration_cost_of(&cost, pages) / real - 1) < 0.02);
    }
    for (int i = 0; i < 200; i++) {
        rbuf_registration_cost_add(&cost, 16, 5000); /* of one size only */
    }
    ck_assert(fabs((double) rbuf_registration_cost_of(&cost, 16) / 5000 - 1) < 0.02);
    rbuf_registration_cost_add(&cost, 16, 366000000); /* its thread lost the processor */
    ck_assert_uint_lt(rbuf_registration_cost_of(&cost, 16), 2 * 5000);
    for (int i = 0; i < 100; i++) {
        rbuf_registration_cost_add(&cost, 16, 366000000); /* they are like that now */
    }
    ck_assert(fabs((double) rbuf_registration_cost_of(&cost, 16) / 366000000 - 1) < 0.02);
}
END_TEST

/* Buffers that come again keep their places; addresses that never do come and go. */
START_TEST(table_is_bounded)
{
    static struct rbuf_reuse reuse;
    struct rbuf_buffer_use *use;
    unsigned wrong = 0;

    rbuf_reuse_open(&reuse);
    for (uint64_t i = 0; i < 100000; i++) {
        use = rbuf_reuse_find(&reuse, FIRST + i * MB);
        rbuf_reuse_use(&reuse, use, FIRST + i * MB, MB);
        wrong += use->uses != 1;
        use = rbuf_reuse_find(&reuse, FIRST - (1 + i % 16) * MB);
        rbuf_reuse_use(&reuse, use, FIRST - (1 + i % 16) * MB, MB);
        wrong += use->uses != 1 + i / 16;
    }
    ck_assert_uint_eq(wrong, 0);
    rbuf_reuse_release(&reuse, FIRST - MB, 100);
    use = rbuf_reuse_find(&reuse, FIRST - MB);
    ck_assert(atomic_load(&use->released));
    use = rbuf_reuse_find(&reuse, FIRST - 2 * MB);
    ck_assert(!atomic_load(&use->released));
    ck_assert_uint_gt(atomic_load(&reuse.releases), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice_buffers");

    unit_add(suite, refusals);
    unit_add(suite, refusals_later);
    unit_add(suite, refusals_are_no_uses);
    unit_add(suite, pressure);
    unit_add(suite, looked_up_where_it_matters);
    unit_add(suite, a_lost_registration_is_noticed);
    unit_add(suite, the_sender_knows_what_to_expect);
    unit_add(suite, trials_begin_anew);
    unit_add(suite, registration_costs);
    unit_add(suite, table_is_bounded);
    return unit_run(suite);
}
