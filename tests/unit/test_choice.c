/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto's choice on made-up programs and machines: what it costs against always copying and
 * against a registration cache that takes everything, what it learns, and what it does not fall
 * for.
 *
 * A program is a sequence of messages, each from a buffer of the sender into one of the receiver,
 * that may be released afterwards. A machine says what a message takes by each path. Both sides
 * have a choice of their own, as in two processes.
 */
#include "core/choice.h"

#include <math.h>

#include "unit.h"

#define KB    1024u
#define MB    (1024u * KB)
#define HELD  512u /* registrations that the made-up cache can keep */
#define PAGE  4096u
#define FIRST UINT64_C(0x10000000)

/* Times are ns and ns a KB. */
struct machine {
    uint64_t wire_kb;     /* in place */
    uint64_t in_place;    /* and besides */
    uint64_t staged_kb;   /* through both sides' staging */
    uint64_t staged;      /* and besides */
    uint64_t copied_kb;   /* through the sender's staging alone */
    uint64_t copied;      /* and besides */
    uint64_t registering; /* one registration */
    uint64_t page;        /* and each page of it */
    unsigned noise;       /* percent, of every time */
};

/* Copies are fast and hidden behind the wire. */
static const struct machine slow_network = {.wire_kb = 715,
                                            .in_place = 12000,
                                            .staged_kb = 715,
                                            .staged = 7000,
                                            .copied_kb = 715,
                                            .copied = 12500,
                                            .registering = 68000,
                                            .page = 200,
                                            .noise = 3};
/* Copies are barely as fast as the wire. */
static const struct machine even_network = {.wire_kb = 230,
                                            .in_place = 9000,
                                            .staged_kb = 300,
                                            .staged = 8000,
                                            .copied_kb = 255,
                                            .copied = 10000,
                                            .registering = 16000,
                                            .page = 250,
                                            .noise = 3};
/* Copies are what takes the time. */
static const struct machine fast_network = {.wire_kb = 42,
                                            .in_place = 6000,
                                            .staged_kb = 100,
                                            .staged = 7000,
                                            .copied_kb = 70,
                                            .copied = 7000,
                                            .registering = 16000,
                                            .page = 60,
                                            .noise = 3};

struct range {
    uint64_t base;
    uint64_t end;
};

/* One process. */
struct process {
    struct rbuf_choice choice;
    struct range held[HELD];
    unsigned held_count;
};

struct program {
    const struct machine *machine;
    struct process *process[RBUF_SIDES];
    bool without_cache;
    bool refusing;    /* nothing can be registered now */
    unsigned refused; /* attempts to */
    uint64_t seed;
    double always_copied; /* ns of all messages so far, by protocol */
    double always_cached;
    double chosen;
    unsigned in_place; /* messages, as chosen */
    unsigned messages;
    struct range greedy[RBUF_SIDES][HELD]; /* what a cache that takes everything holds */
    unsigned greedy_count[RBUF_SIDES];
};

static uint32_t draw(struct program *program)
{
    program->seed = program->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (program->seed >> 33);
}

static struct program *program_open(const struct machine *machine, bool cache)
{
    struct program *program = calloc(1, sizeof(*program));

    program->machine = machine;
    program->seed = 7;
    program->without_cache = !cache;
    for (int i = 0; i < RBUF_SIDES; i++) {
        const struct rbuf_choice_options options = {
            .cache = cache, .registration_ns = 30000, .registration_page_ns = 150};

        program->process[i] = calloc(1, sizeof(struct process));
        rbuf_choice_open(&program->process[i]->choice, &options);
    }
    return program;
}

static void program_close(struct program *program)
{
    for (int i = 0; i < RBUF_SIDES; i++) {
        free(program->process[i]);
    }
    free(program);
}

static bool range_find(const struct range *held, unsigned count, uint64_t base, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        if (held[i].base <= base && held[i].end >= base + bytes) {
            return true;
        }
    }
    return false;
}

static void range_add(struct range *held, unsigned *count, uint64_t base, uint64_t bytes)
{
    if (*count == HELD) {
        ck_abort_msg("too many registrations");
    }
    held[(*count)++] =
        (struct range){.base = base / PAGE * PAGE, .end = (base + bytes + PAGE - 1) / PAGE * PAGE};
}

static void range_release(struct range *held, unsigned *count, uint64_t base, uint64_t bytes)
{
    for (unsigned i = 0; i < *count;) {
        if (held[i].base < base + bytes && held[i].end > base) {
            held[i] = held[--*count];
        } else {
            i++;
        }
    }
}

static uint64_t noisy(struct program *program, uint64_t ns)
{
    unsigned noise = program->machine->noise;
    uint64_t factor = 100 - noise + draw(program) % (2 * noise + 1);

    if (draw(program) % 50 == 0) {
        factor += 150; /* a hiccup */
    }
    return ns * factor / 100;
}

static uint64_t price(const struct machine *machine, uint64_t bytes)
{
    return machine->registering + machine->page * ((bytes + PAGE - 1) / PAGE);
}

/* One side decides on its buffer. Adds what registering it takes to *cost. */
static struct rbuf_verdict decide(struct program *program, enum rbuf_side side, uint64_t base,
                                  uint64_t bytes, double *cost)
{
    struct process *process = program->process[side];
    struct rbuf_question question = {
        .side = side,
        .base = base,
        .bytes = bytes,
        .cached = range_find(process->held, process->held_count, base, bytes)};
    struct rbuf_verdict verdict = rbuf_choice_ask(&process->choice, &question);

    /* (Check's own assertions take 20 us each.) */
    if (verdict.base > base || verdict.base + verdict.bytes < base + bytes) {
        ck_abort_msg("what is to be registered does not hold the buffer");
    }
    if (verdict.path == RBUF_PATH_IN_PLACE && !question.cached && program->refusing) {
        rbuf_choice_refused(&process->choice, side, base, bytes);
        program->refused++;
        verdict.path = RBUF_PATH_COPY;
        verdict.telling = false;
        return verdict;
    }
    if (verdict.path == RBUF_PATH_IN_PLACE && !question.cached) {
        uint64_t ns = price(program->machine, verdict.bytes);

        rbuf_choice_registered(&process->choice, verdict.base, verdict.bytes, ns);
        *cost += (double) ns;
        if (!program->without_cache) {
            range_add(process->held, &process->held_count, verdict.base, verdict.bytes);
        }
    }
    return verdict;
}

/* What the message takes as both sides chose. */
static double choose(struct program *program, const uint64_t base[RBUF_SIDES], uint64_t bytes)
{
    const struct machine *machine = program->machine;
    struct rbuf_choice *receiver = &program->process[RBUF_SIDE_RECEIVE]->choice;
    struct rbuf_choice *sender = &program->process[RBUF_SIDE_SEND]->choice;
    double cost = 0;
    struct rbuf_verdict to =
        decide(program, RBUF_SIDE_RECEIVE, base[RBUF_SIDE_RECEIVE], bytes, &cost);
    struct rbuf_verdict from;
    double registering;
    uint64_t ns;

    if (to.path == RBUF_PATH_COPY) {
        ns = noisy(program, machine->staged + machine->staged_kb * bytes / KB);
        rbuf_choice_sent_staged(sender, base[RBUF_SIDE_SEND], bytes, ns);
        rbuf_choice_took(receiver, RBUF_SIDE_RECEIVE, to.path, to.telling, bytes, ns);
        return cost + (double) ns;
    }
    program->in_place++;
    registering = cost;
    from = decide(program, RBUF_SIDE_SEND, base[RBUF_SIDE_SEND], bytes, &cost);
    registering = cost - registering;
    ns = noisy(program, from.path == RBUF_PATH_COPY
                            ? machine->copied + machine->copied_kb * bytes / KB
                            : machine->in_place + machine->wire_kb * bytes / KB);
    rbuf_choice_took(sender, RBUF_SIDE_SEND, from.path, from.telling, bytes, ns);
    rbuf_choice_took(receiver, RBUF_SIDE_RECEIVE, to.path, to.telling, bytes,
                     ns + (uint64_t) registering);
    return cost + (double) ns;
}

/* A message. */
static void program_message(struct program *program, uint64_t from, uint64_t to, uint64_t bytes)
{
    const struct machine *machine = program->machine;
    const uint64_t base[RBUF_SIDES] = {[RBUF_SIDE_RECEIVE] = to, [RBUF_SIDE_SEND] = from};

    program->messages++;
    program->always_copied +=
        (double) noisy(program, machine->staged + machine->staged_kb * bytes / KB);
    program->always_cached +=
        (double) noisy(program, machine->in_place + machine->wire_kb * bytes / KB);
    for (int i = 0; i < RBUF_SIDES; i++) {
        if (!range_find(program->greedy[i], program->greedy_count[i], base[i], bytes)) {
            range_add(program->greedy[i], &program->greedy_count[i], base[i], bytes);
            program->always_cached += (double) price(machine, bytes);
        }
    }
    program->chosen += choose(program, base, bytes);
}

/* Both sides give the buffers back to the system. */
static void program_release(struct program *program, uint64_t from, uint64_t to, uint64_t bytes)
{
    const uint64_t base[RBUF_SIDES] = {[RBUF_SIDE_RECEIVE] = to, [RBUF_SIDE_SEND] = from};

    for (int i = 0; i < RBUF_SIDES; i++) {
        struct process *process = program->process[i];

        range_release(process->held, &process->held_count, base[i], bytes);
        range_release(program->greedy[i], &program->greedy_count[i], base[i], bytes);
        rbuf_choice_release(&process->choice, base[i], bytes);
    }
}

static void program_say(const struct program *program, const char *what)
{
    double best = program->always_copied < program->always_cached ? program->always_copied
                                                                  : program->always_cached;

    printf("%-44s copied %8.2f cached %8.2f auto %8.2f us, %.3f of the better, %3u %% in place\n",
           what, program->always_copied / program->messages / 1000,
           program->always_cached / program->messages / 1000,
           program->chosen / program->messages / 1000, program->chosen / best,
           100 * program->in_place / program->messages);
    fflush(stdout); /* a failed assertion would lose it */
}

static double better(const struct program *program)
{
    return program->always_copied < program->always_cached ? program->always_copied
                                                           : program->always_cached;
}

/* Forgets what it has cost so far: the learning is over. */
static void program_restart(struct program *program)
{
    program->always_copied = program->always_cached = program->chosen = 0;
    program->in_place = program->messages = 0;
}

#define POOL 4u

/* A message with buffers of the pool, or with fresh ones, which always get the same addresses. */
static void pooled_or_fresh(struct program *program, unsigned percent, uint64_t bytes)
{
    const uint64_t stride = 2 * bytes + PAGE;
    uint64_t from = FIRST + draw(program) % POOL * stride + 12232;
    uint64_t to = from + POOL * stride;

    if (draw(program) % 100 < percent) {
        program_message(program, from, to, bytes);
        return;
    }
    from = FIRST + 2 * POOL * stride + 12232;
    to = from + stride;
    program_message(program, from, to, bytes);
    program_release(program, from, to, bytes);
}

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
                    pooled_or_fresh(program, percent, sizes[s]);
                }
                program_say(program, "learning");
                ck_assert(program->chosen <= 1.10 * better(program));
                program_restart(program);
                for (int i = 0; i < 3000; i++) {
                    pooled_or_fresh(program, percent, sizes[s]);
                }
                snprintf(what, sizeof(what), "%s network, %zu KB, %u %% reused", machines[m].name,
                         (size_t) sizes[s] / KB, percent);
                program_say(program, what);
                ck_assert_msg(program->chosen <= 1.03 * better(program), "%s", what);
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
            pooled_or_fresh(program, percent, MB);
        }
        program_say(program, "mixed");
        ck_assert(program->chosen < 0.98 * better(program));
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
        pooled_or_fresh(program, 100, MB);
    }
    program_restart(program);
    for (int i = 0; i < 1000; i++) {
        pooled_or_fresh(program, 100, MB);
    }
    ck_assert(program->chosen <= 1.01 * program->always_cached);
    ck_assert_uint_ge(program->in_place, 980);
    program_restart(program);
    for (int i = 0; i < 1000; i++) {
        pooled_or_fresh(program, 0, MB);
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

/* After many new buffers the pot is full. One that comes again pays for a trial then, which must
 * not take most of the few messages that reuse it: where in place is slower, they would be slow. */
START_TEST(a_trial_takes_few_messages)
{
    const uint64_t from = FIRST + 16 * MB;
    const uint64_t to = from + MB;
    struct program *program = program_open(&slow_network, true);

    for (int i = 0; i < 500; i++) {
        pooled_or_fresh(program, 0, 20 * KB);
    }
    program_restart(program);
    for (int i = 0; i < 8; i++) {
        program_message(program, from, to, 20 * KB);
    }
    ck_assert_uint_ge(program->in_place, 1);
    ck_assert_uint_le(program->in_place, 3);
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
        pooled_or_fresh(program, 0, 20 * KB);
    }
    program->machine = &slow_network;
    for (int i = 0; i < 400; i++) {
        pooled_or_fresh(program, 0, 20 * KB);
    }
    program_restart(program);
    for (int i = 0; i < 12; i++) {
        program_message(program, FIRST + 16 * MB, FIRST + 17 * MB, 20 * KB);
    }
    ck_assert_uint_le(program->in_place, 3);
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

        pooled_or_fresh(program, 100, MB);
        for (unsigned class = 0; class < RBUF_SIZE_CLASSES; class ++) {
            mind += (unsigned) choice->size_class[RBUF_SIDE_RECEIVE][class].preference;
        }
        changes += mind != before;
        before = mind;
    }
    printf("a tie: %u changes of mind in 5000 messages, %u in place\n", changes, program->in_place);
    ck_assert_uint_le(changes, 40);
    ck_assert(program->chosen <= 1.02 * better(program));
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
            pooled_or_fresh(program, phase % 2 == 0 ? 100 : 0, MB);
        }
    }
    program_say(program, "phases");
    ck_assert(program->chosen < 0.95 * better(program));
    program_restart(program);
    program->machine = &slow_network; /* where in place is slower at this size */
    for (int i = 0; i < 2000; i++) {
        pooled_or_fresh(program, 100, 64 * KB);
    }
    program_say(program, "another machine");
    ck_assert(program->chosen <= 1.03 * better(program));
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
            uint64_t bytes = (uint64_t) (16 + draw(program) % 16) * KB << draw(program) % 8;

            program_message(program, FIRST + draw(program) % 4 * 8 * MB,
                            FIRST + (4 + draw(program) % 4) * 8 * MB, bytes);
        }
        program_say(program, "mixed sizes");
        ck_assert(program->chosen <= 1.03 * better(program));
        program_close(program);
    }
}
END_TEST

/* One side's buffers are fresh, the other's are not. */
START_TEST(sides_decide_for_themselves)
{
    for (int fresh = 0; fresh < RBUF_SIDES; fresh++) {
        struct program *program = program_open(&even_network, true);

        for (int i = 0; i < 3000; i++) {
            uint64_t base[RBUF_SIDES] = {FIRST + draw(program) % 4 * 2 * MB,
                                         FIRST + (4 + draw(program) % 4) * 2 * MB};

            base[fresh] = FIRST + 16 * MB;
            program_message(program, base[RBUF_SIDE_SEND], base[RBUF_SIDE_RECEIVE], MB);
            for (int i = 0; i < RBUF_SIDES; i++) {
                struct process *process = program->process[i];

                range_release(process->held, &process->held_count, FIRST + 16 * MB, MB);
                range_release(program->greedy[i], &program->greedy_count[i], FIRST + 16 * MB, MB);
                rbuf_choice_release(&process->choice, FIRST + 16 * MB, MB);
            }
        }
        program_say(program, fresh == RBUF_SIDE_SEND ? "the sender's are fresh"
                                                     : "the receiver's are fresh");
        ck_assert(program->chosen <= 1.03 * better(program));
        if (fresh == RBUF_SIDE_SEND) {
            const struct rbuf_choice_counters *counters =
                &program->process[RBUF_SIDE_SEND]->choice.counters;

            ck_assert_uint_gt(program->in_place, 2000);
            ck_assert_uint_gt(counters->reason[RBUF_SIDE_SEND][RBUF_REASON_FRESH], 2000);
            ck_assert(program->chosen < 0.95 * better(program));
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
            pooled_or_fresh(program, 50, MB);
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

/* What cannot be registered is not asked for again and again. */
START_TEST(refusals)
{
    static struct rbuf_choice choice;
    const struct rbuf_choice_options options = {
        .cache = true, .registration_ns = 16000, .registration_page_ns = 250};
    const struct rbuf_question question = {.side = RBUF_SIDE_RECEIVE, .base = FIRST, .bytes = MB};
    unsigned wanted = 0;

    rbuf_choice_open(&choice, &options);
    for (int i = 0; i < 10000; i++) {
        struct rbuf_verdict verdict = rbuf_choice_ask(&choice, &question);

        if (verdict.path == RBUF_PATH_IN_PLACE) {
            rbuf_choice_refused(&choice, question.side, question.base, question.bytes);
            wanted++;
        }
        rbuf_choice_took(&choice, question.side, RBUF_PATH_COPY, verdict.telling, MB, 300000);
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
            pooled_or_fresh(program, 50, MB);
        }
        ck_assert_uint_gt(program->in_place, 1000);
        program_restart(program);
        program->refusing = true;
        program->process[RBUF_SIDE_SEND]->held_count = 0; /* were given up for the first attempt */
        program->process[RBUF_SIDE_RECEIVE]->held_count = 0;
        for (int i = 0; i < 10000; i++) {
            pooled_or_fresh(program, 50, MB);
        }
        printf("%u attempts in 10000 messages, none of which can succeed\n", program->refused);
        ck_assert_uint_ge(program->refused, 1);
        ck_assert_uint_le(program->refused, 40);
        program_restart(program);
        program->refusing = false;
        for (int i = 0; i < 10000; i++) {
            pooled_or_fresh(program, 50, MB);
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
    const struct rbuf_question question = {.side = RBUF_SIDE_SEND, .base = FIRST, .bytes = MB};

    rbuf_choice_open(&choice, &options);
    (void) rbuf_choice_ask(&choice, &question);
    rbuf_choice_refused(&choice, question.side, question.base, question.bytes);
    ck_assert_uint_eq(rbuf_reuse_find(&choice.reuse, FIRST)->uses, 1);
}
END_TEST

/* No staging: what is registered goes in place though that is slower. */
START_TEST(pressure)
{
    struct program *program = program_open(&slow_network, true);
    struct process *process = program->process[RBUF_SIDE_RECEIVE];
    struct rbuf_question question = {.side = RBUF_SIDE_RECEIVE, .bytes = 20 * KB, .cached = true};
    struct rbuf_verdict verdict;

    for (int i = 0; i < 3000; i++) {
        pooled_or_fresh(program, 100, 20 * KB);
    }
    ck_assert_uint_gt(process->held_count, 0);
    question.base = process->held[0].base + 12232 % PAGE;
    verdict = rbuf_choice_ask(&process->choice, &question);
    ck_assert_int_eq(verdict.path, RBUF_PATH_COPY);
    question.pressed = true;
    verdict = rbuf_choice_ask(&process->choice, &question);
    ck_assert_int_eq(verdict.path, RBUF_PATH_IN_PLACE);
    ck_assert_int_eq(verdict.reason, RBUF_REASON_PRESSED);
    program_close(program);
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
    unit_add(suite, refusals);
    unit_add(suite, refusals_later);
    unit_add(suite, refusals_are_no_uses);
    unit_add(suite, pressure);
    unit_add(suite, registration_costs);
    unit_add(suite, table_is_bounded);
    return unit_run(suite);
}
