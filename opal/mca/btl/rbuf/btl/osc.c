/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is to be said of the one-sided component that parameter osc chooses.
 *
 * osc/rdma of Open MPI 4 wants atomic operations of the adapter, and makes no window where there
 * are none: MPI's error says nothing of that. Where osc/rbuf is opened, too, it says so when a
 * window is wanted (ompi/mca/osc/rbuf/osc_rbuf_component.c); where a list names osc/rdma alone, it
 * is said here. Open MPI 5 has atomic operations of its own for such adapters.
 *
 * Open MPI 4's other one-sided component, osc/pt2pt, takes the acknowledgement of a flush for a
 * sign that all data before it have arrived. Over a transport that copies large messages out of
 * staging, or reads them, the acknowledgement may pass them: the end of a get's buffer is old
 * still. Seen with 4.1.4 under MPI_Win_lock_all, from 48,000 bytes on, also over openib without
 * leave_pinned. Nothing in a BTL's interface lets a message wait for the user's copy of another, so
 * it is said.
 */
#include "btl/btl.h"

#include "common/names.h"
#include "opal/mca/base/mca_base_var.h"
#include "params/help.h"
#include "params/protocol.h"

/* True if the name is an element of the list. */
static bool has_name(const char *list, const char *name)
{
    struct rbuf_name element;

    while (rbuf_names_next(&list, &element)) {
        if (rbuf_name_is(&element, name)) {
            return true;
        }
    }
    return false;
}

/* True if a list of one-sided components, as parameter osc has it ("pt2pt", "rdma,sm", "^rdma";
 * NULL: all), leaves osc/pt2pt to be chosen: it is there, and osc/rdma, which is preferred to it,
 * is not. */
static bool is_left(const char *list)
{
    const bool excludes = list != NULL && list[0] == '^';
    const char *names = excludes ? list + 1 : list;

    if (names == NULL || names[0] == '\0') {
        return false; /* osc/rdma is preferred */
    }
    if (excludes) { /* osc/rbuf has to be switched on, and takes fence and post-start epochs alone
                     */
        return has_name(names, "rdma") && !has_name(names, "pt2pt");
    }
    return has_name(names, "pt2pt") && !has_name(names, "rdma");
}

/* True if the list names osc/rdma, and none that would do without it, or say that it cannot. */
static bool is_rdma_alone(const char *list)
{
    return list != NULL && list[0] != '^' && has_name(list, "rdma") && !has_name(list, "pt2pt") &&
           !has_name(list, "rbuf");
}

static bool has_atomics(void)
{
    for (size_t i = 0; i < mca_btl_rbuf_process.module_count; i++) {
        if ((mca_btl_rbuf_process.modules[i]->super.btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS) != 0) {
            return true;
        }
    }
    return false;
}

/* The value of parameter osc; NULL: none, or it is not known. */
static const char *osc_list(void)
{
    const char *const *value = NULL;
    const int index = mca_base_var_find(NULL, "osc", NULL, NULL);

    return index >= 0 && mca_base_var_get_value(index, &value, NULL, NULL) == OPAL_SUCCESS &&
                   value != NULL
               ? *value
               : NULL;
}

void mca_btl_rbuf_osc_warn(void)
{
    static bool looked = false;
    const char *list = osc_list();

    if (looked || OPAL_MAJOR_VERSION >= 5) {
        return;
    }
    looked = true;
    if (mca_btl_rbuf_protocol()->travel != MCA_BTL_RBUF_TRAVEL_IN_PLACE && is_left(list)) {
        mca_btl_rbuf_help("osc pt2pt", opal_process_info.nodename, list, NULL);
    }
    if (!has_atomics() && is_rdma_alone(list)) {
        mca_btl_rbuf_help("osc rdma", opal_process_info.nodename,
                          mca_btl_rbuf_process.ports[0]->name, list, NULL);
    }
}
