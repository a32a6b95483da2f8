/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/link (tests/inspect/link.h).
 */
#include "inspect/link.h"
