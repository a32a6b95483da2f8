/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A staged transfer, chunk by chunk, by the recurrence in staged.h: in max and plus alone, so that
 * what holds the transfer up at each chunk is what it waits for last.
 */
#include "model/staged.h"

#include <math.h>
#include <stddef.h>
#include <stdbool.h>

/* A flag is a count: its upper bytes are zeros, as they were before. When a packet ends within
 * them, the block is seen. */
#define FLAG_TAIL (RBUF_FLAG_BYTES - 3)

/* A transfer on its way. */
struct transfer {
    const struct rbuf_machine *machine;
    const struct rbuf_schedule *schedule; /* of early data, and then of what is behind them */
    enum rbuf_arrival arrival;
    bool overlapped;
    bool last_message; /* there is one behind the last chunk */
    uint64_t chunks;
    uint64_t early; /* of them, chunks that go without an RTR */
    double begin; /* when what is not of it may be posted, ns from the start like all that follow */

    uint32_t packet;      /* bytes, a power of two */
    unsigned block_shift; /* log2 of the bytes of a block */
    double wire;          /* ns a byte */
    double fill;          /* ns a byte, sender */
    double take;          /* ns a byte, receiver */
    double pass;          /* the progress loop's part of a block, ns */

    double sender;   /* when each is free */
    double link;     /* likewise */
    double receiver; /* likewise */
    double tail;     /* how long the last packet of the chunk before was on the wire */
    double spare;    /* how much later that chunk could have come at no cost */
    double acked[RBUF_BUFFERS_MAX]; /* of the chunk that used the buffer last */
};

/* A chunk on the wire. */
struct flight {
    const struct rbuf_chunk *chunk;
    uint32_t bytes;         /* on the wire */
    double out;             /* when its first byte leaves */
    double in;              /* and its last */
    double overtaken_after; /* bytes, by the last message, which makes the others ... */
    double overtaken_ns;    /* ... this late */
};

static double greater(double one, double other)
{
    return one > other ? one : other;
}

/* Bytes up to which the first block is seen. */
static uint32_t first_end(const struct flight *flight)
{
    return flight->chunk->first_bytes + RBUF_FLAG_BYTES - FLAG_TAIL;
}

/* Bytes in front of the packet with which block `j` is seen. */
static uint32_t packet_start(const struct transfer *at, const struct flight *flight, uint32_t j)
{
    return (first_end(flight) + (j << at->block_shift) - 1) & ~(at->packet - 1);
}

/* The first block that ends behind so many bytes. */
static uint32_t first_behind(const struct transfer *at, const struct flight *flight, uint32_t bytes)
{
    uint32_t first = first_end(flight);

    return bytes < first ? 0 : ((bytes - first) >> at->block_shift) + 1;
}

/* When block `j` is at the receiver. */
static double here(const struct transfer *at, const struct flight *flight, uint32_t j)
{
    uint32_t end = packet_start(at, flight, j) + at->packet;
    double sent = flight->out + end * at->wire;

    if (end >= flight->bytes) {
        sent = flight->in;
    } else if (end > flight->overtaken_after) {
        sent += flight->overtaken_ns;
    }
    return sent + at->machine->latency_ns;
}

/* When the receiver has copied blocks `j` on of a chunk, from `start` and without a break. */
static double copied(const struct transfer *at, const struct rbuf_chunk *chunk, uint32_t j,
                     double start)
{
    uint32_t payload = rbuf_block_payload(at->schedule);
    uint32_t before = j > 0 ? chunk->first_bytes + (j - 1) * payload : 0;
    uint32_t blocks = chunk->blocks - j;

    return start + (chunk->bytes - before) * at->take + blocks * at->machine->block_ns +
           (blocks - 1) * at->pass;
}

static double copied_since(const struct transfer *at, const struct flight *flight, uint32_t j)
{
    return copied(at, flight->chunk, j, here(at, flight, j));
}

/* When a receiver that is waiting has taken the chunk. Which blocks have to be looked at: staged.h.
 */
static double taken_as_it_comes(const struct transfer *at, const struct flight *flight)
{
    uint32_t last = flight->chunk->blocks - 1, first, second;
    double when;

    switch (at->arrival) {
    case RBUF_ARRIVAL_IMMEDIATE:
        return copied(at, flight->chunk, 0, flight->in + at->machine->latency_ns);
    case RBUF_ARRIVAL_CHUNK:
    case RBUF_ARRIVAL_CHUNK_CHECKED:
        return copied(at, flight->chunk, 0, here(at, flight, last));
    case RBUF_ARRIVAL_BLOCK:
    case RBUF_ARRIVAL_BLOCK_CHECKED:
        break;
    }
    first = first_behind(at, flight, packet_start(at, flight, last));
    second = first_behind(at, flight, packet_start(at, flight, 0) + at->packet);
    when = greater(copied_since(at, flight, 0), copied_since(at, flight, first));
    if (second < first && flight->chunk->first_bytes < rbuf_block_payload(at->schedule)) {
        when = greater(when, copied_since(at, flight, second));
    }
    if (first > 0) {
        first = first_behind(at, flight, packet_start(at, flight, first - 1));
        when = greater(when, copied_since(at, flight, first));
    }
    return when;
}

/* Packets of the chunk that go before a message that is there at `ready`: queue pairs take turns,
 * so the one that is being sent, and one more. Less than 0: it goes amid the chunk before. */
static double packets_before(const struct transfer *at, const struct flight *flight, double ready)
{
    double packet = at->packet * at->wire;
    double early = flight->out - at->machine->gap_ns - ready; /* against that chunk's end */

    if (ready >= flight->out) {
        return floor((ready - flight->out) / packet) + 2;
    }
    if (early <= at->tail) {
        return 1;
    }
    return early <= at->tail + packet ? 0 : -1;
}

/* The message behind a chunk that is posted at `posted`: returns when it is at the receiver, and
 * makes those late that it overtakes. */
static double last_message(struct transfer *at, struct flight *flight, double posted)
{
    double gap = at->machine->gap_ns, ready = posted + at->machine->overhead_ns;
    double wire = at->machine->control_bytes * at->wire;
    double before = packets_before(at, flight, ready);

    if (before * at->packet >= flight->bytes) {
        return greater(ready, flight->in + gap) + wire + at->machine->latency_ns;
    }
    flight->overtaken_after = greater(before, 0) * at->packet;
    flight->overtaken_ns = wire + gap;
    flight->in += flight->overtaken_ns;
    if (before < 0) {
        at->receiver += greater(flight->overtaken_ns - at->spare, 0);
    }
    return flight->out + flight->overtaken_after * at->wire + wire + at->machine->latency_ns;
}

/* Chunks between the early ones and this one. */
static uint64_t behind_early(const struct transfer *at, const struct rbuf_chunk *chunk)
{
    return chunk->index - at->early;
}

/* When the sender has posted an early chunk, which it copies at one go. */
static double post_early(const struct transfer *at, const struct rbuf_chunk *chunk)
{
    return at->sender + chunk->bytes * at->fill + at->machine->overhead_ns;
}

/* When the sender has posted any other. */
static double post(const struct transfer *at, const struct rbuf_chunk *chunk)
{
    bool prestaged = chunk->index == 0 && at->overlapped;
    double start = prestaged ? at->sender : greater(at->sender, at->begin);
    double filled = start + chunk->bytes * at->fill;

    if (!prestaged) { /* under the rendezvous it is copied at one go */
        filled += (chunk->blocks - 1) * at->pass;
    }
    if (behind_early(at, chunk) >= at->schedule->buffers) {
        filled = greater(filled, at->acked[behind_early(at, chunk) % at->schedule->buffers]);
    }
    return greater(filled, at->begin) + at->machine->overhead_ns;
}

/* One chunk: returns when the receiver has it, and knows, if it is the last one. */
static double advance(struct transfer *at, const struct rbuf_chunk *chunk)
{
    const struct rbuf_machine *machine = at->machine;
    bool early = chunk->index < at->early;
    bool awaited = !early && chunk->index + at->schedule->buffers < at->chunks;
    double posted = early ? post_early(at, chunk) : post(at, chunk);
    struct flight flight = {.chunk = chunk,
                            .bytes = rbuf_chunk_wire_bytes(at->schedule, chunk),
                            .out = greater(posted, at->link)};
    double notified = 0, coming, taken;

    flight.in = flight.out + flight.bytes * at->wire;
    if (at->last_message && chunk->index + 1 == at->chunks) {
        notified = last_message(at, &flight, greater(posted, at->begin));
    }
    coming = taken_as_it_comes(at, &flight);
    taken = greater(coming, copied(at, chunk, 0, at->receiver));
    at->spare = taken - coming;
    at->tail = (((flight.bytes - 1) & (at->packet - 1)) + 1) * at->wire;
    at->sender = posted + (chunk->index + 1 < at->early ? 0 : at->pass);
    at->link = flight.in + machine->gap_ns;
    at->receiver = taken + at->pass + (awaited ? machine->ack_ns : 0);
    if (!early) {
        at->acked[behind_early(at, chunk) % at->schedule->buffers] =
            taken + machine->ack_ns + machine->latency_ns + sizeof(uint64_t) * at->wire;
    }
    return greater(taken, notified);
}

/* How a message is divided: early data and the rest, each cut by a schedule
 * (core/rendezvous/early.h).
 */
struct division {
    uint64_t early;
    uint64_t rest;
    struct rbuf_schedule schedule; /* of the rest */
};

static struct division divide(const struct rbuf_plan *plan, uint64_t bytes)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    const uint64_t payload = rbuf_block_payload(schedule);
    struct rbuf_schedule whole = *schedule;
    struct division division = {.rest = bytes, .schedule = *schedule};

    if (plan->rendezvous != RBUF_RENDEZVOUS_EARLY) {
        return division;
    }
    whole.opening_blocks = 0;
    division.schedule = rbuf_schedule_rest(schedule, plan->early_blocks, &whole);
    division.early = rbuf_schedule_prefix(schedule, plan->early_blocks, NULL) * payload;
    if (bytes <= plan->early_blocks * payload) {
        division.early = bytes;
    }
    division.rest = bytes - division.early;
    return division;
}

static uint64_t chunks_of(const struct rbuf_schedule *schedule, uint64_t bytes)
{
    struct rbuf_extent extent = {.chunks = 0};

    if (bytes > 0) {
        rbuf_schedule_measure(schedule, bytes, &extent);
    }
    return extent.chunks;
}

static struct transfer start(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                             const struct division *division)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    const uint64_t bytes = division->early + division->rest;
    const uint64_t early = chunks_of(schedule, division->early);
    uint32_t payload = rbuf_block_payload(schedule);
    uint32_t pass_blocks = machine->pass_bytes > 0 ? (machine->pass_bytes - 1) / payload + 1 : 0;

    return (struct transfer){
        .machine = machine,
        .schedule = schedule,
        .arrival = plan->arrival,
        .overlapped = plan->rendezvous == RBUF_RENDEZVOUS_OVERLAPPED,
        .early = early,
        .last_message = plan->rendezvous != RBUF_RENDEZVOUS_NONE,
        .chunks = early + chunks_of(&division->schedule, division->rest),
        .packet = machine->packet_bytes > 0 ? machine->packet_bytes : schedule->block_bytes,
        .block_shift = (unsigned) __builtin_ctz(schedule->block_bytes),
        .wire = 1 / machine->bytes_per_ns,
        .fill = 1 / rbuf_copy_speed_at(&machine->send_copy, bytes),
        .take = 1 / rbuf_copy_speed_at(&machine->receive_copy, bytes),
        .pass = pass_blocks > 0 ? machine->pass_ns / pass_blocks : 0,
    };
}

/* Before the first chunk: the RTS is under way, or the RTR is here. */
static void begin(struct transfer *at, const struct rbuf_plan *plan)
{
    const struct rbuf_machine *machine = at->machine;
    double requested = machine->overhead_ns + machine->pass_ns;

    switch (plan->rendezvous) {
    case RBUF_RENDEZVOUS_NONE:
        return;
    case RBUF_RENDEZVOUS_SERIAL:
        at->begin = at->sender = rbuf_model_rendezvous(machine);
        return;
    case RBUF_RENDEZVOUS_OVERLAPPED:
        at->begin = rbuf_model_rendezvous(machine);
        at->sender = requested;
        return;
    case RBUF_RENDEZVOUS_EARLY:
        at->begin = rbuf_model_rendezvous(machine);
        at->sender = requested;
        at->link = machine->overhead_ns + machine->control_bytes * at->wire + machine->gap_ns;
        at->receiver = at->begin / 2 + requested; /* it has sent the RTR */
        return;
    }
}

/* A part of the message; returns when the receiver has it. */
static double carry(struct transfer *at, const struct rbuf_schedule *schedule, uint64_t bytes,
                    uint64_t chunks_before)
{
    struct rbuf_chunk chunk;
    double when;

    at->schedule = schedule;
    rbuf_schedule_first(schedule, bytes, &chunk);
    do {
        struct rbuf_chunk of_message = chunk;

        of_message.index += chunks_before;
        when = advance(at, &of_message);
    } while (rbuf_schedule_next(schedule, bytes, &chunk));
    return when;
}

double rbuf_model_staged(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                         uint64_t bytes)
{
    const struct division division = divide(plan, bytes);
    struct transfer at = start(machine, plan, &division);
    double when = 0;

    begin(&at, plan);
    if (division.early > 0) {
        when = carry(&at, &plan->schedule, division.early, 0);
    }
    if (division.rest > 0) {
        when = carry(&at, &division.schedule, division.rest, at.early);
    }
    return when;
}
