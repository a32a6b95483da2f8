/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * When work may take the path that is not preferred (core/choice/preference.h), to find out how
 * long that takes now.
 *
 * One rule: a trial may begin when the work on the preferred path since the last trial has taken
 * `share` times what the trial costs. So trials take one part in `share` of the time. A trial costs
 *
 * - what the other path takes longer, if nothing has to be registered for it (a probe). The slower
 *   the other path is, the rarer are its probes;
 * - what the registrations take that are made for it. Whether these ever pay is not known: after
 *   each such trial that fails the next one waits twice as long. It fails when the path that it
 *   tried is not preferred after it.
 *
 * Times are ns of the unit of work that the preference has. Threads: the user's lock. No clock.
 */
#ifndef RBUF_CORE_TRIAL_H
#define RBUF_CORE_TRIAL_H

#include <stdbool.h>

#include "core/choice/preference.h"

#define RBUF_PROBE_SHARE     256u  /* one part in 256 of the time, 0.4 %, goes into probes */
#define RBUF_PROBE_EVERY     32u   /* units between probes, at the least: where they cost nothing */
#define RBUF_PROBE_RAREST    2048u /* units, at the most, so that a change is noticed */
#define RBUF_PROBE_UNKNOWN   8u    /* units, while one path is not known */
#define RBUF_TRIAL_DOUBLINGS 6u    /* of the wait after failures, at most: it is 64 times as long */

struct rbuf_trial {
    double spent_ns;   /* on the preferred path since the last trial began */
    uint32_t failures; /* trials with registrations since one did not fail */
};

/* A unit of work took `ns` on that path. Only the preferred path counts, or either one while none
 * is preferred. More than twice the usual time counts as twice: the work waited for a late peer or
 * for a processor, which is to pay for no trial. */
static inline void rbuf_trial_spend(struct rbuf_trial *trial,
                                    const struct rbuf_preference *preference, enum rbuf_path path,
                                    double ns)
{
    const double most = 2 * preference->usual_ns[path];

    if (!rbuf_preference_is(preference, rbuf_path_other(path))) {
        trial->spent_ns += most > 0 && ns > most ? most : ns;
    }
}

/* What a probe costs: a unit of work on the slower path less one on the faster path, ns, within the
 * bounds above. */
double rbuf_trial_probe_cost(const struct rbuf_preference *preference);

/* Whether a probe that costs `cost_ns` may begin. */
static inline bool rbuf_trial_probe_is_due(const struct rbuf_trial *trial, double cost_ns)
{
    return trial->spent_ns >= cost_ns * RBUF_PROBE_SHARE;
}

/* The same, and it begins. */
static inline bool rbuf_trial_probe(struct rbuf_trial *trial, double cost_ns)
{
    if (!rbuf_trial_probe_is_due(trial, cost_ns)) {
        return false;
    }
    trial->spent_ns = 0;
    return true;
}

/* Whether a trial may begin whose registrations cost `cost_ns`, at that share of the time; if so,
 * it begins, and is a failure until the user sets `failures` to 0. */
bool rbuf_trial_register(struct rbuf_trial *trial, double cost_ns, uint32_t share);

#endif
