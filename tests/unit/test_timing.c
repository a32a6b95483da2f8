/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Simulated times against the model of Denis 2011: the superpipeline against equation 9, the fixed
 * pipeline against equation 1, on the paper's clusters. Times run from the start of the put (the
 * first chunk is copied under the rendezvous) to the delivery of its FIN.
 */
#include <math.h>

#include "case.h"
#include "softhca/profile_figures.h"
#include "unit.h"

#define PAYLOAD 4088.0
#define BLOCK   4096.0
#define COPY    6.0 /* bytes/ns */

struct cluster {
    double net;     /* bytes/ns */
    double latency; /* ns */
    double copy;    /* bytes/ns */
    double gap;     /* ns */
};

static const struct cluster graphene = {SOFTHCA_GRAPHENE_BANDWIDTH / 1e9, SOFTHCA_GRAPHENE_LATENCY,
                                        COPY, 0};
static const struct cluster graphene_gap = {SOFTHCA_GRAPHENE_BANDWIDTH / 1e9,
                                            SOFTHCA_GRAPHENE_LATENCY, COPY, 500};
static const struct cluster infini = {SOFTHCA_INFINI_BANDWIDTH / 1e9, SOFTHCA_INFINI_LATENCY, COPY,
                                      0};

static struct world_options on(const struct cluster *cluster)
{
    struct world_options options = world_defaults();

    options.model.bytes_per_ns = cluster->net;
    options.model.latency_ns = (uint64_t) cluster->latency;
    options.model.gap_ns = (uint64_t) cluster->gap;
    options.copy_bytes_per_ns = cluster->copy;
    options.core.schedule.buffer_blocks = 512; /* the model knows no largest chunk */
    options.prestage = true;                   /* nor early data, which hide more */
    options.send_bytes = options.receive_bytes = 32u << 20;
    return options;
}

/* The time of one put, ns. */
static double put_time(const struct world_options *options, uint64_t bytes)
{
    struct world *world = world_open(options);
    struct world_message *message = world_send(world, WORLD_PUT, 0, 1, bytes);
    double time;

    case_run(world);
    time = (double) (message->arrived_ns - message->put_ns);
    case_close(world);
    return time;
}

/* L on the wire, with its flags. */
static double wire(const struct cluster *cluster, double bytes)
{
    return bytes * (BLOCK / PAYLOAD) / cluster->net + cluster->latency;
}

static double equation_9(const struct cluster *cluster, double bytes, double first, double growth)
{
    double gaps = log1p(bytes / first * (growth - 1)) / log(growth);

    return BLOCK / cluster->copy + cluster->gap * gaps + wire(cluster, bytes);
}

/* The first chunk is copied under the rendezvous here too, so one copy of a chunk is left. */
static double equation_1(const struct cluster *cluster, double bytes, double chunk)
{
    return chunk / cluster->copy + bytes / chunk * cluster->gap + wire(cluster, bytes);
}

static void check(const char *what, double bytes, double measured, double model, double most)
{
    double off = measured / model - 1;

    printf("%-24s %9.0f bytes %10.1f us, model %10.1f us (%+.1f %%)\n", what, bytes,
           measured / 1000, model / 1000, 100 * off);
    ck_assert_msg(fabs(off) <= most, "%s, %.0f bytes: %.0f ns, %.0f by the model", what, bytes,
                  measured, model);
}

static void check_superpipeline(const char *what, const struct cluster *cluster, double most)
{
    const uint64_t sizes[] = {65536, 262144, 1048576, 16777216};
    struct world_options options = on(cluster);

    for (size_t i = 0; i < 4; i++) {
        double model = equation_9(cluster, (double) sizes[i], 3 * BLOCK, 1.5);

        check(what, (double) sizes[i], put_time(&options, sizes[i]), model, most);
    }
}

START_TEST(superpipeline_by_equation_9)
{
    check_superpipeline("graphene", &graphene, 0.02);
    check_superpipeline("graphene, gap 500 ns", &graphene_gap, 0.02);
    check_superpipeline("infini", &infini, 0.02);
}
END_TEST

START_TEST(pipeline_by_equation_1)
{
    const uint64_t sizes[] = {65536, 262144, 1048576, 16777216};

    for (size_t i = 0; i < 4; i++) {
        struct world_options options = on(&graphene_gap);
        double chunk = sqrt((double) sizes[i] * graphene_gap.gap * graphene_gap.copy / 2);

        /* Equation 3's chunk, seen as a whole by the receiver. */
        options.core.schedule.growth = RBUF_GROWTH_ONE;
        options.core.schedule.first_blocks = (uint16_t) lround(chunk / BLOCK);
        options.core.arrival = RBUF_ARRIVAL_CHUNK;
        check("pipeline, gap 500 ns", (double) sizes[i], put_time(&options, sizes[i]),
              equation_1(&graphene_gap, (double) sizes[i],
                         options.core.schedule.first_blocks * BLOCK),
              0.02);
    }
}
END_TEST

/* What folding and both directions cost: little. */
START_TEST(folded_and_both_ways)
{
    struct world_options options = on(&graphene);
    struct world_message *there, *back;
    struct world *world;
    double alone;

    options.core.schedule.buffer_blocks = 64;
    alone = put_time(&options, 16u << 20);
    check("graphene, 256 KB, 3 buffers", 16u << 20, alone,
          equation_9(&graphene, 16u << 20, 3 * BLOCK, 1.5), 0.02);
    world = world_open(&options);
    there = world_send(world, WORLD_PUT, 0, 1, 16u << 20);
    back = world_send(world, WORLD_PUT, 1, 0, 16u << 20);
    case_run(world);
    check("both ways at once", 16u << 20, (double) (there->arrived_ns - there->put_ns), alone,
          0.03);
    check("both ways at once", 16u << 20, (double) (back->arrived_ns - back->put_ns), alone, 0.03);
    case_close(world);
}
END_TEST

/* Nothing but the inputs decides. */
START_TEST(the_same_again)
{
    struct world_options options = on(&graphene);

    options.faults.jitter_ns = 1000;
    options.faults.completion_delay_ns = 1000;
    ck_assert(put_time(&options, 1000000) == put_time(&options, 1000000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timing");

    unit_add(suite, superpipeline_by_equation_9);
    unit_add(suite, pipeline_by_equation_1);
    unit_add(suite, folded_and_both_ways);
    unit_add(suite, the_same_again);
    return unit_run(suite);
}
