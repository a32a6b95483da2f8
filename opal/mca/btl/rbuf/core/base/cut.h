/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How copied puts and gets are cut: into chunks of whole blocks without flags, of which this side
 * alone has to know.
 *
 * Nothing hides the copy of a put's first chunk: that is the opening chunk of the schedule, if it
 * has one. Then a put's are C0 and grow by q. Nor does anything hide the copy of a get's last one,
 * C0: those before it double, counted from the end, since while one is copied those behind it,
 * nearly as long together, are on the wire. Less than C0 saves copying and costs reads, which are
 * dearer. A schedule whose chunks do not grow has all of a get's C0 long.
 *
 * Invariants: no chunk is longer than a buffer of the schedule; all but one start a whole number of
 * blocks from the end that they are counted from. Pure functions.
 */
#ifndef RBUF_CORE_CUT_H
#define RBUF_CORE_CUT_H

#include "core/base/schedule.h"

enum rbuf_cut { RBUF_CUT_PUT, RBUF_CUT_GET };

/* The first chunk of `length` > 0 bytes. Of the chunk's members count index, offset, bytes, and
 * blocks, which are those that it takes. */
void rbuf_cut_first(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length,
                    struct rbuf_chunk *chunk);

/* Steps to the next one; false, and `chunk` unchanged, after the last. */
bool rbuf_cut_next(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length,
                   struct rbuf_chunk *chunk);

#endif
