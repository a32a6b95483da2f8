/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Carrying out posted requests. */
#ifndef SOFTHCA_ENGINE_H
#define SOFTHCA_ENGINE_H

#include "objects.h"

/* One round: moves what is due to or from this process and delivers completions. Returns whether
 * anything is under way. If another thread of the process is at it, returns at once. */
bool engine_progress(void);
/* Whether the agent's last progress left all that it found to requesters that poll. */
bool engine_has_deferred(void);
/* Keeps other threads out of progress; for changes of state and destruction. */
void engine_lock(void);
void engine_unlock(void);
/* A queue pair of this process has requests that are not retired. */
void engine_watch(uint32_t index);

/* Forgets everything; after a fork. */
void engine_reset(void);

/* datagram.c */
/* Whether the mailbox holds anything; cheap. */
bool datagram_waiting(void);
/* Puts a datagram into its target's mailbox; what has no room or no receiver is lost. */
void datagram_send(struct queue_pair *qp, const struct ibv_send_wr *wr, uint64_t due_ns,
                   uint32_t length);
/* Delivers what is due. Under the progress lock; true if some is waiting. */
bool datagram_deliver(uint64_t now);
void datagram_reset(void);
/* When a queue pair's datagram of that length, sent now, leaves; ns. */
uint64_t datagram_departure(const struct queue_pair *qp, uint32_t length, uint64_t now);

/* agent.c */
void agent_start(void);
void agent_stop(void);
/* The application asks for completion events and will not poll until one comes. */
void agent_expect(void);

#endif
