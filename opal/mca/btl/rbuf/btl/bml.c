/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What Open MPI's layer above BTLs (BML r2) remembers of an endpoint.
 *
 * r2 copies a module's flags when a process is added, and ob1 looks at that copy for each message:
 * what is to change later has to be changed there. Whoever reads it meanwhile, in any thread, sees
 * the old or the new one, and both are right: a message may take either path.
 */
#include "btl/in_place.h"

#include "ompi/mca/bml/bml.h"
#include "ompi/proc/proc.h"

void mca_btl_rbuf_bml_hand_over(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_handover_t handover)
{
    const ompi_proc_t *proc = (const ompi_proc_t *) endpoint->proc;
    const mca_bml_base_endpoint_t *bml = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML];

    endpoint->handover = handover;
    for (size_t i = 0; bml != NULL && i < bml->btl_eager.arr_size; i++) {
        mca_bml_base_btl_t *btl = &bml->btl_eager.bml_btls[i];
        const uint32_t others = btl->btl_flags & ~(uint32_t) MCA_BTL_FLAGS_SEND_INPLACE;

        if (btl->btl_endpoint == endpoint) {
            __atomic_store_n(
                &btl->btl_flags,
                handover == MCA_BTL_RBUF_BY_PREPARE ? others | MCA_BTL_FLAGS_SEND_INPLACE : others,
                __ATOMIC_RELAXED);
        }
    }
}
