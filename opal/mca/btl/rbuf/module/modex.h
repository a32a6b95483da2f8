/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The modex: what every process publishes of itself, and how that of others is judged. Pure
 * functions; nothing of Open MPI is needed.
 */
#ifndef BTL_RBUF_MODEX_H
#define BTL_RBUF_MODEX_H

#include <stddef.h>
#include <stdint.h>

#include "connect/listener.h"
#include "connect/pairing.h"
#include "verbs/port.h"

/* Wire form: as far as the ports go that there are, since every process keeps what each other one
 * has published. */
typedef struct {
    uint32_t magic;
    uint16_t byte_order; /* 0x0102 as the writer stores it */
    uint16_t version;    /* RBUF_WIRE_VERSION */
    uint8_t token[RBUF_TOKEN_BYTES];
    struct rbuf_address_list addresses;
    uint32_t port_count;
    uint32_t chosen; /* 1: the user has said which ports to use, else 0 */
    struct rbuf_port_address port[RBUF_PORTS_MAX];
} mca_btl_rbuf_modex_t;

/* Sets magic, byte order and version; the rest is the caller's. Returns how many bytes of it are to
 * be published. */
size_t mca_btl_rbuf_modex_seal(mca_btl_rbuf_modex_t *modex);

/* Judges the `bytes` bytes that another process published. NULL: they are good, and copied to
 * `modex`, in which ports that there are not are zero. Else the reason, a static text for people,
 * and `modex` is unchanged. */
const char *mca_btl_rbuf_modex_read(const void *data, size_t bytes, mca_btl_rbuf_modex_t *modex);

#endif
