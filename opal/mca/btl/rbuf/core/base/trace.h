/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * States with names, and a trace of them by which a transfer that is stuck can be followed.
 *
 * One list makes the enum and the table of its names, so that the two cannot differ. A list is a
 * macro. It takes a macro, and applies that to each state: its prefix, and its name. A comment says
 * what an object in that state waits for.
 *
 *     #define RBUF_DOOR_STATES(STATE) STATE(RBUF_DOOR_, OPEN) STATE(RBUF_DOOR_, SHUT)
 *
 *     enum rbuf_door_state { RBUF_DOOR_STATES(RBUF_STATE) };
 *     static const char *const names[] = {RBUF_DOOR_STATES(RBUF_STATE_NAME)};
 *
 * configure --enable-trace compiles the trace in, else nothing of it is left. It is written where
 * the environment's RBUF_TRACE says, into a file of each process's own; contrib/trace_pair.sh lays
 * those of two side by side.
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

#define RBUF_STATE(prefix, name)      prefix##name,
#define RBUF_STATE_NAME(prefix, name) [prefix##name] = #name,

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
