/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto: which messages are copied through staging and which are transferred in place.
 *
 * Each side decides for its own buffer whether it is to be registered. The receiver offers a lane
 * of staging or its registered buffer. To the latter the sender writes from its own registered
 * buffer, or from its staging. Both decide by what this run has measured:
 *
 * - How long messages of about this size take on either path: the middle half of a window of
 *   samples by size class. A late peer or a busy processor is part of that time. Copies of new
 *   buffers count only among the first RBUF_SAMPLES_NEW: cold memory is slow on any path.
 * - What a registration costs (registration_cost.h).
 * - Whether the buffer came again without being released between (reuse.h).
 *
 * This is the ski-rental problem, rent or buy. A buffer that came again pays rent, what its message
 * would have saved in place. When the rent has reached the price of its registration, it is
 * registered, and the cache of the upper layer keeps that: no sequence of uses then costs more than
 * twice what knowing the future would have cost above the better path (A. R. Karlin et al.,
 * "Competitive snoopy caching", Algorithmica 3, 1988). It is registered sooner where buffers of its
 * size are known to live long enough (lives.c).
 *
 * What in place costs is not known before it was tried, and may change. A trial is taken from the
 * exploration budget: one part in RBUF_TRIAL_SHARE of the time spent on copied messages of the
 * class; the first one comes sooner (RBUF_FIRST_SHARE). After each trial that fails the next one
 * waits twice as long. A sender that does not know what its copies take writes in place from
 * buffers that came again: copies would tell its receiver that in place is slow. A receive for
 * which both sides may have registered says nothing, either.
 *
 * Registered buffers of a class that is faster by copies are copied; every RBUF_PROBE_EVERY-th
 * message of a registered buffer takes the other path, so that either figure stays fresh, and fewer
 * where that path is far slower. A path is left only when it is slower by more than the hysteresis,
 * and at a tie messages go in place, which leaves the processor alone.
 *
 * Without a cache a registration serves one message: in place must then be faster by more than
 * that.
 *
 * A registration that cannot be made is not asked for again and again, since each attempt costs
 * time and the cache what it could give up: the next messages of the class are copied.
 *
 * Deterministic: no clock, no random numbers; times come from the caller. Called under the module's
 * lock, but for rbuf_choice_release().
 */
#ifndef RBUF_CORE_CHOICE_H
#define RBUF_CORE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/choice/registration_cost.h"
#include "core/choice/reuse.h"

#define RBUF_SIZE_CLASSES 96u  /* four an octave, from 4 KB on */
#define RBUF_SAMPLES      16u  /* of a path and class */
#define RBUF_SAMPLES_STEP 4u   /* after so many more of a full window its middle is worked out */
#define RBUF_SAMPLES_MIN  3u   /* before they say anything */
#define RBUF_SAMPLES_NEW  32u  /* copies until which those of new buffers count, too */
#define RBUF_TRIAL_SHARE  64u  /* of the time of a class may go into a trial */
#define RBUF_NEW_SHARE    4u   /* of that into one with new buffers, each of which registers */
#define RBUF_FIRST_SHARE  8u   /* instead of RBUF_TRIAL_SHARE while in place was never tried */
#define RBUF_PROBE_EVERY  64u  /* messages of registered buffers */
#define RBUF_PROBE_RAREST 16u  /* times as rarely, at most, where the other path is far slower */
#define RBUF_LOOKUP_EVERY 16u  /* decisions, at the least */
#define RBUF_SLOWER_LEAVE 64u  /* in place is left when slower by more than one part in this */
#define RBUF_SLOWER_ENTER 256u /* and entered when not slower by more than one part in this */
#define RBUF_IDLE_WORTH   128u /* a processor that need not copy counts as this part of the time */
#define RBUF_DOUBLINGS    6u   /* of the wait for a trial, at most */
#define RBUF_REFUSED_WAIT 512u /* messages of a class that are copied after a refusal */

enum rbuf_side {
    RBUF_SIDE_RECEIVE,
    RBUF_SIDE_SEND, /* also puts of one-sided programs */
    RBUF_SIDE_GET,
    RBUF_SIDES
};

enum rbuf_path {
    RBUF_PATH_COPY,     /* receiver: a lane; sender and get: staging on this side */
    RBUF_PATH_IN_PLACE, /* from or to the registered buffer */
    RBUF_PATHS
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

enum rbuf_preference { RBUF_PREFER_UNKNOWN, RBUF_PREFER_COPY, RBUF_PREFER_IN_PLACE };

/* What is known of messages of one size on one side. */
struct rbuf_size_class {
    uint64_t sample[RBUF_PATHS][RBUF_SAMPLES]; /* ns for 64 KB at that speed */
    uint32_t samples[RBUF_PATHS];              /* taken */
    double usual_ns[RBUF_PATHS]; /* their middle, up to RBUF_SAMPLES_STEP samples ago; 0: too few */
    enum rbuf_preference preference;
    bool again;         /* the newest message in place was of a buffer that was registered before */
    uint32_t failures;  /* trials in a row after which copying was still faster */
    uint32_t turns;     /* of registered buffers since the last probe */
    uint32_t trials;    /* of new buffers that are still to go in place */
    uint32_t barred;    /* messages that are to ask for no registration yet */
    uint64_t budget_ns; /* for exploration: time of copied messages since the last trial */
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
