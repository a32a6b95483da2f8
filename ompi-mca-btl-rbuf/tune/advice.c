/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Times of the protocols by the cost model, and what follows from comparing them.
 */
#include "tune/advice.h"

#include <math.h>

#include "core/base/wire.h"
#include "model/choose.h"
#include "model/in_place.h"
#include "model/staged.h"

#define AIM_SMALLEST 16384ull
#define AIM_LARGEST  (16ull << 20)
#define EAGER_FROM   512ull /* sizes that are looked at for the end of eager copies */
#define EAGER_TO     (1ull << 20)
#define WORTHWHILE   0.005   /* of the wire's speed: less than that no run would show */
#define BLOCK        4096u   /* of the naive protocols */
#define BLOCK_MOST   16384u  /* of what the model tries: early data take whole blocks */
#define EARLY_MOST   262144u /* of early data: the more, the fewer peers have room for them */
#define EAGER_CHUNK  2048u   /* the default of btl_rbuf_ring_c0 */
#define NO_TIME      1e9     /* bytes per ns */

const char *const tune_protocol_names[TUNE_PROTOCOLS] = {
    "eager copies", "register", "copy", "pipeline", "as it is", "recommended", "in place"};

static double lesser_copy(const struct rbuf_machine *machine, uint64_t bytes)
{
    return fmin(rbuf_copy_speed_at(&machine->send_copy, bytes),
                rbuf_copy_speed_at(&machine->receive_copy, bytes));
}

double tune_growth(const struct rbuf_machine *machine, uint64_t bytes)
{
    return lesser_copy(machine, bytes) / machine->bytes_per_ns;
}

/* Of at most 65535 blocks, that is, 255 MB. */
static double predict_copy(const struct tune_advice *advice, uint64_t bytes)
{
    struct rbuf_plan plan = rbuf_plan_copy(bytes, BLOCK);

    plan.rendezvous = RBUF_RENDEZVOUS_SERIAL;
    return rbuf_model_staged(&advice->machine, &plan, bytes);
}

/* By several slots of a ring (core/eager/ring_long.h): the sender's chunks double and hide its
 * copy, the receiver copies all of the message when it is there. */
static double predict_eager(const struct tune_advice *advice, uint64_t bytes)
{
    const struct rbuf_plan plan = {.schedule = {.block_bytes = EAGER_CHUNK,
                                                .growth = 2 * RBUF_GROWTH_ONE,
                                                .first_blocks = 1,
                                                .buffer_blocks = UINT16_MAX,
                                                .buffers = RBUF_BUFFERS_MAX},
                                   .arrival = RBUF_ARRIVAL_CHUNK,
                                   .rendezvous = RBUF_RENDEZVOUS_NONE};
    struct rbuf_machine sending = advice->machine;

    sending.receive_copy = rbuf_copy_speed_constant(NO_TIME);
    return rbuf_model_staged(&sending, &plan, bytes) +
           (double) bytes / rbuf_copy_speed_at(&advice->machine.receive_copy, bytes);
}

double tune_predict(const struct tune_advice *advice, enum tune_protocol protocol, uint64_t bytes)
{
    const enum rbuf_rendezvous rendezvous = RBUF_RENDEZVOUS_SERIAL;
    struct rbuf_plan plan;

    switch (protocol) {
    case TUNE_EAGER:
        return predict_eager(advice, bytes);
    case TUNE_REGISTER:
        return rbuf_model_in_place(&advice->machine, bytes, RBUF_REGISTERED_BOTH, rendezvous);
    case TUNE_COPY:
        return predict_copy(advice, bytes);
    case TUNE_PIPELINE:
        plan = rbuf_plan_pipeline(&advice->machine, bytes, BLOCK);
        plan.rendezvous = rendezvous;
        return rbuf_model_staged(&advice->machine, &plan, bytes);
    case TUNE_CURRENT:
        return rbuf_model_staged(&advice->machine, &advice->current, bytes);
    case TUNE_RECOMMENDED:
        return rbuf_model_staged(&advice->machine, &advice->recommended, bytes);
    case TUNE_IN_PLACE:
    default:
        return rbuf_model_in_place(&advice->machine, bytes, RBUF_REGISTERED_NONE, rendezvous);
    }
}

double tune_uses(const struct tune_advice *advice, uint64_t bytes)
{
    const double staged = tune_predict(advice, TUNE_RECOMMENDED, bytes);
    const double saved = staged - tune_predict(advice, TUNE_IN_PLACE, bytes);
    const double paid = tune_predict(advice, TUNE_REGISTER, bytes) - staged + saved;

    return saved > 0 ? fmax(ceil(paid / saved), 1) : TUNE_NO_COUNT;
}

/* The smallest size, in steps of an eighth of an octave, from which on `first` is not slower. */
static uint64_t overtakes(const struct tune_advice *advice, enum tune_protocol first,
                          enum tune_protocol second, uint64_t from, uint64_t to)
{
    const double step = exp2(1.0 / 8);
    uint64_t size = TUNE_NO_SIZE;

    for (double bytes = (double) to; bytes >= (double) from; bytes /= step) {
        const uint64_t at = (uint64_t) bytes;

        if (tune_predict(advice, first, at) > tune_predict(advice, second, at)) {
            break;
        }
        size = at;
    }
    return size;
}

static uint64_t copying_ends(const struct rbuf_machine *machine)
{
    uint64_t end = TUNE_NO_SIZE;

    for (uint64_t bytes = TUNE_LARGEST; bytes >= TUNE_SMALLEST; bytes /= 2) {
        if (tune_growth(machine, bytes) > 1) {
            break;
        }
        end = bytes;
    }
    return end;
}

/* The most early data that a peer has room for beside what the largest message wants, as
 * core/rendezvous/lease.c deals the receive staging out. */
static uint32_t early_most(const struct tune_conditions *conditions,
                           const struct rbuf_schedule *schedule)
{
    const uint64_t message =
        (uint64_t) schedule->buffers * schedule->buffer_blocks * schedule->block_bytes;
    const uint64_t half = conditions->total_staging_bytes / 2;
    const uint64_t kept = message > half ? message : half;
    const uint64_t most = conditions->total_staging_bytes > kept
                              ? (conditions->total_staging_bytes - kept) / RBUF_EARLY_SLOTS
                              : 0;

    return most < EARLY_MOST ? (uint32_t) most : EARLY_MOST;
}

/* What a recommended schedule may have of the receive staging: not the room for early data. */
static uint64_t message_most(const struct tune_conditions *conditions, uint32_t early_bytes)
{
    const uint64_t room = RBUF_EARLY_SLOTS * ((uint64_t) early_bytes + BLOCK_MOST);

    if (conditions->rendezvous != RBUF_RENDEZVOUS_EARLY ||
        room >= conditions->total_staging_bytes) {
        return conditions->staging_bytes;
    }
    return conditions->staging_bytes < conditions->total_staging_bytes - room
               ? conditions->staging_bytes
               : conditions->total_staging_bytes - room;
}

/* The early data for the schedule as it is, then the model's schedule for these, if it is worth a
 * change; blocks are not shorter than what arrives as a whole. */
static void recommend(struct tune_advice *advice, struct rbuf_objective *objective,
                      const struct tune_conditions *conditions)
{
    const struct rbuf_machine *machine = &advice->machine;
    struct rbuf_plan kept = advice->current;
    const double kept_efficiency =
        rbuf_model_choose_early(machine, objective, early_most(conditions, &kept.schedule), &kept);

    objective->early_bytes = kept.early_blocks * kept.schedule.block_bytes;
    objective->staging_bytes = message_most(conditions, objective->early_bytes);
    advice->recommended_efficiency = rbuf_model_choose(machine, objective, &advice->recommended);
    if (advice->recommended.schedule.block_bytes < machine->packet_bytes) {
        objective->block_bytes = machine->packet_bytes;
        advice->recommended_efficiency =
            rbuf_model_choose(machine, objective, &advice->recommended);
    }
    if (kept_efficiency + WORTHWHILE >= advice->recommended_efficiency) {
        advice->recommended = kept;
        advice->recommended_efficiency = kept_efficiency;
    }
}

struct tune_advice tune_advise(const struct rbuf_machine *machine,
                               const struct rbuf_schedule *current,
                               const struct tune_conditions *conditions)
{
    struct rbuf_objective objective = {.smallest = AIM_SMALLEST,
                                       .largest = AIM_LARGEST,
                                       .staging_bytes = conditions->staging_bytes,
                                       .arrival = conditions->in_order ? RBUF_ARRIVAL_BLOCK
                                                                       : RBUF_ARRIVAL_IMMEDIATE,
                                       .rendezvous = conditions->rendezvous,
                                       .early_bytes = conditions->early_bytes,
                                       .opening_bytes = conditions->opening_bytes};
    struct tune_advice advice = {.machine = *machine,
                                 .current = {.schedule = *current,
                                             .arrival = objective.arrival,
                                             .rendezvous = objective.rendezvous}};

    if (conditions->rendezvous == RBUF_RENDEZVOUS_EARLY) {
        rbuf_plan_early(&advice.current, conditions->early_bytes, conditions->opening_bytes);
    }
    advice.current_efficiency =
        rbuf_model_efficiency(machine, &advice.current, AIM_SMALLEST, AIM_LARGEST);
    recommend(&advice, &objective, conditions);
    advice.beats_eager = overtakes(&advice, TUNE_RECOMMENDED, TUNE_EAGER, EAGER_FROM, EAGER_TO);
    advice.in_place_wins =
        overtakes(&advice, TUNE_IN_PLACE, TUNE_RECOMMENDED, TUNE_SMALLEST, TUNE_LARGEST);
    advice.copy_ends = copying_ends(machine);
    return advice;
}
