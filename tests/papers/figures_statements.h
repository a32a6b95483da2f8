/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the paper states, beside what is simulated.
 */
#ifndef RBUF_FIGURES_STATEMENTS_H
#define RBUF_FIGURES_STATEMENTS_H

/* Prints all statements, by machine: stated, found, and the verdict. 1 if one does not hold. */
int figures_print_statements(void);

#endif
