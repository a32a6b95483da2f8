/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which entries of a port's two tables to use.
 *
 * GIDs: on Ethernet an entry names an address of the interface and a RoCE version. Both sides must
 * agree on the version, and on IPv4 or IPv6. On InfiniBand entry 0 is the port's own.
 *
 * Partition keys: the low 15 bits of a key are the partition. The top bit says that the port is a
 * full member; a limited member reaches full members only. An entry whose partition is 0 is empty.
 * Every RoCE port is a full member of the default partition, whose key is 0xffff, and mostly of no
 * other.
 *
 * Threads: one that opens ports.
 */
#ifndef RBUF_VERBS_PORT_TABLES_H
#define RBUF_VERBS_PORT_TABLES_H

#include <infiniband/verbs.h>

#include "verbs/port.h"

/* Chooses by port->options.gid_index; port->address.link_layer, context and number are set. Sets
 * port->gid_index and what follows from it in its address. Topic "bad-gid-index". */
int rbuf_gid_choose(struct rbuf_port *port, const struct ibv_port_attr *attributes,
                    struct rbuf_problem *problem);

/* How much an entry is wanted; more is better. */
enum rbuf_pkey_rank { RBUF_PKEY_UNUSABLE, RBUF_PKEY_AS_LIMITED, RBUF_PKEY_AS_FULL };

/* Usable are keys of the partition of `asked`, or of any if that is 0. */
enum rbuf_pkey_rank rbuf_pkey_rank(uint16_t key, unsigned asked);

/* The first of the most wanted entries, by port->options.pkey; port->address.link_layer, context
 * and number are set. Sets port->pkey_index and address.pkey. Topic "bad-option". */
int rbuf_pkey_choose(struct rbuf_port *port, const struct ibv_port_attr *attributes,
                     struct rbuf_problem *problem);

#endif
