/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Times blocks of messages on both paths (core/choice/gather.h says what is timed and why). */
#include "core/choice/gather.h"

static bool is_trial(const struct rbuf_gather *gather)
{
    return !rbuf_preference_is(&gather->paths, gather->path);
}

void rbuf_gather_registered(struct rbuf_gather *gather, uint64_t ns)
{
    gather->registrations++;
    gather->begun_ns += gather->begun_ns > 0 ? ns : 0;
    gather->registered_ns += is_trial(gather) ? ns : 0;
}

static uint64_t for_unit(const struct rbuf_gather *gather, uint64_t ns)
{
    return ns * RBUF_GATHER_UNIT / gather->messages;
}

/* The path of the next block. */
static enum rbuf_path next_path(struct rbuf_gather *gather)
{
    const enum rbuf_path other = rbuf_path_other(gather->path);
    const double registering = (double) for_unit(gather, gather->registered_ns);

    if (gather->paths.preferred == RBUF_PREFER_UNKNOWN || is_trial(gather)) {
        return other;
    }
    if (!rbuf_trial_probe(&gather->trial, rbuf_trial_probe_cost(&gather->paths) + registering)) {
        return gather->path;
    }
    gather->registered_ns = 0;
    return other;
}

void rbuf_gather_turn(struct rbuf_gather *gather, uint64_t now_ns)
{
    if (gather->begun_ns != 0 && gather->registrations * RBUF_GATHER_MANY < gather->messages) {
        const uint64_t ns = for_unit(gather, now_ns - gather->begun_ns);

        rbuf_preference_add(&gather->paths, RBUF_GATHER_WINDOW, gather->path, ns);
        rbuf_trial_spend(&gather->trial, &gather->paths, gather->path, (double) ns);
        gather->path = next_path(gather);
    }
    gather->begun_ns = now_ns;
    gather->messages = 0;
    gather->registrations = 0;
}
