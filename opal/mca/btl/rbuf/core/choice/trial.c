/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Times blocks of messages by turns on both paths and compares the medians (core/choice/trial.h
 * says what is timed and why).
 */
#include "core/choice/trial.h"

static uint64_t median(const struct rbuf_gather_trial *trial, enum rbuf_frequent_path path)
{
    const uint32_t taken = trial->samples[path];
    const uint32_t count = taken < RBUF_GATHER_TRIAL_SAMPLES ? taken : RBUF_GATHER_TRIAL_SAMPLES;
    uint64_t sorted[RBUF_GATHER_TRIAL_SAMPLES];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;

        for (; at > 0 && sorted[at - 1] > trial->sample_ns[path][i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = trial->sample_ns[path][i];
    }
    return sorted[count / 2];
}

static enum rbuf_frequent_path other_than(enum rbuf_frequent_path path)
{
    return path == RBUF_FREQUENT_COPIED ? RBUF_FREQUENT_GATHERED : RBUF_FREQUENT_COPIED;
}

/* At a tie messages are gathered, which spares the processor and its caches. */
static enum rbuf_frequent_path faster(const struct rbuf_gather_trial *trial)
{
    const uint64_t copy = median(trial, RBUF_FREQUENT_COPIED);
    const uint64_t gather = median(trial, RBUF_FREQUENT_GATHERED);
    const uint64_t slack =
        trial->preferred == RBUF_FREQUENT_GATHERED ? copy / RBUF_GATHER_TRIAL_SLOWER : 0;

    return gather <= copy + slack ? RBUF_FREQUENT_GATHERED : RBUF_FREQUENT_COPIED;
}

/* Blocks of the preferred path that pay for a try of the other one. */
static uint32_t blocks_for_a_try(const struct rbuf_gather_trial *trial)
{
    const uint64_t better = median(trial, trial->preferred) + 1;
    const uint64_t other = median(trial, other_than(trial->preferred));
    const uint64_t spared = trial->spared_ns * RBUF_GATHER_TRIAL_UNIT / trial->messages;
    const uint64_t costs = spared + (other > better ? other - better : 0);
    const uint64_t blocks = costs * RBUF_GATHER_TRIAL_SHARE / better;

    return blocks < RBUF_GATHER_TRIAL_LEAST  ? RBUF_GATHER_TRIAL_LEAST
           : blocks > RBUF_GATHER_TRIAL_MOST ? RBUF_GATHER_TRIAL_MOST
                                             : (uint32_t) blocks;
}

static enum rbuf_frequent_path choose(struct rbuf_gather_trial *trial)
{
    enum rbuf_frequent_path better;

    if (trial->samples[RBUF_FREQUENT_COPIED] < RBUF_GATHER_TRIAL_ENOUGH ||
        trial->samples[RBUF_FREQUENT_GATHERED] < RBUF_GATHER_TRIAL_ENOUGH) {
        return other_than(trial->path);
    }
    better = faster(trial);
    if (better != trial->preferred || trial->until == 0) {
        trial->preferred = better;
        trial->until = blocks_for_a_try(trial);
    }
    if (--trial->until > 0) {
        return better;
    }
    trial->until = blocks_for_a_try(trial);
    trial->spared_ns = 0;
    return other_than(better);
}

void rbuf_gather_trial_turn(struct rbuf_gather_trial *trial, uint64_t now_ns)
{
    if (trial->begun_ns != 0 && trial->registrations * RBUF_GATHER_TRIAL_MANY < trial->messages) {
        trial->sample_ns[trial->path][trial->samples[trial->path]++ % RBUF_GATHER_TRIAL_SAMPLES] =
            (now_ns - trial->begun_ns) * RBUF_GATHER_TRIAL_UNIT / trial->messages;
        trial->path = choose(trial);
    }
    trial->begun_ns = now_ns;
    trial->messages = 0;
    trial->registrations = 0;
}
