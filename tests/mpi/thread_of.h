/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What Linux tells of a thread of this process that is known by its name: where it may run, and how
 * long it has run.
 */
#ifndef RBUF_TESTS_MPI_THREAD_OF_H
#define RBUF_TESTS_MPI_THREAD_OF_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thread_of {
    char cpus[64]; /* as the kernel lists them: "0-3,8"; "none": there is no such thread */
    long us;       /* of processor time */
};

/* The rest of the line of /proc/self/task/THREAD/FILE that begins so; empty: there is none. */
static inline void thread_line(const char *thread, const char *file, const char *begin, char *rest,
                               size_t room)
{
    char path[320], line[512];
    FILE *stream;

    rest[0] = '\0';
    (void) snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, file);
    stream = fopen(path, "r");
    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
        if (strncmp(line, begin, strlen(begin)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            (void) snprintf(rest, room, "%.*s", (int) room - 1, line + strlen(begin));
            break;
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

/* The last one of that name. */
static inline struct thread_of thread_of(const char *name)
{
    struct thread_of found = {.cpus = "none"};
    DIR *threads = opendir("/proc/self/task");
    struct dirent *thread;
    char text[64];

    while (threads != NULL && (thread = readdir(threads)) != NULL) {
        thread_line(thread->d_name, "comm", "", text, sizeof(text));
        if (thread->d_name[0] != '.' && strcmp(text, name) == 0) {
            thread_line(thread->d_name, "status", "Cpus_allowed_list:\t", found.cpus,
                        sizeof(found.cpus));
            thread_line(thread->d_name, "schedstat", "", text, sizeof(text));
            found.us = atol(text) / 1000;
        }
    }
    if (threads != NULL) {
        closedir(threads);
    }
    return found;
}

#endif
