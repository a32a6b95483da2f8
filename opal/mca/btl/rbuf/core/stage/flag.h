/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The flag at the end of a block: 8 bytes that say which use of the block this is. Uses are counted
 * by the receiver and never repeat; sender and receiver both know which one a block has.
 *
 *     plain      | use, 64 bits                                    |
 *     checked    | use modulo 2^24 | checksum of payload and use, 40 |
 *
 * A plain flag is trusted: the adapter places it behind the payload. A checked flag proves the
 * payload, in whatever order the bytes have come. The use is part of the checksum, all 64 bits of
 * it, so that a block that is still complete from an earlier use is never taken for this one, not
 * even if the low 24 bits are alike.
 */
#ifndef RBUF_CORE_FLAG_H
#define RBUF_CORE_FLAG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/checksum.h"
#include "core/base/wire.h"

/* The flag of a block whose payload has that checksum. */
static inline uint64_t rbuf_flag_checked(uint64_t use, uint64_t checksum)
{
    return use << RBUF_CHECKSUM_BITS | rbuf_checksum_of_use(checksum, use);
}

/* True if the flag is of that use, as far as can be told without the payload. */
static inline bool rbuf_flag_is(enum rbuf_proof proof, uint64_t flag, uint64_t use)
{
    return proof == RBUF_PROOF_ORDER
               ? flag == use
               : (flag ^ use << RBUF_CHECKSUM_BITS) < 1ull << RBUF_CHECKSUM_BITS;
}

#endif
