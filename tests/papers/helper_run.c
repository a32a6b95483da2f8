/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Plays a sequence in simulated time, once for each way to register (helper_run.h). The helper is
 * the one that ships; what a main thread and the helper's thread take is counted here.
 */
#include "helper_run.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

#define REGISTER_NS        20000ull
#define REGISTER_PAGE_NS   250ull
#define DEREGISTER_NS      15000ull
#define DEREGISTER_PAGE_NS 100ull
#define LATENCY_NS         5000ull
#define BYTES_PER_US       1500ull
#define POINT_NS           1000ull /* frames, clock, queue: the main thread's share */
#define WAKE_NS            55000ull
#define START_NS           1000000ull
#define COPY_BYTES_PER_US  2000ull
#define CHUNK              (256 * 1024ull)
#define OPENIB_CHUNK       (1024 * 1024ull)
#define HANDLE             ((void *) 1)
#define HELD_MOST          256u

struct run {
    struct rbuf_helper helper;
    struct sim_outcome out;
    uint64_t now_ns;        /* the main thread's */
    bool in_message;        /* until then, else it computes */
    uint64_t progressed_ns; /* when it called for progress last */
    /* Memory that is registered. */
    uint64_t bytes;
    uint64_t since_ns;
    double byte_ns;
    /* What is under way together. */
    struct rbuf_mr *held[HELD_MOST];
    uint32_t held_count;
    uint64_t travel_ns;
    uint64_t owed_bytes; /* on demand: registered until all of it is over */
    uint64_t owed_ns;    /* to deregister that */
    /* The helper's clock, and what it is doing until then. */
    struct sim_helper how;
    struct sim_random random;
    uint64_t helper_ns;
    uint64_t looked_ns; /* how late it was when it last looked at its registration queue */
    struct rbuf_helper_order doing;
};

static uint64_t pages_of(uint64_t bytes)
{
    return (bytes + RBUF_MR_PAGE - 1) / RBUF_MR_PAGE;
}

static uint64_t register_ns(uint64_t bytes)
{
    return REGISTER_NS + REGISTER_PAGE_NS * pages_of(bytes);
}

static uint64_t deregister_ns(uint64_t bytes)
{
    return DEREGISTER_NS + DEREGISTER_PAGE_NS * pages_of(bytes);
}

static uint64_t wire_ns(uint64_t bytes)
{
    return bytes * 1000 / BYTES_PER_US;
}

/* What is under way together travels one after the other, when all of it has been started. */
static void travel(struct run *run, const struct sim_call *call)
{
    run->travel_ns += LATENCY_NS + wire_ns(call->bytes);
    if (!call->more) {
        run->now_ns += run->travel_ns;
        run->travel_ns = 0;
    }
}

/* The two threads do not see each other's time to the nanosecond: never backwards. */
static void hold(struct run *run, uint64_t at_ns, int64_t bytes)
{
    if (at_ns > run->since_ns) {
        run->byte_ns += (double) run->bytes * (double) (at_ns - run->since_ns);
        run->since_ns = at_ns;
    }
    run->bytes += (uint64_t) bytes;
    if (run->bytes > run->out.peak_bytes) {
        run->out.peak_bytes = run->bytes;
    }
}

static uint64_t bytes_of(const struct rbuf_mr *mr)
{
    return rbuf_mr_end(mr) - rbuf_mr_begin(mr);
}

static void begin_order(struct run *run)
{
    const uint64_t bytes = run->doing.mr == NULL ? 0 : bytes_of(run->doing.mr);

    if (run->doing.task == RBUF_HELPER_REGISTER) {
        hold(run, run->helper_ns, (int64_t) bytes);
        run->helper_ns += register_ns(bytes);
    } else {
        run->helper_ns += deregister_ns(bytes);
    }
}

static void end_order(struct run *run)
{
    struct rbuf_mr *mr = run->doing.mr;

    if (run->doing.task == RBUF_HELPER_REGISTER) {
        rbuf_helper_registered(&run->helper, mr, HANDLE, register_ns(bytes_of(mr)));
    } else if (run->doing.task == RBUF_HELPER_DEREGISTER) {
        hold(run, run->helper_ns, -(int64_t) bytes_of(mr));
        rbuf_helper_deregistered(&run->helper, mr, deregister_ns(bytes_of(mr)));
    }
    run->doing.task = RBUF_HELPER_WAIT;
}

static struct rbuf_helper_order look(struct run *run)
{
    struct rbuf_helper_order order = {.task = RBUF_HELPER_WAIT};

    if (run->in_message) {
        run->progressed_ns = run->helper_ns;
    }
    if (run->how.whole_queue) { /* no deadline is near at the time of its last look */
        order = rbuf_helper_next(&run->helper, run->looked_ns, run->progressed_ns);
    }
    if (order.task != RBUF_HELPER_DEREGISTER) {
        run->looked_ns = run->helper_ns;
        order = rbuf_helper_next(&run->helper, run->helper_ns, run->progressed_ns);
    }
    return order;
}

/* From when it is to run until it does. */
static uint64_t wake_ns(struct run *run)
{
    const uint64_t others = run->how.sharers > 1 ? run->how.sharers - 1 : 0;

    return WAKE_NS + sim_random_below(&run->random, others * run->how.slice_ns + 1);
}

/* The helper until the main thread's time. It sleeps when it has nothing to do, and wakes late. */
static void let_help(struct run *run)
{
    while (run->helper_ns <= run->now_ns) {
        end_order(run);
        run->doing = look(run);
        if (run->doing.task != RBUF_HELPER_WAIT) {
            begin_order(run);
        } else if (run->doing.until_ns < run->now_ns) {
            run->helper_ns = run->doing.until_ns + wake_ns(run);
        } else {
            run->helper_ns = run->now_ns + 1; /* whatever comes next wakes it */
            break;
        }
    }
}

static void give_back(struct run *run)
{
    while (run->held_count > 0) {
        if (rbuf_mr_give(&run->helper.mrs, run->held[--run->held_count]) &&
            run->doing.task == RBUF_HELPER_WAIT) {
            run->helper_ns = run->now_ns + wake_ns(run);
        }
    }
}

static void message_of_helper(struct run *run, const struct sim_call *call)
{
    struct rbuf_use point = {
        .time_ns = run->now_ns, .frames = call->frames, .base = call->base, .bytes = call->bytes};
    struct rbuf_mr *mr;
    enum rbuf_mr_taken taken;

    let_help(run);
    taken = rbuf_mr_take(&run->helper.mrs, call->base, call->bytes, 1, &mr);
    run->out.foreseen += taken == RBUF_MR_TAKEN;
    if (taken != RBUF_MR_TAKEN && run->doing.task != RBUF_HELPER_WAIT &&
        run->helper_ns > run->now_ns) {
        run->now_ns = run->helper_ns; /* for this very region, or for the kernel's lock */
    }
    if (taken == RBUF_MR_COMING) {
        let_help(run);
        taken = rbuf_mr_take(&run->helper.mrs, call->base, call->bytes, 1, &mr);
    }
    if (taken != RBUF_MR_TAKEN) {
        hold(run, run->now_ns, (int64_t) bytes_of(mr));
        point.register_ns = register_ns(bytes_of(mr));
        run->now_ns += point.register_ns;
        rbuf_mr_publish(mr, HANDLE, 1);
    }
    rbuf_use_queue_put(&run->helper.points, &point);
    if (run->how.rival != NULL) {
        periodicity_see(run->how.rival, &point);
    }
    run->now_ns += POINT_NS;
    travel(run, call);
    run->in_message = true;
    let_help(run);
    run->in_message = false;
    run->progressed_ns = run->now_ns;
    run->held[run->held_count++] = mr;
    if (!call->more) {
        give_back(run);
    }
}

static void message_on_demand(struct run *run, const struct sim_call *call)
{
    hold(run, run->now_ns, (int64_t) call->bytes);
    run->now_ns += register_ns(call->bytes);
    travel(run, call);
    run->owed_ns += deregister_ns(call->bytes);
    run->owed_bytes += call->bytes;
    if (!call->more) {
        run->now_ns += run->owed_ns;
        hold(run, run->now_ns, -(int64_t) run->owed_bytes);
        run->owed_ns = run->owed_bytes = 0;
    }
}

static bool was_used(const struct sim_calls *calls, const struct sim_call *call)
{
    const struct sim_call *before = calls->call;

    while (before != call &&
           (before->base > call->base || before->base + before->bytes < call->base + call->bytes)) {
        before++;
    }
    return before != call;
}

static void message_pinned(struct run *run, const struct sim_calls *calls,
                           const struct sim_call *call)
{
    if (was_used(calls, call)) {
        run->out.foreseen++;
    } else {
        hold(run, run->now_ns, (int64_t) call->bytes);
        run->now_ns += register_ns(call->bytes);
    }
    travel(run, call);
}

struct pipeline {
    uint64_t copied; /* first bytes, out of memory that stays registered */
    uint64_t chunk;
    uint64_t depth;  /* chunks that are registered at a time */
    bool registered; /* all of them are already */
    bool stays;
};

static void message_pipelined(struct run *run, const struct sim_call *call,
                              const struct pipeline *how)
{
    const uint64_t copied = call->bytes < how->copied ? call->bytes : how->copied;
    const uint64_t rest = call->bytes - copied, most = how->depth * how->chunk;
    const uint64_t pinned = how->registered ? 0 : how->stays || rest < most ? rest : most;
    uint64_t processor = run->now_ns + copied * 1000 / COPY_BYTES_PER_US;
    uint64_t wire = run->now_ns + LATENCY_NS + wire_ns(copied);

    hold(run, run->now_ns, (int64_t) pinned);
    for (uint64_t from = 0; from < rest; from += how->chunk) {
        uint64_t bytes = rest - from < how->chunk ? rest - from : how->chunk;

        processor += how->registered ? 0 : register_ns(bytes);
        processor += !how->stays && from >= most - how->chunk ? deregister_ns(how->chunk) : 0;
        wire = (wire > processor ? wire : processor) + wire_ns(bytes);
    }
    run->now_ns = wire;
    if (!how->stays) {
        run->now_ns += deregister_ns(rest < how->chunk ? rest : how->chunk);
        hold(run, run->now_ns, -(int64_t) pinned);
    }
}

static void message(struct run *run, const struct sim_calls *calls, enum sim_strategy strategy,
                    const struct sim_call *call)
{
    switch (strategy) {
    case SIM_HELPER:
        message_of_helper(run, call);
        break;
    case SIM_ON_DEMAND:
        message_on_demand(run, call);
        break;
    case SIM_LEAVE_PINNED:
        message_pinned(run, calls, call);
        break;
    case SIM_PIPELINE:
        message_pipelined(run, call, &(struct pipeline){.chunk = CHUNK, .depth = 3});
        break;
    default:
        message_pipelined(run, call,
                          &(struct pipeline){.copied = OPENIB_CHUNK,
                                             .chunk = OPENIB_CHUNK,
                                             .depth = 4,
                                             .registered = strategy == SIM_PIPELINE_PINNED &&
                                                           was_used(calls, call),
                                             .stays = strategy == SIM_PIPELINE_PINNED});
        break;
    }
}

static struct sim_outcome run_as(const struct sim_calls *calls, enum sim_strategy strategy,
                                 const struct sim_helper *how)
{
    struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;
    static struct run run;

    run =
        (struct run){.how = *how, .now_ns = START_NS, .helper_ns = START_NS, .since_ns = START_NS};
    run.looked_ns = START_NS;
    options.window = how->window;
    if (rbuf_helper_open(&run.helper, &options) != 0) {
        abort();
    }
    run.helper.sharers = how->sharers;
    run.helper.slice_ns = how->slice_ns;
    if (how->prompt) {
        run.helper.options.wake_ns = 0;
    }
    if (strategy >= SIM_PIPELINE_OPENIB) {
        hold(&run, START_NS, (int64_t) OPENIB_CHUNK);
    }
    for (uint32_t i = 0; i < calls->count; i++) {
        uint64_t start;

        run.now_ns += calls->call[i].compute_ns;
        start = run.now_ns;
        message(&run, calls, strategy, &calls->call[i]);
        run.out.message_ns += run.now_ns - start;
    }
    hold(&run, run.now_ns, 0);
    run.out.total_ns = run.now_ns - START_NS;
    run.out.average_bytes = (uint64_t) (run.byte_ns / (double) run.out.total_ns);
    run.out.predictions = run.helper.predictor.counters;
    rbuf_helper_close(&run.helper);
    return run.out;
}

struct sim_outcome sim_run(const struct sim_calls *calls, enum sim_strategy strategy,
                           uint32_t window)
{
    return run_as(calls, strategy, &(struct sim_helper){.window = window});
}

struct sim_outcome sim_run_helper(const struct sim_calls *calls, const struct sim_helper *how)
{
    return run_as(calls, SIM_HELPER, how);
}
