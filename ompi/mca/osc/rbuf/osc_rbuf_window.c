/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Windows: their state, in a list whose first is the one used last, and Open MPI's progress, which
 * visits that one and another, in turn. Owns the mutex.
 */
#include "osc_rbuf.h"

#include <pthread.h>
#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_mpi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, osc_rbuf_window) windows = LIST_HEAD_INITIALIZER(windows);
static struct osc_rbuf_window *turn; /* whose it is beside the first; NULL: the first's */

struct osc_rbuf_counters osc_rbuf_counters;

void osc_rbuf_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void osc_rbuf_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The window whose turn it is, which passes to the next. */
static int progress_turn(void)
{
    struct osc_rbuf_window *window = turn;

    if (window == NULL) {
        turn = LIST_FIRST(&windows);
        return 0;
    }
    turn = LIST_NEXT(window, link);
    return osc_rbuf_messages_progress(window);
}

/* Open MPI may call it while the lock is held, by this thread or another: then somebody else will
 * see to it. However many windows there are, a call looks at two: what waits for one of the others
 * comes round with as many calls as there are windows. */
static int progress(void)
{
    int handled = 0;

    if (pthread_mutex_trylock(&mutex) != 0) {
        return 0;
    }
    if (!LIST_EMPTY(&windows)) {
        handled = osc_rbuf_messages_progress(LIST_FIRST(&windows)) + progress_turn();
    }
    osc_rbuf_unlock();
    return handled;
}

static void take_out(struct osc_rbuf_window *window)
{
    if (turn == window) {
        turn = LIST_NEXT(window, link);
    }
    LIST_REMOVE(window, link);
}

struct osc_rbuf_window *osc_rbuf_window_of(const ompi_win_t *win)
{
    struct osc_rbuf_window *window;

    osc_rbuf_lock();
    LIST_FOREACH(window, &windows, link)
    {
        if (window->win == win) {
            break;
        }
    }
    if (window != NULL && window != LIST_FIRST(&windows)) {
        take_out(window);
        LIST_INSERT_HEAD(&windows, window, link);
    }
    osc_rbuf_unlock();
    return window;
}

void osc_rbuf_wait(struct osc_rbuf_window *window,
                   bool (*done)(struct osc_rbuf_window *window, int argument), int argument)
{
    bool over;

    do {
        osc_rbuf_lock();
        over = done(window, argument);
        osc_rbuf_unlock();
        if (!over) {
            opal_progress();
        }
    } while (!over);
}

static void list(struct osc_rbuf_window *window)
{
    osc_rbuf_lock();
    if (LIST_EMPTY(&windows)) {
        opal_progress_register(progress);
    }
    LIST_INSERT_HEAD(&windows, window, link);
    osc_rbuf_unlock();
}

static void unlist(struct osc_rbuf_window *window)
{
    osc_rbuf_lock();
    take_out(window);
    if (LIST_EMPTY(&windows)) {
        opal_progress_unregister(progress);
    }
    osc_rbuf_unlock();
}

/* Learns how large the others' windows are. */
static int exchange(struct osc_rbuf_window *window, size_t bytes, osc_rbuf_unit_t displacement_unit)
{
    uint64_t mine[2] = {bytes, (uint64_t) displacement_unit};
    uint64_t *all = malloc(sizeof(mine) * (size_t) window->size);
    int status = MPI_ERR_NO_MEM;

    if (all != NULL) {
        status = osc_rbuf_allgather(window->comm, mine, all, sizeof(mine));
        for (int i = 0; i < window->size && status == MPI_SUCCESS; i++) {
            window->peers[i].bytes = all[2 * i];
            window->peers[i].displacement_unit = (osc_rbuf_unit_t) all[2 * i + 1];
        }
    }
    free(all);
    return status;
}

/* Whether below takes the epoch that passed operations go under. */
static bool below_opens(struct osc_rbuf_window *window)
{
    return window->below.osc_lock_all(MPI_MODE_NOCHECK, window->win) == OMPI_SUCCESS &&
           window->below.osc_unlock_all(window->win) == OMPI_SUCCESS;
}

/* ---- regions ---- */

int osc_rbuf_attach(ompi_win_t *win, void *base, size_t bytes)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    struct osc_rbuf_region *region = malloc(sizeof(*region));
    int status = OMPI_ERR_OUT_OF_RESOURCE;

    if (region != NULL) {
        *region = (struct osc_rbuf_region){.base = base, .bytes = bytes};
        status = window->below.osc_win_attach(win, base, bytes);
    }
    if (status != OMPI_SUCCESS) {
        free(region);
        return status;
    }
    osc_rbuf_lock();
    LIST_INSERT_HEAD(&window->regions, region, link);
    osc_rbuf_unlock();
    return OMPI_SUCCESS;
}

int osc_rbuf_detach(ompi_win_t *win, const void *base)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    struct osc_rbuf_region *region;

    osc_rbuf_lock();
    LIST_FOREACH(region, &window->regions, link)
    {
        if (region->base == base) {
            LIST_REMOVE(region, link);
            break;
        }
    }
    osc_rbuf_unlock();
    free(region);
    return window->below.osc_win_detach(win, base);
}

bool osc_rbuf_is_attached(const struct osc_rbuf_window *window, const unsigned char *first,
                          size_t bytes)
{
    const struct osc_rbuf_region *region;

    LIST_FOREACH(region, &window->regions, link)
    {
        const uintptr_t offset = (uintptr_t) first - (uintptr_t) region->base;

        if (offset <= region->bytes && bytes <= region->bytes - offset) {
            return true;
        }
    }
    return false;
}

/* ---- windows begin and end ---- */

/* A description of a duplicate of a predefined type makes that type itself, which is not ours. */
void osc_rbuf_forget_type(struct osc_rbuf_peer *peer)
{
    if (peer->type != NULL && !ompi_datatype_is_predefined(peer->type)) {
        OBJ_RELEASE(peer->type);
    }
    peer->type = NULL;
}

static void window_free(struct osc_rbuf_window *window)
{
    struct osc_rbuf_region *region;

    osc_rbuf_receives_end(window);
    while ((region = LIST_FIRST(&window->regions)) != NULL) {
        LIST_REMOVE(region, link);
        free(region);
    }
    for (int i = 0; window->peers != NULL && i < window->size; i++) {
        free(window->peers[i].description);
        osc_rbuf_forget_type(&window->peers[i]);
    }
    free(window->peers);
    free(window->sums);
    OBJ_DESTRUCT(&window->results);
    if (window->comm != MPI_COMM_NULL) {
        ompi_comm_free(&window->comm);
    }
    free(window);
}

static void replace_functions(ompi_osc_base_module_t *module)
{
    module->osc_win_attach = osc_rbuf_attach;
    module->osc_win_detach = osc_rbuf_detach;
    module->osc_free = osc_rbuf_free;
    module->osc_put = osc_rbuf_put;
    module->osc_get = osc_rbuf_get;
    module->osc_accumulate = osc_rbuf_accumulate;
    module->osc_compare_and_swap = osc_rbuf_compare_and_swap;
    module->osc_fetch_and_op = osc_rbuf_fetch_and_op;
    module->osc_get_accumulate = osc_rbuf_get_accumulate;
    module->osc_fence = osc_rbuf_fence;
    module->osc_start = osc_rbuf_start;
    module->osc_complete = osc_rbuf_complete;
    module->osc_post = osc_rbuf_post;
    module->osc_wait = osc_rbuf_wait_completes;
    module->osc_test = osc_rbuf_test_completes;
    module->osc_lock = osc_rbuf_passive_lock;
    module->osc_unlock = osc_rbuf_passive_unlock;
    module->osc_lock_all = osc_rbuf_passive_lock_all;
    module->osc_unlock_all = osc_rbuf_passive_unlock_all;
}

/* All that can fail without the others. */
static bool prepare(struct osc_rbuf_window *window, size_t bytes, osc_rbuf_unit_t displacement_unit)
{
    return window->peers != NULL && window->sums != NULL &&
           exchange(window, bytes, displacement_unit) == MPI_SUCCESS && below_opens(window) &&
           osc_rbuf_receives_start(window) == MPI_SUCCESS;
}

int osc_rbuf_window_attach(ompi_win_t *win, void *base, size_t bytes,
                           osc_rbuf_unit_t displacement_unit, MPI_Comm comm, int flavor)
{
    struct osc_rbuf_window *window = calloc(1, sizeof(*window));
    long ready, all_ready;

    if (window == NULL) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    window->win = win;
    window->below = *win->w_osc_module;
    window->dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    window->base = window->dynamic ? NULL : base;
    window->comm = MPI_COMM_NULL;
    STAILQ_INIT(&window->sending);
    STAILQ_INIT(&window->held);
    OBJ_CONSTRUCT(&window->results, opal_pointer_array_t);
    window->rank = ompi_comm_rank(comm);
    window->size = ompi_comm_size(comm);
    if (osc_rbuf_comm_create(comm, &window->comm) != MPI_SUCCESS) {
        window_free(window);
        return OMPI_ERROR;
    }
    window->peers = calloc((size_t) window->size, sizeof(*window->peers));
    window->sums = calloc((size_t) window->size, OSC_RBUF_SUMS * sizeof(*window->sums));
    ready = prepare(window, bytes, window->dynamic ? 1 : displacement_unit);
    if (osc_rbuf_least(window->comm, &ready, &all_ready, 1) != MPI_SUCCESS || !all_ready) {
        window_free(window);
        return OMPI_ERROR;
    }
    list(window);
    replace_functions(win->w_osc_module);
    return OMPI_SUCCESS;
}

int osc_rbuf_free(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    const ompi_osc_base_module_t below = window->below;

    /* Nobody sends any more, since all epochs are over: but the last messages are to be read. */
    osc_rbuf_barrier(window->comm);
    unlist(window);
    window_free(window);
    *win->w_osc_module = below;
    return below.osc_free(win);
}
