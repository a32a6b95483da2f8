/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The way of an RC queue pair from RESET to RTS by raw verbs, for whoever tests them: it needs
 * nothing of the other files here. Every function returns 0 or the errno value of
 * ibv_modify_qp(), and keeps nothing.
 */
#ifndef BRING_UP_H
#define BRING_UP_H

#include <infiniband/verbs.h>
#include <stdint.h>

/* What a queue pair is to be like. */
struct bring_up {
    uint8_t port;
    uint16_t partition; /* index into the port's table of keys */
    unsigned access;    /* that the peer has, IBV_ACCESS_... */
    enum ibv_mtu mtu;
    uint8_t reads;     /* reads and atomics at a time, either way */
    uint8_t rnr_timer; /* as min_rnr_timer of struct ibv_qp_attr */
    uint8_t timeout;   /* as timeout there; retries are 7, of both kinds */
};

/* One step each. `number` is the peer's queue pair; the port of `peer` does not count. */
int bring_to_init(struct ibv_qp *qp, const struct bring_up *how);
int bring_to_rtr(struct ibv_qp *qp, const struct bring_up *how, uint32_t number,
                 const struct ibv_ah_attr *peer);
int bring_to_rts(struct ibv_qp *qp, const struct bring_up *how);

/* All three; ends at the first that fails. */
int bring_up(struct ibv_qp *qp, const struct bring_up *how, uint32_t number,
             const struct ibv_ah_attr *peer);

#endif
