/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sending from memory that may not be written: constant data, a private mapping made read-only
 * and a file mapped for reading. A registration that asks for write access fails there, and one
 * that was made without it is of no use once the memory may be written, and is received into. And
 * neighbours: several messages within the same pages at once.
 */
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 400 * CHECK_K, HALF = SIZE / 2, PARTS = 7, ROUNDS = 12 };

static const char constant[SIZE] = {1, 2, 3};

static void send_and_check(const char *what, const char *memory, const size_t *sizes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (check_rank == 0) {
            MPI_Send(memory, (int) sizes[i], MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        } else if (check_rank == 1) {
            char *received = check_guarded(sizes[i]);
            MPI_Recv(received, (int) sizes[i], MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_that(memcmp(received, memory, sizes[i]) == 0, "%zu bytes of %s are wrong",
                       sizes[i], what);
            check_guards(received, sizes[i], what);
            check_guarded_free(received);
        }
    }
}

static char *map(int protection, int flags, int fd)
{
    void *memory = mmap(NULL, SIZE, protection, flags, fd, 0);

    if (memory == MAP_FAILED) {
        fprintf(stderr, "wrong: rank %d: cannot map\n", check_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* A file without a name, filled with the message 9. NULL if there can be none here. */
static char *map_file(void)
{
    char *bytes = check_memory(SIZE);
    FILE *file = tmpfile();
    char *memory = NULL;

    check_fill(bytes, SIZE, 9);
    if (file != NULL && fwrite(bytes, 1, SIZE, file) == SIZE && fflush(file) == 0) {
        memory = map(PROT_READ, MAP_PRIVATE, fileno(file));
    }
    if (file != NULL) {
        fclose(file);
    }
    free(bytes);
    return memory;
}

/* PARTS messages from one buffer into one buffer, their borders in the middle of pages. */
static void neighbours(void)
{
    const int part = SIZE / PARTS - 7;
    MPI_Request requests[2 * PARTS];
    char *send = check_memory(SIZE);
    char *recv = check_memory(SIZE);

    check_fill(send, SIZE, 5);
    memset(recv, 0x31, SIZE);
    for (int i = 0; i < PARTS; i++) {
        /* Two in three parts long enough for the large path. */
        const int length = i % 3 == 0 ? part / 2 : part;
        MPI_Irecv(recv + (size_t) i * (SIZE / PARTS), length, MPI_BYTE, 1 - check_rank, i,
                  MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(send + (size_t) i * (SIZE / PARTS), length, MPI_BYTE, 1 - check_rank, i,
                  MPI_COMM_WORLD, &requests[PARTS + i]);
    }
    MPI_Waitall(2 * PARTS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PARTS; i++) {
        const size_t at = (size_t) i * (SIZE / PARTS);
        const size_t length = (size_t) (i % 3 == 0 ? part / 2 : part);
        check_that(memcmp(recv + at, send + at, length) == 0, "neighbour %d is wrong", i);
        check_that(recv[at + length] == 0x31 && recv[at + SIZE / PARTS - 1] == 0x31,
                   "neighbour %d reaches too far", i);
    }
    free(send);
    free(recv);
}

static void protect(char *memory, size_t size, int protection)
{
    check_that(mprotect(memory, size, protection) == 0, "mprotect failed");
}

/* Both ways at once, `bytes` of `send` into `recv`. */
static void exchange(char *send, char *recv, size_t bytes, const char *expected, const char *what)
{
    MPI_Sendrecv(send, (int) bytes, MPI_BYTE, 1 - check_rank, 2, recv, (int) bytes, MPI_BYTE,
                 1 - check_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_that(memcmp(recv, expected, bytes) == 0, "%s: %zu bytes are wrong", what, bytes);
}

/* Memory is sent while it may not be written, and received into when it may, at the same address.
 */
static void turns_writable(void)
{
    char *memory = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *other = check_memory(SIZE);
    char *expected = check_memory(SIZE);

    check_fill(memory, SIZE, 20);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        memcpy(expected, memory, SIZE);
        protect(memory, SIZE, PROT_READ);
        memset(other, 0, SIZE);
        exchange(memory, other, SIZE, expected, "sent read-only");
        protect(memory, SIZE, PROT_READ | PROT_WRITE);
        check_fill(expected, SIZE, 21 + round);
        memcpy(other, expected, SIZE);
        exchange(other, memory, SIZE, expected, "received where it was read-only");
    }
    munmap(memory, SIZE);
    free(other);
    free(expected);
}

/* Of a buffer that was received into as a whole, the second half may not be written any more when
 * the first is received into. Whatever is registered beyond the message must do it no harm. */
static void half_of_it(void)
{
    char *other = check_memory(SIZE);

    for (uint64_t round = 0; round < ROUNDS; round++) {
        char *memory = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

        check_fill(other, SIZE, 40 + round);
        exchange(other, memory, SIZE, other, "whole");
        protect(memory + HALF, SIZE - HALF, PROT_READ);
        for (int i = 0; i < 3; i++) {
            memset(memory, 0, HALF);
            exchange(other, memory, HALF, other, "half");
        }
        munmap(memory, SIZE);
    }
    free(other);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 4088, 49153, 70000, SIZE};
    const size_t n = sizeof sizes / sizeof sizes[0];

    check_free_registrations();
    check_begin(&argc, &argv);
    check_need_ranks(2);
    char *protected = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char *file = map_file();
    check_fill(protected, SIZE, 8);
    check_that(mprotect(protected, SIZE, PROT_READ) == 0, "mprotect failed");
    for (int round = 0; round < 3; round++) {
        send_and_check("constant data", constant, sizes, n);
        send_and_check("a read-only mapping", protected, sizes, n);
        if (file != NULL) {
            send_and_check("a file", file, sizes, n);
        }
    }
    if (check_rank < 2) {
        neighbours();
        turns_writable();
        half_of_it();
    }
    munmap(protected, SIZE);
    if (file != NULL) {
        munmap(file, SIZE);
    }
    return check_end();
}
