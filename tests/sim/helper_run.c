/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "helper_run.h"

#include <stdlib.h>
#include <string.h>

#define REGISTER_NS        20000ull
#define REGISTER_PAGE_NS   250ull
#define DEREGISTER_NS      15000ull
#define DEREGISTER_PAGE_NS 100ull
#define LATENCY_NS         5000ull
#define BYTES_PER_US       1500ull
#define POINT_NS           1000ull /* frames, clock, queue: the main thread's share */
#define WAKE_NS            55000ull
#define CHUNK              (256 * 1024ull)
#define HANDLE             ((void *) 1)

struct run {
    struct rbuf_helper helper;
    struct sim_outcome out;
    uint64_t now_ns; /* the main thread's */
    /* Memory that is registered. */
    uint64_t bytes;
    uint64_t since_ns;
    double byte_ns;
    /* The helper's clock, and what it is doing until then. */
    uint64_t helper_ns;
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

/* The helper until the main thread's time. It sleeps when it has nothing to do, and wakes late. */
static void let_help(struct run *run)
{
    while (run->helper_ns <= run->now_ns) {
        end_order(run);
        run->doing = rbuf_helper_next(&run->helper, run->helper_ns);
        if (run->doing.task != RBUF_HELPER_WAIT) {
            begin_order(run);
        } else if (run->doing.until_ns < run->now_ns) {
            run->helper_ns = run->doing.until_ns + WAKE_NS;
        } else {
            run->helper_ns = run->now_ns + 1; /* whatever comes next wakes it */
            break;
        }
    }
}

static void message_of_helper(struct run *run, const struct sim_call *call)
{
    struct rbuf_point point = {
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
    rbuf_points_put(&run->helper.points, &point);
    run->now_ns += POINT_NS + LATENCY_NS + wire_ns(call->bytes);
    let_help(run);
    if (rbuf_mr_give(&run->helper.mrs, mr) && run->doing.task == RBUF_HELPER_WAIT) {
        run->helper_ns = run->now_ns + WAKE_NS;
    }
}

static void message_on_demand(struct run *run, const struct sim_call *call)
{
    hold(run, run->now_ns, (int64_t) call->bytes);
    run->now_ns += register_ns(call->bytes) + LATENCY_NS + wire_ns(call->bytes);
    run->now_ns += deregister_ns(call->bytes);
    hold(run, run->now_ns, -(int64_t) call->bytes);
}

static void message_pinned(struct run *run, const struct sim_calls *calls,
                           const struct sim_call *call)
{
    const struct sim_call *before = calls->call;

    while (before != call && before->base != call->base) {
        before++;
    }
    if (before == call) {
        hold(run, run->now_ns, (int64_t) call->bytes);
        run->now_ns += register_ns(call->bytes);
    } else {
        run->out.foreseen++;
    }
    run->now_ns += LATENCY_NS + wire_ns(call->bytes);
}

/* At most three chunks are registered: one being so, one that travels, one that has. */
static void message_pipelined(struct run *run, const struct sim_call *call)
{
    uint64_t processor = run->now_ns, wire = run->now_ns + LATENCY_NS;

    hold(run, run->now_ns, (int64_t) (call->bytes < 3 * CHUNK ? call->bytes : 3 * CHUNK));
    for (uint64_t at = 0; at < call->bytes; at += CHUNK) {
        uint64_t bytes = call->bytes - at < CHUNK ? call->bytes - at : CHUNK;

        processor += register_ns(bytes) + (at >= 2 * CHUNK ? deregister_ns(CHUNK) : 0);
        wire = (wire > processor ? wire : processor) + wire_ns(bytes);
    }
    run->now_ns = wire + deregister_ns(call->bytes < CHUNK ? call->bytes : CHUNK);
    hold(run, run->now_ns, -(int64_t) run->bytes);
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
    default:
        message_pipelined(run, call);
        break;
    }
}

struct sim_outcome sim_run(const struct sim_calls *calls, enum sim_strategy strategy,
                           uint32_t window)
{
    struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;
    static struct run run;

    memset(&run, 0, sizeof(run));
    run.now_ns = run.helper_ns = run.since_ns = 1000000;
    options.window = window;
    if (rbuf_helper_open(&run.helper, &options) != 0) {
        abort();
    }
    for (uint32_t i = 0; i < calls->count; i++) {
        uint64_t start;

        run.now_ns += calls->call[i].compute_ns;
        start = run.now_ns;
        message(&run, calls, strategy, &calls->call[i]);
        run.out.message_ns += run.now_ns - start;
    }
    hold(&run, run.now_ns, 0);
    run.out.total_ns = run.now_ns - 1000000;
    run.out.average_bytes = (uint64_t) (run.byte_ns / (double) run.out.total_ns);
    run.out.predictions = run.helper.predictor.counters;
    rbuf_helper_close(&run.helper);
    return run.out;
}
