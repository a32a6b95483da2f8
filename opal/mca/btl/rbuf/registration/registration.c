/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Makes and ends registrations at the adapter, and notes how long each took
 * (registration/registration.h).
 */
#include "registration/registration.h"

#include <errno.h>
#include <stdlib.h>

#include "common/monotonic.h"
#include "verbs/port.h"

#define ALL_ACCESS                                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                   \
     IBV_ACCESS_REMOTE_ATOMIC)

bool mca_btl_rbuf_registration_is_unwritable(int status)
{
    return status == -EFAULT || status == -EACCES || status == -EINVAL;
}

int mca_btl_rbuf_registration_make(struct rbuf_port *port, void *base, size_t bytes,
                                   enum mca_btl_rbuf_purpose purpose,
                                   mca_btl_rbuf_registration_t *registration,
                                   struct rbuf_problem *problem)
{
    const unsigned access = port->atomics ? ALL_ACCESS : ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC;
    const uint64_t start = mca_btl_rbuf_now_ns();
    int status = rbuf_register(port, base, bytes, access, &registration->mr, problem);

    registration->rights = MCA_BTL_RBUF_TARGET;
    if (mca_btl_rbuf_registration_is_unwritable(status) && purpose == MCA_BTL_RBUF_SOURCE) {
        registration->rights = MCA_BTL_RBUF_SOURCE;
        status =
            rbuf_register(port, base, bytes, IBV_ACCESS_REMOTE_READ, &registration->mr, problem);
    }
    atomic_init(&registration->unreported_ns, mca_btl_rbuf_now_ns() - start);
    return status;
}

mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_new(struct rbuf_port *port, void *base,
                                                           size_t bytes,
                                                           enum mca_btl_rbuf_purpose purpose,
                                                           struct rbuf_problem *problem)
{
    mca_btl_rbuf_registration_t *registration = calloc(1, sizeof(*registration));

    if (registration == NULL) {
        rbuf_problem_set(problem, "reg-failed", -ENOMEM, "%zu bytes at %p", bytes, base);
    } else if (mca_btl_rbuf_registration_make(port, base, bytes, purpose, registration, problem) !=
               0) {
        free(registration);
        registration = NULL;
    }
    return registration;
}

void mca_btl_rbuf_registration_free(mca_btl_rbuf_registration_t *registration)
{
    if (registration != NULL) {
        rbuf_deregister(registration->mr);
        free(registration);
    }
}
