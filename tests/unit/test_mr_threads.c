/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the helper shares with other threads, by real ones, under ThreadSanitizer where that runs.
 *
 * Threads use buffers and unmap and map them anew, which is a version that changes behind the hook,
 * as the memory does. A registration is an object that knows of which version it is. Nobody may
 * ever be given one of an older version, none is deregistered while it is in use, and none is lost.
 */
#include <pthread.h>

#include "core/helper/helper.h"
#include "unit.h"

#define APPLICATIONS 3u
#define BUFFERS      8u /* of each thread */
#define ROUNDS       5000u
#define AHEAD        100u /* registrations by the helper, so that there is something to see */
#define BYTES        (4ull * RBUF_MR_PAGE)
#define TICK_NS      10000u

struct registration {
    uint64_t version;
    _Atomic uint32_t users;
};

struct world {
    struct rbuf_helper helper;
    _Atomic uint64_t ticks; /* the clock: one a message */
    _Atomic uint64_t version[APPLICATIONS * BUFFERS + 1];
    _Atomic int64_t registrations;
    _Atomic uint32_t ahead;
    _Atomic bool over;
    /* What must not be; checked at the end, since Check is not for threads. */
    _Atomic uint32_t outdated;    /* uses of a registration of older memory */
    _Atomic uint32_t pulled_away; /* deregistrations while in use */
};

struct application {
    struct world *world;
    uint32_t number;
};

static uint64_t base_of(uint32_t buffer)
{
    return 0x100000 + buffer * BYTES;
}

/* Lets the others do what they can between two steps. */
static void linger(void)
{
    for (unsigned i = 0; i < 4; i++) {
        sched_yield();
    }
}

static struct registration *register_it(struct world *world, const struct rbuf_mr *mr)
{
    struct registration *registration = calloc(1, sizeof(*registration));
    uint64_t buffer = (rbuf_mr_begin(mr) - base_of(0)) / BYTES;

    registration->version = atomic_load(&world->version[buffer]);
    atomic_fetch_add(&world->registrations, 1);
    return registration;
}

static void deregister_it(struct world *world, struct rbuf_mr *mr)
{
    struct registration *registration = mr->handle;

    atomic_fetch_add(&world->pulled_away, atomic_load(&registration->users) != 0);
    atomic_fetch_sub(&world->registrations, 1);
    free(registration);
}

static void use(struct world *world, uint32_t buffer, uint32_t site)
{
    struct rbuf_use point = {.frames = 1 + site, .base = base_of(buffer), .bytes = BYTES};
    struct registration *registration;
    struct rbuf_mr *mr;
    enum rbuf_mr_taken taken = rbuf_mr_take(&world->helper.mrs, point.base, BYTES, 1, &mr);

    if (taken == RBUF_MR_COMING) {
        sched_yield();
        taken = rbuf_mr_take(&world->helper.mrs, point.base, BYTES, 1, &mr);
    }
    if (taken == RBUF_MR_COMING) {
        taken = rbuf_mr_claim(&world->helper.mrs, point.base, BYTES, 1, &mr);
    }

    point.time_ns = atomic_fetch_add(&world->ticks, 1) * TICK_NS;
    if (taken == RBUF_MR_NO_SLOT) {
        return;
    }
    if (taken == RBUF_MR_TO_REGISTER) {
        rbuf_mr_publish(mr, register_it(world, mr), 1);
    }
    registration = mr->handle;
    atomic_fetch_add(&registration->users, 1);
    atomic_fetch_add(&world->outdated,
                     registration->version != atomic_load(&world->version[buffer]));
    (void) rbuf_use_queue_put(&world->helper.points, &point);
    atomic_fetch_sub(&registration->users, 1);
    rbuf_mr_give(&world->helper.mrs, mr);
}

static void *be_application(void *data)
{
    const struct application *application = data;
    struct world *world = application->world;

    for (uint32_t i = 0; i < ROUNDS || (atomic_load(&world->ahead) < AHEAD && i < 100 * ROUNDS);
         i++) {
        uint32_t mine = application->number * BUFFERS + i % BUFFERS;

        use(world, mine, application->number);
        use(world, APPLICATIONS * BUFFERS, 0); /* everybody's, which stays */
        if (i % 7 == 0) {
            /* The next one, which may be planned, or is being registered, or deregistered. */
            mine = application->number * BUFFERS + (i + 1) % BUFFERS;
            (void) rbuf_mr_stale(&world->helper.mrs, base_of(mine), BYTES);
            linger();
            atomic_fetch_add(&world->version[mine], 1);
        }
    }
    return NULL;
}

static void *be_helper(void *data)
{
    struct world *world = data;
    struct rbuf_helper *helper = &world->helper;
    struct rbuf_mr *mr;

    while (!atomic_load(&world->over)) {
        const uint64_t ticks = atomic_load(&world->ticks); /* each is a call of progress, too */
        struct rbuf_helper_order order = rbuf_helper_next(helper, ticks * TICK_NS, ticks);

        if (order.task == RBUF_HELPER_REGISTER) {
            struct registration *registration = register_it(world, order.mr);

            linger();
            rbuf_helper_registered(helper, order.mr, registration, 1000);
            atomic_fetch_add(&world->ahead, 1);
        } else if (order.task == RBUF_HELPER_DEREGISTER) {
            deregister_it(world, order.mr);
            linger();
            rbuf_helper_deregistered(helper, order.mr, 1000);
        } else {
            sched_yield();
        }
    }
    while ((mr = rbuf_helper_drain(helper)) != NULL) {
        deregister_it(world, mr);
        rbuf_helper_deregistered(helper, mr, 1000);
    }
    return NULL;
}

START_TEST(applications_hooks_and_helper)
{
    static struct world world;
    struct application application[APPLICATIONS];
    struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;
    pthread_t thread[APPLICATIONS], helper;

    options.regions = 64;
    options.sites = 64;
    options.points = 16;
    options.wake_ns = 0;
    options.grace_ns = TICK_NS;
    options.delay_ns = 2 * TICK_NS;
    atomic_store(&world.ticks, 1);
    ck_assert_int_eq(rbuf_helper_open(&world.helper, &options), 0);
    ck_assert_int_eq(pthread_create(&helper, NULL, be_helper, &world), 0);
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        application[i] = (struct application){.world = &world, .number = i};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, be_application, &application[i]), 0);
    }
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        pthread_join(thread[i], NULL);
    }
    atomic_store(&world.over, true);
    pthread_join(helper, NULL);
    printf("ahead %llu, taken %llu, stale %llu, lost points %llu\n",
           (unsigned long long) world.helper.counters.ahead,
           (unsigned long long) world.helper.mrs.counters.registered,
           (unsigned long long) world.helper.mrs.counters.stale,
           (unsigned long long) world.helper.points.lost);
    ck_assert_uint_eq(world.outdated, 0);
    ck_assert_uint_eq(world.pulled_away, 0);
    ck_assert_int_eq(world.registrations, 0);
    ck_assert_uint_ge(world.helper.counters.ahead, AHEAD);
    ck_assert_uint_gt(world.helper.mrs.counters.stale, 0);
    rbuf_helper_close(&world.helper);
}
END_TEST

/* Each point comes once, whole, and in its writer's order; lost are those that were refused. */
struct writer {
    struct rbuf_use_queue *points;
    uint32_t number;
};

static void *write_points(void *data)
{
    const struct writer *writer = data;

    for (uint64_t i = 1; i <= ROUNDS; i++) {
        const struct rbuf_use point = {.time_ns = i, .bytes = i, .peer = writer->number};

        (void) rbuf_use_queue_put(writer->points, &point);
    }
    return NULL;
}

START_TEST(points)
{
    struct rbuf_use_queue points;
    struct writer writer[APPLICATIONS];
    pthread_t thread[APPLICATIONS];
    uint64_t last[APPLICATIONS] = {0}, read = 0;
    struct rbuf_use point;

    ck_assert_int_eq(rbuf_use_queue_open(&points, 8), 0);
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        writer[i] = (struct writer){.points = &points, .number = i};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, write_points, &writer[i]), 0);
    }
    while (read + atomic_load(&points.lost) < (uint64_t) ROUNDS * APPLICATIONS) {
        if (rbuf_use_queue_get(&points, &point)) {
            ck_assert_uint_eq(point.time_ns, point.bytes);
            ck_assert_uint_gt(point.time_ns, last[point.peer]);
            last[point.peer] = point.time_ns;
            read++;
        }
    }
    for (uint32_t i = 0; i < APPLICATIONS; i++) {
        pthread_join(thread[i], NULL);
    }
    ck_assert(!rbuf_use_queue_get(&points, &point));
    ck_assert_uint_ge(read, 8);
    rbuf_use_queue_close(&points);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory regions and threads");

    unit_add(suite, applications_hooks_and_helper);
    unit_add(suite, points);
    return unit_run(suite);
}
