/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copy speeds between measured points, and the terms of the machine's numbers.
 */
#include "model/machine.h"

#include <math.h>

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
