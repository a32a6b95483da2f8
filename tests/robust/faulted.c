/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Checked traffic of one size, for an adapter that has faults: windows of messages in both
 * directions at once, each rank with each other, then one direction alone; buffers are new in every
 * round, so that protocols that register have something to register. It tells when its messages
 * begin to go by an eager ring, and at the end which files are open that were not before MPI_Init,
 * and how much is checked. Where an order of one-sided operations is given (btl_rbuf_rma_order), it
 * is puts and gets instead, held together, in windows that are new as well.
 *
 * Usage: faulted BYTES ROUNDS
 */
#include "check.h"
#include "counter.h"

#include <dirent.h>
#include <unistd.h>

enum { WINDOW = 4, DESCRIPTORS = 4096 };

static bool was_open[DESCRIPTORS];

/* Calls `act` for every open file, except the one that this reads them from. */
static void each_descriptor(void (*act)(int descriptor))
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        int descriptor = atoi(entry->d_name);

        if (entry->d_name[0] != '.' && descriptor != dirfd(directory) && descriptor < DESCRIPTORS) {
            act(descriptor);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

static void note(int descriptor)
{
    was_open[descriptor] = true;
}

static void tell_new(int descriptor)
{
    char link[64], target[256];
    ssize_t length;

    if (was_open[descriptor]) {
        return;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    length = readlink(link, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    printf("open: rank %d: %s\n", check_rank, target);
}

static void both_ways(size_t bytes, int peer, uint64_t serial)
{
    MPI_Request requests[2 * WINDOW];
    char *send[WINDOW], *recv[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        send[i] = check_memory(bytes);
        recv[i] = check_guarded(bytes);
        check_fill(send[i], bytes, check_seed(check_rank, peer, serial + (uint64_t) i));
        MPI_Irecv(recv[i], (int) bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(send[i], (int) bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        check_match(recv[i], bytes, check_seed(peer, check_rank, serial + (uint64_t) i), "window");
        check_guards(recv[i], bytes, "window");
        free(send[i]);
        check_guarded_free(recv[i]);
    }
}

/* The lower rank sends and the higher answers, so that one of the two only waits. */
static void one_way(size_t bytes, int peer, uint64_t serial)
{
    char *buffer = check_memory(bytes);

    if (check_rank < peer) {
        check_fill(buffer, bytes, serial);
        MPI_Send(buffer, (int) bytes, MPI_BYTE, peer, WINDOW, MPI_COMM_WORLD);
        MPI_Recv(buffer, 0, MPI_BYTE, peer, WINDOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer, (int) bytes, MPI_BYTE, peer, WINDOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, bytes, serial, "one way");
        MPI_Send(buffer, 0, MPI_BYTE, peer, WINDOW, MPI_COMM_WORLD);
    }
    free(buffer);
}

/* The peer's window: the first half is put into, what is in the other half is got. */
static void one_sided(size_t bytes, int peer, uint64_t serial)
{
    const size_t half = WINDOW * bytes;
    char *window = check_memory(2 * half), *mine = check_memory(half), *back = check_memory(half);
    MPI_Win win;

    check_fill(window + half, half, check_seed(check_rank, check_rank, serial));
    check_fill(mine, half, check_seed(check_rank, peer, serial));
    MPI_Win_create(window, (MPI_Aint) (2 * half), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (size_t i = 0; i < WINDOW; i++) {
        MPI_Put(mine + i * bytes, (int) bytes, MPI_BYTE, peer, (MPI_Aint) (i * bytes), (int) bytes,
                MPI_BYTE, win);
    }
    for (size_t i = 0; i < WINDOW; i++) {
        MPI_Get(back + i * bytes, (int) bytes, MPI_BYTE, peer, (MPI_Aint) (half + i * bytes),
                (int) bytes, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
    check_match(window, half, check_seed(peer, check_rank, serial), "put");
    check_match(back, half, check_seed(peer, peer, serial), "get");
    MPI_Win_free(&win);
    free(window);
    free(mine);
    free(back);
}

static void tell_of_ring(void)
{
    static bool told;

    if (!told && counter_read("ring_sent") > 0) {
        fprintf(stderr, "rings: rank %d sends by one\n", check_rank);
        told = true;
    }
}

int main(int argc, char **argv)
{
    char order[4096];
    size_t bytes;
    int rounds, status;
    bool holds;

    each_descriptor(note);
    check_begin(&argc, &argv);
    check_need_ranks(2);
    counter_begin();
    bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : CHECK_M;
    rounds = argc > 2 ? atoi(argv[2]) : 10;
    holds = counter_text("rma_order", order, sizeof(order)) && strcmp(order, "issue") != 0;
    for (int round = 0; round < rounds; round++) {
        for (int distance = 1; distance < check_ranks; distance++) {
            int peer = check_rank ^ distance;

            if (holds) {
                one_sided(bytes, peer, (uint64_t) round);
            } else if (peer < check_ranks) {
                both_ways(bytes, peer, (uint64_t) round * WINDOW);
                tell_of_ring();
                one_way(bytes, peer, (uint64_t) round);
            }
        }
    }
    counter_end();
    status = check_end();
    each_descriptor(tell_new);
    return status;
}
