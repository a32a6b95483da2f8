/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The checksum (core/base/checksum.h) by instructions of choice, for tests and measurements.
 */
#ifndef RBUF_CORE_CHECKSUM_PATHS_H
#define RBUF_CORE_CHECKSUM_PATHS_H

#include "core/base/checksum.h"

#include <stdbool.h>

enum rbuf_checksum_path {
    RBUF_CHECKSUM_PORTABLE,
    RBUF_CHECKSUM_SSE2,
    RBUF_CHECKSUM_AVX2,
    RBUF_CHECKSUM_PATHS
};

/* Whether this processor has the instructions. */
bool rbuf_checksum_has(enum rbuf_checksum_path path);

/* rbuf_checksum() and rbuf_copy_checksum(), by a path that the processor has. */
uint64_t rbuf_checksum_by(enum rbuf_checksum_path path, const void *data, size_t bytes);
uint64_t rbuf_copy_checksum_by(enum rbuf_checksum_path path, void *to, const void *from,
                               size_t bytes);

#endif
