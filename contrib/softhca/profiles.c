/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of profiles (see profiles.h). "Denis 2011" is A. Denis, "A High-Performance
 * Superpipeline Protocol for InfiniBand", Euro-Par 2011, the paper whose clusters graphene and
 * infini were. The figures are those of profile_figures.h.
 */
#include "profiles.h"

#include "profile_figures.h"

#include <stddef.h>
#include <string.h>

/* None of the sources reports it. Nought is the choice that flatters those who deregister,
 * registration caches included, and never the protocol that does without. */
#define NO_DEREGISTRATION "deregistration 0, not reported (set it with --dereg)"

const struct softhca_profile softhca_profiles[] = {
    {
        .name = "graphene",
        .summary = "ConnectX DDR InfiniBand as in 2011",
        .settings = {.bandwidth = SOFTHCA_GRAPHENE_BANDWIDTH,
                     .latency = SOFTHCA_GRAPHENE_LATENCY,
                     .reg = {SOFTHCA_GRAPHENE_REG, SOFTHCA_GRAPHENE_REG_PAGE}},
        .source =
            "Denis 2011, section 2: registration 68 us and 200 ns a 4 KB page, measured on the "
            "cluster graphene (MT26418)",
        .inferred = "bandwidth and latency (usual for a DDR card of that generation; the "
                    "text has no figure); " NO_DEREGISTRATION "; gap 0",
    },
    {
        .name = "infini",
        .summary = "ConnectX-2 QDR InfiniBand as in 2011",
        .settings = {.bandwidth = SOFTHCA_INFINI_BANDWIDTH,
                     .latency = SOFTHCA_INFINI_LATENCY,
                     .reg = {SOFTHCA_INFINI_REG, SOFTHCA_INFINI_REG_PAGE}},
        .source =
            "Denis 2011, section 2: registration \"the same order of magnitudes\" as graphene's "
            "on QDR boards (MT26428)",
        .inferred = "bandwidth and latency (usual for a QDR card); " NO_DEREGISTRATION "; gap 0",
    },
    {
        .name = "roce40",
        .summary = "40 Gbit/s RoCE with today's registration",
        .settings = {.bandwidth = SOFTHCA_ROCE40_BANDWIDTH,
                     .latency = SOFTHCA_ROCE40_LATENCY,
                     .reg = {SOFTHCA_ROCE40_REG, SOFTHCA_ROCE40_REG_PAGE}},
        .source = "UCX's cost model (uct/ib): registration 16 us and 0.06 ns a byte, 246 ns a page",
        .inferred = "bandwidth and latency (40 GbE less its headers); " NO_DEREGISTRATION "; gap 0",
    },
    {
        .name = "edr",
        .summary = "100 Gbit/s EDR InfiniBand",
        .settings = {.bandwidth = SOFTHCA_EDR_BANDWIDTH,
                     .latency = SOFTHCA_EDR_LATENCY,
                     .reg = {SOFTHCA_EDR_REG, SOFTHCA_EDR_REG_PAGE}},
        .source = "UCX's cost model (uct/ib): registration 16 us and 0.06 ns a byte, 246 ns a page",
        .inferred = "bandwidth and latency (usual for an EDR card); " NO_DEREGISTRATION "; gap 0",
        .warning =
            "profile edr asks for 12 GB/s; copying between two processes of one machine carries "
            "about 7 to 11 GB/s, so large transfers run below the configured speed",
    },
    {
        .name = "unpaced",
        .summary = "as fast as this machine copies, registration free",
        .settings = {.bandwidth = 0},
        .source = "no network: for tests of correctness",
        .inferred = "",
    },
    {.name = NULL},
};

const struct softhca_profile *profile_find(const char *name)
{
    for (const struct softhca_profile *p = softhca_profiles; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}
