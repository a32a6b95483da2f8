/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The thread of protocol helper, its hooks and its sleep, by real threads under ThreadSanitizer
 * where that runs: registration/helper.c, registration/hooks.c and registration/registration.c as
 * they ship. What they call of Open MPI, verbs and the rest of the glue is here.
 *
 * Threads use buffers and give memory back to the system, which is a version that changes behind
 * the hook. A registration knows of which version it is, and there is room for a few only. Another
 * thread gives back memory that is nobody's, while the helper comes and goes.
 */
#include "registration/registrar.h"

#include <pthread.h>
#include <unistd.h>

#include "verbs/port.h"
#include "registration/call_stack.h"
#include "params/help.h"
#include "registration/hooks.h"
#include "params/params.h"
#include "registration/sharing.h"
#include "opal/mca/memory/base/base.h"
#include "opal/memoryhooks/memory.h"
#include "opal/runtime/opal_progress.h"
#include "unit.h"

#define APPLICATIONS 2u
#define BUFFERS      4u                       /* of each */
#define SHARED       (APPLICATIONS * BUFFERS) /* a buffer that all use, and that stays */
#define LIMIT        4                        /* registrations at a time */
#define AHEAD        20u
#define ROUNDS       400u
#define ROUNDS_MOST  20000u
#define PAUSE_US     200
#define BYTES        (16ull * 4096)

struct region {
    struct ibv_mr mr; /* first: it is what others know of it */
    uint64_t version;
    _Atomic uint32_t users;
};

static _Atomic uint64_t version[SHARED + 1];
static _Atomic int registrations;
static _Atomic uint32_t refused; /* for want of room */
static _Atomic uint32_t looks;   /* for a core */
static _Atomic bool over;
static bool no_hooks;
static const char *told; /* the newest help text */
static _Atomic(opal_mem_hooks_callback_fn_t *) hook;
static _Atomic(opal_progress_callback_t) progress;
/* What must not be; checked at the end, since Check is not for threads. */
static _Atomic uint32_t outdated, pulled_away, failed;

static _Thread_local uint64_t site;
static struct rbuf_port port;
static const mca_btl_rbuf_policy_t *const helped = &mca_btl_rbuf_helped;
static mca_btl_rbuf_registrar_t registrar = {.port = &port};

static uint64_t base_of(uint32_t buffer)
{
    return 0x100000 + buffer * BYTES;
}

/* ---- in the place of others ---- */

struct mca_btl_rbuf_params mca_btl_rbuf_params = {.helper_min = 1,
                                                  .helper_delay = 100000,
                                                  .helper_regions = 64,
                                                  .registration_time = 1000,
                                                  .registration_page_time = 10};
struct rbuf_memory_stats rbuf_memory_stats;
opal_process_info_t opal_process_info;
mca_base_framework_t opal_memory_base_framework;

void mca_btl_rbuf_help(const char *topic, ...)
{
    told = topic;
}

void mca_btl_rbuf_verbose(const char *format, ...)
{
    (void) format;
}

bool mca_btl_rbuf_call_stack_open(void)
{
    return true;
}

uint64_t mca_btl_rbuf_call_stack_hash(void)
{
    return site;
}

void mca_btl_rbuf_sharing_open(void)
{
}

void mca_btl_rbuf_sharing_close(void)
{
}

/* Once in a while there is no core. */
struct rbuf_sharing_assignment mca_btl_rbuf_sharing_look(const struct rbuf_sharing_rank *rank,
                                                         uint64_t *slice_ns)
{
    (void) rank;
    *slice_ns = 0;
    return (struct rbuf_sharing_assignment){
        .core = atomic_fetch_add(&looks, 1) % 4 == 3 ? RBUF_SHARING_NONE : RBUF_SHARING_ANY};
}

int rbuf_register(struct rbuf_port *of, void *base, size_t bytes, unsigned access,
                  struct ibv_mr **mr, struct rbuf_problem *problem)
{
    struct region *region;

    (void) of, (void) bytes, (void) access;
    if (atomic_fetch_add(&registrations, 1) >= LIMIT) {
        atomic_fetch_sub(&registrations, 1);
        atomic_fetch_add(&refused, 1);
        return rbuf_problem_set(problem, "memlock", -ENOMEM, "%d registrations", LIMIT);
    }
    region = calloc(1, sizeof(*region));
    region->version = atomic_load(&version[((uintptr_t) base - base_of(0)) / BYTES]);
    *mr = &region->mr;
    return 0;
}

int rbuf_deregister(struct ibv_mr *mr)
{
    struct region *region = (struct region *) mr;

    atomic_fetch_add(&pulled_away, atomic_load(&region->users) != 0);
    free(region);
    atomic_fetch_sub(&registrations, 1);
    return 0;
}

bool __wrap_mca_btl_rbuf_hooks_install(void);
bool __wrap_mca_btl_rbuf_hooks_install(void)
{
    return true;
}

int mca_base_framework_open(mca_base_framework_t *framework, mca_base_open_flag_t flags)
{
    (void) framework, (void) flags;
    return OPAL_ERROR;
}

int opal_mem_hooks_support_level(void)
{
    return 0;
}

int opal_mem_hooks_register_release(opal_mem_hooks_callback_fn_t *function, void *context)
{
    (void) context;
    if (no_hooks) {
        return OPAL_ERROR;
    }
    atomic_store(&hook, function);
    return OPAL_SUCCESS;
}

int opal_mem_hooks_unregister_release(opal_mem_hooks_callback_fn_t *function)
{
    (void) function;
    atomic_store(&hook, NULL);
    return OPAL_SUCCESS;
}

int opal_progress_register(opal_progress_callback_t function)
{
    atomic_store(&progress, function);
    return OPAL_SUCCESS;
}

int opal_progress_unregister(opal_progress_callback_t function)
{
    (void) function; /* it is harmless to call it still */
    return OPAL_SUCCESS;
}

static void release(uint64_t base, uint64_t bytes)
{
    opal_mem_hooks_callback_fn_t *function = atomic_load(&hook);

    if (function != NULL) {
        function((void *) (uintptr_t) base, bytes, NULL, false);
    }
}

/* ---- the threads ---- */

static void use(uint32_t buffer)
{
    struct rbuf_problem problem;
    mca_btl_rbuf_registration_t *registration = helped->get(
        &registrar, 0, (void *) (uintptr_t) base_of(buffer), BYTES, MCA_BTL_RBUF_TARGET, &problem);
    struct region *region;

    (void) atomic_load (&progress)();
    if (registration == NULL) {
        atomic_fetch_add(&failed, 1);
        return;
    }
    region = (struct region *) registration->mr;
    atomic_fetch_add(&region->users, 1);
    atomic_fetch_add(&outdated, region->version != atomic_load(&version[buffer]));
    atomic_fetch_sub(&region->users, 1);
    helped->put(&registrar, registration);
}

static uint64_t ahead(void)
{
    struct mca_btl_rbuf_helper_counters counters;

    helped->count(&registrar, &counters);
    return counters.ahead;
}

static void *be_application(void *data)
{
    const uint32_t first = *(const uint32_t *) data * BUFFERS;

    for (uint32_t i = 0; i < ROUNDS || (i < ROUNDS_MOST && ahead() < AHEAD); i++) {
        const uint32_t next = first + (i + 1) % BUFFERS;

        site = 1 + first + i % BUFFERS;
        use(first + i % BUFFERS);
        use(SHARED);
        if (i % 23 == 0) {
            release(base_of(next), BYTES);
            sched_yield();
            atomic_fetch_add(&version[next], 1);
        }
        usleep(PAUSE_US);
    }
    return NULL;
}

static void *release_others(void *data)
{
    (void) data;
    while (!atomic_load(&over)) {
        release(base_of(SHARED + 1), BYTES);
        sched_yield();
    }
    return NULL;
}

START_TEST(applications_hooks_and_the_thread)
{
    uint32_t number[APPLICATIONS];
    pthread_t application[APPLICATIONS], other;
    struct mca_btl_rbuf_helper_counters counters;

    ck_assert_int_eq(pthread_create(&other, NULL, release_others, NULL), 0);
    for (unsigned turn = 0; turn < 2; turn++) {
        ck_assert(helped->open(&registrar));
        for (uint32_t i = 0; i < APPLICATIONS; i++) {
            number[i] = i;
            ck_assert_int_eq(pthread_create(&application[i], NULL, be_application, &number[i]), 0);
        }
        for (uint32_t i = 0; i < APPLICATIONS; i++) {
            pthread_join(application[i], NULL);
        }
        helped->count(&registrar, &counters);
        printf("ahead %llu, ready %llu, stale %llu, refused %u\n",
               (unsigned long long) counters.ahead, (unsigned long long) counters.ready,
               (unsigned long long) counters.stale, refused);
        ck_assert_uint_ge(counters.ahead, AHEAD);
        ck_assert_uint_gt(counters.stale, 0);
        helped->close(&registrar);
        ck_assert_int_eq(registrations, 0);
    }
    atomic_store(&over, true);
    pthread_join(other, NULL);
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_eq(outdated, 0);
    ck_assert_uint_eq(pulled_away, 0);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

/* Who cannot be told of memory that goes has no helper, and says so. */
START_TEST(a_refused_hook_is_told)
{
    told = NULL;
    no_hooks = true;
    ck_assert(!helped->open(&registrar));
    no_hooks = false;
    ck_assert_str_eq(told, "no helper thread");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("the helper's thread");

    unit_add(suite, a_refused_hook_is_told);
    unit_add(suite, applications_hooks_and_the_thread);
    return unit_run(suite);
}
