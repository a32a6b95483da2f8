/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The few paths by which programs look for an HCA outside of libibverbs: its character device and
 * its place in sysfs. stat, access, open and fopen of these answer as if they were there; every
 * other path goes to the C library.
 *
 * Owns nothing. Any thread, also before the settings are read.
 */
#define _GNU_SOURCE

#include "objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASS   "/sys/class/infiniband"
#define UVERBS  "/sys/class/infiniband_verbs"
#define NODES   "/dev/infiniband"
#define CONTENT 512 /* bytes of a file */

enum kind { NOT_OURS, DIRECTORY, CHARACTER_DEVICE, TEXT };

/* What is behind a prefix of a path, without a slash in front; NULL if it is another path. */
static const char *behind(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);

    if (strncmp(path, prefix, length) || (path[length] && path[length] != '/'))
        return NULL;
    return path + length + (path[length] == '/');
}

static enum kind text(char *out, const char *content)
{
    snprintf(out, CONTENT, "%s", content);
    return TEXT;
}

static enum kind line(char *out, const char *content)
{
    snprintf(out, CONTENT, "%s\n", content);
    return TEXT;
}

static bool port_is_down(const struct device_setting *device, uint32_t number)
{
    return self.node ? link_is_down(self.node, device->first_port + number - 1) : device->is_down;
}

/* Below a device's directory "ports". */
static enum kind find_in_ports(const struct device_setting *device, const char *path, char *out)
{
    uint32_t number = (uint32_t) (path[0] - '0');
    bool down;

    if (!path[0])
        return DIRECTORY;
    if (!number || number > device->ports || (path[1] && path[1] != '/'))
        return NOT_OURS;
    path += path[1] ? 2 : 1;
    down = port_is_down(device, number);
    if (!*path || !strcmp(path, "gid_attrs"))
        return DIRECTORY;
    if (!strcmp(path, "state"))
        return text(out, down ? "1: DOWN\n" : "4: ACTIVE\n");
    if (!strcmp(path, "phys_state"))
        return text(out, down ? "3: Disabled\n" : "5: LinkUp\n");
    return NOT_OURS;
}

/* Below a device's own directory. */
static enum kind find_in_device(const struct device_setting *device, const char *path, char *out)
{
    const char *ports = behind(path, "ports");

    if (!*path || !strcmp(path, "device"))
        return DIRECTORY;
    if (ports)
        return find_in_ports(device, ports, out);
    if (!strcmp(path, "node_type"))
        return text(out, "1: CA\n");
    if (!strcmp(path, "fw_ver"))
        return text(out, "1.0.0\n");
    if (!strcmp(path, "hca_type"))
        return line(out, device->model->type);
    if (!strcmp(path, "board_id"))
        return text(out, "SOFTHCA\n");
    if (!strcmp(path, "device/local_cpus") && *device->local_cpus)
        return text(out, device->local_cpus);
    return NOT_OURS;
}

static enum kind find_in_class(const char *path, char *out)
{
    if (!*path)
        return DIRECTORY;
    for (uint32_t i = 0; i < config.n_devices; i++) {
        const char *rest = behind(path, config.devices[i].name);

        if (rest)
            return find_in_device(&config.devices[i], rest, out);
    }
    return NOT_OURS;
}

/* The device that a name such as uverbs1 is of, and what is behind it; NULL if there is none. */
static const struct device_setting *find_uverbs(const char *path, const char **rest)
{
    for (uint32_t i = 0; i < config.n_devices; i++) {
        char name[24];

        snprintf(name, sizeof(name), "uverbs%u", i);
        *rest = behind(path, name);
        if (*rest)
            return &config.devices[i];
    }
    return NULL;
}

static enum kind find_in_uverbs(const char *path, char *out)
{
    const struct device_setting *device;

    if (!*path)
        return DIRECTORY;
    if (!strcmp(path, "abi_version"))
        return text(out, "6\n");
    device = find_uverbs(path, &path);
    if (!device)
        return NOT_OURS;
    if (!*path)
        return DIRECTORY;
    if (!strcmp(path, "abi_version"))
        return text(out, "1\n");
    if (strcmp(path, "ibdev"))
        return NOT_OURS;
    return line(out, device->name);
}

static enum kind find_in_nodes(const char *path)
{
    const char *rest;

    if (!*path)
        return DIRECTORY;
    return find_uverbs(path, &rest) && !*rest ? CHARACTER_DEVICE : NOT_OURS;
}

static enum kind find(const char *path, char *out)
{
    const char *rest;

    if (!path ||
        (strncmp(path, CLASS, sizeof(CLASS) - 1) && strncmp(path, NODES, sizeof(NODES) - 1)))
        return NOT_OURS;
    config_read();
    if ((rest = behind(path, CLASS)))
        return find_in_class(rest, out);
    if ((rest = behind(path, UVERBS)))
        return find_in_uverbs(rest, out);
    return (rest = behind(path, NODES)) ? find_in_nodes(rest) : NOT_OURS;
}

/* A real path of the same kind, to let the kernel fill in the details. */
static const char *stand_in(const char *path)
{
    char content[CONTENT];

    switch (find(path, content)) {
    case DIRECTORY:
        return "/sys/class";
    case CHARACTER_DEVICE:
        return "/dev/null";
    case TEXT:
        return "/proc/version";
    default:
        return path;
    }
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

static int open_content(const char *content, int flags)
{
    size_t length = strlen(content);
    int fd = memfd_create("softhca", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);

    if (fd < 0)
        return -1;
    if (pwrite(fd, content, length, 0) != (ssize_t) length) {
        close(fd);
        errno = EIO;
        return -1;
    }
    return fd;
}

static int open_path(int directory, const char *path, int flags, mode_t mode)
{
    static int (*_Atomic real)(int, const char *, int, ...);
    char content[CONTENT];

    if (find(path, content) == TEXT)
        return open_content(content, flags);
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

EXPORT int openat(int directory, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_argument(flags, args);
    va_end(args);
    return open_path(directory, path, flags, mode);
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_argument(flags, args);
    va_end(args);
    return open_path(directory, path, flags | O_LARGEFILE, mode);
}

static FILE *open_stream(const char *path, const char *mode, const char *call)
{
    FILE *(*real)(const char *, const char *);
    char content[CONTENT];
    int fd;

    if (find(path, content) == TEXT) {
        fd = open_content(content, O_CLOEXEC);
        return fd < 0 ? NULL : fdopen(fd, mode);
    }
    real = (FILE * (*) (const char *, const char *) ) dlsym(RTLD_NEXT, call);
    return real(path, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return open_stream(path, mode, "fopen");
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    return open_stream(path, mode, "fopen64");
}
