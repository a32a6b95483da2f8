/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A fault of the layer above: fragments are asked for in other sizes than went as early data. Open
 * MPI 4.1 may do that, and does not where rbuf has its peers alone.
 */
#ifndef RBUF_TESTS_MPI_CUT_H
#define RBUF_TESTS_MPI_CUT_H

/* From now on one of `every` fragments that Open MPI asks rbuf for may be `most` bytes long and no
 * longer. Call it after MPI_Init. Without rbuf nothing happens. */
void cut_fragments(unsigned most, unsigned every);

#endif
