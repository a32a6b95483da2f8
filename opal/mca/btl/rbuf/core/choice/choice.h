/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto: decides whether a message is copied through staging or goes in place, from or into
 * the program's buffer, which has to be registered for that.
 *
 * The receiver and the sender of a message each decide for their own buffer, the receiver first. It
 * offers a lane of its staging, or its registered buffer. Into the latter the sender writes from
 * its own registered buffer, or from its staging. A get is decided by the side that calls it.
 *
 * A decision asks, for messages of this size on this side (a class):
 *
 * 1. Is the buffer registered? Then the message takes the path that is faster (preference.h), and
 *    now and then the other one, so that the times of both are up to date (trial.h).
 * 2. Could a registration not be made lately? Then the message is copied: each attempt takes time,
 *    and the cache gives up other registrations for it.
 * 3. Is the buffer worth registering? Not where copies are faster. Else this is the ski-rental
 *    problem, whether to rent or to buy: a registration has its price (registration_cost.h), and
 *    each message that is copied pays rent, the time that it would have saved in place. When the
 *    rent of a buffer has reached the price, it is registered, and stays so in the cache of Open
 *    MPI. No program then pays more than twice of what it would pay if it knew the future (A. R.
 *    Karlin et al., "Competitive snoopy caching", Algorithmica 3, 1988). A buffer is registered
 *    sooner if buffers of its size have lived long enough in this run (lives.c).
 * 4. Is it not known whether in place is faster? Then the buffer is registered as a trial, if one
 * is due. A buffer that was used before (reuse.h) is preferred: its registration may serve again.
 *
 * Without a cache a registration serves one message, which has to save the whole price.
 *
 * Some times say nothing of their path, and are no samples:
 * - copies of new buffers after the first RBUF_SAMPLES_NEW: cold memory is slow on either path;
 * - receives for which both sides may have registered;
 * - the first copy of a receive that its sender expected to go in place.
 *
 * Deterministic: no clock, no random numbers; times come from the caller. Threads: the module's
 * lock, but for rbuf_choice_release().
 */
#ifndef RBUF_CORE_CHOICE_H
#define RBUF_CORE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/choice/preference.h"
#include "core/choice/registration_cost.h"
#include "core/choice/reuse.h"
#include "core/choice/trial.h"

#define RBUF_SIZE_CLASSES 96u  /* four an octave from 4 KB on: speeds differ little within one */
#define RBUF_SAMPLES_NEW  32u  /* copies; until then those of new buffers are all that is known */
#define RBUF_TRIAL_SHARE  64u  /* one part in 64 of the time, 1.6 %, goes into trials */
#define RBUF_FIRST_SHARE  8u   /* one part in 8, until in place was tried: short runs gain, too */
#define RBUF_NEW_SHARE    4u   /* a quarter of RBUF_TRIAL_SHARE with new buffers: few come again */
#define RBUF_LOOKUP_EVERY 16u  /* decisions; a look-up also makes the cache drop released memory */
#define RBUF_IDLE_WORTH   128u /* a processor that need not copy saves 1/128 of the copy's time */
#define RBUF_REFUSED_WAIT 512u /* messages of a class that are copied after a refusal */

enum rbuf_side {
    RBUF_SIDE_RECEIVE,
    RBUF_SIDE_SEND, /* also puts of one-sided programs */
    RBUF_SIDE_GET,
    RBUF_SIDES
};

/* Why. Glue's report has a counter for each. */
enum rbuf_reason {
    RBUF_REASON_FRESH,       /* copied: the buffer is new, or came back from the system */
    RBUF_REASON_UNAMORTIZED, /* copied: a registration would have cost more so far */
    RBUF_REASON_SLOWER,      /* copied: in place is slower at this size, or not known */
    RBUF_REASON_REFUSED,     /* copied: registrations of this size could not be made lately */
    RBUF_REASON_HELD,        /* in place: registered already */
    RBUF_REASON_AMORTIZED,   /* in place: copying has cost as much, or will */
    RBUF_REASON_TRIAL,       /* in place: to find out how long that takes */
    RBUF_REASON_PROBE,       /* the other path than usual, likewise */
    RBUF_REASON_PRESSED,     /* in place: registered, and there is no staging */
    RBUF_REASONS
};

struct rbuf_choice_options {
    bool cache;                    /* registrations outlive their message */
    uint64_t registration_ns;      /* assumed until measured, of one */
    uint64_t registration_page_ns; /* and of each RBUF_REUSE_PAGE bytes of it */
};

struct rbuf_choice_counters {
    uint64_t reason[RBUF_SIDES][RBUF_REASONS]; /* decisions */
    uint64_t refused;                          /* registrations that could not be made */
};

/* What is known of messages of one size on one side. Times are ns for 64 KB at their speed. */
struct rbuf_size_class {
    struct rbuf_preference paths;
    struct rbuf_trial trial;
    bool again;      /* the newest message in place was of a buffer that was registered before */
    uint32_t trials; /* of new buffers that are still to go in place */
    uint32_t barred; /* messages that are to ask for no registration yet */
};

struct rbuf_choice {
    struct rbuf_choice_options options;
    struct rbuf_registration_cost cost;
    struct rbuf_reuse reuse;
    struct rbuf_size_class size_class[RBUF_SIDES][RBUF_SIZE_CLASSES];
    struct rbuf_choice_counters counters;
    uint32_t since_lookup; /* decisions since a buffer was last to be looked up */
};

/* Whether a buffer is registered. To look costs more than the rest of the decision. */
enum rbuf_cached {
    RBUF_CACHED_NO,
    RBUF_CACHED_YES,
    RBUF_CACHED_AS_LEFT /* not looked up: taken to be as the last decision on it left it */
};

struct rbuf_choice_request {
    enum rbuf_side side;
    uint64_t base;  /* address of the buffer */
    uint64_t bytes; /* > 0 */
    enum rbuf_cached cached;
    bool pressed; /* there is no staging for it now */
};

struct rbuf_choice_decision {
    enum rbuf_path path;
    enum rbuf_reason reason;
    bool is_sample; /* its time is one of the path, for rbuf_choice_took() */
    uint64_t base;  /* what to register, if it is in place and not yet cached; contains the */
    uint64_t bytes; /* buffer, and all of it has been used for messages */
};

void rbuf_choice_open(struct rbuf_choice *choice, const struct rbuf_choice_options *options);

/* Whether the buffer is to be looked up before the decision. Not where its message would be
 * copied whether it is registered or not: where that is faster, and no probe is due. Each
 * RBUF_LOOKUP_EVERY-th is all the same: caches drop what was released when they are looked into. */
bool rbuf_choice_wants_lookup(struct rbuf_choice *choice,
                              const struct rbuf_choice_request *request);

/* Decides on one message. */
struct rbuf_choice_decision rbuf_choice_decide(struct rbuf_choice *choice,
                                               const struct rbuf_choice_request *request);

/* A message was sent from here into a lane, with no choice; it took the sender `ns`. */
void rbuf_choice_sent_staged(struct rbuf_choice *choice, uint64_t base, uint64_t bytes,
                             uint64_t ns);

/* Whether the message that leaves from there is expected to be written in place: so was the last
 * one from that buffer. Early data would be sent in vain. */
bool rbuf_choice_expects_in_place(struct rbuf_choice *choice, uint64_t base);

/* A message took `ns` on the path that was decided on, its registration not counted. */
void rbuf_choice_took(struct rbuf_choice *choice, enum rbuf_side side, enum rbuf_path path,
                      bool is_sample, uint64_t bytes, uint64_t ns);

/* `bytes` at `base` were registered in `ns`. */
void rbuf_choice_registered(struct rbuf_choice *choice, uint64_t base, uint64_t bytes, uint64_t ns);

/* What was to be registered could not be. */
void rbuf_choice_refused(struct rbuf_choice *choice, enum rbuf_side side, uint64_t base,
                         uint64_t bytes);

/* Memory was given back to the system. Any thread, also inside the call that gives it back. */
static inline void rbuf_choice_release(struct rbuf_choice *choice, uint64_t base, uint64_t bytes)
{
    rbuf_reuse_release(&choice->reuse, base, bytes);
}

#endif
