/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Values of parameters (params/params.h): each is read, then those that depend on each other are
 * compared, and sizes are rounded and limited. Owns mca_btl_rbuf_params, which is constant once it
 * was checked.
 */
#include "rbuf_compat.h"

#include "params/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "params/help.h"
#include "params/left_out.h"
#include "params/table.h"
#include "params/values.h"
#include "common/names.h"
#include "core/base/schedule.h"

#define EARLY_BLOCKS_MOST 1024u /* of a slot: as many have flags of their own */

struct mca_btl_rbuf_params mca_btl_rbuf_params;

static const char *value_of(size_t i)
{
    return mca_btl_rbuf_values[i] != NULL ? mca_btl_rbuf_values[i] : "";
}

static bool read_choice(const struct parameter *parameter, const char *text, uint64_t *value)
{
    for (uint64_t i = 0; parameter->choices[i] != NULL; i++) {
        if (strcmp(parameter->choices[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static bool read_value(const struct parameter *parameter, const char *text, uint64_t *value)
{
    bool read = false;

    if (parameter->nothing != NULL && strcmp(text, parameter->nothing) == 0) {
        *value = parameter->nothing_value;
        return true;
    }
    switch (parameter->kind) {
    case SIZE:
        read = mca_btl_rbuf_read_size(text, value);
        break;
    case COUNT:
        read = mca_btl_rbuf_read_count(text, value);
        break;
    case TIME:
        read = mca_btl_rbuf_read_time(text, value);
        break;
    case RATIO:
        read = mca_btl_rbuf_read_ratio(text, value);
        break;
    case CHOICE:
        return read_choice(parameter, text, value);
    case TEXT:
        return true;
    }
    return read && *value >= parameter->min && *value <= parameter->max;
}

/* Says what is wrong with the value of `name` as it was given. */
static bool refuse(const char *name, const char *why)
{
    for (size_t i = 0; i < MCA_BTL_RBUF_PARAMETERS; i++) {
        if (strcmp(mca_btl_rbuf_parameters[i].name, name) == 0) {
            char range[256];

            mca_btl_rbuf_parameter_range(&mca_btl_rbuf_parameters[i], range, sizeof(range));
            mca_btl_rbuf_help("bad parameter", opal_process_info.nodename, name, value_of(i), range,
                              why, NULL);
        }
    }
    return false;
}

static bool read_all(void)
{
    for (size_t i = 0; i < MCA_BTL_RBUF_PARAMETERS; i++) {
        const struct parameter *parameter = &mca_btl_rbuf_parameters[i];
        void *field = (char *) &mca_btl_rbuf_params + parameter->offset;
        uint64_t value = 0;

        if (!read_value(parameter, value_of(i), &value)) {
            return refuse(parameter->name, "it is not of that form, or out of that range");
        }
        if (parameter->kind == TEXT) {
            *(const char **) field = value_of(i);
        } else {
            *(uint64_t *) field = value;
        }
    }
    return true;
}

static bool check_ports(struct mca_btl_rbuf_params *params)
{
    unsigned first;
    unsigned last;
    char rest;

    params->port_min = params->port_max = 0;
    if (strcmp(params->listen_ports, "any") == 0) {
        return true;
    }
    if (params->listen_ports[strspn(params->listen_ports, "0123456789-")] != '\0') {
        return refuse("listen_ports", "it is not of that form"); /* sscanf takes signs and blanks */
    }
    if (sscanf(params->listen_ports, "%5u%c", &first, &rest) == 1) {
        last = first;
    } else if (sscanf(params->listen_ports, "%5u-%5u%c", &first, &last, &rest) != 2) {
        return refuse("listen_ports", "it is not of that form");
    }
    if (first == 0 || last > 65535 || first > last) {
        return refuse("listen_ports", "ports are 1 to 65535, the first not above the last");
    }
    params->port_min = first;
    params->port_max = last;
    return true;
}

/* A list of commas alone is not the same as none: it would be taken for the default. */
static bool check_lists(const struct mca_btl_rbuf_params *params)
{
    const struct {
        const char *name;
        const char *list;
    } lists[] = {{"if_include", params->if_include},
                 {"if_exclude", params->if_exclude},
                 {"listen_if", params->listen_if}};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (lists[i].list[0] != '\0' && !rbuf_names_any(lists[i].list)) {
            return refuse(lists[i].name, "it names nothing");
        }
    }
    return true;
}

static uint64_t whole_blocks(const struct mca_btl_rbuf_params *params, uint64_t bytes)
{
    return (bytes + params->block_size - 1) / params->block_size * params->block_size;
}

/* What must hold between the sizes of staging. */
static bool check_sizes(struct mca_btl_rbuf_params *params)
{
    if ((params->block_size & (params->block_size - 1)) != 0) {
        return refuse("block_size", "it is not a power of two");
    }
    params->c0 = whole_blocks(params, params->c0);
    params->largest_chunk = whole_blocks(params, params->largest_chunk);
    params->pipeline_chunk =
        params->pipeline_chunk == 0 ? params->c0 : whole_blocks(params, params->pipeline_chunk);
    params->early_size =
        whole_blocks(params, params->early_size > params->c0 ? params->early_size
                                                             : params->c0 + params->block_size);
    if (params->early_size > EARLY_BLOCKS_MOST * params->block_size) {
        params->early_size = EARLY_BLOCKS_MOST * params->block_size;
    }
    params->early_c0 =
        whole_blocks(params, params->early_c0 < params->c0 ? params->early_c0 : params->c0);
    if (params->c0 > params->largest_chunk) {
        return refuse("c0", "it is larger than btl_rbuf_largest_chunk");
    }
    if (params->pipeline_chunk > params->largest_chunk) {
        return refuse("pipeline_chunk", "it is larger than btl_rbuf_largest_chunk");
    }
    if (params->largest_chunk / params->block_size > RBUF_BUFFER_BLOCKS) {
        return refuse("largest_chunk", "it has more than 65535 blocks of btl_rbuf_block_size");
    }
    return mca_btl_rbuf_params_check_staging(params->staging_size, 1);
}

bool mca_btl_rbuf_params_check_staging(uint64_t share, size_t ports)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    char why[160];

    if (params->staging_size == 0 || share / 2 >= params->block_size) {
        return true;
    }
    if (ports > 1) {
        snprintf(why, sizeof(why),
                 "it is for %zu ports, and half of what one has must hold a block of %" PRIu64
                 " bytes (btl_rbuf_block_size)",
                 ports, params->block_size);
    } else {
        snprintf(why, sizeof(why),
                 "half of it must hold a block of %" PRIu64 " bytes (btl_rbuf_block_size)",
                 params->block_size);
    }
    return refuse("staging_size", why);
}

static bool check_without_cache(const struct mca_btl_rbuf_params *params)
{
    if (params->protocol == MCA_BTL_RBUF_RCACHE || params->protocol == MCA_BTL_RBUF_HELPER) {
        return refuse("protocol", "btl_rbuf_allow_cache is off");
    }
    if (params->reuse == MCA_BTL_RBUF_ON) {
        return refuse("reuse", "btl_rbuf_allow_cache is off");
    }
    return true;
}

bool mca_btl_rbuf_params_check(void)
{
    struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    mca_btl_rbuf_params_tell_left_out();
    if (!read_all() || !check_ports(params) || !check_lists(params) || !check_sizes(params)) {
        return false;
    }
    if (params->if_include[0] != '\0' && params->if_exclude[0] != '\0') {
        return refuse("if_exclude", "btl_rbuf_if_include is given too; give one of them");
    }
    if (params->ring_slot_size % 64 != 0) {
        return refuse("ring_slot_size", "it is not a multiple of 64");
    }
    if (params->mtu != 0 && (params->mtu & (params->mtu - 1)) != 0) {
        return refuse("mtu", "it is not one of these");
    }
    if (params->protocol == MCA_BTL_RBUF_HELPER && !RBUF_HAVE_HELPER) {
        return refuse("protocol", "this build leaves it out (configure --without-helper)");
    }
    return params->allow_cache == MCA_BTL_RBUF_ON || check_without_cache(params);
}
