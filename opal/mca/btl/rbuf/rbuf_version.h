/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The version of rbuf, of its tools and of the emulated adapter; configure.ac reads it here.
 */
#ifndef RBUF_VERSION_H
#define RBUF_VERSION_H

#define RBUF_VERSION "0.9.0"

#endif
