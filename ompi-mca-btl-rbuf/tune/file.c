/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The file is written as PATH.partial and renamed, which puts it in its place at once.
 */
#include "tune/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool tune_file_open(struct tune_file *file, const char *path, char *why, size_t why_size)
{
    *file = (struct tune_file){.path = path};
    if (path == NULL) {
        return true;
    }
    if ((size_t) snprintf(file->partial, sizeof file->partial, "%s.partial", path) <
        sizeof file->partial) {
        file->stream = fopen(file->partial, "we");
    } else {
        errno = ENAMETOOLONG;
    }
    if (file->stream == NULL) {
        snprintf(why, why_size,
                 "'%.200s' cannot be written: %s. Name a file in a directory that exists and that "
                 "you may write",
                 path, strerror(errno));
        return false;
    }
    return true;
}

bool tune_file_finish(struct tune_file *file, char *why, size_t why_size)
{
    if (file->stream == NULL) {
        return true;
    }
    const bool written = !ferror(file->stream) && fflush(file->stream) == 0;
    const int error = errno;

    if (fclose(file->stream) == 0 && written && rename(file->partial, file->path) == 0) {
        file->stream = NULL;
        return true;
    }
    snprintf(why, why_size, "'%.200s' was not written: %s", file->path,
             strerror(written ? errno : error));
    file->stream = NULL;
    (void) unlink(file->partial);
    return false;
}

void tune_file_abandon(struct tune_file *file)
{
    if (file->stream != NULL) {
        (void) fclose(file->stream);
        (void) unlink(file->partial);
        file->stream = NULL;
    }
}
