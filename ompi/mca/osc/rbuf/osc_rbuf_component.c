/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component: parameters, counters, and how it comes in front of another one. It takes part
 * where all processes of a window ask for it, mean the same messages and have the transport rbuf,
 * and osc/rdma serves the window. Whether it takes part or not, it says so when nobody serves a
 * window since an adapter has no atomic operations: Open MPI's error says nothing.
 */
#include "osc_rbuf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "ompi/mca/osc/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/btl/base/base.h"
#include "opal/util/proc.h"
#include "btl_rbuf_help_show.h"
#include "btl_rbuf_values.h"
#include "osc_rbuf_message.h"
#include "osc_rbuf_mpi.h"

enum {
    FORM = 3, /* of messages and records (osc_rbuf_message.h) */
    LEAST_MESSAGE = 512,
    MOST_MESSAGE = 1 << 20,
    AUTO_LIMIT = 8192
};

#define AUTO               "auto"
#define LIMIT_RANGE        "bytes, 0 to 64 less than message_size, or auto"
#define MESSAGE_SIZE_RANGE "bytes, 512 to 1M"

struct osc_rbuf_params osc_rbuf_params;

/* As they were given: Open MPI's own reader takes 12.5k for 12. */
static const char *limit_text = AUTO;
static const char *message_size_text = "16000";

static int register_params(void);
static int init(bool progress_threads, bool mpi_threads);
static int finalize(void);
static int query(ompi_win_t *win, void **base, size_t bytes, osc_rbuf_unit_t displacement_unit,
                 ompi_communicator_t *comm, opal_info_t *info, int flavor);
static int select_window(ompi_win_t *win, void **base, size_t bytes,
                         osc_rbuf_unit_t displacement_unit, ompi_communicator_t *comm,
                         opal_info_t *info, int flavor, int *model);

/* Open MPI finds it by its name. */
OMPI_DECLSPEC extern ompi_osc_base_component_t mca_osc_rbuf_component;

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

static const struct counter {
    const char *name;
    unsigned long long *value;
    const char *text;
} counters[] = {
    {"packed", &osc_rbuf_counters.packed, "One-sided operations that were packed into messages"},
    {"passed", &osc_rbuf_counters.passed,
     "One-sided operations of active epochs that went by osc/rdma"},
    {"messages", &osc_rbuf_counters.messages,
     "Messages of osc/rbuf: packed operations, synchronisation, results"}};

static void register_var(const char *name, mca_base_var_type_t type, void *value, const char *text)
{
    (void) mca_base_component_var_register(&mca_osc_rbuf_component.osc_version, name, text, type,
                                           NULL, 0, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
                                           value);
}

static int register_params(void)
{
    register_var(
        "aggregate", MCA_BASE_VAR_TYPE_BOOL, &osc_rbuf_params.aggregate,
        "Small one-sided operations of fence and post-start-complete-wait epochs travel "
        "packed, together with the synchronisation, in one message for each target, if all "
        "processes are told so. Off: osc/rdma does everything (default: off)");
    register_var("limit", MCA_BASE_VAR_TYPE_STRING, &limit_text,
                 "Longest put or get that is packed; longer ones are written and read by the "
                 "adapter. Accumulates are packed whatever they take (" LIMIT_RANGE
                 "). auto: 8k, or what a message has room for (default: auto)");
    register_var("message_size", MCA_BASE_VAR_TYPE_STRING, &message_size_text,
                 "Length of a packed message. Best is what is sent eagerly at once: see "
                 "btl_rbuf_control_size (" MESSAGE_SIZE_RANGE "; default: 16000)");
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        (void) mca_base_component_pvar_register(
            &mca_osc_rbuf_component.osc_version, counters[i].name, counters[i].text,
            OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
            NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL,
            counters[i].value);
    }
    return OMPI_SUCCESS;
}

static void refuse(const char *name, const char *value, const char *range)
{
    const char *const values[MCA_BTL_RBUF_HELP_VALUES] = {opal_process_info.nodename, name, value,
                                                          range};

    mca_btl_rbuf_help_files();
    mca_btl_rbuf_help_show("bad parameter", values);
}

static bool read_size(const char *name, const char *text, uint64_t least, uint64_t most,
                      const char *range, size_t *size)
{
    uint64_t bytes;

    if (!mca_btl_rbuf_read_size(text, &bytes) || bytes < least || bytes > most) {
        refuse(name, text, range);
        return false;
    }
    *size = (size_t) bytes;
    return true;
}

/* A process with a value that it cannot use has to say so to the others, as one that does not
 * aggregate: so it stays. */
static int init(bool progress_threads, bool mpi_threads)
{
    struct osc_rbuf_params *params = &osc_rbuf_params;

    (void) progress_threads;
    (void) mpi_threads;
    if (!params->aggregate) {
        return OMPI_SUCCESS;
    }
    params->aggregate = read_size("message_size", message_size_text, LEAST_MESSAGE, MOST_MESSAGE,
                                  MESSAGE_SIZE_RANGE, &params->message_size);
    params->message_size &= ~(size_t) 7;
    if (params->aggregate && strcmp(limit_text, AUTO) == 0) {
        params->limit = osc_rbuf_room() < AUTO_LIMIT ? osc_rbuf_room() : AUTO_LIMIT;
    } else if (params->aggregate) {
        params->aggregate =
            read_size("limit", limit_text, 0, osc_rbuf_room(), LIMIT_RANGE, &params->limit);
    }
    return OMPI_SUCCESS;
}

static int finalize(void)
{
    osc_rbuf_messages_close();
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

/* What those of this process are like, and how long: not 0. */
static long messages_of_ours(void)
{
    return FORM * 2l * MOST_MESSAGE + (long) osc_rbuf_params.message_size;
}

/* The one that Open MPI would take without us; NULL if there is none. */
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

static void say_no_windows(void)
{
    static bool said;
    const char *const values[MCA_BTL_RBUF_HELP_VALUES] = {opal_process_info.nodename};

    if (!said) {
        mca_btl_rbuf_help_files();
        mca_btl_rbuf_help_show("no windows", values);
    }
    said = true;
}

/* All processes of the window have to say the same, and to mean the same messages. All look whether
 * anybody serves it if one of them lacks atomics: others' queries may be collective. */
static int query(ompi_win_t *win, void **base, size_t bytes, osc_rbuf_unit_t displacement_unit,
                 ompi_communicator_t *comm, opal_info_t *info, int flavor)
{
    const enum transport transport = transport_here();
    const long wanted =
        osc_rbuf_params.aggregate && transport != TRANSPORT_NONE ? messages_of_ours() : 0;
    const long mine[3] = {wanted, -wanted, transport != TRANSPORT_WITHOUT_ATOMICS};
    long least[3];

    if (flavor == MPI_WIN_FLAVOR_SHARED || osc_rbuf_least(comm, mine, least, 3) != MPI_SUCCESS) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    if (least[2] == 0 &&
        best_below(win, base, bytes, displacement_unit, comm, info, flavor) == NULL &&
        transport == TRANSPORT_WITHOUT_ATOMICS) {
        say_no_windows();
    }
    return wanted > 0 && least[0] == -least[1] ? INT_MAX : OMPI_ERR_NOT_SUPPORTED;
}

static int select_window(ompi_win_t *win, void **base, size_t bytes,
                         osc_rbuf_unit_t displacement_unit, ompi_communicator_t *comm,
                         opal_info_t *info, int flavor, int *model)
{
    ompi_osc_base_component_t *below =
        best_below(win, base, bytes, displacement_unit, comm, info, flavor);
    int status;

    if (below == NULL) {
        return OMPI_ERR_NOT_SUPPORTED;
    }
    status = below->osc_select(win, base, bytes, displacement_unit, comm, info, flavor, model);
    if (status == OMPI_SUCCESS && strcmp(below->osc_version.mca_component_name, "rdma") == 0) {
        (void) osc_rbuf_window_attach(win, base != NULL ? *base : NULL, bytes, displacement_unit,
                                      comm, flavor);
    }
    return status;
}
