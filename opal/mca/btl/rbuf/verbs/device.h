/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Devices: which ports there are, which to use, and those opened.
 *
 * Threads: one that opens and closes.
 */
#ifndef RBUF_VERBS_DEVICE_H
#define RBUF_VERBS_DEVICE_H

#include "verbs/port.h"

/*
 * Opens active ports: those that verbs/selection.h chooses, in its order, or by name what the user
 * has named or not excluded. One that is not named, and of another fabric than the best, is left
 * out if it cannot be opened. A named one that is not there or not active is an error,
 * "no-such-interface".
 * `*ports` is an array of pointers that rbuf_ports_close() frees.
 */
int rbuf_ports_open(const struct rbuf_device_options *options, struct rbuf_port ***ports,
                    size_t *count, struct rbuf_problem *problem);

/* True if the user has said which ports to use. */
bool rbuf_device_options_name(const struct rbuf_device_options *options);

/* Everything made on the ports has been closed; frees the array too. */
void rbuf_ports_close(struct rbuf_port **ports, size_t count);

#endif
