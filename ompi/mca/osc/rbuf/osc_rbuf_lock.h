/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The lock: one mutex for all windows of the process (osc_rbuf_window.h says what it guards).
 * Threads: any. A thread that has it does not take it again.
 */
#ifndef OSC_RBUF_LOCK_H
#define OSC_RBUF_LOCK_H

#include <stdbool.h>

void osc_rbuf_lock(void);
bool osc_rbuf_trylock(void); /* false: a thread has it */
void osc_rbuf_unlock(void);

#endif
