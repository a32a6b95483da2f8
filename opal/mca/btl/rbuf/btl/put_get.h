/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * put, get, atomics and flush: entries of Open MPI's BTL interface, and what core says of those
 * under way (btl/put_get.c).
 */
#ifndef BTL_RBUF_RDMA_H
#define BTL_RBUF_RDMA_H

#include "peers/endpoint.h"

int mca_btl_rbuf_put(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data);
int mca_btl_rbuf_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                     void *data);
int mca_btl_rbuf_atomic_fop(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t callback, void *context, void *data);
int mca_btl_rbuf_atomic_cswap(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                              void *local_address, uint64_t remote_address,
                              mca_btl_base_registration_handle_t *local_handle,
                              mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                              uint64_t value, int flags, int order,
                              mca_btl_base_rdma_completion_fn_t callback, void *context,
                              void *data);

/* Returns when all one-sided puts, gets and atomics that were started before have ended, and their
 * callbacks have returned. */
int mca_btl_rbuf_flush(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint);

/* A staged put is through, or failed. No lock is held. */
void mca_btl_rbuf_put_ended(mca_btl_rbuf_module_t *module, struct rbuf_put *put, int status);

/* A copied get's data is at its place, or it failed. No lock is held. */
void mca_btl_rbuf_get_ended(mca_btl_rbuf_module_t *module, struct rbuf_get *get, int status);

/* One in place is complete, or failed. No lock is held. */
void mca_btl_rbuf_rma_ended(mca_btl_rbuf_module_t *module, struct rbuf_rma *rma, int status);

/* The receiver had no staging and registered its buffer instead. No lock is held. */
void mca_btl_rbuf_put_direct(mca_btl_rbuf_module_t *module, struct rbuf_put *put);

#endif
