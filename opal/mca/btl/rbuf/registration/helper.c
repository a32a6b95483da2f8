/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar's policy "helped", of protocol helper: a thread of the module registers memory
 * shortly before it is used again, as it predicts from when and where it was used before, and
 * deregisters it behind each use (core/helper/helper.h decides; this is its thread).
 *
 * Whoever gets what was not foreseen registers it, on the spot, and the thread deregisters it.
 * Memory hooks mark what is given back to the system. Without hooks that can be trusted, and where
 * the sharing of cores gives this process none (registration/sharing.h), registrations are made on
 * demand.
 *
 * The thread calls rbuf_register() and rbuf_deregister(), and nothing of Open MPI's. It sleeps on
 * an eventfd: memory hooks wake it too, which may take no lock. `mutex` guards the counters that it
 * publishes, each time before it sleeps.
 */
#include "registration/registrar.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/monotonic.h"
#include "registration/call_stack.h"
#include "params/help.h"
#include "registration/hooks.h"
#include "params/params.h"
#include "registration/sharing.h"
#include "core/helper/helper.h"
#include "opal/runtime/opal_progress.h"

#define SHARE_NS 100000000ull /* between looks at who of the node has a helper */

/* Calls of progress by the application's threads. One that is lost to another thread's store is as
 * good as counted. */
static _Atomic uint64_t progress;
static unsigned helpers; /* that are open; by who opens and closes modules */

struct mca_btl_rbuf_helper {
    struct rbuf_helper core;
    struct rbuf_port *port;
    pthread_t thread;
    int wake; /* an eventfd */
    _Atomic bool ending;
    _Atomic uint64_t turns; /* of the thread's registering and deregistering; odd: it is at it */
    pthread_mutex_t mutex;
    struct mca_btl_rbuf_helper_counters published; /* `mutex` */
    _Atomic bool has_core; /* written by the thread; false: memory is registered on demand */
    uint64_t share_due_ns; /* the thread's */
};

/* What memory may be used for, in core's bits: a target is a source, too. */
static uint32_t access_of(enum mca_btl_rbuf_purpose purpose)
{
    return purpose == MCA_BTL_RBUF_SOURCE ? 1 : 3;
}

/* Any thread, also in a memory hook. */
static void wake(struct mca_btl_rbuf_helper *helper)
{
    const uint64_t once = 1;
    const int error = errno; /* of munmap()'s caller */

    (void) syscall(SYS_write, helper->wake, &once, sizeof(once)); /* write() can be cancelled */
    errno = error;                                                /* full: it is awake */
}

/* ---- the thread ---- */

/* What it works on is pinned and cannot be evicted: others see by this that it was at work. */
static void turn(struct mca_btl_rbuf_helper *helper)
{
    atomic_fetch_add(&helper->turns, 1);
}

static void register_ahead(struct mca_btl_rbuf_helper *helper, struct rbuf_mr *mr)
{
    const uint64_t begin = rbuf_mr_begin(mr);
    const uint32_t access = atomic_load_explicit(&mr->access, memory_order_relaxed);
    const uint64_t start = mca_btl_rbuf_now_ns();
    struct rbuf_problem problem; /* no reason to complain: who needs it will try again */
    mca_btl_rbuf_registration_t *registration = mca_btl_rbuf_registration_new(
        helper->port, (void *) (uintptr_t) begin, rbuf_mr_end(mr) - begin,
        access == access_of(MCA_BTL_RBUF_SOURCE) ? MCA_BTL_RBUF_SOURCE : MCA_BTL_RBUF_TARGET,
        &problem);

    if (registration == NULL) {
        rbuf_helper_refused(&helper->core, mr);
        return;
    }
    registration->region = mr;
    rbuf_helper_registered(&helper->core, mr, registration, mca_btl_rbuf_now_ns() - start);
}

static void deregister(struct mca_btl_rbuf_helper *helper, struct rbuf_mr *mr)
{
    const uint64_t start = mca_btl_rbuf_now_ns();

    mca_btl_rbuf_registration_free(mr->handle);
    rbuf_helper_deregistered(&helper->core, mr, mca_btl_rbuf_now_ns() - start);
}

static void drain(struct mca_btl_rbuf_helper *helper)
{
    struct rbuf_mr *mr;

    turn(helper);
    while ((mr = rbuf_helper_drain(&helper->core)) != NULL) {
        deregister(helper, mr);
    }
    turn(helper);
}

static void publish(struct mca_btl_rbuf_helper *helper)
{
    const struct rbuf_prediction_counters *predicted = &helper->core.predictor.counters;
    const struct rbuf_helper_counters *counters = &helper->core.counters;

    pthread_mutex_lock(&helper->mutex);
    helper->published = (struct mca_btl_rbuf_helper_counters){.points = predicted->points,
                                                              .predicted = predicted->predicted,
                                                              .near = predicted->near,
                                                              .close = predicted->close,
                                                              .early = predicted->early,
                                                              .late = predicted->late,
                                                              .missed = predicted->missed,
                                                              .ahead = counters->ahead,
                                                              .kept = counters->kept,
                                                              .lapsed = counters->lapsed};
    pthread_mutex_unlock(&helper->mutex);
}

/* Sleeps until then, or until it is woken. */
static void rest(struct mca_btl_rbuf_helper *helper, uint64_t until_ns)
{
    const uint64_t until = until_ns < helper->share_due_ns ? until_ns : helper->share_due_ns;
    const uint64_t now = mca_btl_rbuf_now_ns();
    const uint64_t left = until > now ? until - now : 0;
    const struct timespec time = {.tv_sec = (time_t) (left / 1000000000u),
                                  .tv_nsec = (long) (left % 1000000000u)};
    struct pollfd polled = {.fd = helper->wake, .events = POLLIN};
    uint64_t wakes;

    publish(helper);
    if (ppoll(&polled, 1, &time, NULL) > 0) {
        (void) !read(helper->wake, &wakes, sizeof(wakes));
    }
}

/* Between two uses of a buffer; 0: none is known. */
static uint64_t shortest_period(const struct rbuf_predictor *predictor)
{
    uint64_t shortest = 0;

    for (uint32_t i = 0; i < predictor->sites; i++) {
        const struct rbuf_site *site = &predictor->site[predictor->seen[i]];

        if (site->period.intervals > 0 && (shortest == 0 || site->period.shortest_ns < shortest)) {
            shortest = site->period.shortest_ns;
        }
    }
    return shortest;
}

/* Tells the others of the node what this process has registered, and learns whether it has a core
 * for this thread. */
static void share(struct mca_btl_rbuf_helper *helper, uint64_t now_ns)
{
    struct rbuf_helper *core = &helper->core;
    struct rbuf_sharing_assignment assigned;

    helper->share_due_ns = now_ns + SHARE_NS;
    assigned = mca_btl_rbuf_sharing_look(
        &(struct rbuf_sharing_rank){.registered_bytes = rbuf_memory_stats.peak,
                                    .period_ns = shortest_period(&core->predictor),
                                    .work_ns = rbuf_helper_work_ns(core)},
        &core->slice_ns);
    core->sharers = assigned.sharers;
    atomic_store_explicit(&helper->has_core, assigned.core != RBUF_SHARING_NONE,
                          memory_order_relaxed);
}

static void *run(void *argument)
{
    struct mca_btl_rbuf_helper *helper = argument;

    while (!atomic_load_explicit(&helper->ending, memory_order_acquire)) {
        const uint64_t now = mca_btl_rbuf_now_ns();
        struct rbuf_helper_order order;

        if (now >= helper->share_due_ns) {
            share(helper, now);
        }
        if (!atomic_load_explicit(&helper->has_core, memory_order_relaxed)) {
            drain(helper);
            rest(helper, UINT64_MAX);
            continue;
        }
        turn(helper);
        order = rbuf_helper_next(&helper->core, now,
                                 atomic_load_explicit(&progress, memory_order_relaxed));
        if (order.task == RBUF_HELPER_REGISTER) {
            register_ahead(helper, order.mr);
        } else if (order.task == RBUF_HELPER_DEREGISTER) {
            deregister(helper, order.mr);
        }
        turn(helper);
        if (order.task == RBUF_HELPER_WAIT) {
            rest(helper, order.until_ns);
        }
    }
    drain(helper);
    publish(helper);
    return NULL;
}

/* Signals are the application's. */
static int start(struct mca_btl_rbuf_helper *helper)
{
    sigset_t all, before;
    int status;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&helper->thread, NULL, run, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == 0) {
        (void) pthread_setname_np(helper->thread, "rbuf-helper"); /* for top -H and the like */
    }
    return status;
}

/* ---- of others ---- */

static int count_progress(void)
{
    atomic_store_explicit(&progress, atomic_load_explicit(&progress, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return 0;
}

static void released(void *context, uint64_t base, uint64_t bytes)
{
    struct mca_btl_rbuf_helper *helper = context;

    if (rbuf_mr_stale(&helper->core.mrs, base, bytes)) {
        wake(helper);
    }
}

/* Of what may be half open. */
static void close_all(struct mca_btl_rbuf_helper *helper)
{
    mca_btl_rbuf_hooks_remove(helper);
    pthread_mutex_destroy(&helper->mutex);
    if (helper->wake >= 0) {
        close(helper->wake);
    }
    rbuf_helper_close(&helper->core);
    free(helper);
}

/* But for the thread. 0 or an errno. */
static int open_all(struct mca_btl_rbuf_helper *helper)
{
    struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;

    options.regions = (uint32_t) mca_btl_rbuf_params.helper_regions;
    options.register_ns = mca_btl_rbuf_params.registration_time;
    options.register_page_ns = mca_btl_rbuf_params.registration_page_time;
    options.delay_ns = mca_btl_rbuf_params.helper_delay;
    pthread_mutex_init(&helper->mutex, NULL);
    helper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return helper->wake < 0 ? errno : -rbuf_helper_open(&helper->core, &options);
}

static bool open_helper(mca_btl_rbuf_registrar_t *registrar)
{
    struct mca_btl_rbuf_helper *helper;
    int error = ENOMEM;

    if (!mca_btl_rbuf_hooks_install()) {
        mca_btl_rbuf_help("no helper", opal_process_info.nodename, NULL);
        return false;
    }
    if (mca_btl_rbuf_params.helper_frames == MCA_BTL_RBUF_ON && !mca_btl_rbuf_call_stack_open()) {
        mca_btl_rbuf_verbose("rbuf: protocol helper predicts by buffers alone, as there is no "
                             "unwinder, or no libmpi");
    }
    helper = calloc(1, sizeof(*helper));
    if (helper != NULL) {
        helper->port = registrar->port;
        error = open_all(helper);
        if (error == 0) {
            error = mca_btl_rbuf_hooks_add(released, helper) ? start(helper) : ENOTSUP;
        }
    }
    if (error != 0) {
        if (helper != NULL) {
            close_all(helper);
        }
        mca_btl_rbuf_help("no helper thread", opal_process_info.nodename, strerror(error), NULL);
        return false;
    }
    if (helpers++ == 0) {
        opal_progress_register(count_progress);
    }
    registrar->kept = helper;
    return true;
}

static void close_helper(mca_btl_rbuf_registrar_t *registrar)
{
    struct mca_btl_rbuf_helper *helper = registrar->kept;

    if (--helpers == 0) {
        opal_progress_unregister(count_progress);
    }
    atomic_store_explicit(&helper->ending, true, memory_order_release); /* run() acquires */
    wake(helper);
    pthread_join(helper->thread, NULL);
    close_all(helper);
}

/* What the thread works on is nobody's to give up: it is waited for instead. The thread takes no
 * lock for that, so it gets on. */
static bool evict(mca_btl_rbuf_registrar_t *registrar)
{
    struct mca_btl_rbuf_helper *helper = registrar->kept;
    struct rbuf_mrs *mrs = &helper->core.mrs;
    const uint32_t used = atomic_load_explicit(&mrs->used, memory_order_acquire);
    const uint64_t turns = atomic_load(&helper->turns);

    rbuf_helper_scarce(&helper->core);
    for (uint32_t i = 0; i < used; i++) {
        struct rbuf_mr *mr = &mrs->mr[i];

        if (rbuf_mr_deregister(mr)) {
            mca_btl_rbuf_registration_free(mr->handle);
            (void) rbuf_mr_deregistered(mr, false);
            return true;
        }
    }
    while (turns % 2 != 0 && turns == atomic_load(&helper->turns)) {
        sched_yield();
    }
    return turns % 2 != 0;
}

/* Behind -ENOMEM it tries again where something was given up, or the thread was at work since the
 * attempt began. NULL: it cannot be. */
static mca_btl_rbuf_registration_t *make(mca_btl_rbuf_registrar_t *registrar, void *base,
                                         size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                         struct rbuf_problem *problem)
{
    struct mca_btl_rbuf_helper *helper = registrar->kept;
    mca_btl_rbuf_registration_t *registration;
    uint64_t turns;

    do {
        turns = atomic_load(&helper->turns);
        registration =
            mca_btl_rbuf_registration_new(registrar->port, base, bytes, purpose, problem);
    } while (registration == NULL && problem->error == -ENOMEM &&
             (evict(registrar) || turns != atomic_load(&helper->turns)));
    return registration;
}

/* A region that the caller has to register. */
static mca_btl_rbuf_registration_t *make_region(mca_btl_rbuf_registrar_t *registrar,
                                                struct rbuf_mr *mr,
                                                enum mca_btl_rbuf_purpose purpose,
                                                struct rbuf_problem *problem)
{
    const uint64_t begin = rbuf_mr_begin(mr);
    mca_btl_rbuf_registration_t *registration =
        make(registrar, (void *) (uintptr_t) begin, rbuf_mr_end(mr) - begin, purpose, problem);

    if (registration == NULL) {
        rbuf_mr_abandon(mr);
        return NULL;
    }
    registration->region = mr;
    rbuf_mr_publish(mr, registration, access_of(registration->rights));
    return registration;
}

/* Waits for a registration that another thread is making, while that is sooner than one made here.
 */
static enum rbuf_mr_taken take_region(struct mca_btl_rbuf_helper *helper,
                                      const struct rbuf_use *point, uint32_t access,
                                      struct rbuf_mr **mr)
{
    struct rbuf_mrs *mrs = &helper->core.mrs;
    const uint64_t pages = point->bytes / RBUF_MR_PAGE + 2;
    const uint64_t until =
        point->time_ns + 2 * (mca_btl_rbuf_params.registration_time +
                              pages * mca_btl_rbuf_params.registration_page_time);
    enum rbuf_mr_taken taken = rbuf_mr_take(mrs, point->base, point->bytes, access, mr);

    while (taken == RBUF_MR_COMING && mca_btl_rbuf_now_ns() < until) {
        if (rbuf_mr_state(*mr) != RBUF_MR_REGISTERING) {
            taken = rbuf_mr_take(mrs, point->base, point->bytes, access, mr);
        }
        sched_yield(); /* it may be the helper, and have no other core */
    }
    return taken != RBUF_MR_COMING ? taken
                                   : rbuf_mr_claim(mrs, point->base, point->bytes, access, mr);
}

static mca_btl_rbuf_registration_t *get(mca_btl_rbuf_registrar_t *registrar, uint32_t rank,
                                        void *base, size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                        struct rbuf_problem *problem)
{
    struct mca_btl_rbuf_helper *helper = registrar->kept;
    struct rbuf_use point = {.time_ns = mca_btl_rbuf_now_ns(),
                             .base = (uintptr_t) base,
                             .bytes = bytes,
                             .peer = rank,
                             .kind =
                                 purpose == MCA_BTL_RBUF_SOURCE ? RBUF_USE_SEND : RBUF_USE_RECEIVE};
    mca_btl_rbuf_registration_t *registration = NULL;
    struct rbuf_mr *mr;

    if (bytes < mca_btl_rbuf_params.helper_min ||
        !atomic_load_explicit(&helper->has_core, memory_order_relaxed)) {
        return make(registrar, base, bytes, purpose, problem);
    }
    switch (take_region(helper, &point, access_of(purpose), &mr)) {
    case RBUF_MR_TAKEN:
        registration = mr->handle;
        break;
    case RBUF_MR_TO_REGISTER:
        registration = make_region(registrar, mr, purpose, problem);
        point.register_ns = mca_btl_rbuf_now_ns() - point.time_ns;
        break;
    case RBUF_MR_COMING:
    case RBUF_MR_NO_SLOT:
        registration = make(registrar, base, bytes, purpose, problem); /* the caller's alone */
        break;
    }
    point.frames = mca_btl_rbuf_call_stack_hash();
    (void) rbuf_use_queue_put(&helper->core.points, &point);
    if (rbuf_use_queue_half_full(&helper->core.points)) {
        wake(helper); /* uses of what is kept do not */
    }
    return registration;
}

static void put(mca_btl_rbuf_registrar_t *registrar, mca_btl_rbuf_registration_t *registration)
{
    struct mca_btl_rbuf_helper *helper = registrar->kept;

    if (registration->region == NULL) {
        mca_btl_rbuf_registration_free(registration);
    } else if (rbuf_mr_give(&helper->core.mrs, registration->region)) {
        wake(helper);
    }
}

static void count(const mca_btl_rbuf_registrar_t *registrar,
                  struct mca_btl_rbuf_helper_counters *counters)
{
    struct mca_btl_rbuf_helper *helper = registrar->kept;
    struct rbuf_mr_counters *taken = &helper->core.mrs.counters;

    pthread_mutex_lock(&helper->mutex);
    *counters = helper->published;
    pthread_mutex_unlock(&helper->mutex);
    counters->points_lost = atomic_load_explicit(&helper->core.points.lost, memory_order_relaxed);
    counters->ready = atomic_load_explicit(&taken->registered, memory_order_relaxed);
    counters->mispredicted = atomic_load_explicit(&taken->planned, memory_order_relaxed) +
                             atomic_load_explicit(&taken->late, memory_order_relaxed);
    counters->unknown = atomic_load_explicit(&taken->unknown, memory_order_relaxed) +
                        atomic_load_explicit(&taken->full, memory_order_relaxed);
    counters->stale = atomic_load_explicit(&taken->stale, memory_order_relaxed);
}

const mca_btl_rbuf_policy_t mca_btl_rbuf_helped = {.text =
                                                       "registered ahead of their use by a thread",
                                                   .process_open = mca_btl_rbuf_sharing_open,
                                                   .process_close = mca_btl_rbuf_sharing_close,
                                                   .open = open_helper,
                                                   .close = close_helper,
                                                   .get = get,
                                                   .put = put,
                                                   .evict = evict,
                                                   .count = count};
