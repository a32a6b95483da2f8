/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Looks for the period after each message, and predicts a buffer's next use from it
 * (periodicity.h).
 */
#include "periodicity.h"

#include <stdlib.h>

static uint64_t place(const struct periodicity *periodicity, uint64_t before)
{
    return (periodicity->seen - 1 - before) % PERIODICITY_MOST;
}

/* 0: none. */
static uint32_t find_period(const struct periodicity *periodicity)
{
    const uint32_t window = periodicity->window;

    for (uint32_t m = 1; periodicity->seen >= window && m <= window / 2; m++) {
        uint32_t i = 0;

        while (i + m < window && periodicity->token[place(periodicity, i)] ==
                                     periodicity->token[place(periodicity, i + m)]) {
            i++;
        }
        if (i + m == window) {
            return m;
        }
    }
    return 0;
}

static struct periodicity_buffer *find(struct periodicity *periodicity, uint64_t base)
{
    struct periodicity_buffer *buffer = periodicity->buffer;

    while (buffer->base != base && buffer->base != 0) {
        if (++buffer == periodicity->buffer + PERIODICITY_BUFFERS) {
            abort();
        }
    }
    buffer->base = base;
    return buffer;
}

static void count(struct periodicity *periodicity, uint64_t interval, uint64_t period)
{
    const uint64_t error = interval > period ? interval - period : period - interval;

    periodicity->counters.predicted++;
    periodicity->counters.near += error <= interval / 200;
    periodicity->counters.close += error > interval / 200 && error <= interval / 20;
}

/* How long it was, a period of m messages ago, to the next use of what is used now. */
static uint64_t next_use_ns(const struct periodicity *periodicity, uint32_t m)
{
    const uint64_t base = periodicity->base[place(periodicity, 0)];
    uint32_t before = m;

    do {
        before--;
    } while (periodicity->base[place(periodicity, before)] != base);
    return periodicity->time_ns[place(periodicity, before)] -
           periodicity->time_ns[place(periodicity, m)];
}

void periodicity_see(struct periodicity *periodicity, const struct rbuf_use *point)
{
    struct periodicity_buffer *buffer = find(periodicity, point->base);
    const uint64_t at = periodicity->seen++ % PERIODICITY_MOST;
    uint32_t m;

    periodicity->counters.points++;
    if (buffer->period_ns != 0 && point->time_ns > buffer->last_ns) {
        count(periodicity, point->time_ns - buffer->last_ns, buffer->period_ns);
    }
    periodicity->token[at] = point->base + point->frames;
    periodicity->base[at] = point->base;
    periodicity->time_ns[at] = point->time_ns;
    m = find_period(periodicity);
    buffer->last_ns = point->time_ns;
    buffer->period_ns = m == 0 ? 0 : next_use_ns(periodicity, m);
}
