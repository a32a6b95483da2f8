/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The modex (module/modex.h): what is judged comes from other processes, and may be of another
 * release or byte order, short or wrong. Any thread.
 */
#include "module/modex.h"

#include <assert.h>
#include <string.h>

#include "connect/address.h"
#include "core/base/wire.h"

#define MAGIC 0x66756272u /* "rbuf" */
#define ORDER 0x0102u

static_assert(sizeof(mca_btl_rbuf_modex_t) == 608, "the wire form has no padding");

static size_t published_bytes(uint32_t ports)
{
    return offsetof(mca_btl_rbuf_modex_t, port) + ports * sizeof(struct rbuf_port_address);
}

size_t mca_btl_rbuf_modex_seal(mca_btl_rbuf_modex_t *modex)
{
    modex->magic = MAGIC;
    modex->byte_order = ORDER;
    modex->version = RBUF_WIRE_VERSION;
    return published_bytes(modex->port_count);
}

const char *mca_btl_rbuf_modex_read(const void *data, size_t bytes, mca_btl_rbuf_modex_t *modex)
{
    mca_btl_rbuf_modex_t read = {0};

    if (bytes < offsetof(mca_btl_rbuf_modex_t, token)) {
        return "it published too little";
    }
    memcpy(&read, data, bytes < sizeof(read) ? bytes : sizeof(read));
    if (read.byte_order != ORDER) {
        return "it has the other byte order";
    }
    if (read.magic != MAGIC || read.version != RBUF_WIRE_VERSION) {
        return "it speaks another version of the protocol";
    }
    if (read.port_count > RBUF_PORTS_MAX || bytes != published_bytes(read.port_count) ||
        !rbuf_addresses_valid(&read.addresses)) {
        return "it published something malformed";
    }
    *modex = read;
    return NULL;
}
