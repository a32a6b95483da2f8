/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is to be said of the one-sided component that parameter osc chooses.
 *
 * osc/rdma of Open MPI 4 wants atomic operations of the adapter, and makes no window where there
 * are none: MPI's error says nothing of that. Where osc/rbuf is opened, too, it says so when a
 * window is wanted (ompi/mca/osc/rbuf/osc_rbuf_component.c); where a list names osc/rdma alone, it
 * is said here. Open MPI 5 has atomic operations of its own for such adapters.
 *
 * Open MPI 4's other one-sided component, osc/pt2pt, takes the acknowledgement of a flush for a
 * sign that all data before it have arrived. Over a transport that copies large messages out of
 * staging, or reads them, the acknowledgement may pass them: the end of a get's buffer is old
 * still. Seen with 4.1.4 under MPI_Win_lock_all, from 48,000 bytes on, also over openib without
 * leave_pinned. Nothing in a BTL's interface lets a message wait for the user's copy of another, so
 * it is said.
 */
#ifndef MCA_BTL_RBUF_OSC_H
#define MCA_BTL_RBUF_OSC_H

/* Warns, at its first call, if parameter osc leaves osc/pt2pt to be chosen and the protocol copies,
 * or names osc/rdma alone and no adapter has atomic operations. For the thread in which Open MPI
 * adds processes: the one-sided components have been opened by then, which they have not when
 * transports are initialized. */
void mca_btl_rbuf_osc_warn(void);

#endif
