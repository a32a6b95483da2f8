/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One-sided operations that are held: the order in which they are posted, what must keep its place,
 * neighbours that become one request, doorbells, the bound of their number, and lost peers.
 */
#include "case.h"
#include "core/onesided/rma.h"
#include "unit.h"

enum { LONGEST = 16 };

/* Puts and gets by their letters, none of which overlaps another, in capitals: of 10 bytes instead
 * of one; what they become. */
static const struct {
    enum rbuf_rma_order order;
    unsigned reads;
    const char *given, *wanted;
} orders[] = {
    {RBUF_RMA_ISSUE, 4, "ppggpg", "ppggpg"},
    {RBUF_RMA_INTERLEAVE, 4, "ppppgg", "pgpgpp"},
    {RBUF_RMA_INTERLEAVE, 4, "ggpppp", "gpgppp"},
    {RBUF_RMA_INTERLEAVE, 4, "ggg", "ggg"},
    {RBUF_RMA_PRIORITIZE, 4, "ppgpg", "ggppp"},
    {RBUF_RMA_PRIORITIZE, 1, "pppggg", "gggppp"},
    {RBUF_RMA_BOTH, 4, "ppppgggg", "ggggpppp"},
    {RBUF_RMA_BOTH, 2, "ppppgggg", "ggpgpgpp"},
    {RBUF_RMA_BOTH, 1, "ppppgggg", "gpgpgpgp"},
    {RBUF_RMA_BOTH, 1, "pppGgPg", "GpppPgg"},
    {RBUF_RMA_BOTH, 1, "ppp", "ppp"},
};

/* The operations of `text`, one a slot of 100 bytes. */
static void make(const char *text, struct rbuf_rma *rmas, struct rbuf_rma **list)
{
    for (unsigned i = 0; text[i] != '\0'; i++) {
        const bool small = text[i] >= 'a';

        rmas[i] = (struct rbuf_rma){.operation = text[i] == 'p' || text[i] == 'P' ? RBUF_FAB_WRITE
                                                                                  : RBUF_FAB_READ,
                                    .local = (void *) (uintptr_t) (1000 + 100 * i),
                                    .remote = 5000 + 100 * i,
                                    .span = small ? 1 : 10,
                                    .operand = (uint64_t) text[i]};
        list[i] = &rmas[i];
    }
}

START_TEST(orders_are_as_said)
{
    struct rbuf_rma rmas[LONGEST], *list[LONGEST];
    const unsigned count = (unsigned) strlen(orders[_i].given);
    char got[LONGEST + 1] = "";

    make(orders[_i].given, rmas, list);
    rbuf_rma_arrange(orders[_i].order, orders[_i].reads, list, count);
    for (unsigned i = 0; i < count; i++) {
        got[i] = (char) list[i]->operand;
        for (unsigned k = 0; k < i; k++) { /* of one kind: in the order that they had */
            ck_assert(list[k]->operation != list[i]->operation || list[k] < list[i]);
        }
    }
    ck_assert_str_eq(got, orders[_i].wanted);
}
END_TEST

/* A get does not go before a put that it overlaps here or there, in any order, but before others.
 */
START_TEST(overlaps_keep_their_order)
{
    for (int order = RBUF_RMA_INTERLEAVE; order <= RBUF_RMA_BOTH; order++) {
        for (int here = 0; here < 2; here++) {
            for (unsigned of = 0; of < 4; of++) {
                struct rbuf_rma rmas[LONGEST], *list[LONGEST];

                make("PPPPG", rmas, list);
                if (here) {
                    rmas[4].local = (char *) rmas[of].local + 9;
                } else {
                    rmas[4].remote = rmas[of].remote - 9;
                }
                rbuf_rma_arrange((enum rbuf_rma_order) order, 4, list, 5);
                for (unsigned i = 0; list[i] != &rmas[4]; i++) {
                    ck_assert_ptr_eq(list[i], &rmas[i]);
                    ck_assert_uint_lt(i, 4);
                }
                ck_assert(list[4] == &rmas[4] || list[4] == &rmas[3]);
                ck_assert(list[of] == &rmas[of]); /* nothing has gone before it */
            }
        }
    }
}
END_TEST

static struct world_options held(enum rbuf_rma_order order)
{
    struct world_options options = world_defaults();

    options.core.rma_order = order;
    return options;
}

/* All that is held leaves with one doorbell; with ISSUE each has its own. */
START_TEST(one_doorbell)
{
    const struct world_options options = held((enum rbuf_rma_order) _i);
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;

    for (unsigned i = 0; i < 20; i++) {
        world_send(world, i < 10 ? WORLD_WRITE : WORLD_READ, 0, 1, 5000);
    }
    ck_assert_uint_eq(core->queued, _i == RBUF_RMA_ISSUE ? 0 : 20);
    ck_assert_uint_eq(core->stats.rma_requests, _i == RBUF_RMA_ISSUE ? 20 : 0);
    case_run(world);
    ck_assert_uint_eq(core->queued, 0);
    ck_assert_uint_eq(core->stats.rma_held, _i == RBUF_RMA_ISSUE ? 0 : 20);
    ck_assert_uint_eq(core->stats.rma_requests, 20);
    ck_assert_uint_eq(core->stats.rma_doorbells, _i == RBUF_RMA_ISSUE ? 20 : 1);
    case_close(world);
}
END_TEST

/* Reads first: all of their data is here when the last write has arrived; as they are issued not
 * even the first one's. */
START_TEST(directions_overlap)
{
    const struct world_options options = held((enum rbuf_rma_order) _i);
    struct world *world = world_open(&options);
    struct world_message *writes[16], *reads[16];

    for (unsigned i = 0; i < 16; i++) {
        writes[i] = world_send(world, WORLD_WRITE, 0, 1, 65536);
    }
    for (unsigned i = 0; i < 16; i++) {
        reads[i] = world_send(world, WORLD_READ, 0, 1, 65536);
    }
    case_run(world);
    if (_i == RBUF_RMA_ISSUE) {
        ck_assert_uint_gt(reads[0]->arrived_ns, writes[15]->arrived_ns);
    } else if (_i != RBUF_RMA_INTERLEAVE) {
        ck_assert_uint_le(reads[15]->arrived_ns, writes[15]->arrived_ns);
    }
    ck_assert_uint_lt(world_now(world),
                      (_i == RBUF_RMA_ISSUE ? 33u : 18u) * 65536 * 10 / 14 + 50000);
    ck_assert_uint_gt(world_now(world), (_i == RBUF_RMA_ISSUE ? 32u : 16u) * 65536 * 10 / 14);
    case_close(world);
}
END_TEST

/* So many are held, and no more. An atomic, or what is not held, goes behind those that are. */
START_TEST(bounds)
{
    const struct world_options options = held(RBUF_RMA_BOTH);
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;

    for (unsigned i = 1; i < RBUF_RMA_HELD_MOST; i++) {
        world_send(world, WORLD_WRITE, 0, 1, 5000);
    }
    ck_assert_uint_eq(core->stats.rma_doorbells, 0);
    world_send(world, WORLD_WRITE, 0, 1, 5000);
    ck_assert_uint_eq(core->stats.rma_requests, RBUF_RMA_HELD_MOST);
    ck_assert_uint_eq(core->stats.rma_doorbells, RBUF_RMA_HELD_MOST / RBUF_FAB_LIST);
    world_send(world, WORLD_READ, 0, 1, 5000);
    ck_assert_uint_eq(core->queued, 1);
    world_send(world, WORLD_ADD, 0, 1, 8);
    ck_assert_uint_eq(core->queued, 0);
    ck_assert_uint_eq(core->stats.rma_requests, RBUF_RMA_HELD_MOST + 2);
    ck_assert_uint_eq(core->stats.rma_doorbells, RBUF_RMA_HELD_MOST / RBUF_FAB_LIST + 1);
    case_run(world);
    case_close(world);
}
END_TEST

/* ---- neighbours ---- */

enum { PARTS = 8, PART = 100, GAP = 4 };

struct merging {
    struct world *world;
    struct rbuf_peer *peer;
    struct rbuf_rma rmas[PARTS];
    unsigned char here[PARTS * PART + GAP], there[PARTS * PART + GAP];
    uint32_t lkey, rkey;
};

static void merging_open(struct merging *merging, enum rbuf_fab_verb operation)
{
    const struct world_options options = held(RBUF_RMA_PRIORITIZE);

    merging->world = world_open(&options);
    merging->peer = merging->world->nodes[0].links[1].peer;
    merging->lkey =
        sim_register(&merging->world->nodes[0].nic, merging->here, sizeof(merging->here));
    merging->rkey =
        sim_register(&merging->world->nodes[1].nic, merging->there, sizeof(merging->there));
    for (unsigned i = 0; i < sizeof(merging->here); i++) {
        merging->here[i] = (unsigned char) (i + 1);
        merging->there[i] = (unsigned char) (i + 7);
    }
    for (unsigned i = 0; i < PARTS; i++) {
        merging->rmas[i] = (struct rbuf_rma){.operation = operation,
                                             .local = merging->here + i * PART,
                                             .remote = (uintptr_t) merging->there + i * PART,
                                             .bytes = PART,
                                             .lkey = merging->lkey,
                                             .rkey = merging->rkey};
    }
}

/* Holds all, lets them go, and counts their events. Returns the number of requests. */
static uint64_t merging_run(struct merging *merging, unsigned ended)
{
    struct world *world = merging->world;
    struct rbuf_core *core = &world->nodes[0].core;
    struct sim_completion *completion;
    struct rbuf_event event;

    for (unsigned i = 0; i < PARTS; i++) {
        rbuf_rma_hold(merging->peer, &merging->rmas[i]);
    }
    rbuf_rma_progress(merging->peer);
    do {
        world->nodes[0].scheduled = false; /* this test polls by itself */
        while ((completion = sim_poll(&world->nodes[0].nic)) != NULL) {
            rbuf_fab_retire(completion->work);
            rbuf_core_completed(completion->work, completion->status);
            free(completion);
        }
    } while (sim_step(&world->net.clock));
    while (rbuf_events_pop(&core->events, &event)) {
        ck_assert_int_eq(event.kind, RBUF_EVENT_RMA);
        ck_assert_int_eq(event.status, 0);
        ck_assert_uint_ge(event.rma - merging->rmas, 0);
        ck_assert_uint_lt(event.rma - merging->rmas, PARTS);
        ended--;
    }
    ck_assert_uint_eq(ended, 0);
    return core->stats.rma_requests;
}

static void merging_close(struct merging *merging)
{
    sim_deregister(&merging->world->net, merging->lkey);
    sim_deregister(&merging->world->net, merging->rkey);
    case_close(merging->world);
}

START_TEST(neighbours_become_one)
{
    struct merging merging;

    merging_open(&merging, _i ? RBUF_FAB_READ : RBUF_FAB_WRITE);
    ck_assert_uint_eq(merging_run(&merging, PARTS), 1);
    ck_assert_uint_eq(merging.world->nodes[0].core.stats.rma_merged, PARTS - 1);
    ck_assert_int_eq(memcmp(merging.here, merging.there, PARTS * PART), 0);
    ck_assert_uint_eq(merging.here[0], _i ? 7 : 1);
    merging_close(&merging);
}
END_TEST

/* What differs in its keys or is no neighbour on one side stays by itself. */
START_TEST(others_do_not)
{
    struct merging merging;

    merging_open(&merging, RBUF_FAB_READ);
    switch (_i) {
    case 0:
        merging.rmas[3].lkey =
            sim_register(&merging.world->nodes[0].nic, merging.here, sizeof(merging.here));
        break;
    case 1:
        merging.rmas[3].rkey =
            sim_register(&merging.world->nodes[1].nic, merging.there, sizeof(merging.there));
        break;
    case 2:
        merging.rmas[3].remote += GAP;
        break;
    default:
        merging.rmas[3].local = (char *) merging.rmas[3].local + GAP;
        break;
    }
    ck_assert_uint_eq(merging_run(&merging, PARTS), 3);
    merging_close(&merging);
}
END_TEST

/* ---- lost peers ---- */

/* However the peer is lost, each that was held ends in one event, and nothing is held any more. */
START_TEST(lost_while_held)
{
    struct world_options options = held(RBUF_RMA_BOTH);
    struct world *world;

    if (_i > 0) { /* one in the midst of the list is refused, or is the last of the queue pair */
        options.faults.fail_at = (uint64_t) _i;
        options.faults.fail_operation = SIM_WRITE;
        options.faults.fail_refused = _i % 2;
        options.faults.refuse_when_dead = _i % 3 == 0;
    }
    world = world_open(&options);
    for (unsigned i = 0; i < 12; i++) {
        world_send(world, i < 6 ? WORLD_WRITE : WORLD_READ, 0, 1, 3000);
    }
    ck_assert_uint_eq(world->nodes[0].core.queued, 12);
    if (_i == 0) {
        world_lose(&world->nodes[0], 1, -5);
        ck_assert_uint_eq(world->nodes[0].core.queued, 0);
    }
    ck_assert_int_eq(world_run(world), WORLD_DONE);
    world_settle(world);
    ck_assert_uint_eq(world->nodes[0].core.queued, 0);
    for (struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_uint_eq(message->events, 1);
    }
    ck_assert_uint_gt(world->failed, 0);
    ck_assert_ptr_null(world_leftover(world));
    world_close(world);
}
END_TEST

/* The target takes its key back while they are held: the adapter there refuses, and all end. */
START_TEST(revoked_while_held)
{
    const struct world_options options = held(RBUF_RMA_BOTH);
    struct world *world = world_open(&options);
    struct world_message *first = NULL;

    for (unsigned i = 0; i < 12; i++) {
        struct world_message *message =
            world_send(world, i % 2 == 0 ? WORLD_WRITE : WORLD_READ, 0, 1, 3000);

        first = first != NULL ? first : message;
    }
    sim_deregister(&world->net, first->target_key);
    first->target_key = 0;
    ck_assert_int_eq(world_run(world), WORLD_DONE);
    world_settle(world);
    ck_assert_uint_eq(world->net.violations, 1);
    ck_assert_uint_eq(world->nodes[0].core.queued, 0);
    ck_assert_int_eq(first->state, WORLD_FAILED);
    for (struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_uint_eq(message->events, 1);
    }
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rma_order");

    unit_add_loop(suite, orders_are_as_said, sizeof(orders) / sizeof(orders[0]));
    unit_add(suite, overlaps_keep_their_order);
    unit_add_loop(suite, one_doorbell, RBUF_RMA_BOTH + 1);
    unit_add_loop(suite, directions_overlap, RBUF_RMA_BOTH + 1);
    unit_add(suite, bounds);
    unit_add_loop(suite, neighbours_become_one, 2);
    unit_add_loop(suite, others_do_not, 4);
    unit_add_loop(suite, lost_while_held, 7);
    unit_add(suite, revoked_while_held);
    return unit_run(suite);
}
