/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the process holds: resident memory that nobody else can have, pinned memory as MPI_T tells
 * it, file descriptors. Shared pages do not count as resident: the emulated adapter writes into the
 * memory of other processes through mappings of it, which become resident page by page as they are
 * written to.
 */
#include "soak.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;
static bool counts;

/* The index of a performance variable, or -1. */
static int find_variable(const char *wanted)
{
    int variables;

    MPI_T_pvar_get_num(&variables);
    for (int i = 0; i < variables; i++) {
        char name[128], text[8];
        int name_length = sizeof(name), text_length = sizeof(text);
        int verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum enumeration;

        if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &enumeration,
                                text, &text_length, &bind, &readonly, &continuous,
                                &atomic) == MPI_SUCCESS &&
            strcmp(name, wanted) == 0) {
            return i;
        }
    }
    return -1;
}

void resources_open(void)
{
    int provided, count, index;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        return;
    }
    index = find_variable("btl_rbuf_pinned");
    counts = index >= 0 && MPI_T_pvar_session_create(&session) == MPI_SUCCESS &&
             MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS;
}

void resources_close(void)
{
    if (counts) {
        MPI_T_pvar_handle_free(session, &handle);
        MPI_T_pvar_session_free(&session);
        counts = false;
    }
    MPI_T_finalize();
}

static size_t resident(void)
{
    unsigned long pages = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%*u %lu %lu", &pages, &shared) != 2) {
        soak_wrong("/proc/self/statm cannot be read");
    }
    fclose(file);
    return (pages - shared) * (size_t) sysconf(_SC_PAGESIZE);
}

/* The emulated adapter has one for each pool of registered memory, which is looked at as pinned. */
static bool is_of_adapter(DIR *directory, const char *name)
{
    char target[64];
    ssize_t length = readlinkat(dirfd(directory), name, target, sizeof(target) - 1);

    target[length > 0 ? length : 0] = '\0';
    return strncmp(target, "/memfd:softhca", strlen("/memfd:softhca")) == 0;
}

static int descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    int count = 0;

    if (directory == NULL) {
        soak_wrong("/proc/self/fd cannot be read");
    }
    while ((entry = readdir(directory)) != NULL) {
        count += !is_of_adapter(directory, entry->d_name);
    }
    closedir(directory);
    return count - 3; /* itself, "." and ".." */
}

void resources_look(struct resources *resources)
{
    unsigned long long pinned = 0;

    if (counts && MPI_T_pvar_read(session, handle, &pinned) != MPI_SUCCESS) {
        soak_wrong("btl_rbuf_pinned cannot be read");
    }
    malloc_trim(0); /* what the program has freed is not what leaks */
    *resources = (struct resources){.resident = resident(),
                                    .pinned = pinned,
                                    .descriptors = descriptors(),
                                    .pinned_counts = counts};
}
