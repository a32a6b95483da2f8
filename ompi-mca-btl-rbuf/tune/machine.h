/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The machine as the cost model takes it, made of what was measured.
 */
#ifndef RBUF_TUNE_MACHINE_H
#define RBUF_TUNE_MACHINE_H

#include "model/machine.h"
#include "tune/measured.h"

/* The constants as the model takes them: at each, the slower of both sides. `quantum` is the
 * component's parameter of that name. */
struct rbuf_machine tune_machine(const struct tune_measured *measured, uint32_t quantum);

/* lambda itself: a word's way without its request and its bytes. */
struct tune_constant tune_latency(const struct tune_measured *measured);

#endif
