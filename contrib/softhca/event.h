/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Asynchronous events, and the list of open contexts that those of ports go to. Any thread. */
#ifndef SOFTHCA_EVENT_H
#define SOFTHCA_EVENT_H

#include "objects.h"

/* An event of a context's device or of one of its objects. */
void event_raise(struct ibv_context *context, enum ibv_event_type type, void *element);
/* An event of a port, counted over all devices, to all who have its device open. */
void event_of_port(uint32_t port, enum ibv_event_type type);

/* A context gets events of ports from now on, or no more. It stays the caller's. */
void event_open(struct device_context *context);
void event_close(struct device_context *context);
/* Forgets all contexts; after a fork, since a parent's are its own. */
void event_reset(void);

#endif
