/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of parameters (params/rows.h), and how Open MPI gets to know them; those of a feature
 * that this build leaves out it does not (params/left_out.h). check.c reads their values.
 */
#include "rbuf_compat.h"

#include "params/params.h"

#include <stdio.h>
#include <string.h>

#include "params/help.h"
#include "params/left_out.h"
#include "params/table.h"
#include "core/base/schedule.h"
#include "core/base/wire.h"
#include "opal/mca/base/mca_base_var.h"
#include "rbuf_version.h"

static const char *const protocols[] = {
    "superpipeline", "pipeline", "copy", "register", "rcache", "auto", "helper", "default", NULL};
static const char *const helper_policies[] = {"off",   "conservative", "aggressive",
                                              "force", "coordinated",  NULL}; /* rbuf_sharing */
static const char *const orders[] = {"issue", "interleave", "prioritize", "both",
                                     NULL}; /* enum rbuf_rma_order */
static const char *const switches[] = {"off", "on", NULL};
static const char *const auto_switches[] = {"auto", "on", "off", NULL};
/* rbuf_in_order_choice */
static const char *const subblock_choices[] = {"auto", "checked", "on", "off", NULL};

#define FIELD(name) offsetof(struct mca_btl_rbuf_params, name)
#define KIB         1024ull
#define MIB         (1024ull * KIB)
#define GIB         (1024ull * MIB)
#define MS          1000000ull
#define SECOND      1000000000ull

/* The values of a number, a word that stands for one more, the words of a choice, and unit and
 * range for people. The text follows. */
#define LIMITS(least, most) .min = (least), .max = (most)
#define OR(word, value)     .nothing = (word), .nothing_value = (value)
#define CHOICES(words)      .choices = (words), .range = NULL
#define RANGE(text)         .range = (text)

#if RBUF_HAVE_HELPER
#define HELPER_TEXT                                                                                \
    ". helper: written in place; a thread registers memory shortly before its predicted use and "  \
    "deregisters it afterwards (needs allow_cache, and an idle core: see helper_policy)"
#else
#define HELPER_TEXT ""
#endif

struct parameter mca_btl_rbuf_parameters[] = {
#define NUMBER(name, initial, kind, level, ...)                                                    \
    {#name, initial, kind, level, FIELD(name), __VA_ARGS__},
#define STRING(name, initial, level, ...) {#name, initial, TEXT, level, FIELD(name), __VA_ARGS__},
#include "params/rows.h"
    {.name = NULL}};

static const mca_base_component_t *owner;

void mca_btl_rbuf_parameter_range(const struct parameter *parameter, char *text, size_t bytes)
{
    size_t length = 0;

    if (parameter->kind != CHOICE) {
        snprintf(text, bytes, "%s", parameter->range);
        return;
    }
    for (size_t i = 0; parameter->choices[i] != NULL; i++) {
        if (mca_btl_rbuf_left_out(parameter->choices[i]) == NULL) {
            length += (size_t) snprintf(text + length, bytes - length, "%s%s", i > 0 ? ", " : "",
                                        parameter->choices[i]);
        }
    }
}

static int register_version(const mca_base_component_t *component)
{
    static const char *version = RBUF_VERSION;
    int status = mca_base_component_var_register(
        component, "version", "Version of the rbuf transport. It cannot be set.",
        MCA_BASE_VAR_TYPE_STRING, NULL, 0, MCA_BASE_VAR_FLAG_DEFAULT_ONLY, OPAL_INFO_LVL_1,
        MCA_BASE_VAR_SCOPE_CONSTANT, &version);

    return status < 0 ? status : OPAL_SUCCESS;
}

int mca_btl_rbuf_params_register(const mca_base_component_t *component)
{
    char range[256];
    char text[2048];

    owner = component;
    for (struct parameter *parameter = mca_btl_rbuf_parameters; parameter->name != NULL;
         parameter++) {
        int status;

        parameter->value = (char *) (uintptr_t) parameter->initial;
        if (mca_btl_rbuf_left_out(parameter->name) != NULL) {
            continue;
        }
        mca_btl_rbuf_parameter_range(parameter, range, sizeof(range));
        snprintf(text, sizeof(text), "%s (%s; default: %s)", parameter->text, range,
                 parameter->initial[0] == '\0' ? "none" : parameter->initial);
        status = mca_base_component_var_register(
            component, parameter->name, text, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
            (mca_base_var_info_lvl_t) (OPAL_INFO_LVL_1 + parameter->level - 1),
            MCA_BASE_VAR_SCOPE_READONLY, &parameter->value);
        if (status < 0) {
            return status;
        }
    }
    return register_version(component);
}

/* Whether somebody has set a parameter that is not registered: to ask that of Open MPI it is, for a
 * moment. */
static bool is_set(const char *name)
{
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    char *value = NULL;
    int variable = mca_base_component_var_register(owner, name, "", MCA_BASE_VAR_TYPE_STRING, NULL,
                                                   0, MCA_BASE_VAR_FLAG_INTERNAL, OPAL_INFO_LVL_9,
                                                   MCA_BASE_VAR_SCOPE_READONLY, &value);

    if (variable < 0) {
        return false;
    }
    (void) mca_base_var_get_value(variable, NULL, &source, NULL);
    (void) mca_base_var_deregister(variable);
    return source != MCA_BASE_VAR_SOURCE_DEFAULT;
}

void mca_btl_rbuf_params_tell_left_out(void)
{
    const char *newest = "";
    char options[64] = "";
    char names[512] = "";
    size_t length = 0;

    for (const struct parameter *parameter = mca_btl_rbuf_parameters; parameter->name != NULL;
         parameter++) {
        const char *feature = mca_btl_rbuf_left_out(parameter->name);

        if (feature == NULL || !is_set(parameter->name)) {
            continue;
        }
        length += (size_t) snprintf(names + length, sizeof(names) - length, "%sbtl_rbuf_%s",
                                    length > 0 ? ", " : "", parameter->name);
        if (strcmp(feature, newest) != 0) {
            strcat(strcat(options, " --without-"), feature);
            newest = feature;
        }
    }
    if (length > 0) {
        mca_btl_rbuf_help("left out", opal_process_info.nodename, names, options, NULL);
    }
}

const char *mca_btl_rbuf_protocol_name(void)
{
    return protocols[mca_btl_rbuf_params.protocol];
}
