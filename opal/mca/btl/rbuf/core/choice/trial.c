/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* What trials cost (core/choice/trial.h has the rule). */
#include "core/choice/trial.h"

void rbuf_trial_spend(struct rbuf_trial *trial, const struct rbuf_preference *preference,
                      enum rbuf_path path, double ns)
{
    const double most = 2 * preference->usual_ns[path];

    if (!rbuf_preference_is(preference, rbuf_path_other(path))) {
        trial->spent_ns += most > 0 && ns > most ? most : ns;
    }
}

double rbuf_trial_probe_cost(const struct rbuf_preference *preference)
{
    const double copy = preference->usual_ns[RBUF_PATH_COPY];
    const double in_place = preference->usual_ns[RBUF_PATH_IN_PLACE];
    const double faster = copy < in_place ? copy : in_place;
    const double slower = copy < in_place ? in_place : copy;
    const double least = faster * RBUF_PROBE_EVERY / RBUF_PROBE_SHARE;
    const double most = faster * RBUF_PROBE_RAREST / RBUF_PROBE_SHARE;

    if (faster == 0) {
        return slower * RBUF_PROBE_UNKNOWN / RBUF_PROBE_SHARE;
    }
    return slower - faster < least ? least : slower - faster > most ? most : slower - faster;
}

static bool begin(struct rbuf_trial *trial, double wait_ns)
{
    const bool begins = trial->spent_ns >= wait_ns;

    trial->spent_ns = begins ? 0 : trial->spent_ns;
    return begins;
}

bool rbuf_trial_probe(struct rbuf_trial *trial, double cost_ns)
{
    return begin(trial, cost_ns * RBUF_PROBE_SHARE);
}

bool rbuf_trial_register(struct rbuf_trial *trial, double cost_ns, uint32_t share)
{
    const bool begins = begin(trial, cost_ns * share * (1u << trial->failures));

    trial->failures += begins && trial->failures < RBUF_TRIAL_DOUBLINGS;
    return begins;
}
