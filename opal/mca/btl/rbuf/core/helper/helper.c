/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The helper's decisions: what it registers or deregisters next, or how long it sleeps
 * (core/helper/helper.h has the loop and the source).
 */
#include "core/helper/helper.h"

#include <errno.h>
#include <stddef.h>

#define COMPARE_NS 5u   /* an item of a queue or table; assumed */
#define HASH_NS    200u /* a point; assumed */

static const struct rbuf_queue_item nothing = {.kind = RBUF_QUEUED_NOTHING};

int rbuf_helper_open(struct rbuf_helper *helper, const struct rbuf_helper_options *options)
{
    *helper = (struct rbuf_helper){.options = *options};
    rbuf_registration_cost_open(&helper->registering, options->register_ns,
                                options->register_page_ns);
    rbuf_registration_cost_open(&helper->deregistering, options->deregister_ns,
                                options->deregister_page_ns);
    if (rbuf_use_queue_open(&helper->points, options->points) != 0 ||
        rbuf_mrs_open(&helper->mrs, options->regions) != 0 ||
        rbuf_predictor_open(&helper->predictor, options->sites, options->window,
                            options->grace_ns) != 0 ||
        rbuf_registration_queue_open(&helper->queue, options->regions) != 0) {
        rbuf_helper_close(helper);
        return -ENOMEM;
    }
    return 0;
}

void rbuf_helper_close(struct rbuf_helper *helper)
{
    rbuf_registration_queue_close(&helper->queue);
    rbuf_predictor_close(&helper->predictor);
    rbuf_mrs_close(&helper->mrs);
    rbuf_use_queue_close(&helper->points);
}

static uint32_t slot_of(const struct rbuf_helper *helper, const struct rbuf_mr *mr)
{
    return (uint32_t) (mr - helper->mrs.mr);
}

static uint64_t pages_of(const struct rbuf_mr *mr)
{
    return (rbuf_mr_end(mr) - rbuf_mr_begin(mr)) / RBUF_MR_PAGE;
}

static uint32_t regions_of(const struct rbuf_helper *helper)
{
    return atomic_load_explicit(&helper->mrs.used, memory_order_relaxed);
}

/* ---- is there time? equations 1 and 2 ---- */

/* What follows a registration or goes before one, whichever is asked about: t_insert, t_register
 * and t_update, the way to the processor, and the turns of other helpers on it. */
static uint64_t common_ns(const struct rbuf_helper *helper, uint64_t pages)
{
    return COMPARE_NS * ((uint64_t) helper->queue.count + helper->predictor.sites) +
           rbuf_registration_cost_of(&helper->registering, pages) + helper->options.wake_ns +
           helper->sharers * helper->slice_ns;
}

/* t_p of a deregistration that is followed by a registration in time. */
static uint64_t deregister_ns(const struct rbuf_helper *helper, uint64_t pages)
{
    return rbuf_registration_cost_of(&helper->deregistering, pages) + common_ns(helper, pages);
}

/* t_p of a registration that waits for one more point and deregistration of the largest. */
static uint64_t register_ns(const struct rbuf_helper *helper, uint64_t pages)
{
    return HASH_NS + COMPARE_NS * (uint64_t) regions_of(helper) +
           rbuf_registration_cost_of(&helper->deregistering, helper->largest_pages) +
           common_ns(helper, pages);
}

uint64_t rbuf_helper_work_ns(const struct rbuf_helper *helper)
{
    return deregister_ns(helper, helper->largest_pages);
}

/* ---- decisions ---- */

static void queue(struct rbuf_helper *helper, const struct rbuf_mr *mr,
                  const struct rbuf_queue_item *item)
{
    rbuf_registration_queue_set(
        &helper->queue, slot_of(helper, mr), item,
        rbuf_registration_cost_of(&helper->deregistering, helper->largest_pages));
}

/* While it stays registered. */
static void queue_lapse(struct rbuf_helper *helper, const struct rbuf_mr *mr, uint64_t lapse_ns)
{
    queue(helper, mr,
          &(struct rbuf_queue_item){.kind = RBUF_QUEUED_LAPSE, .deadline_ns = lapse_ns});
}

static void see_points(struct rbuf_helper *helper)
{
    struct rbuf_use point;

    while (rbuf_use_queue_get(&helper->points, &point)) {
        rbuf_predictor_see(&helper->predictor, &point);
        if (point.register_ns != 0) {
            rbuf_registration_cost_add(&helper->registering,
                                       (point.bytes + RBUF_MR_PAGE - 1) / RBUF_MR_PAGE,
                                       point.register_ns);
        }
    }
}

/* Decides on a region that nobody uses. True: it is to be deregistered, and will have helper->next
 * then. */
static bool settle(struct rbuf_helper *helper, struct rbuf_mr *mr, uint64_t now_ns)
{
    const enum rbuf_mr_state state = rbuf_mr_state(mr);
    const uint64_t pages = pages_of(mr);
    struct rbuf_prediction next;

    if (state != RBUF_MR_IDLE && state != RBUF_MR_STALE) {
        return false; /* in use again, or marked while it was planned */
    }
    helper->largest_pages = pages > helper->largest_pages ? pages : helper->largest_pages;
    helper->next = nothing;
    if (state == RBUF_MR_IDLE && !rbuf_mr_covered(&helper->mrs, mr) &&
        rbuf_predictor_next(&helper->predictor, rbuf_mr_begin(mr), rbuf_mr_end(mr), now_ns,
                            &next)) {
        if (now_ns + deregister_ns(helper, pages) > next.ready_ns) {
            const uint64_t look_ns = now_ns + helper->options.keep_ns;

            rbuf_mr_keep(mr);
            queue_lapse(helper, mr, look_ns < next.lapse_ns ? look_ns : next.lapse_ns);
            helper->counters.kept++;
            return false;
        }
        helper->next = (struct rbuf_queue_item){
            .kind = RBUF_QUEUED_REGISTER,
            .deadline_ns = next.ready_ns,
            .cost_ns = rbuf_registration_cost_of(&helper->registering, pages),
            .lapse_ns = next.lapse_ns};
    }
    queue(helper, mr, &nothing);
    return rbuf_mr_deregister(mr);
}

/* When the first registration has to begin; UINT64_MAX: there is none. */
static uint64_t register_at(const struct rbuf_helper *helper, uint32_t *slot)
{
    uint64_t takes, due;

    *slot = rbuf_registration_queue_first(&helper->queue, RBUF_QUEUED_REGISTER);
    if (*slot == RBUF_QUEUE_EMPTY) {
        return UINT64_MAX;
    }
    takes = register_ns(helper, pages_of(&helper->mrs.mr[*slot]));
    due = helper->queue.item[*slot].due_ns;
    return due > takes ? due - takes : 0;
}

static uint64_t lapse_at(const struct rbuf_helper *helper, uint32_t *slot)
{
    *slot = rbuf_registration_queue_first(&helper->queue, RBUF_QUEUED_LAPSE);
    return *slot == RBUF_QUEUE_EMPTY ? UINT64_MAX : helper->queue.item[*slot].due_ns;
}

/* The registration that is due, and can be, or NULL. Its lapse is queued instead. */
static struct rbuf_mr *due_registration(struct rbuf_helper *helper, uint64_t now_ns)
{
    uint32_t slot;

    while (register_at(helper, &slot) < now_ns) {
        struct rbuf_mr *mr = &helper->mrs.mr[slot];

        if (rbuf_mr_register(mr)) {
            queue_lapse(helper, mr, helper->queue.item[slot].lapse_ns);
            return mr;
        }
        queue(helper, mr, &nothing); /* it was taken before, or its memory went */
    }
    return NULL;
}

/* A region whose use has not come, and that is to be deregistered, or NULL. */
static struct rbuf_mr *lapsed_region(struct rbuf_helper *helper, uint64_t now_ns)
{
    uint32_t slot;

    while (lapse_at(helper, &slot) <= now_ns) {
        struct rbuf_mr *mr = &helper->mrs.mr[slot];

        const bool idle = rbuf_mr_state(mr) == RBUF_MR_IDLE;
        bool used;

        queue(helper, mr, &nothing);
        if (rbuf_mr_is_listed(mr)) {
            continue; /* it was used, and given back meanwhile */
        }
        used = rbuf_mr_unkeep(mr);
        if (settle(helper, mr, now_ns)) {
            helper->counters.lapsed += idle && (!used || helper->next.kind == RBUF_QUEUED_NOTHING);
            return mr;
        }
    }
    return NULL;
}

/* Until when that waits which is to be deregistered; 0: it is time, or nothing is. */
static uint64_t waits_until(struct rbuf_helper *helper, uint64_t now_ns)
{
    struct rbuf_mr_bytes bytes;
    uint64_t quiet, latest;
    uint32_t slot;

    if (!rbuf_mr_any_returned(&helper->mrs) && lapse_at(helper, &slot) > now_ns) {
        return 0;
    }
    bytes = rbuf_mrs_bytes(&helper->mrs);
    if (helper->waiting_ns == 0) {
        helper->waiting_ns = now_ns;
        helper->used_bytes = bytes.used > helper->used_bytes ? bytes.used : helper->used_bytes;
    }
    quiet = helper->progress_ns + helper->options.quiet_ns;
    latest = helper->waiting_ns + helper->options.delay_ns;
    if (now_ns >= quiet || now_ns >= latest || bytes.registered > helper->used_bytes ||
        atomic_load_explicit(&helper->scarce, memory_order_relaxed)) {
        return 0;
    }
    return quiet < latest ? quiet : latest;
}

/* A region to deregister, or NULL. */
static struct rbuf_mr *due_deregistration(struct rbuf_helper *helper, uint64_t now_ns)
{
    struct rbuf_mr *mr = lapsed_region(helper, now_ns);

    while (mr == NULL && (mr = rbuf_mr_returned(&helper->mrs)) != NULL) {
        see_points(helper); /* that of its last use is there by now */
        if (!settle(helper, mr, now_ns)) {
            mr = NULL;
        }
    }
    return mr;
}

struct rbuf_helper_order rbuf_helper_next(struct rbuf_helper *helper, uint64_t now_ns,
                                          uint64_t progress)
{
    struct rbuf_helper_order order = {.task = RBUF_HELPER_WAIT};
    uint64_t registration, until;
    uint32_t slot;

    if (progress != helper->progress) {
        helper->progress = progress;
        helper->progress_ns = now_ns;
    }
    see_points(helper);
    order.mr = due_registration(helper, now_ns);
    if (order.mr != NULL) {
        order.task = RBUF_HELPER_REGISTER;
        return order;
    }
    until = waits_until(helper, now_ns);
    if (until == 0) {
        order.mr = due_deregistration(helper, now_ns);
        if (order.mr != NULL) {
            order.task = RBUF_HELPER_DEREGISTER;
            return order;
        }
        helper->waiting_ns = 0;
        until = lapse_at(helper, &slot);
    }
    registration = register_at(helper, &slot);
    order.until_ns = registration < until ? registration + 1 : until;
    return order;
}

void rbuf_helper_scarce(struct rbuf_helper *helper)
{
    atomic_store_explicit(&helper->scarce, true, memory_order_relaxed);
}

void rbuf_helper_registered(struct rbuf_helper *helper, struct rbuf_mr *mr, void *handle,
                            uint64_t ns)
{
    rbuf_registration_cost_add(&helper->registering, pages_of(mr), ns);
    helper->counters.ahead++;
    rbuf_mr_registered(&helper->mrs, mr, handle);
}

void rbuf_helper_refused(struct rbuf_helper *helper, struct rbuf_mr *mr)
{
    rbuf_helper_scarce(helper);
    queue(helper, mr, &nothing);
    rbuf_mr_abandon(mr);
}

void rbuf_helper_deregistered(struct rbuf_helper *helper, struct rbuf_mr *mr, uint64_t ns)
{
    rbuf_registration_cost_add(&helper->deregistering, pages_of(mr), ns);
    if (rbuf_mr_deregistered(mr, helper->next.kind == RBUF_QUEUED_REGISTER)) {
        queue(helper, mr, &helper->next);
    }
}

struct rbuf_mr *rbuf_helper_drain(struct rbuf_helper *helper)
{
    helper->next = nothing;
    while (rbuf_mr_returned(&helper->mrs) != NULL) { /* who gives back behind this wakes us */
    }
    for (uint32_t i = 0; i < regions_of(helper); i++) {
        struct rbuf_mr *mr = &helper->mrs.mr[i];

        if (rbuf_mr_register(mr)) { /* it was planned */
            rbuf_mr_abandon(mr);
        }
        (void) rbuf_mr_unkeep(mr);
        queue(helper, mr, &nothing);
        if (rbuf_mr_deregister(mr)) {
            return mr;
        }
    }
    return NULL;
}
