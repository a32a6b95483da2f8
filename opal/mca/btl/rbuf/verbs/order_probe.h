/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A test at start of an adapter whose order is the user's word alone: RDMA writes to this process
 * itself, over a queue pair that is connected to itself, whose last word is polled. A last word
 * that is seen before the rest of its write refutes that bytes appear in ascending order.
 *
 * A clean result proves nothing. These are few writes, within one adapter, of one queue pair on an
 * idle machine; another path (adaptive routing, another socket, a loaded bus) may order otherwise,
 * and what is late for some nanoseconds is easily missed. Only RBUF_ORDER_PROBE_EARLY is a finding.
 *
 * Threads: the one that opens ports. The probe makes all that it needs, and leaves nothing.
 */
#ifndef RBUF_VERBS_ORDER_PROBE_H
#define RBUF_VERBS_ORDER_PROBE_H

#include <stdint.h>

struct rbuf_port;

enum rbuf_order_probe_result {
    RBUF_ORDER_PROBE_CLEAN, /* of `writes` writes, at least one, none was seen too early */
    RBUF_ORDER_PROBE_EARLY, /* a last word was seen before its payload */
    RBUF_ORDER_PROBE_UNABLE /* the adapter refused something, or no write came in time */
};

struct rbuf_order_probe {
    enum rbuf_order_probe_result result;
    uint32_t writes; /* that were seen; the early one is the last of them */
    uint32_t bytes;  /* EARLY: of that write, with its last word; else 0 */
    uint32_t ending; /* EARLY: of the first early word's address, its low 8 bits; else 0 */
};

/*
 * Probes the port, whose queue pairs can be made (its attributes are known); fills all of `*probe`.
 * Polls for at most 20 ms from its start on; what has not arrived by then is not waited for. The
 * verbs calls that make and destroy are not cut short. Nothing is reported: a failure is no error.
 */
void rbuf_order_probe_run(struct rbuf_port *port, struct rbuf_order_probe *probe);

#endif
