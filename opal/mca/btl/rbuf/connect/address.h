/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * TCP addresses of this machine and of others: which to listen on, and in what order to try those
 * of a peer. No sockets here.
 */
#ifndef RBUF_CONNECT_ADDRESS_H
#define RBUF_CONNECT_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "connect/listener.h"

#define RBUF_ADDRESS_TEXT_MAX 64u

/* An address of this machine with the length of its network prefix, bits. */
struct rbuf_local_address {
    struct rbuf_address address;
    unsigned prefix;
};

struct rbuf_local_addresses {
    struct rbuf_local_address all[RBUF_ADDRESSES_MAX]; /* loopback last */
    unsigned count;
};

/* What `interfaces` (see struct rbuf_listener_options) stands for. Topic "listener-address". */
int rbuf_addresses_local(const char *interfaces, struct rbuf_local_addresses *out,
                         struct rbuf_problem *problem);

/* The addresses of `remote` worth trying from here, best first: those in a network that we are in
 * too, then the others; loopback last, and only if the peer is on this machine. An address that is
 * one of our own is no other machine's. Returns their number. `remote` was checked. */
unsigned rbuf_addresses_order(const struct rbuf_local_addresses *local, uint64_t machine,
                              const struct rbuf_address_list *remote,
                              struct rbuf_address out[RBUF_ADDRESSES_MAX]);

/* Whether a list that came from elsewhere is well-formed. */
bool rbuf_addresses_valid(const struct rbuf_address_list *list);

/* A number that is equal on processes of one machine between two of its boots. */
uint64_t rbuf_machine_id(void);

socklen_t rbuf_address_to_socket(const struct rbuf_address *address, struct sockaddr_storage *out);
void rbuf_address_text(const struct rbuf_address *address, char text[RBUF_ADDRESS_TEXT_MAX]);

#endif
