/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The paper's equations, as printed: chunks are real numbers, both sides copy at the sender's
 * speed, nothing is acknowledged, and neither flags nor o cost anything but where the equation has
 * them.
 */
#include "model/equations.h"

#include <math.h>

static double copy_speed(const struct rbuf_machine *machine, double bytes)
{
    return rbuf_copy_speed_at(&machine->send_copy, (uint64_t) bytes);
}

static double net(const struct rbuf_machine *machine, double bytes)
{
    return machine->latency_ns + bytes / machine->bytes_per_ns;
}

double rbuf_equation_copy(const struct rbuf_machine *machine, double bytes)
{
    return 2 * bytes / copy_speed(machine, bytes) + net(machine, bytes);
}

double rbuf_equation_register(const struct rbuf_machine *machine, double bytes)
{
    return rbuf_model_registration(machine, (uint64_t) bytes) + net(machine, bytes);
}

double rbuf_equation_pipeline(const struct rbuf_machine *machine, double bytes, double chunk)
{
    return 2 * chunk / copy_speed(machine, bytes) + bytes / chunk * machine->gap_ns +
           net(machine, bytes);
}

double rbuf_equation_slope(const struct rbuf_machine *machine, double bytes, double chunk)
{
    return 2 / copy_speed(machine, bytes) - bytes / (chunk * chunk) * machine->gap_ns;
}

double rbuf_equation_best_chunk(const struct rbuf_machine *machine, double bytes)
{
    return sqrt(bytes * machine->gap_ns * copy_speed(machine, bytes) / 2);
}

double rbuf_equation_next_chunk(const struct rbuf_machine *machine, double bytes, double chunk)
{
    return copy_speed(machine, bytes) *
           (chunk / machine->bytes_per_ns + machine->gap_ns - machine->overhead_ns);
}

double rbuf_equation_growth(const struct rbuf_machine *machine, double bytes)
{
    return copy_speed(machine, bytes) / machine->bytes_per_ns;
}

double rbuf_equation_sum(double first, double growth, double gaps)
{
    return growth == 1 ? first * gaps : first * (1 - pow(growth, gaps)) / (1 - growth);
}

double rbuf_equation_gaps(double bytes, double first, double growth)
{
    return growth == 1 ? bytes / first : log1p(bytes / first * (growth - 1)) / log(growth);
}

double rbuf_equation_superpipeline(const struct rbuf_machine *machine, double bytes, double first,
                                   double growth)
{
    double gaps = rbuf_equation_gaps(bytes, first, growth);
    double last = first * pow(growth, gaps);

    return (first + last) / copy_speed(machine, bytes) + gaps * machine->gap_ns +
           net(machine, bytes);
}

double rbuf_equation_subblocked(const struct rbuf_machine *machine, double bytes, double first,
                                double growth, double block)
{
    return block / copy_speed(machine, bytes) +
           machine->gap_ns * rbuf_equation_gaps(bytes, first, growth) + net(machine, bytes);
}

double rbuf_equation_first_chunk(const struct rbuf_machine *machine, double bytes)
{
    return copy_speed(machine, bytes) * 2 * machine->latency_ns;
}
