/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Names, guards and removes the segment of a fabric (see fabric_file.h).
 */
#define _GNU_SOURCE
#include "fabric_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return hash;
}

static void name_files(struct fabric_file *file, const struct softhca_options *options)
{
    const struct softhca_settings *s = &options->settings;
    char settings[256];
    snprintf(settings, sizeof settings,
             "bw=%" PRIu64 " lat=%" PRIu64 " gap=%" PRIu64 " reg=%" PRIu64 ",%" PRIu64
             " dereg=%" PRIu64 ",%" PRIu64 " memlock=%" PRIu64 " order=%s",
             s->bandwidth, s->latency, s->gap, s->reg.base, s->reg.page, s->dereg.base,
             s->dereg.page, s->memlock,
             options->data_in_order ? options->data_in_order : "default");
    snprintf(file->segment, sizeof file->segment, "/dev/shm/softhca-%u-%s%s%016" PRIx64,
             (unsigned) getuid(), options->fabric ? options->fabric : "",
             options->fabric ? "-" : "", hash_text(settings));
    snprintf(file->users, sizeof file->users, "%s.users", file->segment);
}

/* Whether the descriptor still is the file of that name: another launcher may have removed it
 * between our opening and our locking. */
static bool still_named(int fd, const char *path)
{
    struct stat by_fd, by_path;
    return fstat(fd, &by_fd) == 0 && stat(path, &by_path) == 0 && by_fd.st_dev == by_path.st_dev &&
           by_fd.st_ino == by_path.st_ino;
}

/* Flocks, through interruptions. */
static bool lock_file(int fd, int operation)
{
    int rc;
    do
        rc = flock(fd, operation);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

/* Removes the segment unless a process has a port in it, which the library shows by a record lock:
 * the command may have left something running. */
static void remove_unused(const char *segment)
{
    struct flock any = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(segment, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (fcntl(fd, F_GETLK, &any) == 0 && any.l_type == F_UNLCK)
        unlink(segment);
    close(fd);
}

bool fabric_file_join(struct fabric_file *file, const struct softhca_options *options)
{
    name_files(file, options);
    for (;;) {
        file->lock = open(file->users, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file->lock < 0)
            break;
        if (lock_file(file->lock, LOCK_EX | LOCK_NB) && still_named(file->lock, file->users))
            remove_unused(file->segment); /* left behind by a launcher that was killed */
        if (!lock_file(file->lock, LOCK_SH))
            break;
        if (still_named(file->lock, file->users))
            return true;
        close(file->lock);
    }
    fprintf(stderr, "softhca: cannot open and lock %s: %s\n", file->users, strerror(errno));
    if (file->lock >= 0)
        close(file->lock);
    return false;
}

void fabric_file_leave(struct fabric_file *file)
{
    if (lock_file(file->lock, LOCK_EX | LOCK_NB)) {
        remove_unused(file->segment);
        unlink(file->users);
    }
    close(file->lock);
}
