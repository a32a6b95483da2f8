/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The schedule that the parameters ask for (core/base/schedule.h). No state; any thread, once the
 * parameters have been checked and the protocol is chosen.
 */
#ifndef BTL_RBUF_SCHEDULE_H
#define BTL_RBUF_SCHEDULE_H

#include "core/base/schedule.h"

/* By what the protocol cuts messages where there is enough staging; that of protocols without
 * staging is the superpipeline's. */
struct rbuf_schedule mca_btl_rbuf_schedule(void);

#endif
