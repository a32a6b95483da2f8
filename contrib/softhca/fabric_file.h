/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The file in shared memory by which the processes of one fabric find each other. The library makes
 * it; the launcher names it and takes it away when its last user has ended. Launchers count
 * themselves by shared locks on a file beside it, SEGMENT.users: who gets that lock exclusively is
 * alone, and removes the segment unless a process still has a port in it.
 */
#ifndef SOFTHCA_FABRIC_FILE_H
#define SOFTHCA_FABRIC_FILE_H

#include <stdbool.h>

#include "options.h"

struct fabric_file {
    char segment[128]; /* path of the segment, for SOFTHCA_SEGMENT */
    char users[136];   /* path of the file that carries the locks */
    int lock;          /* its descriptor, closed on exec */
};

/* Names the fabric after the user, the settings and the name given, so that two launches with the
 * same settings share it and different settings never do; counts the caller in, and removes what an
 * earlier launcher may have left. Reports a failure. */
bool fabric_file_join(struct fabric_file *file, const struct softhca_options *options);

/* Counts the caller out; the last one removes the files. */
void fabric_file_leave(struct fabric_file *file);

#endif
