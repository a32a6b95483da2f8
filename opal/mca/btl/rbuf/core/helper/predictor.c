/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/helper/predictor.h"

#include <errno.h>
#include <stdlib.h>

#define GRACE_PART 4u   /* of the period */
#define NEAR       200u /* 0.5 %, as one part in so many */
#define CLOSE      20u  /* 5 % */

int rbuf_predictor_open(struct rbuf_predictor *predictor, uint32_t sites, uint32_t window,
                        uint64_t grace_ns)
{
    uint32_t sets = sites / RBUF_SITE_WAYS > 0 ? sites / RBUF_SITE_WAYS : 1;

    *predictor = (struct rbuf_predictor){
        .site = calloc((size_t) sets * RBUF_SITE_WAYS, sizeof(predictor->site[0])),
        .sets = sets,
        .window = window < RBUF_WINDOW_LONGEST ? window : RBUF_WINDOW_LONGEST,
        .grace_ns = grace_ns};
    return predictor->site == NULL ? -ENOMEM : 0;
}

void rbuf_predictor_close(struct rbuf_predictor *predictor)
{
    free(predictor->site);
    predictor->site = NULL;
}

/* A hash of both; the finalizer of splitmix64. */
static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t signature_of(const struct rbuf_predictor *predictor, const struct rbuf_point *point)
{
    uint64_t hash = point->frames != 0 ? point->frames : mix(point->bytes, point->peer);

    hash = mix(hash, point->base);
    for (uint32_t i = 0; i < predictor->window; i++) {
        hash = mix(hash, predictor->context[i]);
    }
    return hash != 0 ? hash : 1;
}

static void move_window(struct rbuf_predictor *predictor, const struct rbuf_point *point)
{
    for (uint32_t i = RBUF_WINDOW_LONGEST - 1; i > 0; i--) {
        predictor->context[i] = predictor->context[i - 1];
    }
    predictor->context[0] = mix(point->base, point->kind);
}

static struct rbuf_site *find(struct rbuf_predictor *predictor, uint64_t signature)
{
    struct rbuf_site *set = &predictor->site[signature % predictor->sets * RBUF_SITE_WAYS];
    struct rbuf_site *oldest = set;

    for (uint32_t i = 0; i < RBUF_SITE_WAYS; i++) {
        if (set[i].signature == signature) {
            return &set[i];
        }
        if (set[i].last_ns < oldest->last_ns) {
            oldest = &set[i];
        }
    }
    predictor->counters.replaced += oldest->signature != 0;
    *oldest = (struct rbuf_site){.signature = signature};
    return oldest;
}

static uint64_t grace_of(const struct rbuf_predictor *predictor, uint64_t period_ns)
{
    uint64_t grace = period_ns / GRACE_PART;

    return grace > predictor->grace_ns ? grace : predictor->grace_ns;
}

/* A use came after `interval`, and was predicted after `period`. */
static void count(struct rbuf_prediction_counters *counters, uint64_t interval, uint64_t period)
{
    uint64_t error = interval > period ? interval - period : period - interval;

    counters->predicted++;
    if (error <= interval / NEAR) {
        counters->near++;
    } else if (error <= interval / CLOSE) {
        counters->close++;
    } else if (interval < period) {
        counters->early++;
    } else if (interval / 2 < period) {
        counters->late++;
    } else {
        counters->missed++;
    }
}

static void learn(const struct rbuf_predictor *predictor, struct rbuf_site *site, uint64_t interval)
{
    if (site->period_ns == 0 || interval < site->period_ns) {
        site->period_ns = interval;
        site->late = 0;
    } else if (interval < site->period_ns + grace_of(predictor, site->period_ns)) {
        site->late = 0;
    } else {
        if (site->late++ == 0 || interval < site->late_shortest) {
            site->late_shortest = interval;
        }
        if (site->late == RBUF_SITE_LATE) {
            site->period_ns = site->late_shortest;
            site->late = 0;
        }
    }
}

void rbuf_predictor_see(struct rbuf_predictor *predictor, const struct rbuf_point *point)
{
    struct rbuf_site *site = find(predictor, signature_of(predictor, point));

    predictor->counters.points++;
    if (site->last_ns != 0 && point->time_ns > site->last_ns) {
        uint64_t interval = point->time_ns - site->last_ns;

        if (site->period_ns != 0) {
            count(&predictor->counters, interval, site->period_ns);
        }
        learn(predictor, site, interval);
    }
    site->last_ns = point->time_ns;
    site->base = point->base;
    site->bytes = point->bytes;
    move_window(predictor, point);
}

bool rbuf_predictor_next(const struct rbuf_predictor *predictor, uint64_t begin, uint64_t end,
                         uint64_t now_ns, struct rbuf_prediction *prediction)
{
    bool found = false;

    for (uint32_t i = 0; i < predictor->sets * RBUF_SITE_WAYS; i++) {
        const struct rbuf_site *site = &predictor->site[i];
        uint64_t use_ns = site->last_ns + site->period_ns;
        uint64_t lapse_ns = use_ns + grace_of(predictor, site->period_ns);

        if (site->period_ns != 0 && site->base >= begin && site->base + site->bytes <= end &&
            now_ns < lapse_ns && (!found || use_ns < prediction->use_ns)) {
            *prediction = (struct rbuf_prediction){.use_ns = use_ns, .lapse_ns = lapse_ns};
            found = true;
        }
    }
    return found;
}
