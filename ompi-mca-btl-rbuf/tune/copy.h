/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How fast a processor copies between a message and staging buffers, by the message's length:
 * block by block, by the function that the component copies with (with checksums, if side->subblock
 * says so), both ranks at the same time.
 *
 * The message was written before, as a program does: short ones are in a cache, long ones are not.
 * Staging is a ring of a few hundred KB, and stays in one.
 */
#ifndef RBUF_TUNE_COPY_H
#define RBUF_TUNE_COPY_H

#include <stddef.h>

#include "tune/measured.h"

/* Fills send_copy and receive_copy in about `seconds`; false without memory. `staging` bytes are
 * the ring, whole blocks of `block` bytes. Both ranks. */
bool tune_copy(struct tune_side *side, size_t staging, size_t block, double seconds);

#endif
