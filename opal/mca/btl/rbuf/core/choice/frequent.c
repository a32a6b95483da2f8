/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of frequently used buffers: which are counted, which are worth a registration, and
 * which gives way to a new one (core/choice/frequent.h has the rule and its source).
 */
#include "core/choice/frequent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PAGE   4096u
#define FADING 16.0 /* a newer time counts as one of so many */

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

bool rbuf_frequent_cost(const struct rbuf_frequent *frequent, enum rbuf_frequent_kind kind,
                        uint32_t size, struct rbuf_frequent_cost *cost)
{
    const struct rbuf_frequent_options *options = &frequent->options;
    const struct rbuf_frequent_time *copied = &frequent->time[kind][size][RBUF_PATH_COPY];
    const struct rbuf_frequent_time *gathered = &frequent->time[kind][size][RBUF_PATH_IN_PLACE];

    if (copied->count < RBUF_FREQUENT_TIMES) {
        return false;
    }
    cost->copied = copied->ns;
    cost->gathered = 0;
    if (kind == RBUF_FREQUENT_SEND) {
        cost->gathered =
            options->fetched_ns +
            (gathered->count < RBUF_FREQUENT_TIMES ? options->gather_ns : gathered->ns);
    }
    cost->registration =
        (double) rbuf_registration_cost_of(&frequent->cost, (1ull << size) / PAGE + 1);
    return true;
}

/* n of inequality 3. */
static double worth_uses(const struct rbuf_frequent *frequent, enum rbuf_frequent_kind kind,
                         uint32_t size)
{
    struct rbuf_frequent_cost cost;

    return rbuf_frequent_cost(frequent, kind, size, &cost) && cost.copied > cost.gathered
               ? cost.registration / (cost.copied - cost.gathered)
               : HUGE_VAL;
}

static void set_threshold(struct rbuf_frequent *frequent, enum rbuf_frequent_kind kind,
                          uint32_t size)
{
    const double share = frequent->options.speculation * (double) (1u << frequent->raised);
    const double uses = share > 0 ? worth_uses(frequent, kind, size) * share + 1 : 1;

    frequent->threshold[kind][size] =
        uses < (double) RBUF_FREQUENT_NEVER ? (uint32_t) uses : RBUF_FREQUENT_NEVER;
}

static void set_thresholds(struct rbuf_frequent *frequent)
{
    for (uint32_t i = 0; i < RBUF_FREQUENT_KINDS * RBUF_FREQUENT_SIZES; i++) {
        set_threshold(frequent, i / RBUF_FREQUENT_SIZES, i % RBUF_FREQUENT_SIZES);
    }
}

/* One that was interrupted does not count for much. */
void rbuf_frequent_took(struct rbuf_frequent *frequent, enum rbuf_frequent_kind kind,
                        enum rbuf_path path, uint32_t bytes, uint64_t ns)
{
    const uint32_t size = rbuf_frequent_size(bytes);
    struct rbuf_frequent_time *time = &frequent->time[kind][size][path];
    double took = (double) ns;

    if (time->count++ == 0) {
        time->ns = took;
    }
    took = took < 2 * time->ns ? took : 2 * time->ns;
    time->ns += (took - time->ns) / FADING;
    set_threshold(frequent, kind, size);
}

int rbuf_frequent_open(struct rbuf_frequent *frequent, const struct rbuf_frequent_options *options)
{
    unsigned bits = 1;

    *frequent = (struct rbuf_frequent){
        .options = *options, .in_place = options->speculation <= 0, .gap = 1};
    while ((1ull << bits) < options->buffers) {
        bits++;
    }
    frequent->shift = 64 - bits;
    frequent->mr_most = 1u << (bits - 1);
    frequent->place = calloc((size_t) 1 << bits, sizeof(*frequent->place));
    frequent->mrs = calloc(frequent->mr_most, sizeof(*frequent->mrs));
    if (frequent->place == NULL || frequent->mrs == NULL) {
        rbuf_frequent_close(frequent);
        return -ENOMEM;
    }
    rbuf_registration_cost_open(&frequent->cost, options->registration_ns,
                                options->registration_page_ns);
    set_thresholds(frequent);
    return 0;
}

void rbuf_frequent_close(struct rbuf_frequent *frequent)
{
    free(frequent->mrs);
    free(frequent->place);
    frequent->mrs = NULL;
    frequent->place = NULL;
}

/* The one of the two that makes room; NULL: neither does. */
static struct rbuf_frequent_buffer *make_room(struct rbuf_frequent *frequent,
                                              struct rbuf_frequent_buffer *one,
                                              struct rbuf_frequent_buffer *other)
{
    struct rbuf_frequent_buffer *least =
        one->mr != NULL || (other->mr == NULL && other->uses < one->uses) ? other : one;

    if (least->mr != NULL) {
        return NULL;
    }
    if (least->uses > 0 && (uint64_t) frequent->mr_count * RBUF_FREQUENT_SHARE < frequent->taken) {
        least->uses--;
        return NULL;
    }
    return least;
}

struct rbuf_frequent_buffer *rbuf_frequent_find(struct rbuf_frequent *frequent, uint64_t base)
{
    const uint64_t first = rbuf_frequent_hash(frequent, base);
    struct rbuf_frequent_buffer *one = &frequent->place[first];
    struct rbuf_frequent_buffer *other = &frequent->place[first ^ 1];
    struct rbuf_frequent_buffer *place;

    if (one->base == base || other->base == base) {
        return one->base == base ? one : other;
    }
    if (one->base == 0 || other->base == 0) {
        place = one->base == 0 ? one : other;
        frequent->taken++;
    } else {
        place = make_room(frequent, one, other);
    }
    if (place == NULL) {
        frequent->counters.refused++;
        return NULL;
    }
    *place = (struct rbuf_frequent_buffer){.base = base};
    frequent->counters.added++;
    return place;
}

/* Messages up to the next one that is looked at: any number, 16 on average, lest a
 * program that takes its buffers in turn shows always the same one. */
static uint32_t next_gap(const struct rbuf_frequent *frequent)
{
    const uint64_t looks = frequent->counters.looked_up;
    const uint64_t most = 1 + looks / RBUF_FREQUENT_LOOKS;
    uint64_t any = looks * UINT64_C(0x9e3779b97f4a7c15);

    any = (any ^ any >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return 1 + (uint32_t) (any * (most < RBUF_FREQUENT_GAP ? most : RBUF_FREQUENT_GAP) >> 32);
}

bool rbuf_frequent_turn(struct rbuf_frequent *frequent, bool gathered)
{
    if (!frequent->in_place) {
        frequent->gap = next_gap(frequent);
        atomic_store_explicit(&frequent->to_go, frequent->gap, memory_order_relaxed);
        frequent->copies = 0;
        frequent->in_place = gathered;
        return gathered;
    }
    frequent->copies = gathered || frequent->options.speculation <= 0 ? 0 : frequent->copies + 1;
    frequent->in_place = frequent->copies < RBUF_FREQUENT_COPIES;
    return !frequent->in_place;
}

bool rbuf_frequent_is_full(const struct rbuf_frequent *frequent, uint64_t bytes)
{
    return frequent->mr_count == frequent->mr_most ||
           frequent->mr_bytes + bytes > frequent->options.most_bytes;
}

/* Registrations that went too early make those to come wait. */
static void judge(struct rbuf_frequent *frequent, const struct rbuf_frequent_mr *mr, uint64_t bytes)
{
    if (mr->gathered < worth_uses(frequent, mr->kind, rbuf_frequent_size(bytes))) {
        frequent->raised += frequent->raised < RBUF_FREQUENT_RAISED;
    } else {
        frequent->raised -= frequent->raised > 0;
    }
    set_thresholds(frequent);
}

/* One registration more (1) or less (-1) in each region of [base, base + bytes). */
static void count_regions(struct rbuf_frequent *frequent, uint64_t base, uint64_t bytes, int more)
{
    const uint64_t last = (base + bytes - 1) >> RBUF_FREQUENT_REGION_SHIFT;

    for (uint64_t i = base >> RBUF_FREQUENT_REGION_SHIFT; i <= last; i++) {
        atomic_fetch_add_explicit(&frequent->in_region[i % RBUF_FREQUENT_REGIONS], (uint32_t) more,
                                  memory_order_relaxed);
    }
}

/* Whether there may be a registration in [base, base + bytes). */
static bool is_in_use(const struct rbuf_frequent *frequent, uint64_t base, uint64_t bytes)
{
    const uint64_t first = base >> RBUF_FREQUENT_REGION_SHIFT;
    const uint64_t last = (base + bytes - 1) >> RBUF_FREQUENT_REGION_SHIFT;
    bool found = last - first >= RBUF_FREQUENT_REGIONS;

    for (uint64_t i = first; i <= last && !found; i++) {
        found = atomic_load_explicit(&frequent->in_region[i % RBUF_FREQUENT_REGIONS],
                                     memory_order_relaxed) > 0;
    }
    return found;
}

bool rbuf_frequent_hold(struct rbuf_frequent *frequent, struct rbuf_frequent_buffer *buffer,
                        enum rbuf_frequent_kind kind, void *registration, uint32_t lkey,
                        uint64_t ns)
{
    struct rbuf_frequent_mr *mr;

    if (ns > 0) {
        rbuf_registration_cost_add(&frequent->cost, buffer->bytes / PAGE + 1, ns);
        set_thresholds(frequent);
    }
    if (registration == NULL || rbuf_frequent_is_full(frequent, buffer->bytes)) {
        buffer->uses = 0;
        buffer->bytes = 0;
        return false;
    }
    while (frequent->mrs[frequent->mr_free].registration != NULL) {
        frequent->mr_free++;
    }
    mr = &frequent->mrs[frequent->mr_free];
    count_regions(frequent, buffer->base, buffer->bytes, 1);
    mr->lkey = lkey;
    mr->under_way = 0;
    mr->gathered = 0;
    mr->kind = kind;
    mr->registration = registration;
    mr->buffer = buffer;
    atomic_store_explicit(&mr->released, false, memory_order_relaxed); /* before it is found */
    atomic_store_explicit(&mr->begin, buffer->base, memory_order_release);
    atomic_store_explicit(&mr->end, buffer->base + buffer->bytes, memory_order_release);
    if (mr - frequent->mrs >= atomic_load_explicit(&frequent->mr_end, memory_order_relaxed)) {
        atomic_store_explicit(&frequent->mr_end, (uint32_t) (mr - frequent->mrs) + 1,
                              memory_order_relaxed);
    }
    buffer->mr = mr;
    frequent->mr_count++;
    frequent->mr_bytes += buffer->bytes;
    frequent->counters.registered++;
    return true;
}

void *rbuf_frequent_forget(struct rbuf_frequent *frequent, struct rbuf_frequent_mr *mr)
{
    void *registration = mr->registration;
    const uint64_t bytes = load(&mr->end) - load(&mr->begin);

    judge(frequent, mr, bytes);
    count_regions(frequent, load(&mr->begin), bytes, -1);
    frequent->mr_free = mr < &frequent->mrs[frequent->mr_free] ? (uint32_t) (mr - frequent->mrs)
                                                               : frequent->mr_free;
    mr->registration = NULL;
    atomic_store_explicit(&mr->end, 0, memory_order_relaxed);
    mr->buffer->mr = NULL;
    mr->buffer->uses = 0;
    frequent->mr_count--;
    frequent->mr_bytes -= bytes;
    frequent->counters.given_up++;
    return registration;
}

void *rbuf_frequent_drop(struct rbuf_frequent *frequent, enum rbuf_frequent_which which)
{
    const uint32_t end = atomic_load_explicit(&frequent->mr_end, memory_order_relaxed);

    if (which == RBUF_FREQUENT_RELEASED) { /* before it looks: what is marked meanwhile counts */
        atomic_store_explicit(&frequent->releases, 0, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < end; i++) {
        struct rbuf_frequent_mr *mr = &frequent->mrs[(frequent->hand + i) % end];

        if (mr->registration != NULL && mr->under_way == 0 &&
            (which == RBUF_FREQUENT_ANY ||
             atomic_load_explicit(&mr->released, memory_order_relaxed))) {
            frequent->hand = (frequent->hand + i + 1) % end;
            return rbuf_frequent_forget(frequent, mr);
        }
    }
    return NULL;
}

void rbuf_frequent_release(struct rbuf_frequent *frequent, uint64_t base, uint64_t bytes)
{
    const uint32_t end = is_in_use(frequent, base, bytes)
                             ? atomic_load_explicit(&frequent->mr_end, memory_order_relaxed)
                             : 0;

    for (uint32_t i = 0; i < end; i++) {
        struct rbuf_frequent_mr *mr = &frequent->mrs[i];

        if (load(&mr->begin) / PAGE * PAGE < base + bytes && load(&mr->end) > base &&
            !atomic_exchange_explicit(&mr->released, true, memory_order_relaxed)) {
            atomic_fetch_add_explicit(&frequent->releases, 1, memory_order_relaxed);
        }
    }
}

struct rbuf_frequent_buffer rbuf_frequent_top(const struct rbuf_frequent *frequent)
{
    struct rbuf_frequent_buffer top = {0};

    for (uint64_t i = 0; i < 1ull << (64 - frequent->shift); i++) {
        if (frequent->place[i].uses > top.uses) {
            top = frequent->place[i];
        }
    }
    return top;
}
