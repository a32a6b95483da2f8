/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sites and their intervals: the time of the next use from those before (core/helper/predictor.h
 * has the method and its source).
 */
#include "core/helper/predictor.h"

#include <errno.h>
#include <stdlib.h>

#define GRACE_PART  4u /* of the period */
#define MARGIN_PART 16u
#define DEVIATIONS  2u   /* that the margin is */
#define SMOOTHED    4u   /* an interval's part in the deviation */
#define BELIEVED    2u   /* intervals, of a period of late uses */
#define NEAR        200u /* 0.5 %, as one part in so many */
#define CLOSE       20u  /* 5 % */

int rbuf_predictor_open(struct rbuf_predictor *predictor, uint32_t sites, uint32_t window,
                        uint64_t grace_ns)
{
    uint32_t sets = sites / RBUF_SITE_WAYS > 0 ? sites / RBUF_SITE_WAYS : 1;

    *predictor = (struct rbuf_predictor){
        .site = calloc((size_t) sets * RBUF_SITE_WAYS, sizeof(predictor->site[0])),
        .seen = calloc((size_t) sets * RBUF_SITE_WAYS, sizeof(predictor->seen[0])),
        .sets = sets,
        .window = window < RBUF_WINDOW_LONGEST ? window : RBUF_WINDOW_LONGEST,
        .grace_ns = grace_ns};
    if (predictor->site == NULL || predictor->seen == NULL) {
        rbuf_predictor_close(predictor);
        return -ENOMEM;
    }
    return 0;
}

void rbuf_predictor_close(struct rbuf_predictor *predictor)
{
    free(predictor->site);
    free(predictor->seen);
    *predictor = (struct rbuf_predictor){0};
}

/* A hash of both; the finalizer of splitmix64. */
static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* Sizes up to twice another one are alike: those of a site may vary. */
static uint64_t size_class(uint64_t bytes)
{
    return 64u - (uint64_t) __builtin_clzll(bytes);
}

static uint64_t signature_of(const struct rbuf_predictor *predictor, const struct rbuf_use *point)
{
    uint64_t hash = point->frames != 0
                        ? mix(mix(point->frames, point->base), size_class(point->bytes))
                        : mix(mix(point->peer, point->base), point->bytes);

    for (uint32_t i = 0; i < predictor->window; i++) {
        hash = mix(hash, predictor->context[i]);
    }
    return hash != 0 ? hash : 1;
}

static void move_window(struct rbuf_predictor *predictor, const struct rbuf_use *point)
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
    if (oldest->signature == 0) {
        predictor->seen[predictor->sites++] = (uint32_t) (oldest - predictor->site);
    } else {
        predictor->counters.replaced++;
    }
    *oldest = (struct rbuf_site){.signature = signature};
    return oldest;
}

static uint64_t grace_of(const struct rbuf_predictor *predictor, uint64_t period_ns)
{
    uint64_t grace = period_ns / GRACE_PART;

    return grace > predictor->grace_ns ? grace : predictor->grace_ns;
}

static uint64_t margin_of(const struct rbuf_period *period)
{
    uint64_t most = period->shortest_ns / MARGIN_PART;
    uint64_t margin = DEVIATIONS * period->deviation_ns;

    return margin > most ? most : margin;
}

static struct rbuf_prediction after(const struct rbuf_predictor *predictor, uint64_t last_ns,
                                    const struct rbuf_period *period)
{
    uint64_t use_ns = last_ns + period->shortest_ns;

    return (struct rbuf_prediction){.use_ns = use_ns,
                                    .ready_ns = use_ns - margin_of(period),
                                    .lapse_ns = use_ns + grace_of(predictor, period->shortest_ns)};
}

/* For when the site's next use is predicted at now_ns; that may have lapsed. The period is known.
 */
static struct rbuf_prediction predict(const struct rbuf_predictor *predictor,
                                      const struct rbuf_site *site, uint64_t now_ns)
{
    struct rbuf_prediction prediction = after(predictor, site->last_ns, &site->period);

    return now_ns >= prediction.lapse_ns && site->late.intervals >= BELIEVED
               ? after(predictor, site->last_ns, &site->late)
               : prediction;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* A use came after `interval`, and was predicted after `period`. */
static void count(struct rbuf_prediction_counters *counters, uint64_t interval, uint64_t period)
{
    uint64_t error = difference(interval, period);

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

static void learn(struct rbuf_period *period, uint64_t interval)
{
    uint64_t error = difference(interval, period->shortest_ns);

    if (period->intervals == 0 || interval < period->shortest_ns) {
        period->shortest_ns = interval;
    }
    if (period->intervals == 1) {
        period->deviation_ns = error;
    } else if (period->intervals > 1) {
        period->deviation_ns =
            period->deviation_ns - period->deviation_ns / SMOOTHED + error / SMOOTHED;
    }
    period->intervals++;
}

/* A use that came when the site's period had lapsed. */
static void learn_late(const struct rbuf_predictor *predictor, struct rbuf_site *site,
                       uint64_t interval)
{
    if (difference(interval, site->late.shortest_ns) >=
        grace_of(predictor, site->late.shortest_ns)) {
        site->late = (struct rbuf_period){0};
    }
    learn(&site->late, interval);
    if (++site->late_in_row == RBUF_SITE_LATE) {
        site->period = site->late;
        site->late = (struct rbuf_period){0};
        site->late_in_row = 0;
    }
}

/* The site was used again at now_ns. */
static void see_again(struct rbuf_predictor *predictor, struct rbuf_site *site, uint64_t now_ns)
{
    const uint64_t interval = now_ns - site->last_ns;

    if (site->period.intervals > 0) {
        count(&predictor->counters, interval,
              predict(predictor, site, now_ns).use_ns - site->last_ns);
    }
    if (site->period.intervals == 0 ||
        interval < site->period.shortest_ns + grace_of(predictor, site->period.shortest_ns)) {
        learn(&site->period, interval);
        site->late_in_row = 0;
    } else {
        learn_late(predictor, site, interval);
    }
}

void rbuf_predictor_see(struct rbuf_predictor *predictor, const struct rbuf_use *point)
{
    struct rbuf_site *site = find(predictor, signature_of(predictor, point));

    predictor->counters.points++;
    if (site->last_ns != 0 && point->time_ns > site->last_ns) {
        see_again(predictor, site, point->time_ns);
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

    for (uint32_t i = 0; i < predictor->sites; i++) {
        const struct rbuf_site *site = &predictor->site[predictor->seen[i]];
        struct rbuf_prediction next;

        if (site->period.intervals == 0 || site->base < begin || site->base + site->bytes > end) {
            continue;
        }
        next = predict(predictor, site, now_ns);
        if (now_ns < next.lapse_ns && (!found || next.ready_ns < prediction->ready_ns)) {
            *prediction = next;
            found = true;
        }
    }
    return found;
}
