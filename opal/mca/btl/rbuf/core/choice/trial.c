/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* What trials cost (core/choice/trial.h has the rule). */
#include "core/choice/trial.h"

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

bool rbuf_trial_register(struct rbuf_trial *trial, double cost_ns, uint32_t share)
{
    if (trial->spent_ns < cost_ns * share * (1u << trial->failures)) {
        return false;
    }
    trial->spent_ns = 0;
    trial->failures += trial->failures < RBUF_TRIAL_DOUBLINGS;
    return true;
}
