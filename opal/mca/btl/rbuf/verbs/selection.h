/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which of a machine's ports to use where the user has not said. Pure functions.
 *
 * Open MPI is told the ports before anything is known of other processes. So processes of like
 * machines are to choose alike, and those of unlike ones to have a port in common:
 *
 * 1. Of each fabric there is one adapter. InfiniBand ports of one partition of a subnet are a
 *    fabric, and so are Ethernet ports of one IP network. Left out, if there are others, are
 *    Ethernet ports with a link-local address only, and ports that are not in the partition
 *    that the user wants.
 * 2. In a fabric: the fastest, then the nearest to the processors that this process may run
 *    on, then the first by name.
 * 3. Chosen are all ports of that adapter that are as good as that one.
 * 4. The fabrics in order: the fastest, of equally fast ones InfiniBand before Ethernet,
 *    InfiniBand by its subnets and partitions, and Ethernet by the same rule as ports.
 *
 * So processes near different sockets choose the same InfiniBand. Which fabric two processes use is
 * connect/pairing.h's matter.
 *
 * Threads: any; pure functions.
 */
#ifndef RBUF_VERBS_SELECTION_H
#define RBUF_VERBS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs/port.h"

/* A port that is active, and what is known of it without using it. */
struct rbuf_selectable {
    const char *name;   /* "mlx5_0:1" */
    const void *device; /* ports of one adapter have the same */
    uint32_t speed;     /* Mbit/s */
    int levels;         /* how far away it is, see verbs/nearest.h */
    bool link_local;    /* it has no other address; always false on InfiniBand */
    bool outside;       /* it is not in the partition that is wanted */
    uint16_t partition; /* 15 bits */
    uint64_t subnet;    /* InfiniBand: prefix; Ethernet: rbuf_gid_subnet() */
    enum rbuf_link_layer link_layer;
};

/* Writes the indexes of the chosen ports to `chosen`, which has room for `count`, fabric by fabric,
 * best first and by name within; returns their number. */
size_t rbuf_select(const struct rbuf_selectable *ports, size_t count, size_t *chosen);

#endif
