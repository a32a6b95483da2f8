/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/eager (tests/inspect/eager.h).
 */
#include "inspect/eager.h"
