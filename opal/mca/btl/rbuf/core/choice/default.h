/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What protocol `default` is. A staged message is copied by a core on each side while it is on the
 * wire, so that it costs nothing where a core copies faster than the ports carry: protocol
 * superpipeline. Where the ports are faster it is auto, which writes buffers that are used again in
 * place.
 *
 * Stateless. The copy is that of RBUF_DEFAULT_MEMORY bytes of a program, which are seldom in the
 * cache, into one staging buffer, which is.
 */
#ifndef RBUF_CORE_DEFAULT_H
#define RBUF_CORE_DEFAULT_H

#include <stdbool.h>
#include <stdint.h>

#define RBUF_DEFAULT_CHUNK  (256u * 1024u) /* bytes that are copied at once */
#define RBUF_DEFAULT_CHUNKS 16u
#define RBUF_DEFAULT_MEMORY (RBUF_DEFAULT_CHUNKS * RBUF_DEFAULT_CHUNK)

/* Whether it is auto, where a core copies and the ports carry so many bytes a microsecond. A copy
 * of 0 was not measured. */
static inline bool rbuf_default_is_auto(uint64_t copy, uint64_t ports)
{
    return copy != 0 && copy < ports;
}

#endif
