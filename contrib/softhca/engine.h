/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Progress: executing posted requests and delivering completions.
 *
 * Owns the progress lock of this process, which excludes its threads from each other. Other
 * processes are not held up by it.
 */
#ifndef SOFTHCA_ENGINE_H
#define SOFTHCA_ENGINE_H

#include "objects.h"

/* One round: moves what is due to or from this process and delivers completions. Returns whether
 * anything is under way. If another thread of the process is at it, returns at once. */
bool engine_progress(void);
/* Whether the agent's last progress left all that it found to requesters that poll. */
bool engine_has_deferred(void);
/* Keeps other threads out of progress; for changes of state and destruction. */
void engine_lock(void);
void engine_unlock(void);
/* A queue pair of this process has requests that are not retired. */
void engine_add_outstanding(uint32_t index);

/* Forgets everything; after a fork. */
void engine_reset(void);

#endif
