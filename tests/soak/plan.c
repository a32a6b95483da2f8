/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Throws the dice for an exchange: pattern, style, and how each message is sent and received. */
#include "plan.h"

#include <stdlib.h>

/* Who talks to whom. */
enum pattern { PATTERN_RANDOM, PATTERN_TO_ONE, PATTERN_FROM_ONE, PATTERN_RING, PATTERN_PAIR };

/* How much of what. */
struct style {
    int least, most;  /* messages */
    size_t largest;   /* bytes of one */
    size_t budget;    /* bytes of all; behind that only short ones */
    size_t wild_room; /* bytes of all receives of a rank that takes any message */
};

static const struct style few_large = {3, 16, 16 * SOAK_M, 40 * SOAK_M, 24 * SOAK_M};
static const struct style some = {10, 80, SOAK_M, 24 * SOAK_M, 24 * SOAK_M};
static const struct style many = {80, 400, 100 * SOAK_K, 10 * SOAK_M, 16 * SOAK_M};
static const struct style flood = {1000, 6000, 13 * SOAK_K, 12 * SOAK_M, 24 * SOAK_M};

static void choose_ends(struct dice *dice, enum pattern pattern, int hub, int ranks,
                        struct message *message)
{
    message->from = (int) dice_below(dice, (size_t) ranks);
    message->to = (int) dice_below(dice, (size_t) ranks);
    if (message->from == message->to && dice_percent(dice, 70)) {
        message->to = (message->to + 1) % ranks; /* itself is not what is tested most */
    }
    switch (pattern) {
    case PATTERN_RANDOM:
        break;
    case PATTERN_TO_ONE:
        message->to = hub;
        break;
    case PATTERN_FROM_ONE:
        message->from = hub;
        break;
    case PATTERN_RING:
        message->to = (message->from + 1) % ranks;
        break;
    case PATTERN_PAIR:
        message->from = hub;
        message->to = (hub + 1) % ranks;
        if (dice_percent(dice, 50)) {
            message->from = message->to;
            message->to = hub;
        }
        break;
    }
}

static enum send_mode choose_send(struct dice *dice, const struct plan *plan,
                                  const struct message *message)
{
    static const int late[] = {60, 15, 10, 15, -1};
    static const int early[] = {35, 10, 8, 12, 20, 10, 5, -1};
    static const int ready[] = {25, 5, 5, 10, 15, 5, 5, 15, 15, -1};
    enum send_mode mode;

    if (plan->ready) {
        mode = (enum send_mode) dice_weighted(dice, ready);
    } else if (plan->entry[message->from] == ENTRY_EARLY) {
        mode = (enum send_mode) dice_weighted(dice, early);
    } else {
        mode = (enum send_mode) dice_weighted(dice, late);
    }
    if ((mode == SEND_IBSEND || mode == SEND_BSEND) && message->bytes > 300 * SOAK_K) {
        mode = SEND_ISEND; /* would fill the attached buffer */
    }
    return mode;
}

static enum receive_mode choose_receive(struct dice *dice, const struct plan *plan,
                                        const struct message *message)
{
    static const int early[] = {80, 20, -1};
    static const int late[] = {30, 5, 0, 25, 12, 8, 12, 8, -1};
    const enum match match = plan->match[message->to];

    if (plan->entry[message->to] == ENTRY_LATE) {
        return match == MATCH_ANY_SOURCE ? RECEIVE_IRECV
                                         : (enum receive_mode) dice_weighted(dice, late);
    }
    if (match == MATCH_EXACT && message->tag >= PLAN_TAG_OWN && !plan->ready &&
        dice_percent(dice, 5)) {
        return RECEIVE_RACING;
    }
    return (enum receive_mode) dice_weighted(dice, early);
}

/* How each rank goes about it. */
static void choose_ways(struct dice *dice, struct plan *plan, int ranks)
{
    static const int matches[] = {60, 12, 12, 16, -1};
    const bool orderly = dice_percent(dice, 40);

    plan->ready = dice_percent(dice, 15);
    for (int rank = 0; rank < ranks; rank++) {
        plan->entry[rank] = plan->ready || dice_percent(dice, 50) ? ENTRY_EARLY : ENTRY_LATE;
        plan->match[rank] = orderly ? MATCH_EXACT : (enum match) dice_weighted(dice, matches);
        plan->pause[rank] = 0;
        if (dice_percent(dice, 25)) {
            plan->pause[rank] = (unsigned) dice_below(dice, 20);
        }
        if (plan->match[rank] == MATCH_ANY || plan->match[rank] == MATCH_ANY_SOURCE) {
            plan->wild = true;
        }
    }
    if (dice_percent(dice, 3)) { /* one computes for long */
        plan->pause[dice_below(dice, (size_t) ranks)] =
            (unsigned) dice_between(dice, soak.pause_max / 4, soak.pause_max);
    }
}

/* The room of a receive that may get any of several messages is that of the largest; where that
 * is too much memory, the receiver asks for each message by name. */
static void choose_rooms(struct dice *dice, struct plan *plan, int ranks, size_t wild_room)
{
    size_t largest[SOAK_RANKS] = {0};
    size_t count[SOAK_RANKS] = {0};

    for (int i = 0; i < plan->count; i++) {
        const struct message *message = &plan->message[i];

        count[message->to]++;
        if (message->bytes > largest[message->to]) {
            largest[message->to] = message->bytes;
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (count[rank] * largest[rank] > wild_room) {
            plan->match[rank] = MATCH_EXACT;
        }
    }
    for (int i = 0; i < plan->count; i++) {
        struct message *message = &plan->message[i];

        message->room = message->bytes;
        if (plan->match[message->to] != MATCH_EXACT) {
            message->room = largest[message->to];
        } else if (dice_percent(dice, 20)) {
            message->room += dice_below(dice, 6000);
        }
    }
}

static struct plan make(struct dice *dice, int ranks, const struct style *style, unsigned plain)
{
    static const int patterns[] = {55, 15, 10, 10, 10, -1};
    const enum pattern pattern = (enum pattern) dice_weighted(dice, patterns);
    const int hub = (int) dice_below(dice, (size_t) ranks);
    const uint64_t key = dice_roll(dice);
    struct plan plan = {.count =
                            (int) dice_between(dice, (size_t) style->least, (size_t) style->most)};
    size_t sum = 0;

    plan.message = soak_memory((size_t) plan.count * sizeof(*plan.message));
    choose_ways(dice, &plan, ranks);
    for (int i = 0; i < plan.count; i++) {
        struct message *message = &plan.message[i];

        *message = (struct message){.key = dice_mix(key + (uint64_t) i)};
        choose_ends(dice, pattern, hub, ranks, message);
        message->tag =
            dice_percent(dice, 40) ? (int) dice_below(dice, PLAN_TAGS) : PLAN_TAG_OWN + i;
        message->bytes = dice_bytes(dice, sum < style->budget ? style->largest : 512);
        sum += message->bytes;
    }
    choose_rooms(dice, &plan, ranks, style->wild_room);
    for (int i = 0; i < plan.count; i++) {
        struct message *message = &plan.message[i];

        message->send_mode = choose_send(dice, &plan, message);
        message->receive_mode = choose_receive(dice, &plan, message);
        message->out = layout_choose(dice, message->bytes, plain);
        message->in = layout_choose(dice, message->room, plain);
    }
    return plan;
}

struct plan plan_exchange(struct dice *dice, int ranks)
{
    static const int weights[] = {35, 45, 20, -1};
    const struct style *const styles[] = {&few_large, &some, &many};

    return make(dice, ranks, styles[dice_weighted(dice, weights)], 65);
}

/* Thousands under way at once: nothing blocks. */
struct plan plan_flood(struct dice *dice, int ranks)
{
    struct plan plan = make(dice, ranks, &flood, 95);

    plan.ready = false;
    for (int i = 0; i < plan.count; i++) {
        struct message *message = &plan.message[i];

        message->send_mode = dice_percent(dice, 90) ? SEND_ISEND : SEND_PERSISTENT;
        message->receive_mode = RECEIVE_IRECV;
    }
    return plan;
}

void plan_free(struct plan *plan)
{
    free(plan->message);
    plan->message = NULL;
}

/* Messages of one source arrive in the order of sending, among those that the receive matches. */
struct message *plan_identify(struct plan *plan, const struct message *posted, int source, int tag)
{
    const enum match match = plan->match[posted->to];

    for (int i = 0; i < plan->count; i++) {
        struct message *message = &plan->message[i];

        if (message->to != posted->to || message->from != source || message->taken) {
            continue;
        }
        if (message->tag == tag) {
            message->taken = true;
            return message;
        }
        if (match == MATCH_ANY || match == MATCH_ANY_TAG) {
            soak_wrong("from %d came tag %d before tag %d, which was sent earlier", source, tag,
                       message->tag);
        }
    }
    soak_wrong("from %d came tag %d, of which nothing more was sent", source, tag);
}
