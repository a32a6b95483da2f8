/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory that changes under the same addresses between messages: unmapped and mapped anew, freed
 * and allocated again, its pages dropped, moved by mremap, grown. Whoever keeps registrations and
 * misses one of these sends or receives pages that are gone. With the argument "put" or
 * "get" the memory that changes is that of puts, or of gets, instead of messages.
 */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

enum change { REMAPPED, MAPPED_OVER, REALLOCATED, DROPPED, MOVED, SHRUNK, CHANGES };

enum { ROUNDS = 6, MOST = 4 * CHECK_M };

static const char *const names[CHANGES] = {
    [REMAPPED] = "unmapped and mapped",    [MAPPED_OVER] = "mapped over",
    [REALLOCATED] = "freed and allocated", [DROPPED] = "pages dropped",
    [MOVED] = "moved by mremap",           [SHRUNK] = "shrunk and grown",
};

static const size_t sizes[] = {600, 5000, 20000, 50000, 70000, 300 * CHECK_K, MOST};

/* Anonymous memory, at `address` if that is possible and not NULL. */
static char *map(void *address, size_t size, int flags)
{
    void *memory =
        mmap(address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    if (memory == MAP_FAILED) {
        fprintf(stderr, "wrong: rank %d: no memory for %zu bytes\n", check_rank, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static char *obtain(enum change change, size_t size)
{
    return change == REALLOCATED ? check_memory(size) : map(NULL, size, 0);
}

/* New pages for `memory`; its address afterwards, which is the same wherever that is possible. */
static char *renew(enum change change, char *memory, size_t size)
{
    const size_t half = size / 2 & ~(size_t) 4095;

    switch (change) {
    case REMAPPED:
        munmap(memory, size);
        return map(memory, size, 0);
    case MAPPED_OVER:
        return map(memory, size, MAP_FIXED);
    case REALLOCATED:
        free(memory);
        return check_memory(size);
    case DROPPED:
        madvise(memory, size, MADV_DONTNEED);
        return memory;
    case MOVED: {
        /* Away and back: the pages stay, the addresses are refilled in between. */
        char *away = mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, map(NULL, size, 0));
        return away == MAP_FAILED ? map(memory, size, MAP_FIXED) : away;
    }
    case SHRUNK:
    default:
        munmap(memory + half, size - half);
        map(memory + half, size - half, MAP_FIXED);
        return memory;
    }
}

static void dispose(enum change change, char *memory, size_t size)
{
    if (change == REALLOCATED) {
        free(memory);
    } else {
        munmap(memory, size);
    }
}

static struct {
    char *memory; /* NULL: messages are exchanged */
    MPI_Win win;
    bool gets;
    char *steady; /* stands for the memory that does not change */
} window;

/* From the one buffer to the peer, and back into the other. */
static void put_and_get(const char *send, char *recv, size_t size, const char *what)
{
    const int peer = 1 - check_rank;
    const char *from = window.gets ? memcpy(window.steady, send, size) : send;
    char *to = window.gets ? recv : window.steady;

    MPI_Win_fence(0, window.win);
    MPI_Put(from, (int) size, MPI_BYTE, peer, 0, (int) size, MPI_BYTE, window.win);
    MPI_Win_fence(0, window.win);
    MPI_Get(to, (int) size, MPI_BYTE, peer, 0, (int) size, MPI_BYTE, window.win);
    MPI_Win_fence(0, window.win);
    check_that(memcmp(send, to, size) == 0, "got back other than was put: %s", what);
}

/* Both directions at once, so that sending and receiving registrations are both tested. */
static void exchange(char *send, char *recv, size_t size, uint64_t serial, const char *what)
{
    const int peer = 1 - check_rank;

    check_fill(send, size, check_seed(check_rank, peer, serial));
    memset(recv, 0, size);
    if (window.memory != NULL) {
        put_and_get(send, recv, size, what);
        recv = window.memory;
    } else {
        MPI_Sendrecv(send, (int) size, MPI_BYTE, peer, 1, recv, (int) size, MPI_BYTE, peer, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    check_match(recv, size, check_seed(peer, check_rank, serial), what);
}

static void change_between_messages(enum change change, size_t size)
{
    char *send = obtain(change, size);
    char *recv = obtain(change, size);

    for (uint64_t round = 0; round < ROUNDS; round++) {
        exchange(send, recv, size, 2 * round, names[change]);
        exchange(send, recv, size, 2 * round + 1, names[change]);
        send = renew(change, send, size);
        recv = renew(change, recv, size);
    }
    dispose(change, send, size);
    dispose(change, recv, size);
}

int main(int argc, char **argv)
{
    check_free_registrations();
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (argc > 1) {
        window.memory = check_window(MOST, &window.win);
        window.gets = strcmp(argv[1], "get") == 0;
        window.steady = check_memory(MOST);
    }
    for (enum change change = REMAPPED; check_rank < 2 && change < CHANGES; change++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            change_between_messages(change, sizes[i]);
        }
    }
    if (window.memory != NULL) {
        MPI_Win_free(&window.win);
        free(window.memory);
        free(window.steady);
    }
    return check_end();
}
