/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Unreliable datagrams, through the mailboxes of nodes.
 */
#ifndef SOFTHCA_DATAGRAM_H
#define SOFTHCA_DATAGRAM_H

#include "objects.h"

/* Whether the mailbox holds anything; cheap. Any thread. */
bool datagram_waiting(void);
/* When a queue pair's datagram of that length, in bytes, sent now, leaves; ns. Any thread. */
uint64_t datagram_departure(const struct queue_pair *qp, uint32_t length, uint64_t now);
/* Puts a datagram into its target's mailbox; what has no room or no receiver is lost. Any
 * thread. */
void datagram_send(struct queue_pair *qp, const struct ibv_send_wr *wr, uint64_t due_ns,
                   uint32_t length);
/* Delivers what is due. Under the progress lock; true if some is waiting. */
bool datagram_deliver(uint64_t now);
/* Forgets everything; after a fork. */
void datagram_reset(void);

#endif
