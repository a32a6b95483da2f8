/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/choice/choice.h"

#include <string.h>

#define UNIT_BYTES   65536u /* what samples are scaled to */
#define FIRST_OCTAVE 12u    /* of the smallest class: 4 KB */
#define SWEEP_AFTER  32u    /* releases */
#define CLASSES_NEAR 4      /* an octave */

void rbuf_choice_open(struct rbuf_choice *choice, const struct rbuf_choice_options *options)
{
    memset(choice, 0, sizeof(*choice));
    choice->options = *options;
    rbuf_registration_cost_open(&choice->cost, options->registration_ns,
                                options->registration_page_ns);
    rbuf_reuse_open(&choice->reuse);
}

/* ---- speeds by size ---- */

static struct rbuf_size_class *class_of(struct rbuf_choice *choice, enum rbuf_side side,
                                        uint64_t bytes)
{
    uint32_t octave = 63 - (uint32_t) __builtin_clzll(bytes | 1);
    uint32_t index;

    if (octave < FIRST_OCTAVE) {
        return &choice->size_class[side][0];
    }
    index = 4 * (octave - FIRST_OCTAVE) + (uint32_t) (bytes >> (octave - 2) & 3);
    return &choice->size_class[side][index < RBUF_SIZE_CLASSES ? index : RBUF_SIZE_CLASSES - 1];
}

/* The mean of the middle half of the samples, ns for UNIT_BYTES; 0: too few. */
static double usual_of(const uint64_t *sample, uint32_t taken)
{
    uint32_t count = taken < RBUF_SAMPLES ? taken : RBUF_SAMPLES;
    uint32_t left_out = (count + 1) / 4;
    uint64_t sorted[RBUF_SAMPLES];
    double sum = 0;

    if (count < RBUF_SAMPLES_MIN) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = i;

        for (; place > 0 && sorted[place - 1] > sample[i]; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = sample[i];
    }
    for (uint32_t i = left_out; i < count - left_out; i++) {
        sum += (double) sorted[i];
    }
    return sum / (count - 2 * left_out);
}

/* The path that messages take, of which samples come by the message. */
static bool is_usual_path(const struct rbuf_size_class *class, enum rbuf_path path)
{
    return class->preference == (path == RBUF_PATH_COPY ? RBUF_PREFER_COPY : RBUF_PREFER_IN_PLACE);
}

/* Returns whether usual_ns is of now. Working it out lengthens the message: of a full window that
 * gets a sample with every message it is done at some of them only. */
static bool add_sample(struct rbuf_size_class *class, enum rbuf_path path, uint64_t bytes,
                       uint64_t ns)
{
    const uint32_t taken = ++class->samples[path];

    class->sample[path][(taken - 1) % RBUF_SAMPLES] =
        (uint64_t) ((double) ns * UNIT_BYTES / (double) bytes);
    if (taken > RBUF_SAMPLES && taken % RBUF_SAMPLES_STEP != 0 && is_usual_path(class, path)) {
        return false;
    }
    class->usual_ns[path] = usual_of(class->sample[path], taken);
    return true;
}

/* Compares the paths, now that there are more samples. */
static void prefer(struct rbuf_size_class *class)
{
    double copied = class->usual_ns[RBUF_PATH_COPY];
    double in_place = class->usual_ns[RBUF_PATH_IN_PLACE];

    if (copied == 0 || in_place == 0) {
        return;
    }
    if (in_place > copied + copied / RBUF_SLOWER_LEAVE) {
        class->preference = RBUF_PREFER_COPY;
    } else if (class->preference == RBUF_PREFER_UNKNOWN ||
               in_place <= copied + copied / RBUF_SLOWER_ENTER) {
        class->failures = 0;
        class->preference = RBUF_PREFER_IN_PLACE;
    }
}

/* What a message saves in place, ns, where that is preferred. */
static uint64_t saving_ns(const struct rbuf_size_class *class, uint64_t bytes)
{
    double copied = class->usual_ns[RBUF_PATH_COPY];
    double in_place = class->usual_ns[RBUF_PATH_IN_PLACE];
    double saved = (copied > in_place ? copied - in_place : 0) + copied / RBUF_IDLE_WORTH;

    return (uint64_t) (saved * (double) bytes / UNIT_BYTES);
}

/* ---- prices ---- */

static uint64_t pages_of(uint64_t base, uint64_t bytes)
{
    return (base + bytes - 1) / RBUF_REUSE_PAGE - base / RBUF_REUSE_PAGE + 1;
}

static uint64_t price_ns(const struct rbuf_choice *choice, uint64_t base, uint64_t bytes)
{
    return rbuf_registration_cost_of(&choice->cost, pages_of(base, bytes));
}

/* A registration was lost; if it had not earned its price, the next ones of its size cost more. */
static void settle(struct rbuf_choice *choice, struct rbuf_size_class *class,
                   struct rbuf_buffer_use *use)
{
    if (use->price_ns > 0) {
        choice->counters.lost++;
        class->dearer += class->dearer < RBUF_DOUBLINGS;
    }
    use->price_ns = 0;
    use->earned_ns = 0;
}

/* A registered buffer went in place. */
static void earn(struct rbuf_choice *choice, struct rbuf_size_class *class,
                 struct rbuf_buffer_use *use, uint64_t bytes)
{
    if (use->price_ns == 0) {
        return;
    }
    use->earned_ns += saving_ns(class, bytes);
    if (use->earned_ns >= use->price_ns) {
        choice->counters.paid++;
        class->dearer -= class->dearer > 0;
        use->price_ns = 0;
    }
}

static uint64_t length_of(const struct rbuf_buffer_use *use)
{
    return atomic_load_explicit(&use->end, memory_order_relaxed) -
           atomic_load_explicit(&use->begin, memory_order_relaxed);
}

/* The buffer of the question. What was released is settled and forgotten. */
static struct rbuf_buffer_use *look_up(struct rbuf_choice *choice,
                                       const struct rbuf_question *question)
{
    struct rbuf_buffer_use *use;
    uint32_t place = 0;

    use = rbuf_reuse_find(&choice->reuse, question->base);
    if (atomic_load_explicit(&use->released, memory_order_relaxed)) {
        settle(choice, class_of(choice, question->side, length_of(use)), use);
        rbuf_reuse_end(&choice->reuse, use);
    }
    rbuf_reuse_use(&choice->reuse, use, question->base, question->bytes);
    if (atomic_load_explicit(&choice->reuse.releases, memory_order_relaxed) >= SWEEP_AFTER) {
        struct rbuf_buffer_use *gone;

        atomic_store_explicit(&choice->reuse.releases, 0, memory_order_relaxed);
        while ((gone = rbuf_reuse_next_released(&choice->reuse, &place)) != NULL) {
            settle(choice, class_of(choice, question->side, length_of(gone)), gone);
            rbuf_reuse_end(&choice->reuse, gone);
        }
    }
    return use;
}

/* ---- decisions ---- */

static void answer(struct rbuf_verdict *verdict, enum rbuf_path path, enum rbuf_reason reason)
{
    verdict->path = path;
    verdict->reason = reason;
    verdict->telling = reason != RBUF_REASON_PRESSED;
}

/* After how many messages of registered buffers the other path is looked at: sooner when it is not
 * known, later when it is far off. */
static uint32_t probe_every(const struct rbuf_size_class *class)
{
    double copied = class->usual_ns[RBUF_PATH_COPY];
    double in_place = class->usual_ns[RBUF_PATH_IN_PLACE];

    if (copied == 0) {
        return RBUF_PROBE_EVERY / 8;
    }
    return copied > 1.25 * in_place || in_place > 1.25 * copied ? 4 * RBUF_PROBE_EVERY
                                                                : RBUF_PROBE_EVERY;
}

/* The buffer is registered. */
static void ask_cached(struct rbuf_size_class *class, bool pressed, struct rbuf_verdict *verdict)
{
    const bool copies = class->preference == RBUF_PREFER_COPY;

    if (class->samples[RBUF_PATH_IN_PLACE] < RBUF_SAMPLES_MIN) {
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else if (pressed) {
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_PRESSED);
    } else if (++class->turns >= probe_every(class)) {
        class->turns = 0;
        answer(verdict, copies ? RBUF_PATH_IN_PLACE : RBUF_PATH_COPY, RBUF_REASON_PROBE);
    } else if (copies) {
        answer(verdict, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    } else {
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_HELD);
    }
}

/* Whether a trial that costs `price` is due, after so many doublings of the share; if so it is
 * begun. */
static bool try_in_place(struct rbuf_size_class *class, uint64_t price, uint32_t doublings)
{
    if (class->pot_ns < (price * RBUF_TRIAL_SHARE) << doublings) {
        return false;
    }
    class->pot_ns = 0;
    class->failures += class->failures < RBUF_DOUBLINGS; /* unless in place turns out faster */
    if (class->preference == RBUF_PREFER_COPY) {         /* so says what was measured long ago */
        class->preference = RBUF_PREFER_UNKNOWN;
        class->samples[RBUF_PATH_IN_PLACE] = 0;
        class->usual_ns[RBUF_PATH_IN_PLACE] = 0;
    }
    return true;
}

static bool is_known(const struct rbuf_size_class *class)
{
    return class->usual_ns[RBUF_PATH_COPY] > 0 && class->usual_ns[RBUF_PATH_IN_PLACE] > 0;
}

/* The class itself if both paths are known, else the nearest within an octave of which they are,
 * else the class. */
static const struct rbuf_size_class *known_near(const struct rbuf_choice *choice,
                                                enum rbuf_side side,
                                                const struct rbuf_size_class *class)
{
    const struct rbuf_size_class *first = choice->size_class[side];
    const long place = class - first;

    for (long away = 0; away <= CLASSES_NEAR; away++) {
        if (place + away < RBUF_SIZE_CLASSES && is_known(class + away)) {
            return class + away;
        }
        if (place >= away && is_known(class - away)) {
            return class - away;
        }
    }
    return class;
}

/* Whether the buffer, which is not registered, is best registered now, by what is known of `like`.
 */
static bool is_worth(struct rbuf_choice *choice, const struct rbuf_size_class *class,
                     const struct rbuf_size_class *like, struct rbuf_buffer_use *use,
                     uint64_t bytes, uint64_t price)
{
    uint64_t saving = saving_ns(like, bytes);

    if (like->preference != RBUF_PREFER_IN_PLACE) {
        return false;
    }
    use->rent_ns += saving;
    return rbuf_lives_worth(rbuf_reuse_lives(&choice->reuse, length_of(use)), use->uses,
                            (double) saving, (double) price) ||
           use->rent_ns >= price << class->dearer;
}

/* The buffer is new. To find out what in place takes, some have to be registered. */
static void ask_new(struct rbuf_size_class *class, uint64_t price, struct rbuf_verdict *verdict)
{
    const bool copies_known = class->samples[RBUF_PATH_COPY] >= RBUF_SAMPLES_MIN;

    if (class->trials == 0 && class->preference != RBUF_PREFER_IN_PLACE && copies_known &&
        try_in_place(class, RBUF_NEW_SHARE * RBUF_SAMPLES_MIN * price, class->failures)) {
        class->trials = RBUF_SAMPLES_MIN;
    }
    if (class->trials > 0) {
        class->trials--;
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        answer(verdict, RBUF_PATH_COPY, RBUF_REASON_FRESH);
        verdict->telling = class->samples[RBUF_PATH_COPY] < RBUF_SAMPLES_NEW;
    }
}

/* Whether the message is to be copied since registrations were refused lately. */
static bool is_barred(struct rbuf_size_class *class, struct rbuf_verdict *verdict)
{
    if (class->barred == 0) {
        return false;
    }
    class->barred--;
    answer(verdict, RBUF_PATH_COPY, RBUF_REASON_REFUSED);
    return true;
}

/* The buffer is not registered. */
static void ask_unregistered(struct rbuf_choice *choice, const struct rbuf_question *question,
                             struct rbuf_size_class *class, struct rbuf_buffer_use *use,
                             struct rbuf_verdict *verdict)
{
    const struct rbuf_size_class *like = known_near(choice, question->side, class);
    uint64_t price = price_ns(choice, verdict->base, verdict->bytes) >> question->pressed;

    if (is_barred(class, verdict)) {
        verdict->telling = use->uses > 1 || class->samples[RBUF_PATH_COPY] < RBUF_SAMPLES_NEW;
    } else if (is_worth(choice, class, like, use, question->bytes, price)) {
        use->rent_ns = 0;
        use->price_ns = price;
        use->earned_ns = 0;
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_BOUGHT);
    } else if (use->uses < 2) {
        ask_new(class, price, verdict);
    } else if (like->preference == RBUF_PREFER_IN_PLACE) {
        answer(verdict, RBUF_PATH_COPY, RBUF_REASON_RENT);
    } else if (try_in_place(class, price, class->failures)) {
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        answer(verdict, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    }
}

/* Registrations last for one message: it must save the whole price. */
static void ask_uncached(struct rbuf_size_class *class, uint64_t bytes, uint64_t price,
                         struct rbuf_verdict *verdict)
{
    if (is_barred(class, verdict)) {
        return;
    }
    if (class->samples[RBUF_PATH_IN_PLACE] > 0 &&
        class->samples[RBUF_PATH_IN_PLACE] < RBUF_SAMPLES_MIN) {
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else if (class->preference == RBUF_PREFER_IN_PLACE && saving_ns(class, bytes) > price) {
        bool probe = ++class->turns >= RBUF_PROBE_EVERY;

        class->turns = probe ? 0 : class->turns;
        class->dearer = 0;
        answer(verdict, probe ? RBUF_PATH_COPY : RBUF_PATH_IN_PLACE,
               probe ? RBUF_REASON_PROBE : RBUF_REASON_BOUGHT);
    } else if (try_in_place(class, RBUF_SAMPLES_MIN * price, class->dearer)) {
        class->dearer += class->dearer < RBUF_DOUBLINGS; /* unless it turns out to pay */
        answer(verdict, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        answer(verdict, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    }
}

bool rbuf_choice_looks(struct rbuf_choice *choice, const struct rbuf_question *question)
{
    const struct rbuf_size_class *class = class_of(choice, question->side, question->bytes);

    if (!choice->options.cache) {
        return false;
    }
    choice->unlooked++;
    if (class->preference == RBUF_PREFER_COPY && class->turns + 1 < probe_every(class) &&
        !question->pressed && choice->unlooked < RBUF_LOOK_EVERY) {
        return false;
    }
    choice->unlooked = 0;
    return true;
}

static void ask_with_cache(struct rbuf_choice *choice, const struct rbuf_question *question,
                           struct rbuf_size_class *class, struct rbuf_verdict *verdict)
{
    struct rbuf_buffer_use *use = look_up(choice, question);
    const bool cached =
        question->cached == RBUF_CACHED_AS_LEFT ? use->held : question->cached == RBUF_CACHED_YES;

    if (use->held && !cached) {
        /* Its registration was lost, if not its memory: for what is learnt from lives that is the
         * same. (Why one of living memory goes is not known; perhaps a release takes those next to
         * it along.) */
        settle(choice, class, use);
        rbuf_reuse_end(&choice->reuse, use);
        rbuf_reuse_use(&choice->reuse, use, question->base, question->bytes);
    }
    verdict->base = atomic_load_explicit(&use->begin, memory_order_relaxed);
    verdict->bytes = length_of(use);
    use->held = cached;
    if (!cached) {
        ask_unregistered(choice, question, class, use, verdict);
        use->held = verdict->path == RBUF_PATH_IN_PLACE;
        return;
    }
    ask_cached(class, question->pressed, verdict);
    if (verdict->path == RBUF_PATH_IN_PLACE) {
        earn(choice, class, use, question->bytes);
    }
}

struct rbuf_verdict rbuf_choice_ask(struct rbuf_choice *choice,
                                    const struct rbuf_question *question)
{
    struct rbuf_size_class *class = class_of(choice, question->side, question->bytes);
    struct rbuf_verdict verdict = {.base = question->base, .bytes = question->bytes};

    if (choice->options.cache) {
        ask_with_cache(choice, question, class, &verdict);
    } else {
        ask_uncached(class, question->bytes, price_ns(choice, verdict.base, verdict.bytes),
                     &verdict);
    }
    choice->counters.reason[question->side][verdict.reason]++;
    return verdict;
}

/* ---- what was measured ---- */

void rbuf_choice_sent_staged(struct rbuf_choice *choice, uint64_t base, uint64_t bytes, uint64_t ns)
{
    struct rbuf_size_class *class = class_of(choice, RBUF_SIDE_SEND, bytes);
    const struct rbuf_question question = {.side = RBUF_SIDE_SEND, .base = base, .bytes = bytes};

    class->pot_ns += ns;
    if (choice->options.cache) {
        (void) look_up(choice, &question);
    }
}

void rbuf_choice_took(struct rbuf_choice *choice, enum rbuf_side side, enum rbuf_path path,
                      bool telling, uint64_t bytes, uint64_t ns)
{
    struct rbuf_size_class *class = class_of(choice, side, bytes);

    if (path == RBUF_PATH_COPY) {
        class->pot_ns += ns;
    }
    if (telling && add_sample(class, path, bytes, ns)) {
        prefer(class);
    }
}

void rbuf_choice_registered(struct rbuf_choice *choice, uint64_t base, uint64_t bytes, uint64_t ns)
{
    rbuf_registration_cost_add(&choice->cost, pages_of(base, bytes), ns);
    for (int side = 0; side < RBUF_SIDES; side++) {
        class_of(choice, (enum rbuf_side) side, bytes)->refusals = 0;
    }
}

void rbuf_choice_refused(struct rbuf_choice *choice, enum rbuf_side side, uint64_t base,
                         uint64_t bytes)
{
    struct rbuf_size_class *class = class_of(choice, side, bytes);

    choice->counters.refused++;
    class->dearer += class->dearer < RBUF_DOUBLINGS;
    class->failures += class->failures < RBUF_DOUBLINGS;
    class->pot_ns = 0;
    class->barred = RBUF_REFUSED_WAIT << class->refusals;
    class->refusals += class->refusals < RBUF_DOUBLINGS;
    if (choice->options.cache) {
        struct rbuf_buffer_use *use = rbuf_reuse_find(&choice->reuse, base);

        use->price_ns = 0; /* nothing was paid, so nothing can be lost */
        use->held = false;
    }
}
