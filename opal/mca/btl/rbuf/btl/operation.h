/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Operations: puts, gets and atomics under way. Each is in one state, which says what it waits for;
 * mca_btl_rbuf_operation_advance() alone moves it on from those that need nobody else. Which memory
 * of this side it reads or writes is known before it starts (`local`).
 *
 *     FREE -> STARTING
 *     STARTING -> STAGED | COPIED | IN_PLACE | HOLDING | DECIDING | REGISTERING | PENDING
 *     DECIDING -> COPIED | HOLDING | PENDING
 *     REGISTERING -> HOLDING | PENDING | ENDED
 *     PENDING -> REGISTERING | ENDED (its endpoint goes)
 *     STAGED -> STARTING             the receiver offers registered memory instead
 *     STAGED, COPIED, IN_PLACE, HOLDING -> ENDED -> FREE
 *
 * Threads: the module's lock guards them. Who moves one to DECIDING or REGISTERING works on it
 * there without the lock, and nobody else touches it meanwhile.
 */
#ifndef BTL_RBUF_OPERATION_H
#define BTL_RBUF_OPERATION_H

#include "registration/auto.h"
#include "peers/endpoint.h"
#include "registration/reuse.h"
#include "btl/register_mem.h"
#include "module/thresholds.h"
#include "core/base/trace.h"
#include "core/onesided/copied_put.h"
#include "core/onesided/get.h"
#include "core/rendezvous/put.h"
#include "core/onesided/rma.h"

/* What an operation waits for. */
#define MCA_BTL_RBUF_OPERATION_STATES(STATE)                                                       \
    STATE(MCA_BTL_RBUF_OPERATION_, FREE)     /* the next user; on module->operations */            \
    STATE(MCA_BTL_RBUF_OPERATION_, STARTING) /* the choice of a path for its data */               \
    STATE(MCA_BTL_RBUF_OPERATION_, DECIDING) /* protocol auto: is its memory to be registered? */  \
    STATE(MCA_BTL_RBUF_OPERATION_, REGISTERING) /* the registration of its memory */               \
    STATE(MCA_BTL_RBUF_OPERATION_, PENDING)  /* the end of one that is HOLDING; module->pending */ \
    STATE(MCA_BTL_RBUF_OPERATION_, STAGED)   /* core: its last chunk to be posted */               \
    STATE(MCA_BTL_RBUF_OPERATION_, COPIED)   /* core: its last chunk to arrive */                  \
    STATE(MCA_BTL_RBUF_OPERATION_, IN_PLACE) /* core: its data to arrive */                        \
    STATE(MCA_BTL_RBUF_OPERATION_, HOLDING)  /* the same, from memory registered for it */         \
    STATE(MCA_BTL_RBUF_OPERATION_, ENDED)    /* its callback */

typedef enum { MCA_BTL_RBUF_OPERATION_STATES(RBUF_STATE) } mca_btl_rbuf_operation_state_t;

/* Which memory of this side an operation reads or writes. */
typedef enum {
    MCA_BTL_RBUF_LOCAL_HANDLE,       /* the user's, which has a handle */
    MCA_BTL_RBUF_LOCAL_UNREGISTERED, /* the user's: it travels inside the request, or is copied */
    MCA_BTL_RBUF_LOCAL_REUSED,       /* the user's, which reuse has registered */
    MCA_BTL_RBUF_LOCAL_FRAGMENT,     /* a fragment of ours: the data is copied to it, or from it */
    MCA_BTL_RBUF_LOCAL_FRAGMENT_TIMED, /* likewise, and how long the copy takes is to be told */
    MCA_BTL_RBUF_LOCAL_WORD            /* a registered word of ours: the result of an atomic */
} mca_btl_rbuf_local_t;

/* Who has started it. */
typedef enum {
    MCA_BTL_RBUF_OF_OB1,
    MCA_BTL_RBUF_OF_WINDOW /* one-sided code: core may hold it, and a flush waits for it */
} mca_btl_rbuf_user_t;

typedef struct mca_btl_rbuf_operation {
    union {
        struct rbuf_put put; /* STAGED; COPIED, if it writes */
        struct rbuf_get get; /* COPIED, if it reads */
        struct rbuf_rma rma; /* all other states */
    };
    mca_btl_rbuf_operation_state_t state;
    mca_btl_rbuf_user_t user;
    mca_btl_rbuf_local_t local;
    union {
        struct mca_btl_rbuf_use use; /* LOCAL_REUSED: the registration */
        mca_btl_rbuf_frag_t *frag;   /* LOCAL_FRAGMENT, LOCAL_FRAGMENT_TIMED */
        struct {                     /* LOCAL_WORD */
            uint64_t *word;
            mca_btl_rbuf_registration_t *target; /* of memory here that Open MPI gave no handle of;
                                                    NULL: there is one */
        };
    };
    mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    mca_btl_rbuf_handle_t *local_handle; /* LOCAL_HANDLE; else the callback gets it back */
    mca_btl_base_rdma_completion_fn_t callback;
    void *context;
    void *data;
    uint64_t put_id; /* of a staged put: orders what the callback sends; 0: of none */
    struct mca_btl_rbuf_timing timing;
    int status;      /* ENDED: 0, or a negative errno */
    uint64_t number; /* OF_WINDOW: in order of their start */
    SLIST_ENTRY(mca_btl_rbuf_operation) link;
    TAILQ_ENTRY(mca_btl_rbuf_operation) under_way_link;
} mca_btl_rbuf_operation_t;

/* An operation like `wanted`, STARTING; or NULL without memory. The lock is held. */
mca_btl_rbuf_operation_t *mca_btl_rbuf_operation_take(mca_btl_rbuf_module_t *module,
                                                      const mca_btl_rbuf_operation_t *wanted);

/* Frees the operations; none is under way. */
void mca_btl_rbuf_operations_close(mca_btl_rbuf_module_t *module);

/* A registered word for an operation LOCAL_WORD, or NULL if all are in use. The lock is held. */
uint64_t *mca_btl_rbuf_word_take(mca_btl_rbuf_module_t *module);

/* Attaches registered memory to an operation LOCAL_UNREGISTERED, and copies a put's data there.
 * What is too long for a fragment gets none: it is to be copied in chunks. False: there is none
 * now. No lock is held. */
bool mca_btl_rbuf_operation_attach(mca_btl_rbuf_module_t *module,
                                   mca_btl_rbuf_operation_t *operation,
                                   enum mca_btl_rbuf_purpose purpose, size_t bytes);

/* Gives that memory back. The lock is held. */
void mca_btl_rbuf_operation_detach(mca_btl_rbuf_module_t *module,
                                   const mca_btl_rbuf_operation_t *operation);

/* From here on it waits for what the state says: for a put that the caller starts (STAGED), or for
 * an operation in place after all, as its `rma` says (STARTING). The lock is held. */
void mca_btl_rbuf_operation_become(mca_btl_rbuf_operation_t *operation,
                                   mca_btl_rbuf_operation_state_t state);

/* Moves it on until it waits for core, or for another operation, or is FREE. The lock is held; it
 * is let go meanwhile where memory is registered, and for the callback. */
void mca_btl_rbuf_operation_advance(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_operation_t *operation);

/* An operation for the endpoint that is PENDING, or NULL. The lock is held. */
mca_btl_rbuf_operation_t *mca_btl_rbuf_operation_pending(const mca_btl_rbuf_module_t *module,
                                                         const mca_btl_base_endpoint_t *endpoint);

/* Ends those of them that there are, with an error: the endpoint is going. The lock is held; it is
 * let go meanwhile for callbacks. */
void mca_btl_rbuf_operations_abandon(mca_btl_rbuf_module_t *module,
                                     const mca_btl_base_endpoint_t *endpoint);

/* Core is through with it: tells Open MPI, and frees it. If it held a registration those that are
 * PENDING go on. No lock is held. */
void mca_btl_rbuf_operation_ended(mca_btl_rbuf_module_t *module,
                                  mca_btl_rbuf_operation_t *operation, int status);

#endif
