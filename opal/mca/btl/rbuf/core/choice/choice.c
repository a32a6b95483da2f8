/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The decisions of protocol auto (core/choice/choice.h): the size classes with their samples,
 * and by them and what registering costs the path of each message.
 */
#include "core/choice/choice.h"

#include <string.h>

#define UNIT_BYTES   65536u /* what samples are scaled to */
#define FIRST_OCTAVE 12u    /* of the smallest class: 4 KB */

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
        if (class->preference != RBUF_PREFER_IN_PLACE) {
            class->failures = 0;
        }
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

static uint64_t length_of(const struct rbuf_buffer_use *use)
{
    return atomic_load_explicit(&use->end, memory_order_relaxed) -
           atomic_load_explicit(&use->begin, memory_order_relaxed);
}

/* The buffer at `base`, of which this is a use. */
static struct rbuf_buffer_use *use_of(struct rbuf_choice *choice, uint64_t base, uint64_t bytes)
{
    struct rbuf_buffer_use *use = rbuf_reuse_find(&choice->reuse, base);

    rbuf_reuse_use(&choice->reuse, use, base, bytes);
    return use;
}

/* ---- decisions ---- */

static void set(struct rbuf_choice_decision *decision, enum rbuf_path path, enum rbuf_reason reason)
{
    decision->path = path;
    decision->reason = reason;
    decision->is_sample = reason != RBUF_REASON_PRESSED;
}

/* After how many messages of registered buffers the other path is looked at: sooner when it is not
 * known, later when it is far off, so that looking takes no more than a small part of the time. */
static uint32_t probe_every(const struct rbuf_size_class *class)
{
    const double copied = class->usual_ns[RBUF_PATH_COPY];
    const double in_place = class->usual_ns[RBUF_PATH_IN_PLACE];
    const double better = copied < in_place ? copied : in_place;
    const double worse = copied < in_place ? in_place : copied;

    if (copied == 0) {
        return RBUF_PROBE_EVERY / 8;
    }
    if (worse <= 1.25 * better || better == 0) {
        return RBUF_PROBE_EVERY;
    }
    if (worse <= 2 * better) {
        return 4 * RBUF_PROBE_EVERY;
    }
    return worse - better < RBUF_PROBE_RAREST * better
               ? (uint32_t) (4 * RBUF_PROBE_EVERY * (worse / better - 1))
               : 4 * RBUF_PROBE_EVERY * RBUF_PROBE_RAREST;
}

/* The buffer is registered, and its message takes the other path than usual. A receive from a peer
 * that expected to write in place has no early data (rbuf_choice_expects_in_place()), and its copy
 * shows less than copies can do: the next message of the buffer is copied, too, and counts. */
static void probe(struct rbuf_buffer_use *use, enum rbuf_side side, bool copies,
                  struct rbuf_choice_decision *decision)
{
    const bool is_first = side == RBUF_SIDE_RECEIVE && !copies && use->state != RBUF_BUFFER_PROBING;

    set(decision, copies ? RBUF_PATH_IN_PLACE : RBUF_PATH_COPY, RBUF_REASON_PROBE);
    decision->is_sample = !is_first;
    use->state = is_first ? RBUF_BUFFER_PROBING : RBUF_BUFFER_REGISTERED;
}

/* The buffer is registered. */
static void decide_cached(struct rbuf_size_class *class, struct rbuf_buffer_use *use,
                          const struct rbuf_choice_request *request,
                          struct rbuf_choice_decision *decision)
{
    const bool copies = class->preference == RBUF_PREFER_COPY;

    if (copies || use->state == RBUF_BUFFER_UNREGISTERED) {
        use->state = RBUF_BUFFER_REGISTERED;
    }
    if (class->samples[RBUF_PATH_IN_PLACE] < RBUF_SAMPLES_MIN) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else if (request->pressed) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_PRESSED);
    } else if (use->state == RBUF_BUFFER_PROBING) {
        probe(use, request->side, copies, decision);
    } else if (++class->turns >= probe_every(class)) {
        class->turns = 0;
        probe(use, request->side, copies, decision);
    } else if (copies) {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    } else {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_HELD);
    }
}

/* Whether a trial that costs `price` is due, one part in `share` of the time of copies; if so it is
 * begun. */
static bool try_in_place(struct rbuf_size_class *class, uint64_t price, uint32_t share)
{
    if (class->budget_ns < (price * share) << class->failures) {
        return false;
    }
    class->budget_ns = 0;
    class->failures +=
        share > 0 && class->failures < RBUF_DOUBLINGS; /* unless in place turns out faster */
    if (class->preference == RBUF_PREFER_COPY) {       /* as measured long ago */
        class->preference = RBUF_PREFER_UNKNOWN;
        class->samples[RBUF_PATH_IN_PLACE] = 0;
        class->usual_ns[RBUF_PATH_IN_PLACE] = 0;
    }
    return true;
}

/* Whether the buffer, which is not registered, is best registered now: since those of its size live
 * long enough, or since its rent has reached the price. Where a single message would
 * pay for the registration of a new target, it has to pay for that of its source, too, which is
 * most likely new, unless that is in what messages in place take. */
static bool is_worth(struct rbuf_choice *choice, const struct rbuf_size_class *class,
                     struct rbuf_buffer_use *use, const struct rbuf_choice_request *request,
                     uint64_t price)
{
    const uint64_t saving = saving_ns(class, request->bytes);

    if (class->preference != RBUF_PREFER_IN_PLACE) {
        return false;
    }
    if (request->side == RBUF_SIDE_RECEIVE && use->uses < 2 && class->again && saving >= price) {
        price *= 2;
    }
    use->rent_ns += saving;
    return use->rent_ns >= price ||
           rbuf_lives_worth(rbuf_reuse_lives(&choice->reuse, length_of(use)), use->uses,
                            (double) saving, (double) price);
}

/* What part of the time may go into the next trial of a buffer that came again; 0: any. */
static uint32_t trial_share(const struct rbuf_size_class *class, enum rbuf_side side)
{
    if (side == RBUF_SIDE_SEND && class->usual_ns[RBUF_PATH_COPY] == 0) {
        return 0;
    }
    return class->failures > 0 || class->samples[RBUF_PATH_IN_PLACE] > 0 ? RBUF_TRIAL_SHARE
                                                                         : RBUF_FIRST_SHARE;
}

/* The buffer is new. To find out what in place takes, some have to be registered. */
static void decide_new(struct rbuf_size_class *class, uint64_t price,
                       struct rbuf_choice_decision *decision)
{
    const bool copies_known = class->samples[RBUF_PATH_COPY] >= RBUF_SAMPLES_MIN;

    if (class->trials == 0 && class->preference != RBUF_PREFER_IN_PLACE && copies_known &&
        try_in_place(class, RBUF_NEW_SHARE * RBUF_SAMPLES_MIN * price, RBUF_TRIAL_SHARE)) {
        class->trials = RBUF_SAMPLES_MIN;
    }
    if (class->trials > 0) {
        class->trials--;
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_FRESH);
        decision->is_sample = class->samples[RBUF_PATH_COPY] < RBUF_SAMPLES_NEW;
    }
}

/* Whether the message is to be copied since registrations were refused lately. */
static bool is_barred(struct rbuf_size_class *class, struct rbuf_choice_decision *decision)
{
    if (class->barred == 0) {
        return false;
    }
    class->barred--;
    set(decision, RBUF_PATH_COPY, RBUF_REASON_REFUSED);
    return true;
}

/* The buffer is not registered. */
static void decide_unregistered(struct rbuf_choice *choice,
                                const struct rbuf_choice_request *request,
                                struct rbuf_size_class *class, struct rbuf_buffer_use *use,
                                struct rbuf_choice_decision *decision)
{
    uint64_t price = price_ns(choice, decision->base, decision->bytes) >> request->pressed;

    if (is_barred(class, decision)) {
        decision->is_sample = use->uses > 1 || class->samples[RBUF_PATH_COPY] < RBUF_SAMPLES_NEW;
    } else if (is_worth(choice, class, use, request, price)) {
        use->rent_ns = 0;
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_AMORTIZED);
    } else if (use->uses < 2) {
        decide_new(class, price, decision);
    } else if (class->preference == RBUF_PREFER_IN_PLACE) {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_UNAMORTIZED);
    } else if (try_in_place(class, price, trial_share(class, request->side))) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    }
}

/* Registrations last for one message: it must save the whole price. */
static void decide_uncached(struct rbuf_size_class *class, uint64_t bytes, uint64_t price,
                            struct rbuf_choice_decision *decision)
{
    if (is_barred(class, decision)) {
        return;
    }
    if (class->samples[RBUF_PATH_IN_PLACE] > 0 &&
        class->samples[RBUF_PATH_IN_PLACE] < RBUF_SAMPLES_MIN) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else if (class->preference == RBUF_PREFER_IN_PLACE && saving_ns(class, bytes) > price) {
        bool probe = ++class->turns >= RBUF_PROBE_EVERY;

        class->turns = probe ? 0 : class->turns;
        class->failures = 0;
        set(decision, probe ? RBUF_PATH_COPY : RBUF_PATH_IN_PLACE,
            probe ? RBUF_REASON_PROBE : RBUF_REASON_AMORTIZED);
    } else if (try_in_place(class, RBUF_SAMPLES_MIN * price, RBUF_TRIAL_SHARE)) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    }
}

bool rbuf_choice_wants_lookup(struct rbuf_choice *choice, const struct rbuf_choice_request *request)
{
    const struct rbuf_size_class *class = class_of(choice, request->side, request->bytes);

    if (!choice->options.cache) {
        return false;
    }
    choice->since_lookup++;
    if (class->preference == RBUF_PREFER_COPY && class->turns + 1 < probe_every(class) &&
        !request->pressed && choice->since_lookup < RBUF_LOOKUP_EVERY) {
        return false;
    }
    choice->since_lookup = 0;
    return true;
}

/* The target is registered for a buffer that comes again, as its source most likely is, too: the
 * receive takes as long as that. */
static bool may_wait_for_sender(const struct rbuf_choice_request *request,
                                const struct rbuf_buffer_use *use,
                                const struct rbuf_choice_decision *decision)
{
    return request->side == RBUF_SIDE_RECEIVE && decision->path == RBUF_PATH_IN_PLACE &&
           use->uses > 1;
}

static void decide_with_cache(struct rbuf_choice *choice, const struct rbuf_choice_request *request,
                              struct rbuf_size_class *class, struct rbuf_choice_decision *decision)
{
    struct rbuf_buffer_use *use = use_of(choice, request->base, request->bytes);
    const bool cached = request->cached == RBUF_CACHED_AS_LEFT
                            ? use->state != RBUF_BUFFER_UNREGISTERED
                            : request->cached == RBUF_CACHED_YES;

    if (use->state != RBUF_BUFFER_UNREGISTERED && !cached) {
        /* Its registration was lost, if not its memory: for what is learnt from lives that is the
         * same. (Why one of living memory goes is not known; perhaps a release takes those next to
         * it along.) */
        rbuf_reuse_end(&choice->reuse, use);
        rbuf_reuse_use(&choice->reuse, use, request->base, request->bytes);
    }
    decision->base = atomic_load_explicit(&use->begin, memory_order_relaxed);
    decision->bytes = length_of(use);
    use->invited = request->side == RBUF_SIDE_SEND;
    if (!cached) {
        decide_unregistered(choice, request, class, use, decision);
        use->state = decision->path == RBUF_PATH_IN_PLACE ? RBUF_BUFFER_REGISTERED
                                                          : RBUF_BUFFER_UNREGISTERED;
        decision->is_sample &= !may_wait_for_sender(request, use, decision);
        class->again =
            class->again && !(decision->path == RBUF_PATH_IN_PLACE && decision->is_sample);
        return;
    }
    decide_cached(class, use, request, decision);
    class->again = true;
}

struct rbuf_choice_decision rbuf_choice_decide(struct rbuf_choice *choice,
                                               const struct rbuf_choice_request *request)
{
    struct rbuf_size_class *class = class_of(choice, request->side, request->bytes);
    struct rbuf_choice_decision decision = {.base = request->base, .bytes = request->bytes};

    if (choice->options.cache) {
        decide_with_cache(choice, request, class, &decision);
    } else {
        decide_uncached(class, request->bytes, price_ns(choice, decision.base, decision.bytes),
                        &decision);
    }
    choice->counters.reason[request->side][decision.reason]++;
    return decision;
}

/* ---- what was measured ---- */

bool rbuf_choice_expects_in_place(struct rbuf_choice *choice, uint64_t base)
{
    const struct rbuf_buffer_use *use = rbuf_reuse_known(&choice->reuse, base);

    return use != NULL && use->invited;
}

void rbuf_choice_sent_staged(struct rbuf_choice *choice, uint64_t base, uint64_t bytes, uint64_t ns)
{
    class_of(choice, RBUF_SIDE_SEND, bytes)->budget_ns += ns;
    if (choice->options.cache) {
        use_of(choice, base, bytes)->invited = false;
    }
}

void rbuf_choice_took(struct rbuf_choice *choice, enum rbuf_side side, enum rbuf_path path,
                      bool is_sample, uint64_t bytes, uint64_t ns)
{
    struct rbuf_size_class *class = class_of(choice, side, bytes);

    if (path == RBUF_PATH_COPY) {
        class->budget_ns += ns;
    }
    if (is_sample && add_sample(class, path, bytes, ns)) {
        prefer(class);
    }
}

void rbuf_choice_registered(struct rbuf_choice *choice, uint64_t base, uint64_t bytes, uint64_t ns)
{
    rbuf_registration_cost_add(&choice->cost, pages_of(base, bytes), ns);
}

void rbuf_choice_refused(struct rbuf_choice *choice, enum rbuf_side side, uint64_t base,
                         uint64_t bytes)
{
    choice->counters.refused++;
    class_of(choice, side, bytes)->barred = RBUF_REFUSED_WAIT;
    if (choice->options.cache) {
        rbuf_reuse_find(&choice->reuse, base)->state = RBUF_BUFFER_UNREGISTERED;
    }
}
