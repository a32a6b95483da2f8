/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_OPERATION_H
#define BTL_RBUF_OPERATION_H

#include "registration/auto.h"
#include "peers/endpoint.h"
#include "registration/frequent.h"
#include "btl/register_mem.h"
#include "module/thresholds.h"
#include "core/onesided/get.h"
#include "core/rendezvous/put.h"
#include "core/onesided/rma.h"

/* A put, get or atomic under way, and whom to tell. */
typedef struct mca_btl_rbuf_operation {
    union {
        struct rbuf_put put; /* staged, or copied */
        struct rbuf_get get; /* copied */
        struct rbuf_rma rma; /* in place */
    };
    mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    mca_btl_rbuf_handle_t *local_handle; /* NULL: one of these two, inline, or copied */
    struct rbuf_frequent_held *held;     /* its local memory's registration */
    mca_btl_rbuf_frag_t *frag;           /* the data stands there */
    bool timed;                          /* its copy is */
    bool one_sided;                      /* not ob1's: core may hold it, and a flush waits for it */
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

/* Finds a place in registered memory for an operation without a handle, and has a put's data there;
 * none for what is too long for a fragment, which is to be copied in chunks. False: there is none
 * now. No lock is held. */
bool mca_btl_rbuf_operation_place(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation, enum rbuf_frequent_kind kind,
                                  size_t bytes);

/* Gives it back; nothing if there is none. The lock is held. */
void mca_btl_rbuf_operation_unplace(mca_btl_rbuf_module_t *module,
                                    const mca_btl_rbuf_operation_t *operation);

/* Hands it to core, which may hold it until the next call of progress; should none come, the
 * thread sees to it. The lock is held. */
void mca_btl_rbuf_operation_post(mca_btl_rbuf_module_t *module,
                                 mca_btl_rbuf_operation_t *operation);

/* Starts it in place, or copied if nobody registered its memory or found it a place, or puts it
 * aside behind those that wait for a registration. False: mca_btl_rbuf_operation_decide() is to be
 * called. A write of few bytes goes inline and
 * needs that not: a program may put a million of them, each from a place of its own. The lock is
 * held. */
bool mca_btl_rbuf_operation_start(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation);

/* Copies it through staging: core/rendezvous/put.h, get.h. The lock is held. */
void mca_btl_rbuf_operation_copy(mca_btl_rbuf_module_t *module,
                                 mca_btl_rbuf_operation_t *operation);

/* What mca_btl_rbuf_operation_start() left: has protocol auto decide whether its local memory is to
 * be registered, and starts it in place, or copied. No lock is held. */
void mca_btl_rbuf_operation_decide(mca_btl_rbuf_module_t *module,
                                   mca_btl_rbuf_operation_t *operation);

/* Registers its local memory and starts it in place. Where this fails while others hold
 * registrations it waits until one of them ends: osc/rdma takes no notice of a put that failed, so
 * that what is given up here would be lost. No lock is held. */
void mca_btl_rbuf_operation_register(mca_btl_rbuf_module_t *module,
                                     mca_btl_rbuf_operation_t *operation);

/* Tells Open MPI, and frees it for the next, behind the callback if a flush may wait for it:
 * osc/rdma frees then what its callback looks at. No lock is held. */
void mca_btl_rbuf_operation_end(mca_btl_rbuf_module_t *module, mca_btl_rbuf_operation_t *operation,
                                int status);

/* One in place is complete, or failed. No lock is held. */
void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status);

#endif
