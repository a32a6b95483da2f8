/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages for people: the texts stand in help-mpi-btl-rbuf.txt, one topic an error. Any thread may
 * ask for one.
 */
#ifndef BTL_RBUF_HELP_H
#define BTL_RBUF_HELP_H

#include <stdbool.h>

struct rbuf_problem;

/* Makes the help file beside this component known to Open MPI, wherever it is installed. */
void mca_btl_rbuf_help_open(void);

/* Prints a topic; Open MPI merges equal messages of several ranks. The arguments are the topic's.
 */
void mca_btl_rbuf_help(const char *topic, ...);

/* Prints what the verbs layer found. */
void mca_btl_rbuf_help_problem(const struct rbuf_problem *problem);

/* The calling thread may not call Open MPI: what it asks for waits for mca_btl_rbuf_help_flush().
 */
void mca_btl_rbuf_help_defer(void);

/* Prints what waits. One atomic load if there is nothing. */
void mca_btl_rbuf_help_flush(void);

/* For diagnostics (btl_base_verbose 10); a thread that defers says nothing. */
void mca_btl_rbuf_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
