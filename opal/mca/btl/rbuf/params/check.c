/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Values of parameters (params/params.h): each is read, sizes are rounded and limited, then those
 * that depend on each other are compared. Owns mca_btl_rbuf_params, which is constant once it
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

static const char *value_of(const struct parameter *parameter)
{
    return parameter->value != NULL ? parameter->value : "";
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
    static bool (*const readers[])(const char *, uint64_t *) = {[SIZE] = mca_btl_rbuf_read_size,
                                                                [COUNT] = mca_btl_rbuf_read_count,
                                                                [TIME] = mca_btl_rbuf_read_time,
                                                                [RATIO] = mca_btl_rbuf_read_ratio};

    if (parameter->nothing != NULL && strcmp(text, parameter->nothing) == 0) {
        *value = parameter->nothing_value;
        return true;
    }
    if (parameter->kind == CHOICE) {
        return read_choice(parameter, text, value);
    }
    return parameter->kind == TEXT || (readers[parameter->kind](text, value) &&
                                       *value >= parameter->min && *value <= parameter->max);
}

/* Says what is wrong with the value of `name` as it was given. */
static bool refuse(const char *name, const char *why)
{
    const struct parameter *parameter = mca_btl_rbuf_parameters;
    char range[256];

    while (strcmp(parameter->name, name) != 0) {
        parameter++;
    }
    mca_btl_rbuf_parameter_range(parameter, range, sizeof(range));
    mca_btl_rbuf_help("bad parameter", opal_process_info.nodename, name, value_of(parameter), range,
                      why, NULL);
    return false;
}

static bool read_all(void)
{
    for (const struct parameter *parameter = mca_btl_rbuf_parameters; parameter->name != NULL;
         parameter++) {
        void *field = (char *) &mca_btl_rbuf_params + parameter->offset;
        uint64_t value = 0;

        if (!read_value(parameter, value_of(parameter), &value)) {
            return refuse(parameter->name, "it is not of that form, or out of that range");
        }
        if (parameter->kind == TEXT) {
            *(const char **) field = value_of(parameter);
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
static bool check_list(const char *name, const char *list)
{
    return list[0] == '\0' || rbuf_names_any(list) || refuse(name, "it names nothing");
}

static uint64_t whole_blocks(const struct mca_btl_rbuf_params *params, uint64_t bytes)
{
    return (bytes + params->block_size - 1) / params->block_size * params->block_size;
}

/* Rounds and limits the sizes of staging. */
static void round_sizes(struct mca_btl_rbuf_params *params)
{
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

static bool is_power_of_two(uint64_t number)
{
    return (number & (number - 1)) == 0;
}

/* What must hold between parameters, in the order in which it is said. */
static bool check_rules(const struct mca_btl_rbuf_params *params)
{
    const bool no_cache = params->allow_cache == MCA_BTL_RBUF_OFF;
    const struct {
        bool is_broken;
        const char *name;
        const char *why;
    } rules[] = {
        {!is_power_of_two(params->block_size), "block_size", "it is not a power of two"},
        {params->c0 > params->largest_chunk, "c0", "it is larger than btl_rbuf_largest_chunk"},
        {params->pipeline_chunk > params->largest_chunk, "pipeline_chunk",
         "it is larger than btl_rbuf_largest_chunk"},
        {params->largest_chunk / params->block_size > RBUF_BUFFER_BLOCKS, "largest_chunk",
         "it has more than 65535 blocks of btl_rbuf_block_size"},
        {params->if_include[0] != '\0' && params->if_exclude[0] != '\0', "if_exclude",
         "btl_rbuf_if_include is given too; give one of them"},
        {params->ring_slot_size % 64 != 0, "ring_slot_size", "it is not a multiple of 64"},
        {params->mtu != 0 && !is_power_of_two(params->mtu), "mtu", "it is not one of these"},
        {params->protocol == MCA_BTL_RBUF_HELPER && !RBUF_HAVE_HELPER, "protocol",
         "this build leaves it out (configure --without-helper)"},
        {no_cache &&
             (params->protocol == MCA_BTL_RBUF_RCACHE || params->protocol == MCA_BTL_RBUF_HELPER),
         "protocol", "btl_rbuf_allow_cache is off"},
        {no_cache && params->reuse == MCA_BTL_RBUF_ON, "reuse", "btl_rbuf_allow_cache is off"}};

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].is_broken) {
            return refuse(rules[i].name, rules[i].why);
        }
    }
    return true;
}

bool mca_btl_rbuf_params_check(void)
{
    struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    mca_btl_rbuf_params_tell_left_out();
    if (!read_all() || !check_ports(params) || !check_list("if_include", params->if_include) ||
        !check_list("if_exclude", params->if_exclude) ||
        !check_list("listen_if", params->listen_if)) {
        return false;
    }
    round_sizes(params);
    return check_rules(params) && mca_btl_rbuf_params_check_staging(params->staging_size, 1);
}
