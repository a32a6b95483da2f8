/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_HELP_DIR_H
#define BTL_RBUF_HELP_DIR_H

/* Has Open MPI look for help texts where those of the component are, wherever that was installed.
 * `inside` is an address in it. Any thread that may call Open MPI. */
void mca_btl_rbuf_help_dir(const void *inside);

#endif
