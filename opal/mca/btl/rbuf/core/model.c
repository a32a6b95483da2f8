/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/model.h"

#include <math.h>

static double greater(double one, double other)
{
    return one > other ? one : other;
}

double rbuf_copy_speed_at(const struct rbuf_copy_speed *speed, uint64_t bytes)
{
    uint32_t above = 0;
    double part, low, high;

    while (above < speed->count && speed->bytes[above] < bytes) {
        above++;
    }
    if (above == 0) {
        return speed->bytes_per_ns[0];
    }
    if (above == speed->count) {
        return speed->bytes_per_ns[above - 1];
    }
    low = speed->bytes_per_ns[above - 1];
    high = speed->bytes_per_ns[above];
    part = log((double) bytes / (double) speed->bytes[above - 1]) /
           log((double) speed->bytes[above] / (double) speed->bytes[above - 1]);
    return low + (high - low) * part;
}

struct rbuf_copy_speed rbuf_copy_speed_constant(double bytes_per_ns)
{
    return (struct rbuf_copy_speed){.count = 1, .bytes = {1}, .bytes_per_ns = {bytes_per_ns}};
}

double rbuf_model_registration(const struct rbuf_machine *machine, uint64_t bytes)
{
    uint32_t page = machine->page_bytes > 0 ? machine->page_bytes : 4096;

    return machine->register_ns + machine->register_page_ns * (double) ((bytes + page - 1) / page);
}

double rbuf_model_rendezvous(const struct rbuf_machine *machine)
{
    return 2 * machine->latency_ns + machine->rendezvous_ns;
}

double rbuf_model_raw(const struct rbuf_machine *machine, uint64_t bytes)
{
    return machine->overhead_ns + machine->latency_ns + (double) bytes / machine->bytes_per_ns;
}

/* A transfer on its way: when each part of the machine is free again, ns from its start. */
struct progress {
    double sender;
    double link;
    double receiver;
    double acked[RBUF_BUFFERS_MAX]; /* of the chunk that used the buffer last */
};

/* What the plan makes of the machine, for one length. */
struct speeds {
    double fill; /* ns a byte, sender */
    double fill_block;
    double take; /* ns a byte, receiver */
    double take_block;
    double pass_block; /* of the progress loop, in a copy without a break */
    double wire;       /* ns a byte */
};

static struct speeds speeds_of(const struct rbuf_machine *machine,
                               const struct rbuf_schedule *schedule, uint64_t bytes)
{
    uint32_t payload = rbuf_block_payload(schedule);
    struct speeds speeds = {.fill = 1 / rbuf_copy_speed_at(&machine->send_copy, bytes),
                            .take = 1 / rbuf_copy_speed_at(&machine->receive_copy, bytes),
                            .take_block = machine->block_ns,
                            .wire = 1 / machine->bytes_per_ns};

    if (machine->pass_bytes > 0) { /* a pass copies whole blocks until its bytes are used up */
        uint32_t blocks = (machine->pass_bytes + payload - 1) / payload;

        speeds.pass_block = machine->pass_ns / blocks;
    }
    return speeds;
}

/* When the receiver has taken a chunk that is on the wire from `out` to `in`. */
static double taken(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                    const struct speeds *speeds, const struct rbuf_chunk *chunk, double out,
                    double in, double free)
{
    uint32_t block = plan->schedule.block_bytes;
    uint32_t wire = rbuf_chunk_wire_bytes(&plan->schedule, chunk);
    uint32_t payload = rbuf_block_payload(&plan->schedule);
    uint32_t last_bytes = chunk->blocks == 1 ? chunk->first_bytes : payload;
    double last = last_bytes * speeds->take + speeds->take_block;
    double all = chunk->bytes * speeds->take + chunk->blocks * speeds->take_block +
                 (chunk->blocks - 1) * speeds->pass_block;
    double first_here;

    if (plan->arrival != RBUF_ARRIVAL_BLOCK) {
        return greater(free, in + machine->latency_ns) + all;
    }
    first_here = out + machine->latency_ns + (block < wire ? block : wire) * speeds->wire;
    return greater(greater(free, first_here) + all, in + machine->latency_ns + last);
}

/* One chunk, by the recurrence of the head comment. `begin`: when the transfer may be posted. */
static void advance(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                    const struct speeds *speeds, const struct rbuf_chunk *chunk, double begin,
                    struct progress *at)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    double *acked = &at->acked[chunk->index % schedule->buffers];
    double filled =
        at->sender + chunk->bytes * speeds->fill + (chunk->blocks - 1) * speeds->pass_block;
    double out;

    if (chunk->index >= schedule->buffers) {
        filled = greater(filled, *acked);
    }
    at->sender = greater(filled, begin) + machine->overhead_ns;
    out = greater(at->sender, at->link);
    at->link = out + rbuf_chunk_wire_bytes(schedule, chunk) * speeds->wire;
    at->receiver = taken(machine, plan, speeds, chunk, out, at->link, at->receiver);
    at->link += machine->gap_ns;
    *acked = at->receiver + machine->ack_ns + machine->latency_ns + sizeof(uint64_t) * speeds->wire;
}

double rbuf_model_staged(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                         uint64_t bytes)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    struct speeds speeds = speeds_of(machine, schedule, bytes);
    struct progress at = {0};
    struct rbuf_extent extent;
    struct rbuf_chunk chunk;
    double begin = 0;

    rbuf_schedule_measure(schedule, bytes, &extent);
    if (plan->rendezvous != RBUF_RENDEZVOUS_NONE) {
        begin = rbuf_model_rendezvous(machine);
        at.sender = plan->rendezvous == RBUF_RENDEZVOUS_SERIAL ? begin : machine->overhead_ns;
    }
    rbuf_schedule_first(schedule, bytes, &chunk);
    for (;;) {
        advance(machine, plan, &speeds, &chunk, begin, &at);
        if (chunk.index + schedule->buffers < extent.chunks) { /* somebody waits to hear of it */
            at.receiver += machine->ack_ns;
        }
        if (!rbuf_schedule_next(schedule, bytes, &chunk)) {
            return at.receiver;
        }
        if (chunk.index == 1 && plan->rendezvous == RBUF_RENDEZVOUS_OVERLAPPED) {
            at.sender = greater(at.sender, begin); /* only the first chunk goes ahead */
        }
    }
}

struct rbuf_plan rbuf_plan_copy(uint64_t bytes, uint32_t block_bytes)
{
    uint32_t payload = block_bytes - RBUF_FLAG_BYTES;
    uint64_t blocks = bytes > 0 ? (bytes - 1) / payload + 1 : 1;

    return (struct rbuf_plan){.schedule = {.block_bytes = block_bytes,
                                           .growth = RBUF_GROWTH_ONE,
                                           .first_blocks = (uint16_t) blocks,
                                           .buffer_blocks = (uint16_t) blocks,
                                           .buffers = 1},
                              .arrival = RBUF_ARRIVAL_CHUNK};
}

struct rbuf_plan rbuf_plan_pipeline(const struct rbuf_machine *machine, uint64_t bytes,
                                    uint32_t block_bytes)
{
    struct rbuf_plan plan = rbuf_plan_copy(bytes, block_bytes);
    double blocks = rbuf_equation_best_chunk(machine, (double) bytes) / block_bytes;

    if (blocks < plan.schedule.first_blocks) {
        plan.schedule.first_blocks = blocks < 1 ? 1 : (uint16_t) lround(blocks);
        plan.schedule.buffer_blocks = plan.schedule.first_blocks;
    }
    plan.schedule.buffers = RBUF_BUFFERS_MAX;
    return plan;
}

double rbuf_model_in_place(const struct rbuf_machine *machine, uint64_t bytes,
                           enum rbuf_registered registered, enum rbuf_rendezvous rendezvous)
{
    double registration = rbuf_model_registration(machine, bytes);
    bool sender = registered == RBUF_REGISTERED_BOTH || registered == RBUF_REGISTERED_SENDER;
    bool receiver = registered == RBUF_REGISTERED_BOTH || registered == RBUF_REGISTERED_RECEIVER;
    double wire = rbuf_model_raw(machine, bytes);
    double answer = rbuf_model_rendezvous(machine) + (receiver ? registration : 0);

    switch (rendezvous) {
    case RBUF_RENDEZVOUS_NONE:
        return (sender || receiver ? registration : 0) + wire;
    case RBUF_RENDEZVOUS_SERIAL:
        answer += sender ? registration : 0;
        break;
    case RBUF_RENDEZVOUS_OVERLAPPED:
        answer = greater(answer, machine->overhead_ns + (sender ? registration : 0));
        break;
    }
    return answer + wire + 2 * machine->latency_ns + machine->finish_ns;
}
