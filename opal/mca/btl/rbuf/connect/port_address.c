/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See port_address.h: which GIDs there are, which is wanted, and who can be connected. */
#include "connect/port_address.h"

#include <string.h>

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

enum rbuf_reach rbuf_address_reach(const struct rbuf_port_address *one,
                                   const struct rbuf_port_address *other)
{
    if (one->link_layer != other->link_layer) {
        return RBUF_OTHER_LINK_LAYER;
    }
    if (one->link_layer == RBUF_LINK_INFINIBAND) {
        return one->subnet == other->subnet ? RBUF_REACHABLE : RBUF_OTHER_SUBNET;
    }
    if (one->gid_kind != other->gid_kind ||
        rbuf_gid_is_ipv4(one->gid) != rbuf_gid_is_ipv4(other->gid)) {
        return RBUF_OTHER_GID_KIND;
    }
    return RBUF_REACHABLE;
}

const char *rbuf_reach_text(enum rbuf_reach reach)
{
    switch (reach) {
    case RBUF_REACHABLE:
        return "reachable";
    case RBUF_OTHER_LINK_LAYER:
        return "one port is InfiniBand, the other Ethernet";
    case RBUF_OTHER_SUBNET:
        return "the ports are in different InfiniBand subnets";
    case RBUF_OTHER_GID_KIND:
        return "the ports' GIDs are of different RoCE versions, or one is IPv4 and the other IPv6";
    }
    return "unknown";
}
