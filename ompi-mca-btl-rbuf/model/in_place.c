/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Registration, rendezvous, write and last message, one after the other or side by side.
 */
#include "model/in_place.h"

#include <math.h>
#include <stdbool.h>

double rbuf_model_in_place(const struct rbuf_machine *machine, uint64_t bytes,
                           enum rbuf_registered registered, enum rbuf_rendezvous rendezvous)
{
    double registration = rbuf_model_registration(machine, bytes);
    bool sender = registered == RBUF_REGISTERED_BOTH || registered == RBUF_REGISTERED_SENDER;
    bool receiver = registered == RBUF_REGISTERED_BOTH || registered == RBUF_REGISTERED_RECEIVER;
    double wire = rbuf_model_raw(machine, bytes);
    double granted = rbuf_model_rendezvous(machine) + (receiver ? registration : 0);

    switch (rendezvous) {
    case RBUF_RENDEZVOUS_NONE:
        return (sender || receiver ? registration : 0) + wire;
    case RBUF_RENDEZVOUS_SERIAL:
        granted += sender ? registration : 0;
        break;
    case RBUF_RENDEZVOUS_OVERLAPPED:
    case RBUF_RENDEZVOUS_EARLY: /* in place there are none */
        granted = fmax(granted, machine->overhead_ns + (sender ? registration : 0));
        break;
    }
    return granted + wire + 2 * machine->latency_ns + machine->finish_ns;
}
