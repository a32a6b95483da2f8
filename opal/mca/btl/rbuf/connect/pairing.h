/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which ports of two processes are connected. Pure functions.
 *
 * Ports that reach each other are of one fabric; on Ethernet those of one IP network (subnet)
 * surely do, the others if somebody routes. The two processes use the fastest subnet that both have
 * a port of, one of link-local addresses only where there is no other, as nobody has set it up and
 * all networks of that kind look alike. The speed of a subnet is that of the slower side's fastest
 * port; of equally fast ones InfiniBand goes before Ethernet, and Ethernet networks whose
 * ports are nearer to both, taken together, before others; those that are equal in all this are
 * used together, as those of an adapter's two ports. Only without a subnet in common they use ports
 * that may be routed. Where one of them was given the ports to use they use all fabrics that both
 * have.
 *
 * In a subnet the k-th port of one is connected with the k-th of the other. Where one process has
 * more ports than the other, the surplus ones have no partner. Which these are depends on the rank
 * of the other, so that the partners of a process with many ports are spread over all of them.
 *
 * InfiniBand ports of a subnet are of one fabric if they are in one partition as well. In it
 * limited members count only where the process has no full one, so that all that counts of a side
 * is alike; where both sides have limited members alone there are no pairs.
 *
 * Both processes come to the same pairs: no rule depends on whose ports are called ours.
 */
#ifndef RBUF_CONNECT_PAIRING_H
#define RBUF_CONNECT_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "connect/port_address.h"

#define RBUF_PORTS_MAX 8u

struct rbuf_pairing_side {
    const struct rbuf_port_address *port;
    uint32_t count; /* of ports, at most RBUF_PORTS_MAX */
    bool chosen;    /* the user has said which ports to use */
    uint32_t rank;
};

struct rbuf_pairs {
    uint32_t count;                 /* of ports that have a partner */
    int8_t partner[RBUF_PORTS_MAX]; /* of each of our ports: theirs, or -1 */
};

struct rbuf_pairs rbuf_pair(const struct rbuf_pairing_side *ours,
                            const struct rbuf_pairing_side *theirs);

/* Two ports that are not paired. */
struct rbuf_obstacle {
    enum rbuf_reach reach; /* RBUF_REACHABLE: one of the sides has no port */
    uint32_t our_port;
    uint32_t their_port;
};

/* The least that keeps a port of one from one of the other, where there are no pairs. */
struct rbuf_obstacle rbuf_pairing_obstacle(const struct rbuf_pairing_side *ours,
                                           const struct rbuf_pairing_side *theirs);

#endif
