/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The decisions of protocol auto. core/choice/choice.h has the questions that a decision asks; each
 * is a function here.
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

/* ---- size classes ---- */

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

/* A time of `bytes`, as one of UNIT_BYTES at the same speed. */
static double for_unit(uint64_t ns, uint64_t bytes)
{
    return (double) ns * UNIT_BYTES / (double) bytes;
}

/* What a message saves in place, ns, where that is preferred. */
static uint64_t saving_ns(const struct rbuf_size_class *class, uint64_t bytes)
{
    double copied = class->paths.usual_ns[RBUF_PATH_COPY];
    double in_place = class->paths.usual_ns[RBUF_PATH_IN_PLACE];
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

/* What a probe costs, ns for UNIT_BYTES. A receive that is usually in place has to be copied twice
 * for it (probe()). */
static double probe_cost(const struct rbuf_size_class *class, enum rbuf_side side)
{
    const bool is_twice =
        side == RBUF_SIDE_RECEIVE && class->paths.preferred == RBUF_PREFER_IN_PLACE;

    return (is_twice ? 2 : 1) * rbuf_trial_probe_cost(&class->paths);
}

/* The buffer is registered, and its message takes the path that is not preferred. If that is the
 * copy of a receive, the sender expected to write in place and sent no early data
 * (rbuf_choice_expects_in_place()), so that this copy is slower than usual: it is no sample, but
 * the buffer's next message is copied, too, and is one. */
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
    const bool copies = class->paths.preferred == RBUF_PREFER_COPY;

    if (copies || use->state == RBUF_BUFFER_UNREGISTERED) {
        use->state = RBUF_BUFFER_REGISTERED;
    }
    if (class->paths.samples[RBUF_PATH_IN_PLACE] < RBUF_SAMPLES_MIN) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else if (request->pressed) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_PRESSED);
    } else if (use->state == RBUF_BUFFER_PROBING ||
               rbuf_trial_probe(&class->trial, probe_cost(class, request->side))) {
        probe(use, request->side, copies, decision);
    } else if (copies) {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    } else {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_HELD);
    }
}

/* Whether a trial whose registrations cost `price` ns may begin; if so, it begins, and in place is
 * timed anew. */
static bool try_in_place(struct rbuf_size_class *class, uint64_t price, uint64_t bytes,
                         uint32_t share)
{
    if (!rbuf_trial_register(&class->trial, for_unit(price, bytes), share)) {
        return false;
    }
    if (class->paths.preferred == RBUF_PREFER_COPY) {
        rbuf_preference_forget_in_place(&class->paths);
    }
    return true;
}

/* Whether the buffer, which is not registered, is worth a registration now: its rent has reached
 * the price, or buffers of its size live long enough.
 *
 * A single message can save as much as a registration costs. If its target is new, its source most
 * likely is, too, and the message has to save both registrations; not if the times of in place have
 * the registration of the source in them. */
static bool is_worth(struct rbuf_choice *choice, struct rbuf_size_class *class,
                     struct rbuf_buffer_use *use, const struct rbuf_choice_request *request,
                     uint64_t price)
{
    const uint64_t saving = saving_ns(class, request->bytes);

    if (class->paths.preferred != RBUF_PREFER_IN_PLACE) {
        return false;
    }
    class->trial.failures = 0;
    if (request->side == RBUF_SIDE_RECEIVE && use->uses < 2 && class->again && saving >= price) {
        price *= 2;
    }
    use->rent_ns += saving;
    return use->rent_ns >= price ||
           rbuf_lives_worth(rbuf_reuse_lives(&choice->reuse, length_of(use)), use->uses,
                            (double) saving, (double) price);
}

/* Whether to register a buffer that came again as a trial. A sender that does not know yet what
 * copies take always does: its copies would make in place look slow to the receiver. */
static bool try_again(struct rbuf_size_class *class, const struct rbuf_choice_request *request,
                      uint64_t price)
{
    const bool is_first =
        class->trial.failures == 0 && class->paths.samples[RBUF_PATH_IN_PLACE] == 0;

    return (request->side == RBUF_SIDE_SEND && class->paths.usual_ns[RBUF_PATH_COPY] == 0) ||
           try_in_place(class, price, request->bytes,
                        is_first ? RBUF_FIRST_SHARE : RBUF_TRIAL_SHARE);
}

/* The buffer is new, and is registered only as one of RBUF_SAMPLES_MIN buffers of a trial. */
static void decide_new(struct rbuf_size_class *class, uint64_t price, uint64_t bytes,
                       struct rbuf_choice_decision *decision)
{
    const bool copies_known = class->paths.samples[RBUF_PATH_COPY] >= RBUF_SAMPLES_MIN;

    if (class->trials == 0 && class->paths.preferred != RBUF_PREFER_IN_PLACE && copies_known &&
        try_in_place(class, RBUF_NEW_SHARE * RBUF_SAMPLES_MIN * price, bytes, RBUF_TRIAL_SHARE)) {
        class->trials = RBUF_SAMPLES_MIN;
    }
    if (class->trials > 0) {
        class->trials--;
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_FRESH);
        decision->is_sample = class->paths.samples[RBUF_PATH_COPY] < RBUF_SAMPLES_NEW;
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
        decision->is_sample =
            use->uses > 1 || class->paths.samples[RBUF_PATH_COPY] < RBUF_SAMPLES_NEW;
    } else if (is_worth(choice, class, use, request, price)) {
        use->rent_ns = 0;
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_AMORTIZED);
    } else if (use->uses < 2) {
        decide_new(class, price, request->bytes, decision);
    } else if (class->paths.preferred == RBUF_PREFER_IN_PLACE) {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_UNAMORTIZED);
    } else if (try_again(class, request, price)) {
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
    if (class->paths.samples[RBUF_PATH_IN_PLACE] > 0 &&
        class->paths.samples[RBUF_PATH_IN_PLACE] < RBUF_SAMPLES_MIN) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else if (class->paths.preferred == RBUF_PREFER_IN_PLACE && saving_ns(class, bytes) > price) {
        const bool probe = rbuf_trial_probe(&class->trial, rbuf_trial_probe_cost(&class->paths));

        class->trial.failures = 0;
        set(decision, probe ? RBUF_PATH_COPY : RBUF_PATH_IN_PLACE,
            probe ? RBUF_REASON_PROBE : RBUF_REASON_AMORTIZED);
    } else if (try_in_place(class, RBUF_SAMPLES_MIN * price, bytes, RBUF_TRIAL_SHARE)) {
        set(decision, RBUF_PATH_IN_PLACE, RBUF_REASON_TRIAL);
    } else {
        set(decision, RBUF_PATH_COPY, RBUF_REASON_SLOWER);
    }
}

/* Whether the next message of the buffer would be a probe, if the buffer is still registered. */
static __attribute__((noinline)) bool is_probe_due(struct rbuf_choice *choice,
                                                   const struct rbuf_size_class *class,
                                                   const struct rbuf_choice_request *request)
{
    const struct rbuf_buffer_use *use;

    if (!rbuf_trial_probe_is_due(&class->trial, probe_cost(class, request->side))) {
        return false;
    }
    use = rbuf_reuse_known(&choice->reuse, request->base);
    return use != NULL && use->state != RBUF_BUFFER_UNREGISTERED;
}

bool rbuf_choice_wants_lookup(struct rbuf_choice *choice, const struct rbuf_choice_request *request)
{
    const struct rbuf_size_class *class = class_of(choice, request->side, request->bytes);

    if (!choice->options.cache) {
        return false;
    }
    choice->since_lookup++;
    if (class->paths.preferred == RBUF_PREFER_COPY && !request->pressed &&
        choice->since_lookup < RBUF_LOOKUP_EVERY && !is_probe_due(choice, class, request)) {
        return false;
    }
    choice->since_lookup = 0;
    return true;
}

static void decide_with_cache(struct rbuf_choice *choice, const struct rbuf_choice_request *request,
                              struct rbuf_size_class *class, struct rbuf_choice_decision *decision)
{
    struct rbuf_buffer_use *use = use_of(choice, request->base, request->bytes);
    const bool cached = request->cached == RBUF_CACHED_AS_LEFT
                            ? use->state != RBUF_BUFFER_UNREGISTERED
                            : request->cached == RBUF_CACHED_YES;

    if (use->state != RBUF_BUFFER_UNREGISTERED && !cached) {
        /* The cache has dropped its registration, perhaps since memory beside it was released. The
         * buffer's life ends with it, as only lives of registrations pay. */
        rbuf_reuse_end(&choice->reuse, use);
        rbuf_reuse_use(&choice->reuse, use, request->base, request->bytes);
    }
    decision->base = atomic_load_explicit(&use->begin, memory_order_relaxed);
    decision->bytes = length_of(use);
    use->invited = request->side == RBUF_SIDE_SEND;
    if (cached) {
        decide_cached(class, use, request, decision);
        class->again = true;
        return;
    }
    decide_unregistered(choice, request, class, use, decision);
    use->state = RBUF_BUFFER_UNREGISTERED;
    if (decision->path == RBUF_PATH_IN_PLACE) {
        use->state = RBUF_BUFFER_REGISTERED;
        /* A source whose target came again most likely came again, too, and is registered at the
         * same time: the receive lasts until that is done. */
        decision->is_sample &= request->side != RBUF_SIDE_RECEIVE || use->uses < 2;
        class->again &= !decision->is_sample;
    }
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
    rbuf_choice_took(choice, RBUF_SIDE_SEND, RBUF_PATH_COPY, false, bytes, ns);
    if (choice->options.cache) {
        use_of(choice, base, bytes)->invited = false;
    }
}

void rbuf_choice_took(struct rbuf_choice *choice, enum rbuf_side side, enum rbuf_path path,
                      bool is_sample, uint64_t bytes, uint64_t ns)
{
    struct rbuf_size_class *class = class_of(choice, side, bytes);
    const double unit_ns = for_unit(ns, bytes);

    rbuf_trial_spend(&class->trial, &class->paths, path, unit_ns);
    if (is_sample) {
        rbuf_preference_add(&class->paths, RBUF_SAMPLES, path, (uint64_t) unit_ns);
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
