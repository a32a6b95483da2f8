/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What all modules of the process share: there is one of it.
 */
#include "module/module.h"

struct mca_btl_rbuf_process mca_btl_rbuf_process;
