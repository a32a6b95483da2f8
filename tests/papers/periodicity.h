/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The rival of core/helper/predictor.h in its paper (section 3.1): a predictor that looks for a
 * period in the stream of messages, after F. Freitag et al. It keeps a window of the last messages;
 * the stream has period m if the window is equal to itself shifted by m, at most half a window. The
 * next use of a buffer is predicted so long after this one as it came a period before.
 */
#ifndef RBUF_SIM_PERIODICITY_H
#define RBUF_SIM_PERIODICITY_H

#include "core/helper/predictor.h"

#define PERIODICITY_MOST    256u  /* messages of a window */
#define PERIODICITY_BUFFERS 1024u /* that it knows apart */

struct periodicity_buffer {
    uint64_t base; /* 0: a free place */
    uint64_t last_ns;
    uint64_t period_ns; /* 0: not predicted */
};

struct periodicity {
    uint32_t window;
    uint64_t seen; /* messages */
    uint64_t token[PERIODICITY_MOST];
    uint64_t base[PERIODICITY_MOST];
    uint64_t time_ns[PERIODICITY_MOST];
    struct periodicity_buffer buffer[PERIODICITY_BUFFERS];
    struct rbuf_prediction_counters counters; /* points, predicted, near, close */
};

void periodicity_see(struct periodicity *periodicity, const struct rbuf_use *point);

#endif
