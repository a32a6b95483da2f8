/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The version of rbuf, of its tools and of the emulated adapter; configure.ac reads it here. With
 * "~dev" it is the next release, which does not exist yet: packages of it are older than those of
 * the release.
 */
#ifndef RBUF_VERSION_H
#define RBUF_VERSION_H

#define RBUF_VERSION "0.10.0~dev"

#endif
