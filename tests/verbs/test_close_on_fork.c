/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a child keeps of listeners: nothing that others could take for the process. The process goes
 * on as if there were no child, and an orderly end frees what a child got past the handlers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall() */
#endif
#include "sides.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/close_on_fork.h"

/* Of this process, those that /proc shows under such a name. */
static int descriptors_like(const char *name)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    char text[64];
    int count = 0;

    while ((entry = readdir(directory)) != NULL) {
        const ssize_t length = readlinkat(dirfd(directory), entry->d_name, text, sizeof(text) - 1);

        text[length > 0 ? length : 0] = '\0';
        count += strncmp(text, name, strlen(name)) == 0;
    }
    closedir(directory);
    return count;
}

static int wait_for(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void end(pid_t child)
{
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    (void) wait_for(child);
}

/* A child that does nothing. */
static pid_t fork_idle(void)
{
    const pid_t child = fork();

    if (child == 0) {
        for (;;) {
            (void) pause();
        }
    }
    ck_assert_int_gt(child, 0);
    return child;
}

/* As fork() without its handlers. */
static pid_t clone_idle(void)
{
    const pid_t child = (pid_t) syscall(SYS_clone, (long) SIGCHLD, 0L, 0L, 0L, 0L);

    if (child == 0) {
        for (;;) {
            (void) syscall(SYS_pause);
        }
    }
    ck_assert_int_gt(child, 0);
    return child;
}

START_TEST(child_keeps_no_socket)
{
    const int sockets = descriptors_like("socket:");
    const int events = descriptors_like("anon_inode:[eventfd]");
    struct side a = side_open(), b = side_open();
    struct pair pair = sides_connect(&a, &b);
    pid_t child;

    ck_assert_int_ge(descriptors_like("socket:"), sockets + 4);
    child = fork();
    if (child == 0) {
        _exit(descriptors_like("socket:") == sockets &&
                      descriptors_like("anon_inode:[eventfd]") == events
                  ? 0
                  : 1);
    }
    ck_assert_int_eq(wait_for(child), 0);
    rbuf_connection_close(pair.active);
    (void) side_expect(&b, RBUF_PEER_DISCONNECTED);
    rbuf_connection_close(pair.passive);
    sides_close(&a, &b);
    ck_assert_int_eq(descriptors_like("socket:"), sockets);
}
END_TEST

/* The child's closing is no end, and disturbs no wait. */
START_TEST(process_goes_on)
{
    struct side a = side_open(), b = side_open();
    struct pair before = sides_connect(&a, &b);
    const pid_t child = fork_idle();
    struct pair after;

    side_expect_nothing(&a);
    side_expect_nothing(&b);
    after = sides_connect(&b, &a);
    rbuf_connection_disconnect(before.active);
    ck_assert_ptr_eq(side_expect(&b, RBUF_PEER_DISCONNECTED).connection, before.passive);
    ck_assert_ptr_eq(side_expect(&a, RBUF_PEER_DISCONNECTED).connection, before.active);
    rbuf_connection_close(before.active);
    rbuf_connection_close(before.passive);
    rbuf_connection_close(after.active);
    ck_assert_ptr_eq(side_expect(&a, RBUF_PEER_DISCONNECTED).connection, after.passive);
    rbuf_connection_close(after.passive);
    sides_close(&a, &b);
    end(child);
}
END_TEST

/* A number that was closed in a child may be another file's there. */
START_TEST(child_closes_once)
{
    int ends[2];
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    rbuf_close_on_fork_begin();
    rbuf_close_on_fork_mark(ends[0]);
    rbuf_close_on_fork_end();
    child = fork();
    if (child == 0) {
        const int reused = dup(ends[1]);

        rbuf_close_on_fork_close(ends[0]);
        _exit(reused == ends[0] && write(reused, "", 1) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(wait_for(child), 0);
    rbuf_close_on_fork_close(ends[0]);
    ck_assert_int_lt(dup(ends[0]), 0);
    (void) close(ends[1]);
}
END_TEST

START_TEST(end_frees_the_port)
{
    struct side first = side_open();
    const uint16_t port = first.addresses.address[0].port;
    struct side one, other;
    pid_t child;

    rbuf_listener_close(first.listener);
    one = side_open_with((struct rbuf_listener_options){.port_min = port, .port_max = port});
    child = clone_idle();
    rbuf_listener_close(one.listener);
    other = side_open_with((struct rbuf_listener_options){.port_min = port, .port_max = port});
    rbuf_listener_close(other.listener);
    end(child);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("close on fork");

    unit_add(suite, child_keeps_no_socket);
    unit_add(suite, process_goes_on);
    unit_add(suite, child_closes_once);
    unit_add(suite, end_frees_the_port);
    return unit_run(suite);
}
