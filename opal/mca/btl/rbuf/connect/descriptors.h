/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * File descriptors. Each connected peer holds one at each end, so that a large job needs more than
 * the usual soft limit of 1024. That is raised step by step as they are used up, as far as the hard
 * limit allows: not at once, since a program that uses select() cannot take descriptors beyond
 * 1024, and gets none of these as long as there is no need.
 *
 * Threads: all functions may be called from any thread.
 */
#ifndef RBUF_CONNECT_DESCRIPTORS_H
#define RBUF_CONNECT_DESCRIPTORS_H

#include <stdbool.h>
#include <sys/resource.h>

/* Descriptors that are left to the program when the limit is raised. */
#define RBUF_DESCRIPTORS_SPARE 64u

/* The soft limit to have when `fd` is the newest descriptor: `soft` as long as there are some to
 * spare, else twice as many or what is needed, at most `hard`. Pure. */
rlim_t rbuf_descriptors_next(rlim_t soft, rlim_t hard, int fd);

/* To be called with each descriptor that is kept for a peer: raises the soft limit if it is near.
 * True if it is higher now. */
bool rbuf_descriptors_used(int fd);

/* None is left: raises the soft limit. True if it is higher now, and it may be tried again. */
bool rbuf_descriptors_raise(void);

/* The soft limit; 0 if it is not known. */
rlim_t rbuf_descriptors_limit(void);

#endif
