/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages for people: the texts stand in help-mpi-btl-rbuf.txt, one topic an error. Any thread may
 * ask for one.
 */
#ifndef BTL_RBUF_HELP_H
#define BTL_RBUF_HELP_H

struct rbuf_problem;

/* Prints a topic, a static text; Open MPI merges equal messages of several ranks. The arguments are
 * the topic's, and NULL behind them. */
void mca_btl_rbuf_help(const char *topic, ...);

/* Prints what the verbs layer found. */
void mca_btl_rbuf_help_problem(const struct rbuf_problem *problem);

/* What was to be pinned, where it could not be. Each has a text of its own (topic "memlock-..."),
 * since what helps one does not help the other. */
enum mca_btl_rbuf_pinned {
    MCA_BTL_RBUF_PINNED_OWN,     /* mailboxes, fragments, words for atomics */
    MCA_BTL_RBUF_PINNED_STAGING, /* at the start */
    MCA_BTL_RBUF_PINNED_RECEIVE, /* receive buffers */
    MCA_BTL_RBUF_PINNED_WINDOW,  /* memory of the program for one-sided operations of its peers */
    MCA_BTL_RBUF_PINNED_BUFFER,  /* memory of the program for one of its own operations */
    MCA_BTL_RBUF_PINNED_KINDS
};

/* Shows the help text of memory that could not be pinned, once for each kind; that of another
 * problem as it is. */
void mca_btl_rbuf_help_pinned(enum mca_btl_rbuf_pinned pinned, const struct rbuf_problem *problem);

/* The calling thread may not call Open MPI: what it asks for waits for mca_btl_rbuf_help_flush().
 */
void mca_btl_rbuf_help_defer(void);

/* Prints what waits. One atomic load if there is nothing. */
void mca_btl_rbuf_help_flush(void);

/* For diagnostics (btl_base_verbose 10); a thread that defers says nothing. */
void mca_btl_rbuf_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
