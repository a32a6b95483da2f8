/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * States with names: one list makes the enum and the table of its names (core/base/trace.h prints
 * them), so that the two cannot differ.
 *
 * A list is a macro. It takes a macro, and applies that to each state: its prefix, and its name. A
 * comment says what an object in that state waits for.
 *
 *     #define RBUF_DOOR_STATES(STATE) STATE(RBUF_DOOR_, OPEN) STATE(RBUF_DOOR_, SHUT)
 *
 *     enum rbuf_door_state { RBUF_DOOR_STATES(RBUF_STATE) };
 *     static const char *const names[] = {RBUF_DOOR_STATES(RBUF_STATE_NAME)};
 */
#ifndef RBUF_CORE_STATES_H
#define RBUF_CORE_STATES_H

#define RBUF_STATE(prefix, name)      prefix##name,
#define RBUF_STATE_NAME(prefix, name) [prefix##name] = #name,

#endif
