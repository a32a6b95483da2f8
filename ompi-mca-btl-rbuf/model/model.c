/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "model/model.h"

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
    case RBUF_RENDEZVOUS_LED: /* it has no head */
        answer = greater(answer, machine->overhead_ns + (sender ? registration : 0));
        break;
    }
    return answer + wire + 2 * machine->latency_ns + machine->finish_ns;
}
