/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The job's own MPI messages, as a ping-pong over whatever transport it runs on, and whether that
 * is rbuf: its counter of requests tells.
 */
#ifndef RBUF_TUNE_TRAFFIC_H
#define RBUF_TUNE_TRAFFIC_H

#include "tune/measured.h"

/* Fills `traffic` in about `seconds`: one way, half of a round trip, buffers used again. False
 * without memory, on both ranks alike. Both ranks; meaningful on rank 0. */
bool tune_traffic(struct tune_traffic *traffic, int rank, double seconds);

#endif
