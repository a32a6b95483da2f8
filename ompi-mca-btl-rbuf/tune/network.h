/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The network between the ranks: lambda, o, g and B_net, and what a look at idle completion queues
 * takes. By round trips: clocks of two machines are never compared.
 */
#ifndef RBUF_TUNE_NETWORK_H
#define RBUF_TUNE_NETWORK_H

#include "tune/measured.h"
#include "tune/wire.h"

/* Fills post, post_word and pass of this rank's side in about `seconds`. Both ranks. */
void tune_requests(struct tune_wire *wire, struct tune_side *side, double seconds);

/* Fills word in about `seconds`; meaningful on rank 0. Both ranks. */
void tune_word(struct tune_wire *wire, int rank, struct tune_measured *measured, double seconds);

/* Fills gap and bandwidth: a grid of bytes and requests, and a plane through it. Needs word.
 * Likewise. */
void tune_streams(struct tune_wire *wire, int rank, struct tune_measured *measured, double seconds);

#endif
