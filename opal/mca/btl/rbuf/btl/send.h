/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * send and sendi, Open MPI's calls to send a message (btl/send.c), and what others of btl/ need of
 * their slow ways. Errors are Open MPI's.
 *
 * Any thread, without the lock.
 */
#ifndef BTL_RBUF_SEND_H
#define BTL_RBUF_SEND_H

#include "peers/endpoint.h"

int mca_btl_rbuf_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag);
int mca_btl_rbuf_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                       struct opal_convertor_t *convertor, void *header, size_t header_size,
                       size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t **descriptor);

/* A message for a ring goes over send/receive. No lock is held. */
void mca_btl_rbuf_send_beside(mca_btl_rbuf_module_t *module,
                              const mca_btl_base_endpoint_t *endpoint, size_t bytes);

/* A message's buffer is free. No lock is held. */
void mca_btl_rbuf_sent(mca_btl_rbuf_module_t *module, struct rbuf_am *am, int status);

#endif
