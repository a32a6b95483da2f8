/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component: decides for which windows osc/rbuf comes in front of another component. It does so
 * where all of this holds:
 *
 *   - All processes of the window have the transport rbuf.
 *   - All have the same values of `aggregate`, `passive` and `message_size`, and the same form of
 *     messages (OSC_RBUF_FORM).
 *   - They are on several nodes, or `aggregate` is on.
 *   - osc/rdma serves the window.
 *
 * query() finds this out by one collective operation, so that all processes decide alike, and
 * select_window() acts on it. Whether osc/rbuf takes part or not, it says so when nobody serves a
 * window since an adapter has no atomic operations: Open MPI's error says nothing.
 *
 * Owns what query() leaves for select_window(), of each thread. No lock is held here.
 */
#include <limits.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "ompi/mca/osc/base/base.h"
#include "opal/mca/btl/base/base.h"
#include "osc_rbuf_am.h"
#include "osc_rbuf_buffer.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_counters.h"
#include "osc_rbuf_fence.h"
#include "osc_rbuf_module.h"
#include "osc_rbuf_mpi.h"
#include "osc_rbuf_params.h"
#include "osc_rbuf_passive.h"
#include "osc_rbuf_scatter.h"
#include "osc_rbuf_sync.h"
#include "osc_rbuf_wire.h"
#include "rbuf_compat.h"

/* Open MPI finds it by its name. */
OMPI_DECLSPEC extern ompi_osc_base_component_t mca_osc_rbuf_component;

static int register_params(void)
{
    osc_rbuf_params_register(&mca_osc_rbuf_component.osc_version);
    osc_rbuf_counters_register(&mca_osc_rbuf_component.osc_version);
    return OMPI_SUCCESS;
}

/* Open MPI calls it once, before there is a window: the inbox knows all kinds of messages from then
 * on. A process with a parameter value that it cannot use has to say so to the others, as one that
 * does not aggregate: so it stays. */
static int init(bool progress_threads, bool mpi_threads)
{
    (void) progress_threads;
    (void) mpi_threads;
    osc_rbuf_params_read();
    osc_rbuf_scatter_open();
    osc_rbuf_fence_open();
    osc_rbuf_sync_open();
    osc_rbuf_passive_open();
    return OMPI_SUCCESS;
}

/* Active messages take buffers, so they end first: the program may not have freed its windows. */
static int finalize(void)
{
    osc_rbuf_am_finalize();
    osc_rbuf_buffers_close();
    return OMPI_SUCCESS;
}

enum transport { TRANSPORT_NONE, TRANSPORT_WITHOUT_ATOMICS, TRANSPORT_WITH_ATOMICS };

/* What this process has of the transport rbuf: the best of its ports. */
static enum transport transport_here(void)
{
    const uint32_t atomics = MCA_BTL_FLAGS_ATOMIC_FOPS | MCA_BTL_FLAGS_ATOMIC_OPS;
    enum transport transport = TRANSPORT_NONE;
    mca_btl_base_selected_module_t *selected;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        if (strcmp(selected->btl_component->btl_version.mca_component_name, "rbuf") == 0) {
            if ((selected->btl_module->btl_flags & atomics) != 0) {
                return TRANSPORT_WITH_ATOMICS;
            }
            transport = TRANSPORT_WITHOUT_ATOMICS;
        }
    }
    return transport;
}

/* The form and the length of this process's messages as one number, which is not 0. */
static long messages_of_ours(void)
{
    return (2l * OSC_RBUF_FORM + osc_rbuf_params.passive) * 2l * OSC_RBUF_MOST_MESSAGE +
           (long) osc_rbuf_params.message_size;
}

/* The component that Open MPI would take without osc/rbuf; NULL if there is none. */
static ompi_osc_base_component_t *best_below(ompi_win_t *win, void **base, size_t bytes,
                                             osc_rbuf_unit_t displacement_unit,
                                             ompi_communicator_t *comm, opal_info_t *info,
                                             int flavor)
{
    ompi_osc_base_component_t *best = NULL;
    mca_base_component_list_item_t *item;
    int most = -1;

    OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components,
                      mca_base_component_list_item_t)
    {
        ompi_osc_base_component_t *component = (void *) (uintptr_t) item->cli_component;
        int priority;

        if (component == &mca_osc_rbuf_component) {
            continue;
        }
        priority = component->osc_query(win, base, bytes, displacement_unit, comm, info, flavor);
        if (priority > most) {
            best = component;
            most = priority;
        }
    }
    return best;
}

/* What the processes of a window tell each other before it is made. Each learns the least of all
 * values: where the highest counts, they tell it negated. */
enum {
    HAS_TRANSPORT,
    HAS_ATOMICS,
    ON_ONE_NODE,
    AGGREGATE,
    AGGREGATE_MOST,
    FORM_LEAST,
    FORM_MOST,
    COMM_LEAST,
    COMM_MOST,
    COMM_IDS,
    TOLD
};

static void tell(ompi_communicator_t *comm, enum transport transport, long told[TOLD])
{
    const long aggregate = (long) osc_rbuf_params.aggregate;
    const long messages = aggregate != OSC_RBUF_AGGREGATE_OFF ? messages_of_ours() : 0;

    told[HAS_TRANSPORT] = transport != TRANSPORT_NONE;
    told[HAS_ATOMICS] = transport != TRANSPORT_WITHOUT_ATOMICS;
    told[ON_ONE_NODE] = !ompi_group_have_remote_peers(comm->c_local_group);
    told[AGGREGATE] = aggregate;
    told[AGGREGATE_MOST] = -aggregate;
    told[FORM_LEAST] = messages;
    told[FORM_MOST] = -messages;
    told[COMM_LEAST] = osc_rbuf_comm_shared(comm);
    told[COMM_MOST] = -told[COMM_LEAST];
    told[COMM_IDS] = -osc_rbuf_comm_ids();
}

/* The id of the communicator that all of them share already, or one for a new communicator. */
static long comm_of(const long least[TOLD])
{
    return least[COMM_LEAST] != 0 && least[COMM_LEAST] == -least[COMM_MOST] ? least[COMM_LEAST]
                                                                            : 1 - least[COMM_IDS];
}

/* Whether the window is packed, which all decide alike from the least of what all tell. */
static bool is_packed(ompi_communicator_t *comm, const long least[TOLD])
{
    static bool said;
    const long most = -least[AGGREGATE_MOST];
    const bool spans = !least[ON_ONE_NODE];

    if (!least[HAS_TRANSPORT] || most == OSC_RBUF_AGGREGATE_OFF ||
        (most == OSC_RBUF_AGGREGATE_AUTO && !spans)) {
        return false;
    }
    if (least[AGGREGATE] == most && least[FORM_LEAST] == -least[FORM_MOST]) {
        return true;
    }
    if (ompi_comm_rank(comm) == 0 && !said) {
        said = true;
        osc_rbuf_help("unlike", osc_rbuf_params.aggregate_text, osc_rbuf_params.message_size_text,
                      osc_rbuf_params.passive ? "on" : "off");
    }
    return false;
}

/* Of a window, from query() to select_window(), which the same thread calls next. */
static _Thread_local struct {
    long comm; /* the communicator of its messages */
    bool asked_below;
    ompi_osc_base_component_t *below; /* what best_below() found, if it was asked */
} chosen;

/* All look whether anybody serves the window if one of them lacks atomics: others' queries may be
 * collective. */
static int query(ompi_win_t *win, void **base, size_t bytes, osc_rbuf_unit_t displacement_unit,
                 ompi_communicator_t *comm, opal_info_t *info, int flavor)
{
    static bool said;
    const enum transport transport = transport_here();
    long told[TOLD], least[TOLD];

    if (flavor == MPI_WIN_FLAVOR_SHARED) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    tell(comm, transport, told);
    if (osc_rbuf_least(comm, told, least, TOLD) != MPI_SUCCESS) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    chosen.comm = comm_of(least);
    chosen.asked_below = !least[HAS_ATOMICS];
    if (chosen.asked_below) {
        chosen.below = best_below(win, base, bytes, displacement_unit, comm, info, flavor);
        if (chosen.below == NULL && transport == TRANSPORT_WITHOUT_ATOMICS && !said) {
            said = true;
            osc_rbuf_help("no windows", NULL, NULL, NULL);
        }
    }
    return is_packed(comm, least) ? INT_MAX : OMPI_ERR_NOT_SUPPORTED;
}

static int select_window(ompi_win_t *win, void **base, size_t bytes,
                         osc_rbuf_unit_t displacement_unit, ompi_communicator_t *comm,
                         opal_info_t *info, int flavor, int *model)
{
    ompi_osc_base_component_t *below =
        chosen.asked_below ? chosen.below
                           : best_below(win, base, bytes, displacement_unit, comm, info, flavor);
    int status;

    if (below == NULL) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    status = below->osc_select(win, base, bytes, displacement_unit, comm, info, flavor, model);
    if (status == OMPI_SUCCESS && strcmp(below->osc_version.mca_component_name, "rdma") == 0) {
        (void) osc_rbuf_module_attach(win, base != NULL ? *base : NULL, bytes, displacement_unit,
                                      comm, chosen.comm, flavor);
    }
    return status;
}

ompi_osc_base_component_t mca_osc_rbuf_component = {
    .osc_version = {OSC_RBUF_FRAMEWORK, .mca_component_name = "rbuf",
                    MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                          OMPI_RELEASE_VERSION),
                    .mca_register_component_params = register_params},
    .osc_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .osc_init = init,
    .osc_query = query,
    .osc_select = select_window,
    .osc_finalize = finalize};
MCA_BASE_COMPONENT_INIT(ompi, osc, rbuf)
