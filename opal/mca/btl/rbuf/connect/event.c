/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The names of events for traces, and their end (event.h). */
#include "connect/event.h"

#include <stdlib.h>

const char *rbuf_connect_event_name(enum rbuf_connect_event_kind kind)
{
    static const char *const names[] = {[RBUF_CONNECT_RESPONSE] = "RESPONSE",
                                        [RBUF_CONNECT_REJECTED] = "REJECTED",
                                        [RBUF_CONNECT_FAILED] = "FAILED",
                                        [RBUF_CONNECT_UNANSWERED] = "UNANSWERED",
                                        [RBUF_CONNECT_REQUEST] = "REQUEST",
                                        [RBUF_CONNECT_ESTABLISHED] = "ESTABLISHED",
                                        [RBUF_CONNECT_ABANDONED] = "ABANDONED",
                                        [RBUF_PEER_DISCONNECTED] = "DISCONNECTED",
                                        [RBUF_PEER_LOST] = "LOST"};

    return kind >= RBUF_CONNECT_RESPONSE && kind <= RBUF_PEER_LOST ? names[kind] : "unknown";
}

void rbuf_connect_event_free(struct rbuf_connect_event *event)
{
    free(event);
}
