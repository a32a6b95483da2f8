/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Descriptors that a child of fork() does not keep (POSIX 2024 calls that close-on-fork). A child
 * that outlives the process would hold its ports and its connections: the next job would find no
 * free port, and peers would not hear that the process has ended.
 *
 * Marked, and closed in a child:
 *     the sockets that are listened on          connect/listening.c
 *     the sockets of connections                connect/socket.c
 *     the eventfd of the listener's thread      connect/event_queue.c
 *     of each port the adapter's commands and   verbs/port_open.c
 *     asynchronous events (no completion channel is used)
 * Not marked, as a child that keeps it holds nothing up:
 *     libevent's epoll set and signal pipe      it gives no access to them; whoever waits for their
 *                                               other end is in this process
 *     the eventfd of the helper's thread        memory hooks write to it, in a child too: the
 *                                               number must not come to be another file's
 *     libunwind's pipe                          is libunwind's, and a child may use that
 *     what is opened for a moment: files below /proc, the helpers' shared file, a trace
 *
 * A child closes, and does nothing else to what it shares with the process: no shutdown(), no
 * epoll_ctl(). Children of vfork(), posix_spawn(), system() and popen() run no handler; all
 * descriptors are close-on-exec, and these children exec at once.
 *
 * The handlers are the component's, which Open MPI unloads. pthread_atfork() is linked into each
 * shared object by glibc, which forgets an object's handlers when it unloads that (musl unloads
 * nothing).
 *
 * Invariant: a descriptor is marked from before fork() can see it until it is closed. Threads: any;
 * fork() waits between begin and end, which hold one mutex and are not to be nested.
 */
#ifndef RBUF_COMMON_CLOSE_ON_FORK_H
#define RBUF_COMMON_CLOSE_ON_FORK_H

/* There is no fork() until rbuf_close_on_fork_end(): open, then mark; or unmark, then close. */
void rbuf_close_on_fork_begin(void);
void rbuf_close_on_fork_end(void);

/* Between these two. A negative descriptor is left alone; one above 2^20 is not marked. */
void rbuf_close_on_fork_mark(int fd);
void rbuf_close_on_fork_unmark(int fd);

/* Closes a descriptor that is marked. In a child it is closed already, and its number may be
 * another file's: nothing is done. */
void rbuf_close_on_fork_close(int fd);

#endif
