/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether ibv_fork_init() is to be called (registration/fork.h), and where the answer comes from.
 */
#include "rbuf_compat.h"

#include "registration/fork.h"

#include "opal/mca/base/mca_base_var.h"

#define NOT_SAID (-1)

/* As Open MPI reads it, from wherever it takes parameters (environment, files, command line). What
 * its own verbs components share may have registered it (in 4.1.4 nobody calls that); else we do so
 * for a moment, as no file is read for a parameter that is not registered. */
static int read_word(const char *framework, const char *component)
{
    static int ours; /* Open MPI keeps its address */
    const int *value = NULL;
    int index = mca_base_var_find("opal", framework, component, "want_fork_support");
    int word = NOT_SAID;

    if (index >= 0) {
        return mca_base_var_get_value(index, &value, NULL, NULL) == OPAL_SUCCESS && value != NULL
                   ? *value
                   : NOT_SAID;
    }
    ours = NOT_SAID;
    index = mca_base_var_register("opal", framework, component, "want_fork_support", NULL,
                                  MCA_BASE_VAR_TYPE_INT, NULL, 0, MCA_BASE_VAR_FLAG_SETTABLE,
                                  OPAL_INFO_LVL_8, MCA_BASE_VAR_SCOPE_ALL_EQ, &ours);
    if (index >= 0) {
        word = ours;
        (void) mca_base_var_deregister(index);
    }
    return word;
}

/* Open MPI's word is -1, if possible; 0, no; 1, it must be. */
enum rbuf_fork_choice mca_btl_rbuf_fork_choice(enum rbuf_fork_choice given)
{
    static const struct {
        const char *framework;
        const char *component;
    } names[] = {{"opal_common", "verbs"}, {"ompi_common", "verbs"}, {"btl", "openib"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && given == RBUF_FORK_AUTO; i++) {
        const int word = read_word(names[i].framework, names[i].component);

        if (word >= 0) {
            return word == 0 ? RBUF_FORK_OFF : RBUF_FORK_ON;
        }
    }
    return given;
}
