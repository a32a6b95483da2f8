/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Addresses of ports. A GID is the subnet of the port, six bytes that are the same for all ports of
 * all fabrics, and the LID.
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

void address_gid(uint32_t lid, union ibv_gid *gid)
{
    const struct port_entry *port = segment_port(lid);

    gid->global.subnet_prefix = htobe64(port ? atomic_load(&port->subnet) : DEFAULT_SUBNET);
    memcpy(gid->raw + 8, interface_id, sizeof(interface_id));
    gid->raw[14] = (uint8_t) (lid >> 8);
    gid->raw[15] = (uint8_t) lid;
}

uint32_t address_lid(const union ibv_gid *gid)
{
    uint32_t lid = (uint32_t) gid->raw[14] << 8 | gid->raw[15];
    union ibv_gid wanted;

    address_gid(lid, &wanted);
    return segment_port(lid) && !memcmp(gid, &wanted, sizeof(wanted)) ? lid : 0;
}

bool address_requires_grh(const struct device_setting *device)
{
    return config.grh_required || device->link_layer == LINK_LAYER_ROCE;
}

uint32_t address_destination(const struct device_setting *device, const struct ibv_ah_attr *ah)
{
    uint32_t lid = device->link_layer == LINK_LAYER_IB ? ah->dlid : address_lid(&ah->grh.dgid);
    const struct port_entry *port = segment_port(lid);

    return port && atomic_load(&port->link_layer) == device->link_layer &&
                   atomic_load(&port->subnet) == device->subnet
               ? lid
               : 0;
}
