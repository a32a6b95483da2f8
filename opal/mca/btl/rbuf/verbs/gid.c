/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "verbs/gid.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "verbs/address.h"

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

/* The bytes of an IP address, in network order; NULL: it is of another family. */
static const uint8_t *bytes_of(const struct sockaddr *name, size_t bytes)
{
    if (bytes == 4 && name->sa_family == AF_INET) {
        return (const uint8_t *) &((const struct sockaddr_in *) (const void *) name)->sin_addr;
    }
    if (bytes == 16 && name->sa_family == AF_INET6) {
        return (const uint8_t *) &((const struct sockaddr_in6 *) (const void *) name)->sin6_addr;
    }
    return NULL;
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
        const uint8_t *own = entry->ifa_addr != NULL ? bytes_of(entry->ifa_addr, bytes) : NULL;

        if (own != NULL && entry->ifa_netmask != NULL && memcmp(own, address, bytes) == 0) {
            /* The family of a mask need not be set. */
            struct sockaddr_in6 mask = {0};

            memcpy(&mask, entry->ifa_netmask,
                   bytes == 4 ? sizeof(struct sockaddr_in) : sizeof(mask));
            mask.sin6_family = entry->ifa_addr->sa_family;
            network =
                rbuf_network_of(address, bytes,
                                rbuf_prefix_bits(bytes_of((const struct sockaddr *) &mask, bytes),
                                                 (unsigned) bytes));
            break;
        }
    }
    freeifaddrs(all);
    return network;
}

static bool is_zero(const union ibv_gid *gid)
{
    static const union ibv_gid zero;

    return memcmp(gid, &zero, sizeof(zero)) == 0;
}

/* False: no such entry, or an empty one. */
static bool read_entry(const struct rbuf_port *port, unsigned index, struct rbuf_gid *out)
{
    struct ibv_gid_entry entry = {0};

    if (ibv_query_gid_ex(port->context, port->number, index, &entry, 0) != 0 ||
        is_zero(&entry.gid)) {
        return false;
    }
    out->index = index;
    out->raw = entry.gid;
    if (port->link_layer == RBUF_LINK_INFINIBAND) {
        out->kind = RBUF_GID_INFINIBAND;
    } else {
        out->kind = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? RBUF_GID_ROCE_V2 : RBUF_GID_ROCE_V1;
    }
    return true;
}

static int refuse(const struct rbuf_port *port, unsigned entries, struct rbuf_problem *problem)
{
    char list[160] = "none";
    size_t used = 0;
    struct rbuf_gid gid;

    for (unsigned i = 0; i < entries && used < sizeof(list) - 8; i++) {
        if (read_entry(port, i, &gid)) {
            used += (size_t) snprintf(list + used, sizeof(list) - used, "%s%u",
                                      used != 0 ? ", " : "", i);
        }
    }
    rbuf_problem_set(problem, "bad-gid-index", -EINVAL, "%s", port->name);
    if (port->options.gid_index == RBUF_GID_AUTOMATIC) {
        rbuf_problem_value(problem, "the port has no usable GID");
    } else {
        rbuf_problem_value(problem, "index %d; in use are: %s", port->options.gid_index, list);
    }
    rbuf_problem_remedy(problem, "name an index in use, or leave the choice to rbuf (auto)");
    return -EINVAL;
}

int rbuf_gid_choose(const struct rbuf_port *port, const struct ibv_port_attr *attributes,
                    struct rbuf_gid *out, struct rbuf_problem *problem)
{
    unsigned entries = attributes->gid_tbl_len > 0 ? (unsigned) attributes->gid_tbl_len : 0;
    int asked = port->options.gid_index;
    unsigned best = 0;
    struct rbuf_gid gid;

    if (asked == RBUF_GID_AUTOMATIC && port->link_layer == RBUF_LINK_INFINIBAND) {
        asked = 0;
    }
    if (asked != RBUF_GID_AUTOMATIC) {
        if (asked < 0 || (unsigned) asked >= entries || !read_entry(port, (unsigned) asked, out)) {
            return refuse(port, entries, problem);
        }
        return 0;
    }
    for (unsigned i = 0; i < entries; i++) {
        if (read_entry(port, i, &gid) && rbuf_gid_rank(gid.kind, gid.raw.raw) > best) {
            best = rbuf_gid_rank(gid.kind, gid.raw.raw);
            *out = gid;
        }
    }
    return best != 0 ? 0 : refuse(port, entries, problem);
}
