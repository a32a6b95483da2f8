/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whoever hears that something of his has failed may end the process: before, core says that the
 * peer is lost, and why. So in the events of a node no operation ends with an error before the
 * RBUF_EVENT_FAILED of its peer: messages, puts and gets, staged, copied and in place, whichever of
 * their requests it is that fails, whether it is refused or completes with an error.
 */
#include "case.h"
#include "unit.h"

enum { KINDS = RBUF_EVENT_FAILED + 1, MOMENTS = 60 /* requests, each of which fails */ };

int __real_world_user_events(struct world_node *node);
int __wrap_world_user_events(struct world_node *node);

static struct {
    bool lost[WORLD_NODES_MAX][WORLD_NODES_MAX]; /* a node has heard that another one is */
    unsigned failed[KINDS];                      /* ends with an error, by kind of event */
    unsigned first[KINDS];                       /* of these, the first behind the loss */
    unsigned early;                              /* that came before the loss */
} seen;

/* The other node of an event. */
static unsigned other_of(const struct world_node *node, const struct rbuf_event *event)
{
    unsigned other = 0;

    while (node->links[other].peer != event->peer) {
        other++;
    }
    return other;
}

static void look_at(const struct world_node *node, const struct rbuf_event *event, bool *fresh)
{
    bool *lost;

    if (event->peer == NULL || event->status == 0) {
        return;
    }
    lost = &seen.lost[node->index][other_of(node, event)];
    if (event->kind == RBUF_EVENT_FAILED) {
        *lost = true;
        *fresh = true;
        return;
    }
    seen.failed[event->kind]++;
    seen.first[event->kind] += *fresh;
    seen.early += !*lost;
    *fresh = false;
}

/* Stands before the users: takes all events, looks at them, and puts them back in their order. */
int __wrap_world_user_events(struct world_node *node)
{
    struct rbuf_events *events = &node->core.events;
    bool fresh = false;

    for (uint32_t left = rbuf_events_count(events); left > 0; left--) {
        struct rbuf_event event;

        ck_assert(rbuf_events_pop(events, &event));
        look_at(node, &event, &fresh);
        ck_assert(rbuf_events_push(events, &event));
    }
    return __real_world_user_events(node);
}

/* One kind of operation, some of them, whose queue pair dies behind so many requests. */
static void fail_one(struct world_options options, enum world_kind kind, unsigned channel,
                     uint64_t requests)
{
    struct world *world;

    options.faults.refuse_when_dead = requests % 2 == 0;
    world = world_open(&options);
    memset(seen.lost, 0, sizeof(seen.lost));
    world->nodes[0].links[1].end[channel].die_after = requests;
    for (unsigned i = 0; i < 6; i++) {
        world_send(world, kind, 0, 1, kind == WORLD_EAGER ? 1500 * i : 15000 + 7001 * i);
    }
    ck_assert_int_eq(world_run(world), WORLD_DONE);
    ck_assert_msg(seen.early == 0, "channel %u, request %llu: an end with an error came first",
                  channel, (unsigned long long) requests);
    case_close(world);
}

/* Both channels, each of the first requests. The events of that kind were seen with errors, and
 * also as the first thing behind the loss: else the test shows nothing. */
static void fail_each(struct world_options options, enum world_kind kind,
                      enum rbuf_event_kind event)
{
    memset(&seen, 0, sizeof(seen));
    for (uint64_t requests = 1; requests <= MOMENTS; requests++) {
        fail_one(options, kind, RBUF_BULK, requests);
        fail_one(options, kind, RBUF_CONTROL, requests);
    }
    ck_assert_uint_gt(seen.failed[event], 0);
    ck_assert_uint_gt(seen.first[event], 0);
}

static const struct {
    enum world_kind kind;
    enum rbuf_event_kind event;
} rows[] = {
    {WORLD_EAGER, RBUF_EVENT_SENT}, {WORLD_PUT, RBUF_EVENT_PUT},
    {WORLD_COPIED, RBUF_EVENT_PUT}, {WORLD_COPIED_PUT, RBUF_EVENT_PUT},
    {WORLD_GET, RBUF_EVENT_GET},    {WORLD_WRITE, RBUF_EVENT_RMA},
    {WORLD_READ, RBUF_EVENT_RMA},   {WORLD_DIRECT, RBUF_EVENT_RMA},
    {WORLD_ADD, RBUF_EVENT_RMA},
};

START_TEST(loss_is_said_before_ends)
{
    fail_each(case_busy(), rows[_i].kind, rows[_i].event);
}
END_TEST

START_TEST(also_of_held_operations)
{
    struct world_options options = case_busy();

    options.core.rma_order = RBUF_RMA_INTERLEAVE;
    fail_each(options, WORLD_WRITE, RBUF_EVENT_RMA);
    fail_each(options, WORLD_READ, RBUF_EVENT_RMA);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failure order");

    unit_add_loop(suite, loss_is_said_before_ends, sizeof(rows) / sizeof(rows[0]));
    unit_add(suite, also_of_held_operations);
    return unit_run(suite);
}
