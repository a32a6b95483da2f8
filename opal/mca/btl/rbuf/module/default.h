/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What protocol `default` is on this machine: measures what core/choice/default.h decides by.
 * Processes of a job may choose differently: a message's receiver offers what it can, its sender
 * takes that.
 */
#ifndef BTL_RBUF_DEFAULT_H
#define BTL_RBUF_DEFAULT_H

/* Once, when the ports are open: replaces `default` in the parameters. What it measures takes a
 * millisecond or two. */
void mca_btl_rbuf_default_choose(void);

/* "default: a core copies 11.2 GB/s, the ports carry 1.2 GB/s"; empty if another protocol was asked
 * for. */
const char *mca_btl_rbuf_default_why(void);

#endif
