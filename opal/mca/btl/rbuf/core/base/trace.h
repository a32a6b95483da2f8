/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A trace of states, by which a transfer that is stuck can be followed: configure --enable-trace
 * compiles it in, else nothing of it is left. It is written where the environment's RBUF_TRACE
 * says, into a file of each process's own; contrib/trace_pair.sh lays those of two side by side.
 *
 *     TIME-NS OBJECT peer=INDEX id=HEX FROM -> TO
 *
 * Objects: peer; put and grant, whose id is the grant's, the same at both sides; early and slot,
 * sent and received early data, whose id is their sequence number.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_TRACE_H
#define RBUF_CORE_TRACE_H

#include <stdint.h>

#ifdef RBUF_TRACE
void rbuf_trace(const char *object, uint32_t peer, uint64_t id, const char *from, const char *to);
#else
static inline void rbuf_trace(const char *object, uint32_t peer, uint64_t id, const char *from,
                              const char *to)
{
    (void) object, (void) peer, (void) id, (void) from, (void) to;
}
#endif

#endif
