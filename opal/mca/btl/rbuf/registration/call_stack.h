/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where in the application a call of MPI comes from, as one number: a hash of the stack frames that
 * are older than MPI's. Two calls with the same hash come from the same call site, by the same
 * calls.
 *
 * Frames come from libunwind alone. It finds them by the tables of each object (.eh_frame), so that
 * frame pointers do not matter. Code of a just-in-time compiler without such tables ends the walk.
 *
 * Threads: open and close in one; the hash in any.
 */
#ifndef BTL_RBUF_CALL_STACK_H
#define BTL_RBUF_CALL_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Finds libmpi in the process. False: there is no libunwind, or no function of MPI is found. */
bool mca_btl_rbuf_call_stack_open(void);

/* 0: not known. */
uint64_t mca_btl_rbuf_call_stack_hash(void);

#endif
