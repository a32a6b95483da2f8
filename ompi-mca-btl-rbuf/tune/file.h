/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Files that appear whole or not at all. Of those that were opened each is finished or abandoned,
 * once. A file that is not wanted has no stream, and all functions take it.
 */
#ifndef RBUF_TUNE_FILE_H
#define RBUF_TUNE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A file on its way: it is written beside its place and moved there when it is complete. */
struct tune_file {
    const char *path; /* NULL: none is wanted */
    char partial[PATH_MAX];
    FILE *stream;
};

/* Opens it before anything is measured. False: `why` says so. A path of NULL gives a file without
 * stream. */
bool tune_file_open(struct tune_file *file, const char *path, char *why, size_t why_size);

/* Puts it in its place. False: `why` says so, and nothing is left. */
bool tune_file_finish(struct tune_file *file, char *why, size_t why_size);

/* Leaves nothing. */
void tune_file_abandon(struct tune_file *file);

#endif
