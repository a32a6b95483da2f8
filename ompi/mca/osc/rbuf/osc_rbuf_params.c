/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Parameters: names, ranges, defaults and texts, and how values are read.
 */
#include "osc_rbuf_params.h"

#include <string.h>
#include <strings.h>

#include "opal/mca/base/mca_base_var.h"
#include "opal/util/proc.h"
#include "osc_rbuf_wire.h"
#include "params/help_show.h"
#include "params/values.h"

enum { LEAST_MESSAGE = 512, MOST_MESSAGE = OSC_RBUF_MOST_MESSAGE, AUTO_LIMIT = 8192 };

#define AUTO               "auto"
#define AGGREGATE_RANGE    "auto, on or off"
#define LIMIT_RANGE        "bytes, 0 to 64 less than message_size, or auto"
#define MESSAGE_SIZE_RANGE "bytes, 512 to 1M"

struct osc_rbuf_params osc_rbuf_params = {.passive = true, .active_messages = true};

/* Open MPI's: it gives an empty value as NULL. Sizes are texts since its own reader takes 12.5k for
 * 12. */
static const char *given_aggregate = AUTO;
static const char *given_limit = AUTO;
static const char *given_message_size = "16000";

static void register_var(const mca_base_component_t *component, const char *name,
                         mca_base_var_type_t type, void *value, const char *text)
{
    (void) mca_base_component_var_register(component, name, text, type, NULL, 0, 0, OPAL_INFO_LVL_4,
                                           MCA_BASE_VAR_SCOPE_READONLY, value);
}

void osc_rbuf_params_register(const mca_base_component_t *component)
{
    register_var(
        component, "aggregate", MCA_BASE_VAR_TYPE_STRING, &given_aggregate,
        "Small one-sided operations of fence and post-start-complete-wait epochs travel packed, "
        "together with the synchronisation, in one message for each target (" AGGREGATE_RANGE
        "). auto: those of windows whose processes are on several nodes; inside a node shared "
        "memory is faster. off: osc/rdma does everything. All processes of a window need the same "
        "value (default: auto)");
    register_var(component, "passive", MCA_BASE_VAR_TYPE_BOOL, &osc_rbuf_params.passive,
                 "Accumulates, fetches and swaps of passive target epochs (lock, lock_all) travel "
                 "packed as well, in windows that are packed. The target's processor does them, "
                 "with one message and one answer, where osc/rdma takes a lock, a read and a "
                 "write. While a target computes, rbuf's thread looks for them each millisecond "
                 "(active_messages). Switch it off where targets compute for long, and origins "
                 "wait for derived types or for other operations that the thread leaves to MPI. "
                 "All processes of a window need the same value (on or off; default: on)");
    register_var(component, "active_messages", MCA_BASE_VAR_TYPE_BOOL,
                 &osc_rbuf_params.active_messages,
                 "With passive, packed operations go as active messages of rbuf, and rbuf's thread "
                 "does them while the target computes: each btl_rbuf_async_progress, which must "
                 "not be 0. Those of derived types, of types with holes and of more than one "
                 "message do not, nor those for processes that another transport reaches. Each "
                 "process says for itself whether it takes any (on or off; default: on)");
    register_var(component, "limit", MCA_BASE_VAR_TYPE_STRING, &given_limit,
                 "Longest put or get that is packed; longer ones are written and read by the "
                 "adapter. Accumulates are packed whatever they take (" LIMIT_RANGE
                 "). auto: 8k, or what a message has room for (default: auto)");
    register_var(component, "message_size", MCA_BASE_VAR_TYPE_STRING, &given_message_size,
                 "Length of a packed message. Best is what is sent eagerly at once: see "
                 "btl_rbuf_control_size (" MESSAGE_SIZE_RANGE "; default: 16000)");
}

void osc_rbuf_help(const char *topic, const char *first, const char *second, const char *third)
{
    const char *const values[MCA_BTL_RBUF_HELP_VALUES] = {opal_process_info.nodename, first, second,
                                                          third};

    mca_btl_rbuf_help_files(&mca_osc_rbuf_help_texts);
    mca_btl_rbuf_help_show(&mca_osc_rbuf_help_texts, topic, values);
}

size_t osc_rbuf_room(void)
{
    return (osc_rbuf_params.message_size - sizeof(struct osc_rbuf_header) -
            sizeof(struct osc_rbuf_record)) &
           ~(size_t) 7;
}

static const char *text_of(const char *given)
{
    return given != NULL ? given : "";
}

static bool read_size(const char *name, const char *text, uint64_t least, uint64_t most,
                      const char *range, size_t *size)
{
    uint64_t bytes;

    if (!mca_btl_rbuf_read_size(text, &bytes) || bytes < least || bytes > most) {
        osc_rbuf_help("bad parameter", name, text, range);
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
    osc_rbuf_help("bad parameter", "aggregate", text, AGGREGATE_RANGE);
    return false;
}

static bool read_message(struct osc_rbuf_params *params)
{
    const char *limit = text_of(given_limit);

    if (!read_size("message_size", params->message_size_text, LEAST_MESSAGE, MOST_MESSAGE,
                   MESSAGE_SIZE_RANGE, &params->message_size)) {
        return false;
    }
    params->message_size &= ~(size_t) 7;
    if (strcmp(limit, AUTO) == 0) {
        params->limit = osc_rbuf_room() < AUTO_LIMIT ? osc_rbuf_room() : AUTO_LIMIT;
        return true;
    }
    return read_size("limit", limit, 0, osc_rbuf_room(), LIMIT_RANGE, &params->limit);
}

void osc_rbuf_params_read(void)
{
    struct osc_rbuf_params *params = &osc_rbuf_params;

    params->aggregate_text = text_of(given_aggregate);
    params->message_size_text = text_of(given_message_size);
    if (!read_aggregate(params->aggregate_text, &params->aggregate) ||
        (params->aggregate != OSC_RBUF_AGGREGATE_OFF && !read_message(params))) {
        params->aggregate = OSC_RBUF_AGGREGATE_OFF;
    }
}
