/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The probe of an adapter's order, which must say what order_probe.sh has told it by its argument:
 * clean (without one, too), early or unable. Whatever it says, it must leave nothing and end in
 * time. Without an adapter the test is skipped.
 *
 * Calls of the verbs are counted from 1 for the whole test: opening the port takes one of
 * create_cq and create_qp and three of modify_qp, and no other port is opened before.
 */
#include "unit.h"

#include <errno.h>
#include <infiniband/verbs.h>

#include "adapter.h"
#include "verbs/order_probe.h"

/* The probe is given 20 ms; a thread that is not let run has used less than that. */
#define MOST_CPU_NS 40000000u
#define REPEATS     5
#define ATTEMPTS    200 /* on a busy machine the adapter's thread may not be let run for as long */

static enum rbuf_order_probe_result expected = RBUF_ORDER_PROBE_CLEAN;
static int made; /* completion queues and queue pairs that are not destroyed */

/* The linker puts these in the place of libibverbs' (-Wl,--wrap). */
struct ibv_cq *__real_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                    struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                    struct ibv_comp_channel *channel, int comp_vector);
int __real_ibv_destroy_cq(struct ibv_cq *cq);
int __wrap_ibv_destroy_cq(struct ibv_cq *cq);
struct ibv_qp *__real_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
int __real_ibv_destroy_qp(struct ibv_qp *qp);
int __wrap_ibv_destroy_qp(struct ibv_qp *qp);

struct ibv_cq *__wrap_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                    struct ibv_comp_channel *channel, int comp_vector)
{
    struct ibv_cq *cq = __real_ibv_create_cq(context, cqe, cq_context, channel, comp_vector);

    made += cq != NULL;
    return cq;
}

int __wrap_ibv_destroy_cq(struct ibv_cq *cq)
{
    int error = __real_ibv_destroy_cq(cq);

    made -= error == 0;
    return error;
}

struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
    struct ibv_qp *qp = __real_ibv_create_qp(pd, attributes);

    made += qp != NULL;
    return qp;
}

int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
    int error = __real_ibv_destroy_qp(qp);

    made -= error == 0;
    return error;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* One run, with what is so of each. */
static struct rbuf_order_probe probe_once(struct rbuf_port *port)
{
    const uint64_t registered = atomic_load(&rbuf_memory_stats.registered);
    const int made_before = made;
    const uint64_t start = cpu_ns();
    struct rbuf_order_probe probe;

    memset(&probe, 0xff, sizeof(probe));
    rbuf_order_probe_run(port, &probe);
    ck_assert_uint_le(cpu_ns() - start, MOST_CPU_NS);
    ck_assert_int_eq(made, made_before);
    ck_assert_uint_eq(atomic_load(&rbuf_memory_stats.registered), registered);
    switch (probe.result) {
    case RBUF_ORDER_PROBE_CLEAN:
        ck_assert_uint_ge(probe.writes, 1);
        break;
    case RBUF_ORDER_PROBE_EARLY:
        ck_assert_uint_ge(probe.writes, 1);
        ck_assert_uint_ge(probe.bytes, 16);
        ck_assert_uint_eq(probe.bytes % 8, 0);
        ck_assert_uint_eq(probe.ending % 8, 0);
        ck_assert_uint_lt(probe.ending, 256);
        return probe;
    case RBUF_ORDER_PROBE_UNABLE:
        break;
    default:
        ck_abort_msg("result %d", (int) probe.result);
    }
    ck_assert_uint_eq(probe.bytes, 0);
    ck_assert_uint_eq(probe.ending, 0);
    return probe;
}

/* What a lack of processor time may have made of the expected result. */
static bool may_be_slowness(const struct rbuf_order_probe *probe)
{
    return probe->result != expected && probe->result != RBUF_ORDER_PROBE_EARLY &&
           expected != RBUF_ORDER_PROBE_UNABLE;
}

START_TEST(the_probe_says_what_is_so)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_order_probe probe;
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    unsigned before;
    size_t count;
    int attempts = 0;

    adapter_ok(rbuf_ports_open(&options, &ports, &count, &problem), &problem);
    before = unit_descriptors();
    for (int i = 0; i < (expected == RBUF_ORDER_PROBE_UNABLE ? 1 : REPEATS); i++) {
        do {
            probe = probe_once(ports[0]);
        } while (may_be_slowness(&probe) && ++attempts < ATTEMPTS);
        ck_assert_int_eq(probe.result, expected);
        printf("# %u writes; %u bytes, ending %#x\n", probe.writes, probe.bytes, probe.ending);
    }
    ck_assert_uint_eq(unit_descriptors(), before);
    ck_assert_int_eq(made, 0);
    rbuf_ports_close(ports, count);
}
END_TEST

static bool expect(const char *name)
{
    static const char *const names[] = {"clean", "early", "unable"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            expected = (enum rbuf_order_probe_result) i;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    Suite *suite = suite_create("order_probe");

    if (argc > 1 && !expect(argv[1])) {
        fprintf(stderr, "usage: %s [clean|early|unable]\n", argv[0]);
        return 2;
    }
    if (ibv_get_device_list(NULL) == NULL) {
        printf("skipped: there is no adapter\n");
        return ADAPTER_NONE;
    }
    unit_add(suite, the_probe_says_what_is_so);
    return unit_run(suite);
}
