/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The few paths by which programs look for an HCA outside of libibverbs: its character device and
 * its place in sysfs. stat, access and open of these answer as if they were there; every other path
 * goes to the C library.
 */
#define _GNU_SOURCE

#include "objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE "/sys/class/infiniband/softhca0"
#define UVERBS "/sys/class/infiniband_verbs/uverbs0"

/* content is NULL for directories. */
static const struct entry {
    const char *path;
    const char *content;
} entries[] = {
    {"/sys/class/infiniband", NULL},
    {"/sys/class/infiniband/", NULL},
    {DEVICE, NULL},
    {DEVICE "/node_type", "1: CA\n"},
    {DEVICE "/fw_ver", "1.0.0\n"},
    {DEVICE "/hca_type", "MT4119\n"},
    {DEVICE "/board_id", "SOFTHCA\n"},
    {DEVICE "/ports", NULL},
    {DEVICE "/ports/1", NULL},
    {DEVICE "/ports/1/state", "4: ACTIVE\n"},
    {DEVICE "/ports/1/phys_state", "5: LinkUp\n"},
    {DEVICE "/ports/1/gid_attrs", NULL},
    {"/sys/class/infiniband_verbs", NULL},
    {"/sys/class/infiniband_verbs/abi_version", "6\n"},
    {UVERBS, NULL},
    {UVERBS "/ibdev", "softhca0\n"},
    {UVERBS "/abi_version", "1\n"},
    {"/dev/infiniband", NULL},
};

#define UVERBS_NODE "/dev/infiniband/uverbs0"

static const struct entry *find(const char *path)
{
    if (!path || (strncmp(path, "/sys/class/inf", 14) && strncmp(path, "/dev/inf", 8)))
        return NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (!strcmp(entries[i].path, path))
            return &entries[i];
    }
    return NULL;
}

/* A real path of the same kind, to let the kernel fill in the details. */
static const char *stand_in(const char *path)
{
    const struct entry *entry;

    if (path && !strcmp(path, UVERBS_NODE))
        return "/dev/null";
    entry = find(path);
    if (!entry)
        return path;
    return entry->content ? "/proc/version" : "/sys/class";
}

/* As C libraries before 2.33 call it. */
EXPORT int __xstat(int version, const char *path, struct stat *out);
int __xstat(int version, const char *path, struct stat *out)
{
    (void) version;
    return fstatat(AT_FDCWD, stand_in(path), out, 0);
}

EXPORT int stat(const char *path, struct stat *out)
{
    return fstatat(AT_FDCWD, stand_in(path), out, 0);
}

EXPORT int access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, stand_in(path), mode, 0);
}

static int open_content(const struct entry *entry, int flags)
{
    size_t length = strlen(entry->content);
    int fd = memfd_create("softhca", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);

    if (fd < 0)
        return -1;
    if (pwrite(fd, entry->content, length, 0) != (ssize_t) length) {
        close(fd);
        errno = EIO;
        return -1;
    }
    return fd;
}

static int open_path(int directory, const char *path, int flags, mode_t mode)
{
    static int (*_Atomic real)(int, const char *, int, ...);
    const struct entry *entry = find(path);

    if (entry && entry->content)
        return open_content(entry, flags);
    if (!real)
        real = (int (*)(int, const char *, int, ...)) dlsym(RTLD_NEXT, "openat");
    return real(directory, stand_in(path), flags, mode);
}

static mode_t mode_argument(int flags, va_list args)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_argument(flags, args);
    va_end(args);
    return open_path(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_argument(flags, args);
    va_end(args);
    return open_path(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
