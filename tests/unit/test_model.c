/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The cost model on machines whose times can be worked out by hand: a block takes 1000 ns to copy
 * and 1000 ns on the wire, unless a test says otherwise. (Against the simulator: test_predict.)
 */
#include <math.h>

#include "model/choose.h"
#include "model/equations.h"
#include "model/in_place.h"
#include "model/staged.h"
#include "unit.h"

#define PAYLOAD 4088u

static struct rbuf_machine even_machine(void)
{
    return (struct rbuf_machine){.latency_ns = 1000,
                                 .gap_ns = 100,
                                 .overhead_ns = 50,
                                 .bytes_per_ns = 4.096,
                                 .send_copy = rbuf_copy_speed_constant(4.088),
                                 .receive_copy = rbuf_copy_speed_constant(4.088),
                                 .register_ns = 68000,
                                 .register_page_ns = 200,
                                 .page_bytes = 4096,
                                 .block_ns = 10,
                                 .ack_ns = 30,
                                 .rendezvous_ns = 200,
                                 .finish_ns = 70};
}

static struct rbuf_plan plan_of(uint16_t first, uint8_t buffers)
{
    return (struct rbuf_plan){.schedule = {.block_bytes = 4096,
                                           .growth = RBUF_GROWTH_ONE,
                                           .first_blocks = first,
                                           .buffer_blocks = first,
                                           .buffers = buffers},
                              .arrival = RBUF_ARRIVAL_BLOCK};
}

static void check_ns(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 0.01, "%.3f ns, not %.3f", found, expected);
}

START_TEST(copy_speed)
{
    struct rbuf_copy_speed speed = {
        .count = 3, .bytes = {1024, 4096, 65536}, .bytes_per_ns = {8, 4, 2}};

    check_ns(rbuf_copy_speed_at(&speed, 1), 8);
    check_ns(rbuf_copy_speed_at(&speed, 1024), 8);
    check_ns(rbuf_copy_speed_at(&speed, 2048), 6);
    check_ns(rbuf_copy_speed_at(&speed, 4096), 4);
    check_ns(rbuf_copy_speed_at(&speed, 16384), 3);
    check_ns(rbuf_copy_speed_at(&speed, 65536), 2);
    check_ns(rbuf_copy_speed_at(&speed, UINT64_MAX), 2);
    speed = rbuf_copy_speed_constant(5);
    check_ns(rbuf_copy_speed_at(&speed, 1), 5);
    check_ns(rbuf_copy_speed_at(&speed, UINT64_MAX), 5);
}
END_TEST

/* Two chunks of a block each, in two buffers: filled at 1000 and 2050, on the wire from 1050 and
 * (after the gap) 2150, there 2000 ns later, copied in 1010. */
START_TEST(two_chunks)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(1, 2);

    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 5160);
    plan.rendezvous = RBUF_RENDEZVOUS_SERIAL;
    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 5160 + 2200);
    plan.rendezvous = RBUF_RENDEZVOUS_OVERLAPPED; /* the first block is ready at 2200, not 1000 */
    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 5160 + 1200);
}
END_TEST

/* A first chunk that takes longer than the rendezvous is hidden in part. */
START_TEST(long_first_chunk)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(3, 2);

    plan.rendezvous = RBUF_RENDEZVOUS_OVERLAPPED;
    machine.gap_ns = 0;
    /* Filled at 50 + 3000, posted at 3100; the first block is there at 5100. */
    check_ns(rbuf_model_staged(&machine, &plan, 3 * PAYLOAD), 5100 + 3 * 1010);
}
END_TEST

/* The message behind the last chunk: of 1024 bytes, 250 ns. Posted at 3150, it goes before the
 * third block, which is there 350 ns later than at 7100; behind a chunk of one block it comes last.
 */
START_TEST(last_message)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(3, 2);

    machine.control_bytes = 1024;
    plan.rendezvous = RBUF_RENDEZVOUS_OVERLAPPED;
    check_ns(rbuf_model_staged(&machine, &plan, 3 * PAYLOAD), 7100 + 350 + 1010);
    machine.receive_copy = rbuf_copy_speed_constant(40.88);
    plan = plan_of(1, 2);
    plan.rendezvous = RBUF_RENDEZVOUS_SERIAL; /* posted at 3250, out until 4250 */
    check_ns(rbuf_model_staged(&machine, &plan, PAYLOAD), 4250 + 350 + 1000);
}
END_TEST

/* With one buffer the second chunk waits for the acknowledgement of the first, which is copied at
 * 4060, written by 4090 and there 1000 ns and 8 bytes later. */
START_TEST(one_buffer)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(1, 1);
    double acked = 4090 + 1000 + 8 / 4.096;

    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), acked + 50 + 2000 + 1010);
}
END_TEST

/* The receiver copies a block in 2010 ns, so that it is what the second chunk waits for, and the
 * third for its acknowledgement of the first, copied at 5060. */
START_TEST(slow_receiver)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(1, 2);

    machine.receive_copy = rbuf_copy_speed_constant(2.044);
    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 3050 + 2 * 2010);
    check_ns(rbuf_model_staged(&machine, &plan, 3 * PAYLOAD),
             5090 + 1000 + 8 / 4.096 + 50 + 2000 + 2010);
    plan = plan_of(1, 3); /* nobody waits for an acknowledgement */
    check_ns(rbuf_model_staged(&machine, &plan, 3 * PAYLOAD), 3050 + 3 * 2010);
}
END_TEST

/* Two blocks in one chunk, copied in 500 ns each: the last block is what is missing at the end, or,
 * without looking at blocks, both. */
START_TEST(blocks_and_chunks)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(2, 2);

    machine.send_copy = machine.receive_copy = rbuf_copy_speed_constant(8.176);
    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 1050 + 2000 + 1000 + 510);
    plan.arrival = RBUF_ARRIVAL_CHUNK;
    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 1050 + 2000 + 1000 + 1020);
    machine.pass_ns = 50;
    machine.pass_bytes = 2 * PAYLOAD - 7; /* two blocks a pass: 25 ns a block on either side */
    check_ns(rbuf_model_staged(&machine, &plan, 2 * PAYLOAD), 1075 + 2000 + 1000 + 1045);
}
END_TEST

/* A short message is one short block. */
START_TEST(short_block)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = plan_of(1, 2);

    check_ns(rbuf_model_staged(&machine, &plan, 2044), 500 + 50 + 2052 / 4.096 + 1000 + 500 + 10);
}
END_TEST

START_TEST(raw_and_in_place)
{
    struct rbuf_machine machine = even_machine();
    uint64_t bytes = 16 * 4096;
    double raw = 50 + 1000 + 16000, registration = 68000 + 16 * 200, tail = 2000 + 70;

    check_ns(rbuf_model_raw(&machine, bytes), raw);
    check_ns(rbuf_model_registration(&machine, bytes), registration);
    check_ns(rbuf_model_registration(&machine, bytes + 1), registration + 200);
    check_ns(rbuf_model_rendezvous(&machine), 2200);
    check_ns(rbuf_model_in_place(&machine, bytes, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_NONE),
             registration + raw);
    check_ns(rbuf_model_in_place(&machine, bytes, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_NONE), raw);
    check_ns(rbuf_model_in_place(&machine, bytes, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL),
             2200 + 2 * registration + raw + tail);
    check_ns(rbuf_model_in_place(&machine, bytes, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_OVERLAPPED),
             2200 + registration + raw + tail);
    check_ns(
        rbuf_model_in_place(&machine, bytes, RBUF_REGISTERED_SENDER, RBUF_RENDEZVOUS_OVERLAPPED),
        50 + registration + raw + tail);
    check_ns(rbuf_model_in_place(&machine, bytes, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_SERIAL),
             2200 + raw + tail);
}
END_TEST

START_TEST(equations)
{
    struct rbuf_machine machine = even_machine();

    machine.bytes_per_ns = 2;
    machine.overhead_ns = 40;
    machine.send_copy = rbuf_copy_speed_constant(8);
    check_ns(rbuf_equation_pipeline(&machine, 65536, 8192), 2048 + 800 + 1000 + 32768);
    check_ns(rbuf_equation_slope(&machine, 65536, 8192), 0.25 - 0.09765625);
    check_ns(rbuf_equation_best_chunk(&machine, 65536), 5120);
    check_ns(rbuf_equation_slope(&machine, 65536, 5120), 0);
    check_ns(rbuf_equation_next_chunk(&machine, 65536, 4096), 8 * (2048 + 60));
    check_ns(rbuf_equation_growth(&machine, 65536), 4);
    check_ns(rbuf_equation_sum(1024, 2, 6), 64512);
    check_ns(rbuf_equation_sum(1024, 1, 6), 6144);
    check_ns(rbuf_equation_gaps(64512, 1024, 2), 6);
    check_ns(rbuf_equation_gaps(6144, 1024, 1), 6);
    check_ns(rbuf_equation_superpipeline(&machine, 64512, 1024, 2), 8320 + 600 + 1000 + 32256);
    check_ns(rbuf_equation_subblocked(&machine, 64512, 1024, 2, 4096), 512 + 600 + 1000 + 32256);
    check_ns(rbuf_equation_copy(&machine, 64512), 16128 + 1000 + 32256);
    check_ns(rbuf_equation_register(&machine, 64512), 71200 + 1000 + 32256);
    check_ns(rbuf_equation_first_chunk(&machine, 65536), 16000);
}
END_TEST

START_TEST(plans)
{
    struct rbuf_machine machine = even_machine();
    struct rbuf_plan plan = rbuf_plan_copy(3 * PAYLOAD + 1, 4096);
    struct rbuf_extent extent;

    ck_assert(rbuf_schedule_valid(&plan.schedule));
    rbuf_schedule_measure(&plan.schedule, 3 * PAYLOAD + 1, &extent);
    ck_assert_uint_eq(extent.chunks, 1);
    ck_assert_uint_eq(extent.blocks, 4);

    /* sqrt(2^20 * 100 * 4.088 / 2) = 14639.8 bytes: 4 blocks. */
    plan = rbuf_plan_pipeline(&machine, 1u << 20, 4096);
    ck_assert(rbuf_schedule_valid(&plan.schedule));
    ck_assert_uint_eq(plan.schedule.first_blocks, 4);
    ck_assert_uint_eq(plan.schedule.buffer_blocks, 4);
    ck_assert_uint_eq(plan.schedule.growth, RBUF_GROWTH_ONE);
    machine.gap_ns = 1e6; /* a chunk longer than the message */
    plan = rbuf_plan_pipeline(&machine, 65536, 4096);
    ck_assert_uint_eq(plan.schedule.first_blocks, 17);
    machine.gap_ns = 0;
    plan = rbuf_plan_pipeline(&machine, 65536, 4096);
    ck_assert_uint_eq(plan.schedule.first_blocks, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");

    unit_add(suite, copy_speed);
    unit_add(suite, two_chunks);
    unit_add(suite, long_first_chunk);
    unit_add(suite, last_message);
    unit_add(suite, one_buffer);
    unit_add(suite, slow_receiver);
    unit_add(suite, blocks_and_chunks);
    unit_add(suite, short_block);
    unit_add(suite, raw_and_in_place);
    unit_add(suite, equations);
    unit_add(suite, plans);
    return unit_run(suite);
}
