/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Calls that the emulated adapter does not have: they say so. libibverbs has a function for each,
 * which calls what the context names; ours names nothing, and a program would end there. Programs
 * ask for some of them only to see whether they work.
 *
 * What callers hand over is not looked at, so all have one prototype; infiniband/verbs.h, which
 * knows others, or on older systems none, is not included. No state.
 */
#include <errno.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static void *no_object(void)
{
    errno = EOPNOTSUPP;
    return NULL;
}

static int no_call(void)
{
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

static int no_file(void)
{
    errno = EOPNOTSUPP;
    return -1;
}

static void no_end(void)
{
}

#define REFUSE(name, how)                                                                          \
    extern EXPORT __typeof__(how) name;                                                            \
    __typeof__(how) name __attribute__((alias(#how)))

/* Memory of other devices and processes. */
REFUSE(ibv_reg_dmabuf_mr, no_object);
REFUSE(ibv_reg_mr_ex, no_object);
REFUSE(ibv_alloc_dmah, no_object);
REFUSE(ibv_dealloc_dmah, no_call);
REFUSE(ibv_dm_export_dmabuf_fd, no_file);
REFUSE(ibv_export_buf_dmabuf_fd, no_file);
REFUSE(ibv_import_device, no_object);
REFUSE(ibv_import_pd, no_object);
REFUSE(ibv_import_mr, no_object);
REFUSE(ibv_import_dm, no_object);
REFUSE(ibv_unimport_pd, no_end);
REFUSE(ibv_unimport_mr, no_end);
REFUSE(ibv_unimport_dm, no_end);
REFUSE(ibv_rereg_mr, no_file);

/* Completion counters. */
REFUSE(_ibv_query_comp_cntr_caps, no_call);
REFUSE(ibv_create_comp_cntr, no_object);
REFUSE(ibv_destroy_comp_cntr, no_call);
REFUSE(ibv_set_comp_cntr, no_call);
REFUSE(ibv_set_err_comp_cntr, no_call);
REFUSE(ibv_inc_comp_cntr, no_call);
REFUSE(ibv_inc_err_comp_cntr, no_call);
REFUSE(ibv_read_comp_cntr, no_call);
REFUSE(ibv_read_err_comp_cntr, no_call);
REFUSE(ibv_qp_attach_comp_cntr, no_call);

/* What the port's attributes say less exactly. */
REFUSE(ibv_query_port_speed, no_call);
