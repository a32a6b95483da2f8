/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which ports can be connected, by subnet, GID and partition, and texts about them
 * (port_address.h).
 */
#include "connect/port_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "connect/address.h"

#define IPV6_NETWORK_BITS 64u /* what an address shows by itself, and most that is compared */

bool rbuf_gid_is_ipv4(const uint8_t *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static bool is_loopback(const uint8_t *gid)
{
    static const uint8_t loopback[16] = {[15] = 1};

    return rbuf_gid_is_ipv4(gid) ? gid[12] == 127 : memcmp(gid, loopback, sizeof(loopback)) == 0;
}

bool rbuf_gid_is_link_local(const uint8_t *gid)
{
    if (rbuf_gid_is_ipv4(gid)) {
        return gid[12] == 169 && gid[13] == 254;
    }
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* Loopback goes before link-local: a port that has both is the loopback interface's own, where the
 * link-local entry leads nowhere. */
unsigned rbuf_gid_rank(enum rbuf_gid_kind kind, const uint8_t *gid)
{
    unsigned newer = kind == RBUF_GID_ROCE_V2 ? 1 : 0;

    if (rbuf_gid_is_link_local(gid)) {
        return 1 + newer;
    }
    if (is_loopback(gid)) {
        return 3 + newer;
    }
    return (newer != 0 ? 7u : 5u) + (rbuf_gid_is_ipv4(gid) ? 1u : 0u);
}

uint64_t rbuf_network_of(const uint8_t *address, size_t bytes, unsigned prefix)
{
    const unsigned bits = prefix < IPV6_NETWORK_BITS ? prefix : IPV6_NETWORK_BITS;
    uint64_t network = 0;

    for (unsigned i = 0; i < bits && i < 8 * bytes; i++) {
        network |= (uint64_t) (address[i / 8] >> (7 - i % 8) & 1) << (63 - i);
    }
    /* Networks of one first address differ by their size; an IPv4 one leaves room for that. */
    return bytes == 4 ? network | bits : network;
}

uint64_t rbuf_gid_subnet(const uint8_t *gid)
{
    const size_t bytes = rbuf_gid_is_ipv4(gid) ? 4 : 16;
    const uint8_t *address = gid + 16 - bytes;
    uint64_t network = bytes == 4 ? 0 : rbuf_network_of(address, bytes, IPV6_NETWORK_BITS);
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0) {
        return network;
    }
    for (const struct ifaddrs *entry = all; entry != NULL; entry = entry->ifa_next) {
        struct rbuf_address own;

        if (entry->ifa_addr != NULL && entry->ifa_netmask != NULL &&
            rbuf_address_from_socket(entry->ifa_addr, &own) &&
            (own.family == RBUF_ADDRESS_IPV4) == (bytes == 4) &&
            memcmp(own.address, address, bytes) == 0) {
            network = rbuf_network_of(address, bytes, rbuf_address_prefix(entry));
            break;
        }
    }
    freeifaddrs(all);
    return network;
}

enum rbuf_reach rbuf_address_reach(const struct rbuf_port_address *one,
                                   const struct rbuf_port_address *other)
{
    if (one->link_layer != other->link_layer) {
        return RBUF_OTHER_LINK_LAYER;
    }
    if (one->link_layer == RBUF_LINK_INFINIBAND && one->subnet != other->subnet) {
        return RBUF_OTHER_SUBNET;
    }
    if (one->link_layer == RBUF_LINK_ETHERNET &&
        (one->gid_kind != other->gid_kind ||
         rbuf_gid_is_ipv4(one->gid) != rbuf_gid_is_ipv4(other->gid))) {
        return RBUF_OTHER_GID_KIND;
    }
    if ((one->pkey & RBUF_PKEY_PARTITION) != (other->pkey & RBUF_PKEY_PARTITION)) {
        return RBUF_OTHER_PARTITION;
    }
    return ((one->pkey | other->pkey) & RBUF_PKEY_FULL) != 0 ? RBUF_REACHABLE
                                                             : RBUF_LIMITED_MEMBERS;
}

const char *rbuf_reach_text(enum rbuf_reach reach)
{
    static const char *const texts[RBUF_REACHES] = {
        [RBUF_REACHABLE] = "reachable",
        [RBUF_OTHER_LINK_LAYER] = "one port is InfiniBand, the other Ethernet",
        [RBUF_OTHER_SUBNET] = "the ports are in different InfiniBand subnets",
        [RBUF_OTHER_GID_KIND] =
            "the ports' GIDs are of different RoCE versions, or one is IPv4 and the other IPv6",
        [RBUF_OTHER_PARTITION] = "the ports use different partitions",
        [RBUF_LIMITED_MEMBERS] =
            "both ports are limited members of their partition, and reach full members only",
    };

    return reach < RBUF_REACHES ? texts[reach] : "unknown";
}

void rbuf_gid_text(const uint8_t *gid, char text[RBUF_PORT_TRAIT_MAX])
{
    const bool ipv4 = rbuf_gid_is_ipv4(gid);

    if (inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? gid + 12 : gid, text, RBUF_PORT_TRAIT_MAX) ==
        NULL) {
        (void) snprintf(text, RBUF_PORT_TRAIT_MAX, "unknown");
    }
}

void rbuf_reach_trait(enum rbuf_reach reach, const struct rbuf_port_address *port,
                      char text[RBUF_PORT_TRAIT_MAX])
{
    char gid[RBUF_PORT_TRAIT_MAX];

    switch (reach) {
    case RBUF_OTHER_SUBNET:
        (void) snprintf(text, RBUF_PORT_TRAIT_MAX, "subnet prefix 0x%016" PRIx64, port->subnet);
        return;
    case RBUF_OTHER_GID_KIND:
        rbuf_gid_text(port->gid, gid);
        (void) snprintf(text, RBUF_PORT_TRAIT_MAX, "RoCE v%d, %.60s",
                        port->gid_kind == RBUF_GID_ROCE_V1 ? 1 : 2, gid);
        return;
    case RBUF_OTHER_PARTITION:
    case RBUF_LIMITED_MEMBERS:
        (void) snprintf(text, RBUF_PORT_TRAIT_MAX, "partition key 0x%04x (%s member)", port->pkey,
                        (port->pkey & RBUF_PKEY_FULL) != 0 ? "full" : "limited");
        return;
    default:
        (void) snprintf(text, RBUF_PORT_TRAIT_MAX, "%s",
                        port->link_layer == RBUF_LINK_ETHERNET ? "Ethernet" : "InfiniBand");
    }
}
