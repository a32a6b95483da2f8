/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Locks: `mutex` is held for an instant, by the thread to go to sleep and to publish its counters,
 * by others to wake it. It is never taken from a memory hook.
 */
#include "btl_rbuf_helper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "btl_rbuf.h"
#include "btl_rbuf_frames.h"
#include "btl_rbuf_help.h"
#include "btl_rbuf_hooks.h"
#include "btl_rbuf_params.h"
#include "btl_rbuf_sharing.h"
#include "core/helper/helper.h"

#define SHARE_NS 100000000ull /* between looks at who of the node has a helper */

typedef enum { RUNNING, WOKEN, ENDING } mca_btl_rbuf_helper_state_t;

struct mca_btl_rbuf_helper {
    struct rbuf_helper core;
    struct rbuf_port *port;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    mca_btl_rbuf_helper_state_t state;             /* `mutex` */
    struct mca_btl_rbuf_helper_counters published; /* likewise */
    _Atomic bool has_core; /* written by the thread; false: memory is registered on demand */
    uint64_t share_due_ns; /* the thread's */
};

/* What memory may be used for, in core's bits: a target is a source, too. */
static uint32_t access_of(enum mca_btl_rbuf_purpose purpose)
{
    return purpose == MCA_BTL_RBUF_SOURCE ? 1 : 3;
}

static void wake(struct mca_btl_rbuf_helper *helper, mca_btl_rbuf_helper_state_t state)
{
    pthread_mutex_lock(&helper->mutex);
    if (helper->state != ENDING) {
        helper->state = state;
    }
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->mutex);
}

static void unmake(mca_btl_rbuf_registration_t *registration)
{
    rbuf_deregister(registration->mr);
    free(registration);
}

static mca_btl_rbuf_registration_t *make(struct mca_btl_rbuf_helper *helper, void *base,
                                         size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                         struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration = calloc(1, sizeof(*registration));

    if (registration == NULL) {
        rbuf_problem_set(problem, "reg-failed", -ENOMEM, "%zu bytes at %p", bytes, base);
    } else if (mca_btl_rbuf_registration_make(helper->port, base, bytes, purpose, registration,
                                              problem) != 0) {
        free(registration);
        registration = NULL;
    }
    return registration;
}

/* ---- the thread ---- */

static void register_ahead(struct mca_btl_rbuf_helper *helper, struct rbuf_mr *mr)
{
    const uint64_t begin = rbuf_mr_begin(mr);
    const uint32_t access = atomic_load_explicit(&mr->access, memory_order_relaxed);
    const uint64_t start = mca_btl_rbuf_now_ns();
    struct rbuf_problem problem; /* no reason to complain: who needs it will try again */
    mca_btl_rbuf_registration_t *registration =
        make(helper, (void *) (uintptr_t) begin, rbuf_mr_end(mr) - begin,
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

    unmake(mr->handle);
    rbuf_helper_deregistered(&helper->core, mr, mca_btl_rbuf_now_ns() - start);
}

static void drain(struct mca_btl_rbuf_helper *helper)
{
    struct rbuf_mr *mr;

    while ((mr = rbuf_helper_drain(&helper->core)) != NULL) {
        deregister(helper, mr);
    }
}

/* The mutex is held. */
static void publish(struct mca_btl_rbuf_helper *helper)
{
    const struct rbuf_prediction_counters *predicted = &helper->core.predictor.counters;
    const struct rbuf_helper_counters *counters = &helper->core.counters;

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
}

/* Sleeps until then, or until it is woken. False: the thread is to end. */
static bool rest(struct mca_btl_rbuf_helper *helper, uint64_t until_ns)
{
    const uint64_t until = until_ns < helper->share_due_ns ? until_ns : helper->share_due_ns;
    const struct timespec time = {.tv_sec = (time_t) (until / 1000000000u),
                                  .tv_nsec = (long) (until % 1000000000u)};
    int status = 0;
    bool goes_on;

    pthread_mutex_lock(&helper->mutex);
    publish(helper);
    while (helper->state == RUNNING && status == 0) {
        status = pthread_cond_timedwait(&helper->wake, &helper->mutex, &time);
    }
    goes_on = helper->state != ENDING;
    if (goes_on) {
        helper->state = RUNNING;
    }
    pthread_mutex_unlock(&helper->mutex);
    return goes_on;
}

/* Between two uses of a buffer; 0: none is known. */
static uint64_t shortest_period(const struct rbuf_predictor *predictor)
{
    uint64_t shortest = 0;

    for (uint32_t i = 0; i < predictor->sets * RBUF_SITE_WAYS; i++) {
        const struct rbuf_site *site = &predictor->site[i];

        if (site->signature != 0 && site->period_ns != 0 &&
            (shortest == 0 || site->period_ns < shortest)) {
            shortest = site->period_ns;
        }
    }
    return shortest;
}

/* Tells the others of the node what this process has registered, and learns whether it has a core
 * for this thread. */
static void share(struct mca_btl_rbuf_helper *helper, uint64_t now_ns)
{
    struct rbuf_helper *core = &helper->core;
    struct rbuf_sharing_place place;

    helper->share_due_ns = now_ns + SHARE_NS;
    place = mca_btl_rbuf_sharing_look(
        &(struct rbuf_sharing_rank){.registered_bytes = rbuf_memory_stats.peak,
                                    .period_ns = shortest_period(&core->predictor),
                                    .work_ns = rbuf_helper_work_ns(core)});
    core->costs.sharers = place.sharers;
    atomic_store_explicit(&helper->has_core, place.core != RBUF_SHARING_NONE, memory_order_relaxed);
    if (place.core >= 0) {
        mca_btl_rbuf_sharing_move(&place);
    }
}

static void *run(void *argument)
{
    struct mca_btl_rbuf_helper *helper = argument;
    bool goes_on = true;

    while (goes_on) {
        const uint64_t now = mca_btl_rbuf_now_ns();
        struct rbuf_helper_order order;

        if (now >= helper->share_due_ns) {
            share(helper, now);
        }
        if (!atomic_load_explicit(&helper->has_core, memory_order_relaxed)) {
            drain(helper);
            goes_on = rest(helper, UINT64_MAX);
            continue;
        }
        order = rbuf_helper_next(&helper->core, now);
        switch (order.task) {
        case RBUF_HELPER_REGISTER:
            register_ahead(helper, order.mr);
            break;
        case RBUF_HELPER_DEREGISTER:
            deregister(helper, order.mr);
            break;
        case RBUF_HELPER_WAIT:
            goes_on = rest(helper, order.until_ns);
            break;
        }
    }
    drain(helper);
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
    return status;
}

/* ---- of others ---- */

static void released(void *mrs, uint64_t base, uint64_t bytes)
{
    rbuf_mr_stale(mrs, base, bytes);
}

static void open_locks(struct mca_btl_rbuf_helper *helper)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&helper->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&helper->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void close_all(struct mca_btl_rbuf_helper *helper)
{
    pthread_cond_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->mutex);
    rbuf_helper_close(&helper->core);
    free(helper);
}

struct mca_btl_rbuf_helper *mca_btl_rbuf_helper_open(mca_btl_rbuf_module_t *module)
{
    struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;
    struct mca_btl_rbuf_helper *helper;

    if (!mca_btl_rbuf_hooks_install()) {
        mca_btl_rbuf_help("no helper", opal_process_info.nodename, NULL);
        return NULL;
    }
    options.regions = (uint32_t) mca_btl_rbuf_params.helper_regions;
    options.register_ns = mca_btl_rbuf_params.registration_time;
    options.register_page_ns = mca_btl_rbuf_params.registration_page_time;
    helper = calloc(1, sizeof(*helper));
    if (helper == NULL || rbuf_helper_open(&helper->core, &options) != 0) {
        free(helper);
        return NULL;
    }
    helper->port = module->port;
    open_locks(helper);
    if (mca_btl_rbuf_params.helper_frames == MCA_BTL_RBUF_ON && !mca_btl_rbuf_frames_open()) {
        mca_btl_rbuf_verbose("rbuf: protocol helper predicts by buffers alone, as there is no "
                             "unwinder, or no libmpi");
    }
    if (!mca_btl_rbuf_hooks_add(released, &helper->core.mrs)) {
        close_all(helper);
        return NULL;
    }
    atomic_init(&helper->has_core, false); /* until the thread knows */
    if (start(helper) != 0) {
        mca_btl_rbuf_hooks_remove(&helper->core.mrs);
        close_all(helper);
        return NULL;
    }
    return helper;
}

void mca_btl_rbuf_helper_close(struct mca_btl_rbuf_helper *helper)
{
    wake(helper, ENDING);
    pthread_join(helper->thread, NULL);
    mca_btl_rbuf_hooks_remove(&helper->core.mrs);
    close_all(helper);
}

/* A region that the caller has to register. Where that fails what others have registered is given
 * up. NULL: it cannot be. */
static mca_btl_rbuf_registration_t *make_region(struct mca_btl_rbuf_helper *helper,
                                                struct rbuf_mr *mr,
                                                enum mca_btl_rbuf_purpose purpose,
                                                struct rbuf_problem *problem)
{
    const uint64_t begin = rbuf_mr_begin(mr);
    mca_btl_rbuf_registration_t *registration;

    do {
        registration =
            make(helper, (void *) (uintptr_t) begin, rbuf_mr_end(mr) - begin, purpose, problem);
    } while (registration == NULL && problem->error == -ENOMEM &&
             mca_btl_rbuf_helper_evict(helper));
    if (registration == NULL) {
        rbuf_mr_abandon(mr);
        return NULL;
    }
    registration->region = mr;
    rbuf_mr_publish(mr, registration, access_of(registration->rights));
    return registration;
}

/* One that is nobody's but the taker's. */
static mca_btl_rbuf_registration_t *make_alone(struct mca_btl_rbuf_helper *helper, void *base,
                                               size_t bytes, enum mca_btl_rbuf_purpose purpose,
                                               struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration;

    do {
        registration = make(helper, base, bytes, purpose, problem);
    } while (registration == NULL && problem->error == -ENOMEM &&
             mca_btl_rbuf_helper_evict(helper));
    return registration;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_helper_take(struct mca_btl_rbuf_helper *helper,
                                                      void *base, size_t bytes,
                                                      enum mca_btl_rbuf_purpose purpose,
                                                      struct rbuf_problem *problem)
{
    struct rbuf_point point = {.time_ns = mca_btl_rbuf_now_ns(),
                               .base = (uintptr_t) base,
                               .bytes = bytes,
                               .kind = purpose == MCA_BTL_RBUF_SOURCE ? RBUF_POINT_SEND
                                                                      : RBUF_POINT_RECEIVE};
    mca_btl_rbuf_registration_t *registration = NULL;
    struct rbuf_mr *mr;

    if (bytes < mca_btl_rbuf_params.helper_min ||
        !atomic_load_explicit(&helper->has_core, memory_order_relaxed)) {
        return make_alone(helper, base, bytes, purpose, problem);
    }
    switch (rbuf_mr_take(&helper->core.mrs, point.base, bytes, access_of(purpose), &mr)) {
    case RBUF_MR_TAKEN:
        registration = mr->handle;
        break;
    case RBUF_MR_TO_REGISTER:
        registration = make_region(helper, mr, purpose, problem);
        point.register_ns = mca_btl_rbuf_now_ns() - point.time_ns;
        break;
    case RBUF_MR_NO_PLACE:
        registration = make_alone(helper, base, bytes, purpose, problem);
        break;
    }
    point.frames = mca_btl_rbuf_frames_hash();
    (void) rbuf_points_put(&helper->core.points, &point);
    return registration;
}

void mca_btl_rbuf_helper_give(struct mca_btl_rbuf_helper *helper,
                              mca_btl_rbuf_registration_t *registration)
{
    if (registration->region == NULL) {
        unmake(registration);
    } else if (rbuf_mr_give(&helper->core.mrs, registration->region)) {
        wake(helper, WOKEN);
    }
}

bool mca_btl_rbuf_helper_evict(struct mca_btl_rbuf_helper *helper)
{
    struct rbuf_mrs *mrs = &helper->core.mrs;
    const uint32_t used = atomic_load_explicit(&mrs->used, memory_order_acquire);

    for (uint32_t i = 0; i < used; i++) {
        struct rbuf_mr *mr = &mrs->mr[i];

        if (rbuf_mr_deregister(mr)) {
            unmake(mr->handle);
            (void) rbuf_mr_deregistered(mr, false);
            return true;
        }
    }
    return false;
}

void mca_btl_rbuf_helper_count(struct mca_btl_rbuf_helper *helper,
                               struct mca_btl_rbuf_helper_counters *counters)
{
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
