/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory over time: windows are made and freed, or children spawned, and what a process has for
 * itself must not grow beyond a bound. What it is is in docs/one-sided-figures.md.
 *
 *   memory windows [packed]    600 of them, created, allocated and dynamic by turns
 *   memory spawn               ten children, one after the other
 *
 * Pages of files do not count: the emulated adapter writes through mappings of other processes'
 * memory, which stay when those have ended, and takes another entry of its table of regions, which
 * is shared, for each registration. Its completion queues are the process's own; a page of theirs
 * becomes resident when completions get there for the first time, 1.2 MB in all.
 */
#include "check.h"
#include "usage.h"

enum { WARM = 60, WINDOWS = 600, CHILDREN = 10, BYTES = 100001 };

#define WINDOW_MOST 250             /* bytes a window */
#define HEAP_MOST   (32 * CHECK_K)  /* of all windows, in use */
#define CHILD_MOST  (200 * CHECK_K) /* bytes a child: Open MPI 4.1.4 keeps 60 to 90 KB of each */

static void one_window(int turn, char *memory)
{
    MPI_Win win;
    char *base;

    switch (turn % 3) {
    case 0:
        MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        break;
    case 1:
        MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        break;
    default:
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, memory, BYTES);
        MPI_Win_detach(win, memory);
        break;
    }
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void windows(void)
{
    char *memory = check_memory(BYTES);
    struct usage before, after;

    for (int i = 0; i < WARM; i++) {
        one_window(i, memory);
    }
    before = usage_now();
    for (int i = 0; i < WINDOWS; i++) {
        one_window(i, memory);
    }
    after = usage_now();
    check_that(after.private - before.private <= WINDOWS * WINDOW_MOST,
               "%d windows cost %ld bytes: %d at most", WINDOWS, after.private - before.private,
               WINDOWS * WINDOW_MOST);
    check_that(after.heap - before.heap <= HEAP_MOST,
               "%d windows leave %ld bytes of the heap in use: %d at most", WINDOWS,
               after.heap - before.heap, HEAP_MOST);
    printf("rank %d: %d windows cost %ld KB, %ld KB of them of the heap\n", check_rank, WINDOWS,
           (after.private - before.private) / CHECK_K, (after.heap - before.heap) / CHECK_K);
    free(memory);
}

static void parent_talks(char **argv, char *buffer)
{
    MPI_Comm child;

    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
                   MPI_ERRCODES_IGNORE);
    MPI_Send(buffer, BYTES, MPI_BYTE, 0, 0, child);
    MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 0, child, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&child);
}

static void child_talks(MPI_Comm parent, char *buffer)
{
    MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 0, parent, MPI_STATUS_IGNORE);
    MPI_Send(buffer, BYTES, MPI_BYTE, 0, 0, parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    exit(0);
}

static void spawn(char **argv)
{
    char *buffer = check_memory(BYTES);
    struct usage before = {0}, after;
    MPI_Comm parent;

    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child_talks(parent, buffer);
    }
    for (int i = 0; i < 2 + CHILDREN; i++) {
        if (i == 2) {
            before = usage_now();
        }
        check_fill(buffer, BYTES, (uint64_t) i);
        parent_talks(argv, buffer);
        check_match(buffer, BYTES, (uint64_t) i, "back from the child");
    }
    after = usage_now();
    check_that(after.private - before.private <= CHILDREN * CHILD_MOST,
               "%d children cost %ld bytes: %d at most", CHILDREN, after.private - before.private,
               CHILDREN * CHILD_MOST);
    printf("%d children cost %ld KB\n", CHILDREN, (after.private - before.private) / CHECK_K);
    free(buffer);
}

int main(int argc, char **argv)
{
    const bool spawns = argc > 1 && strcmp(argv[1], "spawn") == 0;

    if (argc > 2 && strcmp(argv[2], "packed") == 0) {
        (void) check_pack_one_sided();
    }
    check_begin(&argc, &argv);
    if (spawns) {
        spawn(argv);
    } else {
        check_need_windows();
        windows();
    }
    return check_end();
}
