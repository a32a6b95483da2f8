/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The agent: a thread that makes progress while the application does not poll.
 */
#ifndef SOFTHCA_AGENT_H
#define SOFTHCA_AGENT_H

/* Starts the agent of this process unless it runs. What fails is reported; the emulation goes on
 * without. Not from two threads at once. */
void agent_start(void);
/* Ends it and waits for its end. Not from two threads at once. */
void agent_stop(void);
/* The application asks for completion events and will not poll until one comes. Any thread. */
void agent_application_blocks(void);

#endif
