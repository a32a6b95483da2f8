/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Addresses of ports. A GID is a subnet of the port, six bytes that are the same for all ports of
 * all fabrics, and the LID; or an IPv4 address of 16 bits of network and the LID.
 *
 * Owns no state. The directory of nodes that it reads is written by each node's owner while it
 * claims its node; the words are atomic.
 */
#define _GNU_SOURCE

#include "address.h"
#include "config.h"
#include "segment.h"

#include <endian.h>
#include <string.h>

static const uint8_t interface_id[6] = {0x02, 0x50, 0xf7, 0xff, 0xfe, 0x00};

void address_gid(uint32_t lid, uint32_t index, union ibv_gid *gid)
{
    const struct port_entry *port = segment_port(lid);
    const struct gid_entry *entry =
        port && index < atomic_load(&port->n_gids) ? &port->gids[index] : NULL;
    uint64_t network = entry ? atomic_load(&entry->network) : DEFAULT_SUBNET;

    memset(gid, 0, sizeof(*gid));
    if (entry && atomic_load(&entry->is_ipv4)) {
        gid->raw[10] = gid->raw[11] = 0xff;
        gid->raw[12] = (uint8_t) (network >> 8);
        gid->raw[13] = (uint8_t) network;
    } else {
        gid->global.subnet_prefix = htobe64(network);
        memcpy(gid->raw + 8, interface_id, sizeof(interface_id));
    }
    gid->raw[14] = (uint8_t) (lid >> 8);
    gid->raw[15] = (uint8_t) lid;
}

/* What is sent from a GID reaches those of its own network and RoCE version: networks are like
 * VLANs without a router between them. */
static bool is_of_network(const struct gid_entry *entry, const struct gid_setting *source)
{
    return atomic_load(&entry->network) == source->network &&
           atomic_load(&entry->type) == source->type &&
           atomic_load(&entry->is_ipv4) == source->is_ipv4;
}

/* The LID in a GID; 0 if no port has that GID, with a `source` one that reaches it. */
static uint32_t find_gid(const union ibv_gid *gid, const struct gid_setting *source)
{
    uint32_t lid = (uint32_t) gid->raw[14] << 8 | gid->raw[15];
    const struct port_entry *port = segment_port(lid);

    for (uint32_t i = 0; port && i < atomic_load(&port->n_gids); i++) {
        union ibv_gid own;

        address_gid(lid, i, &own);
        if (!memcmp(gid, &own, sizeof(own)) && (!source || is_of_network(&port->gids[i], source)))
            return lid;
    }
    return 0;
}

uint32_t address_lid(const union ibv_gid *gid)
{
    return find_gid(gid, NULL);
}

bool address_has_source(const struct device_setting *device, const struct ibv_ah_attr *ah)
{
    return !ah->is_global || ah->grh.sgid_index < device->n_gids;
}

bool address_requires_grh(const struct device_setting *device)
{
    return config.grh_required || device->link_layer == LINK_LAYER_ROCE;
}

uint32_t address_destination(const struct device_setting *device, const struct ibv_ah_attr *ah)
{
    bool ib = device->link_layer == LINK_LAYER_IB;
    const struct port_entry *port;
    uint32_t lid = ah->dlid;

    if (!ib && (!ah->is_global || !address_has_source(device, ah)))
        return 0;
    if (!ib)
        lid = find_gid(&ah->grh.dgid, &device->gids[ah->grh.sgid_index]);
    port = segment_port(lid);
    return port && atomic_load(&port->link_layer) == device->link_layer &&
                   (!ib || is_of_network(&port->gids[0], &device->gids[0]))
               ? lid
               : 0;
}
