/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The figures of the networks that the launcher knows by name, and nothing else: profiles.c says
 * where each comes from. This is the one place that has them. C programs of a tree around this
 * folder include it; scripts ask the launcher (`softhca --profile NAME -- printenv`).
 *
 * BANDWIDTH is in bytes a second, LATENCY in ns one way, REG and REG_PAGE are ns of a registration
 * and of each 4 KB page of it. All are constant expressions without a cast.
 */
#ifndef SOFTHCA_PROFILE_FIGURES_H
#define SOFTHCA_PROFILE_FIGURES_H

#define SOFTHCA_GRAPHENE_BANDWIDTH 1400000000
#define SOFTHCA_GRAPHENE_LATENCY   2000
#define SOFTHCA_GRAPHENE_REG       68000
#define SOFTHCA_GRAPHENE_REG_PAGE  200

#define SOFTHCA_INFINI_BANDWIDTH 3000000000
#define SOFTHCA_INFINI_LATENCY   1500
#define SOFTHCA_INFINI_REG       SOFTHCA_GRAPHENE_REG
#define SOFTHCA_INFINI_REG_PAGE  SOFTHCA_GRAPHENE_REG_PAGE

#define SOFTHCA_ROCE40_BANDWIDTH 4500000000
#define SOFTHCA_ROCE40_LATENCY   1500
#define SOFTHCA_ROCE40_REG       16000
#define SOFTHCA_ROCE40_REG_PAGE  250

#define SOFTHCA_EDR_BANDWIDTH 12000000000
#define SOFTHCA_EDR_LATENCY   1000
#define SOFTHCA_EDR_REG       SOFTHCA_ROCE40_REG
#define SOFTHCA_EDR_REG_PAGE  SOFTHCA_ROCE40_REG_PAGE

#endif
