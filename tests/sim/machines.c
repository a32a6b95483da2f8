/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The table of machines, each with the source of its numbers. */
#include "machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softhca/profile_figures.h"

/* Processor times are not in the paper, and the same everywhere: 50 ns for a post, 10 to find a
 * block, 10 for a pass of the progress loop. A pass copies one block, so that the simulator, in
 * which nothing arrives during a pass, shows a block that arrives during another one's copy right
 * after. */
#define PROCESSOR .overhead_ns = 50, .ack_ns = 50, .pass_ns = 10, .pass_bytes = 1, .block_ns = 10

/* Section 2, measured on graphene: 68 us and 200 ns a page; section 2 has the same order of
 * magnitude for QDR boards. Section 4 calls 4 KB a multiple of the MTU: 2 KB, as was usual. */
#define CARD_2011                                                                                  \
    .packet_bytes = 2048, .register_ns = SOFTHCA_GRAPHENE_REG,                                     \
    .register_page_ns = SOFTHCA_GRAPHENE_REG_PAGE, .page_bytes = 4096

/* UCX's cost model (uct/ib): 16 us and 0.06 ns a byte. */
#define CARD_TODAY                                                                                 \
    .packet_bytes = 4096, .register_ns = SOFTHCA_EDR_REG, .register_page_ns = 246,                 \
    .page_bytes = 4096

/* A Xeon X3440: 32 KB, 256 KB and 8 MB of cache. A message of L bytes touches twice that. */
#define SIZES_2011       .count = 5, .bytes = {16384, 65536, 262144, 2097152, 16777216}
#define COPY_GRAPHENE    SIZES_2011, .bytes_per_ns = {10, 9, 7.5, 6, 3.7}
#define COPY_GRAPHENE_91 SIZES_2011, .bytes_per_ns = {10, 9, 7.5, 6.5, 5.3}
#define COPY_INFINI      SIZES_2011, .bytes_per_ns = {13, 11, 9, 7.5, 5.3}

/* A server of the 2020s, one core: 48 KB, 2 MB and tens of MB of cache. */
#define SIZES_TODAY .count = 6, .bytes = {16384, 262144, 1048576, 4194304, 16777216, 67108864}
#define COPY_TODAY  SIZES_TODAY, .bytes_per_ns = {60, 40, 28, 20, 14, 11}

#define INFERRED_2011                                                                              \
    "latency 2 us; gap 100 ns (section 4: g - o is at most of that order); cached copy speeds "    \
    "from "                                                                                        \
    "15 % of overhead at 16 KB with C0 12 KB, which asks for 9 GB/s or more"

const struct sim_machine sim_machines[] = {
    {
        .name = "graphene",
        .summary = "ConnectX DDR, Xeon X3440, as seen at 64 KB",
        .printed = "registration 68 us and 200 ns a page",
        .inferred = "B_net 1.4 GB/s from the 60 % that naive registration loses at 64 KB; copy "
                    "speed in memory 3.7 GB/s from naive copying's 57 % of B_net; " INFERRED_2011,
        .inferred_from = {"speed lost to registration at 64 KB (%)",
                          "naive copying's part of B_net for long messages (%)",
                          "superpipeline as printed over raw at 16 KB (%)"},
        .machine = {.latency_ns = SOFTHCA_GRAPHENE_LATENCY,
                    .gap_ns = 100,
                    .bytes_per_ns = SOFTHCA_GRAPHENE_BANDWIDTH / 1e9,
                    .send_copy = {COPY_GRAPHENE},
                    .receive_copy = {COPY_GRAPHENE},
                    CARD_2011,
                    PROCESSOR},
    },
    {
        .name = "graphene-91",
        .summary = "the same, as seen by naive registration's asymptote",
        .printed = "registration 68 us and 200 ns a page",
        .inferred = "B_net 2.0 GB/s from the 91 % of it that naive registration reaches with long "
                    "messages; copy speed in memory 5.3 GB/s from naive copying's 57 % of "
                    "B_net; " INFERRED_2011,
        .inferred_from = {"naive registration's part of B_net for long messages (%)",
                          "naive copying's part of B_net for long messages (%)"},
        .machine = {.latency_ns = SOFTHCA_GRAPHENE_LATENCY,
                    .gap_ns = 100,
                    .bytes_per_ns = 2.0,
                    .send_copy = {COPY_GRAPHENE_91},
                    .receive_copy = {COPY_GRAPHENE_91},
                    CARD_2011,
                    PROCESSOR},
    },
    {
        .name = "graphene-16k",
        .summary = "the same, as seen by figure 4's crossing",
        .printed = "registration 68 us and 200 ns a page",
        .inferred =
            "gap 850 ns: by equations 1 and 3 naive copying is faster than the best pipeline "
            "below 2 g B_copy, which section 3 puts at 16 KB; the rest as graphene",
        .inferred_from = {"naive copying is faster than the best pipeline up to (bytes)"},
        .machine = {.latency_ns = SOFTHCA_GRAPHENE_LATENCY,
                    .gap_ns = 850,
                    .bytes_per_ns = SOFTHCA_GRAPHENE_BANDWIDTH / 1e9,
                    .send_copy = {COPY_GRAPHENE},
                    .receive_copy = {COPY_GRAPHENE},
                    CARD_2011,
                    PROCESSOR},
    },
    {
        .name = "infini",
        .summary = "ConnectX-2 QDR, Xeon X5570",
        .printed = "registration of the same order of magnitude as graphene's",
        .inferred =
            "B_net 3 GB/s and latency 1.5 us (usual for QDR on PCI Express 2.0); gap 100 ns; "
            "cached copy speeds of a faster processor than graphene's; in memory 5.3 GB/s, "
            "with which C0 = B_copy * 2 lambda is still within 8 to 16 KB (section 4)",
        .inferred_from = {"C0 for messages in memory (bytes)"},
        .machine = {.latency_ns = SOFTHCA_INFINI_LATENCY,
                    .gap_ns = 100,
                    .bytes_per_ns = SOFTHCA_INFINI_BANDWIDTH / 1e9,
                    .send_copy = {COPY_INFINI},
                    .receive_copy = {COPY_INFINI},
                    CARD_2011,
                    PROCESSOR},
    },
    {
        .name = "edr",
        .summary = "100 Gbit/s",
        .printed = "registration 16 us and 246 ns a page (UCX's cost model)",
        .inferred =
            "B_net 12 GB/s, latency 1 us, gap 50 ns; copy speeds of one core of a server of "
            "the 2020s",
        .machine = {.latency_ns = SOFTHCA_EDR_LATENCY,
                    .gap_ns = 50,
                    .bytes_per_ns = SOFTHCA_EDR_BANDWIDTH / 1e9,
                    .send_copy = {COPY_TODAY},
                    .receive_copy = {COPY_TODAY},
                    CARD_TODAY,
                    PROCESSOR},
    },
    {
        .name = "hdr",
        .summary = "200 Gbit/s",
        .printed = "as edr",
        .inferred = "B_net 24 GB/s, the rest as edr",
        .machine = {.latency_ns = SOFTHCA_EDR_LATENCY,
                    .gap_ns = 50,
                    .bytes_per_ns = 24,
                    .send_copy = {COPY_TODAY},
                    .receive_copy = {COPY_TODAY},
                    CARD_TODAY,
                    PROCESSOR},
    },
    {
        .name = "ndr",
        .summary = "400 Gbit/s",
        .printed = "as edr",
        .inferred = "B_net 48 GB/s, the rest as edr",
        .machine = {.latency_ns = SOFTHCA_EDR_LATENCY,
                    .gap_ns = 50,
                    .bytes_per_ns = 48,
                    .send_copy = {COPY_TODAY},
                    .receive_copy = {COPY_TODAY},
                    CARD_TODAY,
                    PROCESSOR},
    },
    {
        .name = "xdr",
        .summary = "800 Gbit/s",
        .printed = "as edr",
        .inferred = "B_net 96 GB/s, the rest as edr",
        .machine = {.latency_ns = SOFTHCA_EDR_LATENCY,
                    .gap_ns = 50,
                    .bytes_per_ns = 96,
                    .send_copy = {COPY_TODAY},
                    .receive_copy = {COPY_TODAY},
                    CARD_TODAY,
                    PROCESSOR},
    },
};

const unsigned sim_machine_count = sizeof(sim_machines) / sizeof(sim_machines[0]);

const struct sim_machine *sim_machine_named(const char *name)
{
    for (unsigned i = 0; i < sim_machine_count; i++) {
        if (strcmp(sim_machines[i].name, name) == 0) {
            return &sim_machines[i];
        }
    }
    fprintf(stderr, "no machine is named %s\n", name);
    exit(EXIT_FAILURE);
}
