/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The path of an operation of a passive epoch: as an active message, or as a message of MPI.
 *
 * Active messages take operations whose target type is predefined and has no holes, which fit one
 * message and whose answer does. What goes on one of the two paths may overtake what goes on the
 * other. So an operation that has to stay behind others (MPI's info key accumulate_ordering: by
 * default all do) keeps to their path until all are answered. One that has to follow active
 * messages and that none of these takes asks for their answer first, and waits. With
 * accumulate_ordering `none` each takes the path that is best for it, and a flush asks on both.
 */
#ifndef OSC_RBUF_PATH_H
#define OSC_RBUF_PATH_H

#include "osc_rbuf_window.h"

/* What an operation needs of a message. */
struct osc_rbuf_need {
    bool plain;     /* its type and operation can be done by rbuf's thread */
    unsigned does;  /* OSC_RBUF_READS, OSC_RBUF_WRITES */
    size_t request; /* bytes of its records in the message, padded */
    size_t answer;  /* likewise of its answer; 0: it has no result */
};

/* Before an operation of a passive epoch is packed: decides its path, and makes room in its
 * message. The lock is held, and may be given up meanwhile. An error of MPI or Open MPI. */
int osc_rbuf_path_prepare(struct osc_rbuf_window *window, int target,
                          const struct osc_rbuf_need *need);

#endif
