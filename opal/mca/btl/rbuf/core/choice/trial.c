/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/choice/trial.h"

static uint64_t median(const struct rbuf_pace *pace, enum rbuf_pace_path path)
{
    const uint32_t taken = pace->samples[path];
    const uint32_t count = taken < RBUF_PACE_SAMPLES ? taken : RBUF_PACE_SAMPLES;
    uint64_t sorted[RBUF_PACE_SAMPLES];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;

        for (; at > 0 && sorted[at - 1] > pace->sample_ns[path][i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = pace->sample_ns[path][i];
    }
    return sorted[count / 2];
}

static enum rbuf_pace_path other_than(enum rbuf_pace_path path)
{
    return path == RBUF_PACE_COPY ? RBUF_PACE_GATHER : RBUF_PACE_COPY;
}

/* At a tie messages are gathered, which spares the processor and its caches. */
static enum rbuf_pace_path faster(const struct rbuf_pace *pace)
{
    const uint64_t copy = median(pace, RBUF_PACE_COPY);
    const uint64_t gather = median(pace, RBUF_PACE_GATHER);
    const uint64_t slack = pace->preferred == RBUF_PACE_GATHER ? copy / RBUF_PACE_SLOWER : 0;

    return gather <= copy + slack ? RBUF_PACE_GATHER : RBUF_PACE_COPY;
}

/* Blocks of the preferred path that pay for a try of the other one. */
static uint32_t blocks_for_a_try(const struct rbuf_pace *pace)
{
    const uint64_t better = median(pace, pace->preferred) + 1;
    const uint64_t other = median(pace, other_than(pace->preferred));
    const uint64_t spared = pace->spared_ns * RBUF_PACE_UNIT / pace->messages;
    const uint64_t costs = spared + (other > better ? other - better : 0);
    const uint64_t blocks = costs * RBUF_PACE_SHARE / better;

    return blocks < RBUF_PACE_LEAST  ? RBUF_PACE_LEAST
           : blocks > RBUF_PACE_MOST ? RBUF_PACE_MOST
                                     : (uint32_t) blocks;
}

static enum rbuf_pace_path choose(struct rbuf_pace *pace)
{
    enum rbuf_pace_path better;

    if (pace->samples[RBUF_PACE_COPY] < RBUF_PACE_ENOUGH ||
        pace->samples[RBUF_PACE_GATHER] < RBUF_PACE_ENOUGH) {
        return other_than(pace->path);
    }
    better = faster(pace);
    if (better != pace->preferred || pace->until == 0) {
        pace->preferred = better;
        pace->until = blocks_for_a_try(pace);
    }
    if (--pace->until > 0) {
        return better;
    }
    pace->until = blocks_for_a_try(pace);
    pace->spared_ns = 0;
    return other_than(better);
}

void rbuf_pace_turn(struct rbuf_pace *pace, uint64_t now_ns)
{
    if (pace->begun_ns != 0 && pace->registrations * RBUF_PACE_MANY < pace->messages) {
        pace->sample_ns[pace->path][pace->samples[pace->path]++ % RBUF_PACE_SAMPLES] =
            (now_ns - pace->begun_ns) * RBUF_PACE_UNIT / pace->messages;
        pace->path = choose(pace);
    }
    pace->begun_ns = now_ns;
    pace->messages = 0;
    pace->registrations = 0;
}
