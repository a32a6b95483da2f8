/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_OPERATION_H
#define BTL_RBUF_OPERATION_H

#include "registration/auto.h"
#include "peers/endpoint.h"
#include "registration/reuse.h"
#include "btl/register_mem.h"
#include "module/thresholds.h"
#include "core/onesided/get.h"
#include "core/rendezvous/put.h"
#include "core/onesided/rma.h"

/* How the local memory of a put or get is had. */
enum mca_btl_rbuf_local {
    MCA_BTL_RBUF_LOCAL_OTHER,       /* staged, or an atomic */
    MCA_BTL_RBUF_LOCAL_INLINE,      /* a put that travels inside its request */
    MCA_BTL_RBUF_LOCAL_REUSED,      /* registered, as it is frequently used */
    MCA_BTL_RBUF_LOCAL_FRAGMENT,    /* the data stands in a fragment of ours */
    MCA_BTL_RBUF_LOCAL_COPIED,      /* goes through staging, in chunks */
    MCA_BTL_RBUF_LOCAL_REGISTERED,  /* by its handle */
    MCA_BTL_RBUF_LOCAL_UNREGISTERED /* to be registered for its handle, which may have to wait */
};

/* A put, get or atomic under way, and whom to tell. */
typedef struct mca_btl_rbuf_operation {
    union {
        struct rbuf_put put; /* staged, or copied */
        struct rbuf_get get; /* copied */
        struct rbuf_rma rma; /* in place */
    };
    mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    mca_btl_rbuf_handle_t *local_handle; /* may be NULL */
    enum mca_btl_rbuf_local local;
    struct mca_btl_rbuf_use use; /* REUSED; FRAGMENT: whether its copy is timed */
    mca_btl_rbuf_frag_t *frag;   /* FRAGMENT */
    bool one_sided;              /* not ob1's: core may hold it, and a flush waits for it */
    mca_btl_base_rdma_completion_fn_t callback;
    void *context;
    void *data;
    uint64_t put_id; /* of a staged put: orders what the callback sends */
    struct mca_btl_rbuf_timing timing;
    /* Atomics land in registered words of our own and are copied from there. */
    uint64_t *bounce;
    mca_btl_rbuf_registration_t *target; /* of an atomic on memory here that Open MPI gave no handle
                                            of; NULL: there is one */
    bool holds_registration;             /* counted in the module's `holding` */
    bool copied;                         /* counted in the module's `copying` */
    uint64_t number;                     /* in order of their start */
    SLIST_ENTRY(mca_btl_rbuf_operation) link;
    TAILQ_ENTRY(mca_btl_rbuf_operation) under_way_link;
} mca_btl_rbuf_operation_t;

/* An operation like `wanted`, or NULL without memory. The lock is held. */
mca_btl_rbuf_operation_t *mca_btl_rbuf_operation_take(mca_btl_rbuf_module_t *module,
                                                      const mca_btl_rbuf_operation_t *wanted);

/* Frees the operations; none is under way. */
void mca_btl_rbuf_operations_close(mca_btl_rbuf_module_t *module);

/* A registered word for an atomic to land in, or NULL if all are in use. The lock is held. */
uint64_t *mca_btl_rbuf_word_take(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_word_give(mca_btl_rbuf_module_t *module, uint64_t *word);

/* Starts a put or get in place, or copied: `wanted` has endpoint, local_*, rma, one_sided and whom
 * to tell. Finds its local memory, on the way down, before the lock is taken; comes up once. 0, or
 * OPAL_ERR_OUT_OF_RESOURCE: ask again. No lock is held. */
int mca_btl_rbuf_operation_start(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *wanted);

/* The same of an operation that was taken, as something else, and has a handle; its rma is set. */
void mca_btl_rbuf_operation_restart(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_operation_t *operation);

/* Hands it to core, which may hold it until the next call of progress; should none come, the
 * thread sees to it. The lock is held. */
void mca_btl_rbuf_operation_post(mca_btl_rbuf_module_t *module,
                                 mca_btl_rbuf_operation_t *operation);

/* Tells Open MPI, and frees it for the next, behind the callback if a flush may wait for it:
 * osc/rdma frees then what its callback looks at. No lock is held. */
void mca_btl_rbuf_operation_end(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                                int status);

/* One in place is complete, or failed. No lock is held. */
void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status);

#endif
