/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The user of fuzz_listener.c's listener: it keeps account of its calls and judges every event.
 */
#ifndef RBUF_LISTENER_FUZZ_H
#define RBUF_LISTENER_FUZZ_H

#include "connect/connection.h"
#include "connect/handshake.h"
#include "connect/listener.h"
#include "fuzz.h"
#include "messages.h"

/* Calls somebody, at addresses and with the success that the input says. */
void caller_call(struct rbuf_listener *listener, struct fuzz_input *input);

/* Takes an event and, if one is due, gives the answer that `how` says. */
void caller_event(struct rbuf_listener *listener, unsigned how);

/* Ends one of its calls; refuses it instead if it may. */
void caller_end(unsigned which, bool refuse);
void caller_end_all(void);

/* The listener has been closed, and with it all calls. */
void caller_forget(void);

void caller_check(const struct rbuf_listener *listener);

#endif
