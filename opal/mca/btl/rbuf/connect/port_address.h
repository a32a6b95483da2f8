/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Addresses of ports and queue pairs: what one process tells another of them, in wire form, and
 * whether two ports can be connected. Plain structures and pure functions, without libibverbs:
 * verbs/ fills these in and connects queue pairs by them.
 *
 * Invariants: no structure here has padding; a change of one is a change of RBUF_WIRE_VERSION.
 * Threads: any.
 */
#ifndef RBUF_CONNECT_PORT_ADDRESS_H
#define RBUF_CONNECT_PORT_ADDRESS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rbuf_link_layer { RBUF_LINK_INFINIBAND = 1, RBUF_LINK_ETHERNET };

enum rbuf_gid_kind { RBUF_GID_INFINIBAND = 1, RBUF_GID_ROCE_V1, RBUF_GID_ROCE_V2 };

#define RBUF_PKEY_PARTITION 0x7fffu /* bits of a partition key */
#define RBUF_PKEY_FULL      0x8000u

/* Numbers of enum ibv_mtu, which are those of the InfiniBand specification. */
enum rbuf_mtu { RBUF_MTU_256 = 1, RBUF_MTU_512, RBUF_MTU_1024, RBUF_MTU_2048, RBUF_MTU_4096 };

/* What the other side has to know of a port; wire form, 40 bytes. */
struct rbuf_port_address {
    uint8_t gid[16];
    uint64_t subnet;       /* InfiniBand: subnet prefix; Ethernet: rbuf_gid_subnet() */
    uint16_t lid;          /* InfiniBand */
    uint8_t mtu;           /* enum rbuf_mtu, the largest that this side takes */
    uint8_t link_layer;    /* enum rbuf_link_layer */
    uint8_t gid_kind;      /* enum rbuf_gid_kind */
    uint8_t max_rd_atomic; /* reads and atomics of the other side that may be in flight */
    uint16_t speed;        /* of the link after encoding, in units of 100 Mbit/s */
    uint8_t needs_grh;     /* 1: takes packets with a global route header only (SR-IOV) */
    uint8_t place;         /* of its adapter among those chosen: 0 is what the process prefers */
    uint16_t pkey;         /* partition key that its queue pairs have; the top bit: full member */
    uint8_t reserved[4];   /* 0 */
};

/* What the other side has to know of a queue pair; wire form, 8 bytes. */
struct rbuf_queue_address {
    uint32_t qpn; /* 24 bits */
    uint32_t psn; /* first packet sequence number that this side sends, 24 bits */
};

static_assert(sizeof(struct rbuf_port_address) == 40, "the wire form has no padding");
static_assert(sizeof(struct rbuf_queue_address) == 8, "the wire form has no padding");

/* Whether a GID of 16 bytes is an IPv4 address. */
bool rbuf_gid_is_ipv4(const uint8_t *gid);

bool rbuf_gid_is_link_local(const uint8_t *gid);

/* The IP network that a GID of an Ethernet port belongs to, by the interface that has its address:
 * equal for addresses of one network. Of an IPv6 address without an interface the first 64 bits; 0:
 * it is not known. */
uint64_t rbuf_gid_subnet(const uint8_t *gid);

/* The same of an address (4 bytes of IPv4, 16 of IPv6) with `prefix` bits of network. */
uint64_t rbuf_network_of(const uint8_t *address, size_t bytes, unsigned prefix);

/* How much an entry of a GID table is wanted on Ethernet; more is better. */
unsigned rbuf_gid_rank(enum rbuf_gid_kind kind, const uint8_t *gid);

/* What keeps two ports apart: the further down, the less. */
enum rbuf_reach {
    RBUF_REACHABLE,
    RBUF_OTHER_LINK_LAYER,
    RBUF_OTHER_SUBNET,
    RBUF_OTHER_GID_KIND,
    RBUF_OTHER_PARTITION,
    RBUF_LIMITED_MEMBERS,
    RBUF_REACHES
};

/* Whether two ports can be connected; InfiniBand ports of different subnet prefixes cannot. It does
 * not depend on their order. Ports that reach a third one reach each other, or are both limited
 * members of its partition. */
enum rbuf_reach rbuf_address_reach(const struct rbuf_port_address *one,
                                   const struct rbuf_port_address *other);

/* A static text for people. */
const char *rbuf_reach_text(enum rbuf_reach reach);

#define RBUF_PORT_TRAIT_MAX 80u

/* Writes what of a port that reason is about, for people: "partition key 0x8001". */
void rbuf_reach_trait(enum rbuf_reach reach, const struct rbuf_port_address *port,
                      char text[RBUF_PORT_TRAIT_MAX]);

/* Writes the GID as an IP address. */
void rbuf_gid_text(const uint8_t *gid, char text[RBUF_PORT_TRAIT_MAX]);

#endif
