/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * osc/rbuf stands between MPI and the component that moves one-sided data (osc/rdma, "below"). In
 * fence and post-start-complete-wait epochs it packs small puts, small gets and all accumulates for
 * one target into one message, together with the synchronisation, and the target scatters it.
 * After W. Huang, G. Santhanaraman, H.-W. Jin and D. K. Panda, "Scheduling of MPI-2 One Sided
 * Operations over InfiniBand", IPDPS 2005, section 4.2. With parameter `passive` accumulates of
 * passive target epochs are packed as well (osc_rbuf_passive.c). Everything else goes to the
 * functions below, unchanged: large puts and gets, and those of passive target epochs.
 *
 * How the two live together. Active epochs are ours alone: below never hears of fence, post or
 * start. What has to go below inside of one goes under lock_all(MPI_MODE_NOCHECK) there, which is
 * opened with the first such operation and closed, and with it complete, before the
 * synchronisation is sent. Accumulates of one epoch never take both paths, as they would not be
 * atomic with each other: all of them are packed, long ones in several messages.
 *
 * A fence sums up how many messages of the epoch each process has to expect, and ends when they are
 * scattered. So one process may begin the next epoch while another still waits for messages of the
 * one before (osc_rbuf_fence.c): packed operations of the next epoch are held there, and operations
 * below ask first. A barrier ends a fence whose epoch had operations below, as the next may.
 *
 * layers.txt has the files in their order. Threads: osc_rbuf_window.h.
 */
#ifndef OSC_RBUF_MODULE_H
#define OSC_RBUF_MODULE_H

#include "osc_rbuf_window.h"

/* Puts this component in front of the one that win's module belongs to. Collective over comm; on
 * all processes or on none. What fails leaves the window as it is, and returns an error of Open
 * MPI. The window has `bytes` at `base`, which stay the program's, or none if it is dynamic.
 * `displacement_unit` is in bytes. `comm_id` is that of the communicator that its messages take,
 * alike at all processes (osc_rbuf_comm.h). No lock is held. MPI_Win_free frees everything. */
int osc_rbuf_module_attach(ompi_win_t *win, void *base, size_t bytes,
                           osc_rbuf_unit_t displacement_unit, MPI_Comm comm, long comm_id,
                           int flavor);

#endif
