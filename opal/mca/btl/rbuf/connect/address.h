/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * TCP addresses of this machine and of others: which to listen on, and in what order to try those
 * of a peer. No sockets here.
 *
 * Invariant: a list has no address twice, and loopback stands last.
 * Threads: any.
 */
#ifndef RBUF_CONNECT_ADDRESS_H
#define RBUF_CONNECT_ADDRESS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/problem.h"

struct ifaddrs;

#define RBUF_ADDRESSES_MAX    12u
#define RBUF_ADDRESS_TEXT_MAX 64u

enum rbuf_address_family { RBUF_ADDRESS_IPV4 = 4, RBUF_ADDRESS_IPV6 = 6 };
enum rbuf_address_scope { RBUF_ADDRESS_GLOBAL, RBUF_ADDRESS_LOOPBACK };

/* Where a listener listens; wire form, 20 bytes. */
struct rbuf_address {
    uint8_t family;      /* enum rbuf_address_family */
    uint8_t scope;       /* enum rbuf_address_scope; loopback is tried on the same machine only */
    uint16_t port;       /* host order */
    uint8_t address[16]; /* network order; IPv4 in the first four */
};

/* All of them, loopback last; wire form, 256 bytes, for the modex. */
struct rbuf_address_list {
    uint64_t machine; /* equal on processes of one machine */
    uint32_t count;   /* <= RBUF_ADDRESSES_MAX; a reader checks it */
    uint32_t reserved;
    struct rbuf_address address[RBUF_ADDRESSES_MAX];
};

static_assert(sizeof(struct rbuf_address) == 20, "the wire form has no padding");
static_assert(sizeof(struct rbuf_address_list) == 256, "the wire form has no padding");

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

/* The other way, as a global one; false: it is of another family. */
bool rbuf_address_from_socket(const struct sockaddr *name, struct rbuf_address *out);
void rbuf_address_text(const struct rbuf_address *address, char text[RBUF_ADDRESS_TEXT_MAX]);

/* How many bits of an interface's address, which is an IP address with a mask, are network. */
unsigned rbuf_address_prefix(const struct ifaddrs *entry);

#endif
