/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Windows begin and end: what their processes tell each other, the regions of a dynamic one, and
 * the functions that Open MPI calls from then on.
 *
 * Makes and frees all state of a window. Owns what does not change in between, the regions, and
 * what peers have told. No lock is held by who calls.
 */
#include "osc_rbuf_module.h"

#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "osc_rbuf_accumulate.h"
#include "osc_rbuf_am.h"
#include "osc_rbuf_below.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_fence.h"
#include "osc_rbuf_info.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_passive.h"
#include "osc_rbuf_put_get.h"
#include "osc_rbuf_scatter.h"
#include "osc_rbuf_sync.h"
#include "osc_rbuf_windows.h"

/* What a process tells the others of its window. */
struct told {
    uint64_t bytes;
    int64_t displacement_unit;
    uint64_t key; /* of its active messages, or 0 */
};

/* Whether all processes are ready. Each asks, whatever it lacks: nobody waits for it later. */
static bool all_are_ready(MPI_Comm comm, bool ready)
{
    const long mine = ready;
    long least = 0;

    return osc_rbuf_least(comm, &mine, &least, 1) == MPI_SUCCESS && least > 0;
}

/* Tells the others, and learns how large their windows are. `all` has room for what each tells. */
static int exchange(struct osc_rbuf_window *window, MPI_Comm comm, const struct told *mine,
                    struct told *all)
{
    const int status = osc_rbuf_allgather(comm, mine, all, sizeof(*all));

    osc_rbuf_lock(); /* operations of the others may come by now */
    for (int i = 0; i < window->size && status == MPI_SUCCESS; i++) {
        window->peers[i].bytes = all[i].bytes;
        window->peers[i].displacement_unit = (osc_rbuf_unit_t) all[i].displacement_unit;
        window->peers[i].key = all[i].key;
    }
    osc_rbuf_unlock();
    return status;
}

/* ---- regions ---- */

static int region_attach(ompi_win_t *win, void *base, size_t bytes)
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

static int region_detach(ompi_win_t *win, const void *base)
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

/* ---- windows begin and end ---- */

/* Also of a window that was made in part. Nobody finds it any more. */
static void window_free(struct osc_rbuf_window *window)
{
    struct osc_rbuf_region *region;

    osc_rbuf_am_close(window);
    if (window->comm != NULL) {
        osc_rbuf_comm_leave(window);
    }
    while ((region = LIST_FIRST(&window->regions)) != NULL) {
        LIST_REMOVE(region, link);
        free(region);
    }
    for (int i = 0; window->peers != NULL && i < window->size; i++) {
        osc_rbuf_scatter_forget(&window->peers[i]);
    }
    free(window->peers);
    free(window->fence.sums);
    OBJ_DESTRUCT(&window->results.table);
    free(window);
}

/* All epochs are over, and nobody sends operations any more. What below does first is a barrier:
 * answers that are under way still find the window meanwhile. */
static int module_free(ompi_win_t *win)
{
    struct osc_rbuf_window *window = osc_rbuf_window_of(win);
    int status;

    *win->w_osc_module = window->below;
    status = window->below.osc_free(win);
    osc_rbuf_window_unlist(window);
    window_free(window);
    return status;
}

/* What is not replaced stays below's, as rput and rget, and with `passive` off flushes and
 * accumulates with requests. */
static void replace_functions(ompi_osc_base_module_t *module)
{
    module->osc_win_attach = region_attach;
    module->osc_win_detach = region_detach;
    module->osc_free = module_free;
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
    if (osc_rbuf_params.passive) {
        module->osc_flush = osc_rbuf_flush;
        module->osc_flush_all = osc_rbuf_flush_all;
        module->osc_flush_local = osc_rbuf_flush_local;
        module->osc_flush_local_all = osc_rbuf_flush_local_all;
        module->osc_raccumulate = osc_rbuf_raccumulate;
        module->osc_rget_accumulate = osc_rbuf_rget_accumulate;
    }
}

/* NULL without memory. What is not set here is 0 or empty. */
static struct osc_rbuf_window *window_new(ompi_win_t *win, void *base, MPI_Comm comm, int flavor)
{
    struct osc_rbuf_window *window = calloc(1, sizeof(*window));

    if (window == NULL) {
        return NULL;
    }
    window->win = win;
    window->below = *win->w_osc_module;
    window->dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    window->base = window->dynamic ? NULL : base;
    OBJ_CONSTRUCT(&window->results.table, opal_pointer_array_t);
    TAILQ_INIT(&window->flush.unanswered);
    window->info.ordered = OSC_RBUF_ALL_ORDERED;
    window->rank = ompi_comm_rank(comm);
    window->size = ompi_comm_size(comm);
    window->peers = calloc((size_t) window->size, sizeof(*window->peers));
    window->fence.sums = calloc((size_t) window->size, OSC_RBUF_SUMS * sizeof(*window->fence.sums));
    if (window->peers == NULL || window->fence.sums == NULL) {
        window_free(window);
        return NULL;
    }
    return window;
}

int osc_rbuf_module_attach(ompi_win_t *win, void *base, size_t bytes,
                           osc_rbuf_unit_t displacement_unit, MPI_Comm comm, long comm_id,
                           int flavor)
{
    struct osc_rbuf_window *window = window_new(win, base, comm, flavor);
    struct told *all = malloc(sizeof(*all) * (size_t) ompi_comm_size(comm));
    struct told told = {.bytes = bytes, .displacement_unit = displacement_unit};
    const bool shares = osc_rbuf_comm_shared(comm) == comm_id;
    const bool joined = !shares || osc_rbuf_comm_join(window, comm) == MPI_SUCCESS;
    const bool ready = joined && window != NULL && all != NULL && osc_rbuf_below_can_open(window);
    int status = MPI_ERR_OTHER;

    if (flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        told.displacement_unit = 1;
    }
    if (all_are_ready(comm, ready)) {
        told.key = osc_rbuf_am_open(window);
        status = exchange(window, comm, &told, all);
    }
    free(all);
    if (status == MPI_SUCCESS && !shares) {
        status = osc_rbuf_comm_make(window, comm, comm_id);
    }
    if (status != MPI_SUCCESS) {
        if (window != NULL) {
            window_free(window);
        }
        return OMPI_ERROR;
    }
    osc_rbuf_window_list(window);
    osc_rbuf_info_heed(window);
    replace_functions(win->w_osc_module);
    return OMPI_SUCCESS;
}
