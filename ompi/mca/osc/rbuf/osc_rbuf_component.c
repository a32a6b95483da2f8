/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The component: parameters, counters, and how it comes in front of another one. It takes part
 * where all processes of a window are told the same, mean the same messages and have the transport
 * rbuf, and osc/rdma serves the window; with `auto` where they are on several nodes, besides.
 * Whether it takes part or not, it says so when nobody serves a window since an adapter has no
 * atomic operations: Open MPI's error says nothing.
 */
#include "osc_rbuf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/group/group.h"
#include "ompi/mca/osc/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/btl/base/base.h"
#include "opal/util/proc.h"
#include "osc_rbuf_am.h"
#include "rbuf_compat.h"
#include "params/help_show.h"
#include "params/values.h"
#include "osc_rbuf_comm.h"
#include "osc_rbuf_mpi.h"

enum {
    FORM = 6, /* of messages and records (osc_rbuf_message.h) */
    LEAST_MESSAGE = 512,
    MOST_MESSAGE = 1 << 20,
    AUTO_LIMIT = 8192
};

#define AUTO               "auto"
#define AGGREGATE_RANGE    "auto, on or off"
#define LIMIT_RANGE        "bytes, 0 to 64 less than message_size, or auto"
#define MESSAGE_SIZE_RANGE "bytes, 512 to 1M"

struct osc_rbuf_params osc_rbuf_params = {.passive = true, .active_messages = true};

/* As they were given: Open MPI's own reader takes 12.5k for 12. */
static const char *aggregate_text = AUTO;
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
MCA_BASE_COMPONENT_INIT(ompi, osc, rbuf)

static const struct counter {
    const char *name;
    unsigned long long *value;
    const char *text;
} counters[] = {
    {"packed", &osc_rbuf_counters.packed, "One-sided operations that were packed into messages"},
    {"passed", &osc_rbuf_counters.passed,
     "One-sided operations of active epochs that went by osc/rdma"},
    {"messages", &osc_rbuf_counters.messages,
     "Messages of osc/rbuf: packed operations, synchronisation, results"},
    {"active_sent", &osc_rbuf_counters.active,
     "Messages of packed operations of passive epochs that went as active messages of rbuf"},
    {"by_thread", &osc_rbuf_counters.by_thread,
     "Active messages that came while this process computed: rbuf's thread did what they ask"}};

static void register_var(const char *name, mca_base_var_type_t type, void *value, const char *text)
{
    (void) mca_base_component_var_register(&mca_osc_rbuf_component.osc_version, name, text, type,
                                           NULL, 0, 0, OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY,
                                           value);
}

static int register_params(void)
{
    register_var(
        "aggregate", MCA_BASE_VAR_TYPE_STRING, &aggregate_text,
        "Small one-sided operations of fence and post-start-complete-wait epochs travel packed, "
        "together with the synchronisation, in one message for each target (" AGGREGATE_RANGE
        "). auto: those of windows whose processes are on several nodes; inside a node shared "
        "memory is faster. off: osc/rdma does everything. All processes of a window need the same "
        "value (default: auto)");
    register_var("passive", MCA_BASE_VAR_TYPE_BOOL, &osc_rbuf_params.passive,
                 "Accumulates, fetches and swaps of passive target epochs (lock, lock_all) travel "
                 "packed as well, in windows that are packed. The target's processor does them, "
                 "with one message and one answer, where osc/rdma takes a lock, a read and a "
                 "write. While a target computes, rbuf's thread looks for them each millisecond "
                 "(active_messages). Switch it off where targets compute for long, and origins "
                 "wait for derived types or for other operations that the thread leaves to MPI. "
                 "All processes of a window need the same value (on or off; default: on)");
    register_var("active_messages", MCA_BASE_VAR_TYPE_BOOL, &osc_rbuf_params.active_messages,
                 "With passive, packed operations go as active messages of rbuf, and rbuf's thread "
                 "does them while the target computes: each btl_rbuf_async_progress, which must "
                 "not be 0. Those of derived types, of types with holes and of more than one "
                 "message do not, nor those for processes that another transport reaches. Each "
                 "process says for itself whether it takes any (on or off; default: on)");
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

void osc_rbuf_help(const char *topic, const char *const *values)
{
    mca_btl_rbuf_help_files(&mca_osc_rbuf_help_texts);
    mca_btl_rbuf_help_show(&mca_osc_rbuf_help_texts, topic, values);
}

static void refuse(const char *name, const char *value, const char *range)
{
    const char *const values[MCA_BTL_RBUF_HELP_VALUES] = {opal_process_info.nodename, name, value,
                                                          range};

    osc_rbuf_help("bad parameter", values);
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

/* The words that Open MPI takes for yes and no count as well. */
static bool read_aggregate(const char *text, enum osc_rbuf_aggregate *aggregate)
{
    static const char *const words[][2] = {{"off", "on"}, {"0", "1"}, {"false", "true"},
                                           {"no", "yes"}, {"f", "t"}, {"n", "y"}};

    if (strcasecmp(text, AUTO) == 0) {
        *aggregate = OSC_RBUF_AGGREGATE_AUTO;
        return true;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (int on = 0; on < 2; on++) {
            if (strcasecmp(text, words[i][on]) == 0) {
                *aggregate = on ? OSC_RBUF_AGGREGATE_ON : OSC_RBUF_AGGREGATE_OFF;
                return true;
            }
        }
    }
    refuse("aggregate", text, AGGREGATE_RANGE);
    return false;
}

static bool read_message(struct osc_rbuf_params *params)
{
    if (!read_size("message_size", message_size_text, LEAST_MESSAGE, MOST_MESSAGE,
                   MESSAGE_SIZE_RANGE, &params->message_size)) {
        return false;
    }
    params->message_size &= ~(size_t) 7;
    if (strcmp(limit_text, AUTO) == 0) {
        params->limit = osc_rbuf_room() < AUTO_LIMIT ? osc_rbuf_room() : AUTO_LIMIT;
        return true;
    }
    return read_size("limit", limit_text, 0, osc_rbuf_room(), LIMIT_RANGE, &params->limit);
}

/* A process with a value that it cannot use has to say so to the others, as one that does not
 * aggregate: so it stays. */
static int init(bool progress_threads, bool mpi_threads)
{
    struct osc_rbuf_params *params = &osc_rbuf_params;

    (void) progress_threads;
    (void) mpi_threads;
    if (!read_aggregate(aggregate_text, &params->aggregate) ||
        (params->aggregate != OSC_RBUF_AGGREGATE_OFF && !read_message(params))) {
        params->aggregate = OSC_RBUF_AGGREGATE_OFF;
    }
    return OMPI_SUCCESS;
}

static int finalize(void)
{
    osc_rbuf_am_finalize();
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
    return (2l * FORM + osc_rbuf_params.passive) * 2l * MOST_MESSAGE +
           (long) osc_rbuf_params.message_size;
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
        osc_rbuf_help("no windows", values);
    }
    said = true;
}

/* What the processes of a window have to tell each other, before there is a window. */
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

/* The communicator that all of them have, or a new one. */
static long comm_of(const long least[TOLD])
{
    return least[COMM_LEAST] != 0 && least[COMM_LEAST] == -least[COMM_MOST] ? least[COMM_LEAST]
                                                                            : 1 - least[COMM_IDS];
}

static void say_unlike(void)
{
    static bool said;
    const char *const values[MCA_BTL_RBUF_HELP_VALUES] = {opal_process_info.nodename,
                                                          aggregate_text, message_size_text,
                                                          osc_rbuf_params.passive ? "on" : "off"};

    if (!said) {
        osc_rbuf_help("unlike", values);
    }
    said = true;
}

/* Whether the window is packed, which all decide alike from the least of what all tell. */
static bool is_packed(ompi_communicator_t *comm, const long least[TOLD])
{
    const long most = -least[AGGREGATE_MOST];
    const bool spans = !least[ON_ONE_NODE];

    if (!least[HAS_TRANSPORT] || most == OSC_RBUF_AGGREGATE_OFF ||
        (most == OSC_RBUF_AGGREGATE_AUTO && !spans)) {
        return false;
    }
    if (least[AGGREGATE] == most && least[FORM_LEAST] == -least[FORM_MOST]) {
        return true;
    }
    if (ompi_comm_rank(comm) == 0) {
        say_unlike();
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
        if (chosen.below == NULL && transport == TRANSPORT_WITHOUT_ATOMICS) {
            say_no_windows();
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
        (void) osc_rbuf_window_attach(win, base != NULL ? *base : NULL, bytes, displacement_unit,
                                      comm, chosen.comm, flavor);
    }
    return status;
}
