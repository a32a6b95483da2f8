/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/stage (tests/inspect/stage.h).
 */
#include "inspect/stage.h"

#include "core/rendezvous/put.h"

uint32_t inspect_chunks_of_put(const struct rbuf_put *put)
{
    return put->copy.chunks;
}
