/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Addresses of ports: LIDs, GIDs, and which ports reach each other. Owns no state: all of it is
 * read from the directory of nodes in the segment. Any thread.
 */
#ifndef SOFTHCA_ADDRESS_H
#define SOFTHCA_ADDRESS_H

#include "config.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* An entry of the GID table of the port that has a LID; one that no port has is in the default
 * subnet. */
void address_gid(uint32_t lid, uint32_t index, union ibv_gid *gid);
/* The LID in a GID; 0 if no port has that GID. */
uint32_t address_lid(const union ibv_gid *gid);
/* Whether the device has the GID that an address is to be sent from. */
bool address_has_source(const struct device_setting *device, const struct ibv_ah_attr *ah);
/* Whether a device refuses addresses without a GRH. */
bool address_requires_grh(const struct device_setting *device);
/* The LID of the port that an address names, as seen from a device; 0 if it is not reached: there
 * is none, or it is of another link layer, subnet, network or RoCE version. */
uint32_t address_destination(const struct device_setting *device, const struct ibv_ah_attr *ah);

#endif
