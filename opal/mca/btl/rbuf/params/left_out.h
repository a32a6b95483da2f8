/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What this build leaves out, as configure was told (config/rbuf_features.m4). The parameters and
 * counters of a feature begin with its name.
 */
#ifndef BTL_RBUF_LEFT_OUT_H
#define BTL_RBUF_LEFT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifndef RBUF_HAVE_HELPER
#error "RBUF_HAVE_HELPER and RBUF_HAVE_REUSE are 0 or 1: see btl_rbuf_CPPFLAGS"
#endif

/* Whether a parameter or counter is of that feature: "helper" has helper_min, and itself. */
static inline bool mca_btl_rbuf_is_of(const char *name, const char *feature)
{
    const size_t length = strlen(feature);

    return strncmp(name, feature, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

/* The feature that a parameter or counter is of, if this build leaves that out, else NULL. */
static inline const char *mca_btl_rbuf_left_out(const char *name)
{
    if (!RBUF_HAVE_HELPER && mca_btl_rbuf_is_of(name, "helper")) {
        return "helper";
    }
    return !RBUF_HAVE_REUSE && mca_btl_rbuf_is_of(name, "reuse") ? "reuse" : NULL;
}

#endif
