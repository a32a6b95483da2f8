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

enum rbuf_candidate_state {
    RBUF_CANDIDATE_ACTIVE,
    RBUF_CANDIDATE_DOWN,
    RBUF_CANDIDATE_IWARP,
    RBUF_CANDIDATE_UNCONNECTED,
    RBUF_CANDIDATE_STATES
};

/* A port of the machine. */
struct rbuf_candidate {
    char name[RBUF_PORT_NAME_MAX]; /* "mlx5_0:1" */
    struct ibv_device *device;     /* ports of one adapter have the same */
    uint8_t number;                /* of the port, from 1 */
    enum rbuf_candidate_state state;
    bool chosen;
    int levels; /* how far away it is, see verbs/nearest.h */

    /* ACTIVE: what is known of it without using it. */
    struct rbuf_port_address address;
    bool link_local; /* it has no other address; always false on InfiniBand */
    bool outside;    /* it is not in the partition that is wanted */

    const struct rbuf_candidate *best; /* of its fabric; set by rbuf_select() */
};

/* Writes the chosen ones of the active ports to `chosen`, which has room for `count`, fabric by
 * fabric, best first and by name within; returns their number. */
size_t rbuf_select(struct rbuf_candidate *ports, size_t count, struct rbuf_candidate **chosen);

#endif
