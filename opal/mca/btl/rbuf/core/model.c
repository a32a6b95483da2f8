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
    double spare; /* by which the receiver's last chunk could have come later and cost nothing */
    double acked[RBUF_BUFFERS_MAX]; /* of the chunk that used the buffer last */
};

/* What the plan makes of the machine, for one length. */
struct speeds {
    double fill; /* ns a byte, sender */
    double fill_block;
    double take; /* ns a byte, receiver */
    double take_block;
    double pass_block; /* the progress loop's part of a block */
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

/* A chunk on the wire, in bytes of it and ns. */
struct flight {
    uint32_t block;
    uint32_t packet;
    uint32_t first;         /* wire bytes of its first block */
    uint32_t wire;          /* of all of it */
    double out;             /* when its first byte leaves */
    double in;              /* and its last */
    double overtaken_after; /* packets, by the last message, which makes the others ... */
    double overtaken_ns;    /* ... this late */
};

/* Wire bytes in front of the packet that ends block `j`. */
static uint32_t packet_start(const struct flight *flight, uint32_t j)
{
    uint32_t end = flight->first + j * flight->block;

    return (end - 1) / flight->packet * flight->packet;
}

/* The first block that ends in the same packet as block `j`. */
static uint32_t first_with(const struct flight *flight, uint32_t j)
{
    uint32_t start = packet_start(flight, j);

    return start < flight->first ? 0 : (start - flight->first) / flight->block + 1;
}

/* When the receiver has copied blocks `j` on of a chunk, without a break since block `j` was there.
 */
static double taken_from(const struct rbuf_schedule *schedule, const struct speeds *speeds,
                         const struct rbuf_chunk *chunk, uint32_t j, double start)
{
    uint32_t before = j > 0 ? chunk->first_bytes + (j - 1) * rbuf_block_payload(schedule) : 0;
    uint32_t blocks = chunk->blocks - j;

    return start + (chunk->bytes - before) * speeds->take + blocks * speeds->take_block +
           (blocks - 1) * speeds->pass_block;
}

static double taken_since(const struct rbuf_machine *machine, const struct rbuf_schedule *schedule,
                          const struct speeds *speeds, const struct rbuf_chunk *chunk,
                          const struct flight *flight, uint32_t j)
{
    uint32_t end = packet_start(flight, j) + flight->packet;
    double here = flight->out + end * speeds->wire;

    if (end >= flight->wire) {
        here = flight->in;
    } else if (end > flight->overtaken_after * flight->packet) {
        here += flight->overtaken_ns;
    }
    return taken_from(schedule, speeds, chunk, j, here + machine->latency_ns);
}

/* When a receiver that is waiting has taken the chunk. */
static double taken_as_it_comes(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                                const struct speeds *speeds, const struct rbuf_chunk *chunk,
                                const struct flight *flight)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    uint32_t late = first_with(flight, chunk->blocks - 1);
    double when;

    if (plan->arrival != RBUF_ARRIVAL_BLOCK) {
        return taken_from(schedule, speeds, chunk, 0, flight->in + machine->latency_ns);
    }
    when = greater(taken_since(machine, schedule, speeds, chunk, flight, 0),
                   taken_since(machine, schedule, speeds, chunk, flight, late));
    if (late > 0) {
        late = first_with(flight, late - 1);
        when = greater(when, taken_since(machine, schedule, speeds, chunk, flight, late));
    }
    return when;
}

/* When the receiver has taken the chunk. */
static double taken(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                    const struct speeds *speeds, const struct rbuf_chunk *chunk,
                    const struct flight *flight, struct progress *at)
{
    double coming = taken_as_it_comes(machine, plan, speeds, chunk, flight);
    double here = greater(coming, taken_from(&plan->schedule, speeds, chunk, 0, at->receiver));

    at->spare = here - coming;
    return here;
}

/*
 * The message behind a chunk that is posted at `posted`. Returns when it is at the receiver, or 0
 * if it overtakes: the packet of the chunk that is being sent and one more go before its turn
 * comes.
 */
static double last_message(const struct rbuf_machine *machine, const struct speeds *speeds,
                           double posted, struct flight *flight)
{
    double ready = posted + machine->overhead_ns;
    double wire = machine->control_bytes * speeds->wire;
    double sent = floor((ready - flight->out) / (flight->packet * speeds->wire));
    double before = greater(sent + 2, 0);

    if (before * flight->packet < flight->wire) {
        flight->overtaken_after = before;
        flight->overtaken_ns = wire + machine->gap_ns;
        flight->in += flight->overtaken_ns;
        return 0;
    }
    return greater(ready, flight->in + machine->gap_ns) + wire + machine->latency_ns;
}

/* What a chunk is besides its shape. */
struct fate {
    bool prestaged; /* copied at one go, under the rendezvous */
    bool acked;     /* a later one waits for its acknowledgement */
    bool last;      /* a message follows */
};

static struct flight flight_of(const struct rbuf_machine *machine,
                               const struct rbuf_schedule *schedule, const struct speeds *speeds,
                               const struct rbuf_chunk *chunk, double out)
{
    struct flight flight = {.block = schedule->block_bytes,
                            .packet = machine->packet_bytes,
                            .first = chunk->first_bytes + RBUF_FLAG_BYTES,
                            .wire = rbuf_chunk_wire_bytes(schedule, chunk),
                            .out = out};

    flight.packet = flight.packet > 0 ? flight.packet : flight.block;
    flight.in = out + flight.wire * speeds->wire;
    return flight;
}

/* One chunk, by the recurrence of the head comment: returns when it is taken. `begin` is when the
 * transfer may be posted. */
static double advance(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                      const struct speeds *speeds, const struct rbuf_chunk *chunk, double begin,
                      struct fate fate, struct progress *at)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    double *buffer = &at->acked[chunk->index % schedule->buffers];
    double filled = at->sender + chunk->bytes * speeds->fill;
    double posted, here, told = 0;
    struct flight flight;

    if (!fate.prestaged) {
        filled += (chunk->blocks - 1) * speeds->pass_block;
    }
    if (chunk->index >= schedule->buffers) {
        filled = greater(filled, *buffer);
    }
    posted = greater(filled, begin) + machine->overhead_ns;
    flight = flight_of(machine, schedule, speeds, chunk, greater(posted, at->link));
    if (fate.last) {
        told = last_message(machine, speeds, posted, &flight);
        if (flight.overtaken_ns > at->spare && flight.overtaken_after == 0) {
            at->receiver += flight.overtaken_ns - at->spare; /* it went amid the chunk before */
        }
    }
    here = taken(machine, plan, speeds, chunk, &flight, at);
    at->sender = posted + speeds->pass_block;
    at->link = flight.in + machine->gap_ns;
    at->receiver = here + speeds->pass_block + (fate.acked ? machine->ack_ns : 0);
    *buffer = here + machine->ack_ns + machine->latency_ns + sizeof(uint64_t) * speeds->wire;
    return greater(here, told);
}

double rbuf_model_staged(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                         uint64_t bytes)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    struct speeds speeds = speeds_of(machine, schedule, bytes);
    struct progress at = {0};
    struct rbuf_extent extent;
    struct rbuf_chunk chunk;
    double begin = 0, here;

    rbuf_schedule_measure(schedule, bytes, &extent);
    if (plan->rendezvous != RBUF_RENDEZVOUS_NONE) {
        begin = rbuf_model_rendezvous(machine);
        at.sender = plan->rendezvous == RBUF_RENDEZVOUS_SERIAL
                        ? begin
                        : machine->overhead_ns + machine->pass_ns; /* at the loop's next turn */
    }
    rbuf_schedule_first(schedule, bytes, &chunk);
    do {
        struct fate fate = {
            .prestaged = plan->rendezvous == RBUF_RENDEZVOUS_OVERLAPPED && chunk.index == 0,
            .acked = chunk.index + schedule->buffers < extent.chunks,
            .last = plan->rendezvous != RBUF_RENDEZVOUS_NONE && chunk.index + 1 == extent.chunks};

        here = advance(machine, plan, &speeds, &chunk, begin, fate, &at);
    } while (rbuf_schedule_next(schedule, bytes, &chunk));
    return here;
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
