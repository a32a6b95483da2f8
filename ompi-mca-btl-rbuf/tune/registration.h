/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What registering memory and giving it back costs: a + b * pages each, both ranks at the same
 * time, on memory whose pages are there.
 */
#ifndef RBUF_TUNE_REGISTRATION_H
#define RBUF_TUNE_REGISTRATION_H

#include "tune/measured.h"
#include "verbs/device.h"

/* Fills registration and release in about `seconds`. 0, or a negative errno with `problem` filled;
 * a rank that fails takes part to the end. Both ranks. */
int tune_registration(struct rbuf_port *port, struct tune_side *side, double seconds,
                      struct rbuf_problem *problem);

#endif
