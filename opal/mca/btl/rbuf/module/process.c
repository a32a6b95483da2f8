/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "module/module.h"

struct mca_btl_rbuf_process mca_btl_rbuf_process;
