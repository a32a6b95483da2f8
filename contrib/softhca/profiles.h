/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The networks that the launcher knows by name: what each is set to, where the figures come from,
 * and which of them are inferred rather than reported. A constant table, nothing else.
 */
#ifndef SOFTHCA_PROFILES_H
#define SOFTHCA_PROFILES_H

#include "units.h"

/* How an emulated network and its host channel adapter behave. */
struct softhca_settings {
    uint64_t bandwidth;        /* bytes a second, one direction of one port; 0 = unlimited */
    uint64_t latency;          /* ns, one way */
    uint64_t gap;              /* ns between two messages on one link */
    struct softhca_cost reg;   /* registration */
    struct softhca_cost dereg; /* deregistration */
    uint64_t memlock;          /* bytes that a process may register; 0 = no limit */
};

struct softhca_profile {
    const char *name;
    const char *summary;
    struct softhca_settings settings;
    const char *source;   /* where the figures come from */
    const char *inferred; /* which of them nobody reported; "" if none */
    const char *warning;  /* printed at every start; NULL if none */
};

/* Ends with an entry whose name is NULL. */
extern const struct softhca_profile softhca_profiles[];

/* Returns NULL if there is no profile of that name. */
const struct softhca_profile *profile_find(const char *name);

#endif
