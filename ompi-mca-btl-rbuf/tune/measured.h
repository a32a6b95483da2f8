/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What was measured, as one struct that all parts after the measuring read. Times in ns, speeds in
 * bytes/ns, which is GB/s.
 */
#ifndef RBUF_TUNE_MEASURED_H
#define RBUF_TUNE_MEASURED_H

#include "tune/fit.h"

#include <stdbool.h>
#include <stdint.h>

#include "verbs/device.h"

enum { TUNE_SIDES = 2, TUNE_NAME_MAX = 80, TUNE_COPIES = 15, TUNE_TRAFFIC = 13 };

/* A line a + b * pages. */
struct tune_line {
    struct tune_constant base, page;
};

/* What each rank finds out by itself. Travels to rank 0 as bytes. */
struct tune_side {
    char host[TUNE_NAME_MAX];
    char port[TUNE_NAME_MAX];
    uint32_t mtu; /* bytes */
    enum rbuf_subblock subblock;
    struct tune_constant send_copy[TUNE_COPIES];    /* of messages of tune_copy_bytes(i) */
    struct tune_constant receive_copy[TUNE_COPIES]; /* likewise */
    struct tune_constant post;                      /* of a write from memory */
    struct tune_constant post_word;                 /* of 8 bytes inside the request */
    struct tune_constant pass;                      /* a look at completion queues, all empty */
    struct tune_line registration;
    struct tune_line release;
};

/* MPI messages of the same job. */
struct tune_traffic {
    bool over_rbuf;
    bool early_data; /* some of these messages used early data */
    int points;
    uint64_t bytes[TUNE_TRAFFIC]; /* the first is a word */
    struct tune_constant ns[TUNE_TRAFFIC];
};

struct tune_measured {
    struct tune_side side[TUNE_SIDES];
    struct tune_constant word; /* an RDMA write of 8 bytes, one way */
    struct tune_constant gap;
    struct tune_constant bandwidth;
    struct tune_traffic traffic;
};

/* Length of the message for which a copy speed was measured: 4 KB to 64 MB. */
static inline uint64_t tune_copy_bytes(int point)
{
    return (uint64_t) 4096 << point;
}

#endif
