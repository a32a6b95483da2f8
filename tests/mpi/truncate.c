/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A receive shorter than its message: MPI_ERR_TRUNCATE, nothing is written behind the buffer, and
 * the next message is whole. The receive is posted first or the message is there first; messages
 * and buffers on both sides of the eager limit.
 *
 * Open MPI's ob1 asks every BTL that has put or get to place a truncated large message whole, and
 * the BTL cannot know that the receive was shorter. Messages above `strict` bytes (the argument)
 * may therefore reach beyond the receive, which is noted, but never beyond their own length.
 */
#include "check.h"

enum when { POSTED_FIRST, MESSAGE_FIRST, WHENS };

struct lengths {
    size_t sent, wanted;
};

static const struct lengths table[] = {
    {1, 0},
    {8, 7},
    {4000, 3999},
    {4089, 4088},
    {11 * CHECK_K, 1},
    {12 * CHECK_K, 100},
    {20 * CHECK_K, 0},
    {20 * CHECK_K, 1},
    {50 * CHECK_K, 0},
    {50 * CHECK_K, 1},
    {64 * CHECK_K, 64 * CHECK_K - 1},
    {64 * CHECK_K, 12 * CHECK_K},
    {256 * CHECK_K + 1, 256 * CHECK_K},
    {CHECK_M, 100 * CHECK_K},
    {4 * CHECK_M + 3, 3 * CHECK_M},
};

static size_t strict = 12000;
static int spilled;

/* What lies behind the receive: `room` bytes that the message would have filled. */
static void check_spill(const char *behind, size_t room, const struct lengths *l)
{
    size_t changed = 0;

    for (size_t i = 0; i < room; i++) {
        changed += behind[i] != 0x5a;
    }
    if (l->sent <= strict) {
        check_that(changed == 0, "%zu bytes into %zu: %zu written behind the receive", l->sent,
                   l->wanted, changed);
    } else if (changed > 0) {
        spilled++;
    }
}

static void send_pair(const struct lengths *l, enum when when, int serial)
{
    char *buffer = check_memory(l->sent);
    MPI_Request request;

    check_fill(buffer, l->sent, (uint64_t) serial);
    if (when == POSTED_FIRST) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Isend(buffer, (int) l->sent, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    if (when == MESSAGE_FIRST) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(buffer, (int) l->sent, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    free(buffer);
}

static void receive_pair(const struct lengths *l, enum when when, int serial)
{
    char *small = check_guarded(l->sent);
    char *whole = check_guarded(l->sent);
    MPI_Request request;
    int code, class = MPI_SUCCESS;

    if (when == MESSAGE_FIRST) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    code = MPI_Irecv(small, (int) l->wanted, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    check_mpi(code, "posting a short receive");
    if (when == POSTED_FIRST) {
        MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
    }
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    check_that(class == MPI_ERR_TRUNCATE, "%zu bytes into %zu: error class %d, not truncation",
               l->sent, l->wanted, class);
    code = MPI_Recv(whole, (int) l->sent, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_mpi(code, "the message behind a truncated one");
    check_match(whole, l->sent, (uint64_t) serial, "behind a truncated one");
    check_guards(whole, l->sent, "behind a truncated one");
    check_spill(small + l->wanted, l->sent - l->wanted, l);
    check_guards(small, l->sent, "truncated");
    check_guarded_free(small);
    check_guarded_free(whole);
}

int main(int argc, char **argv)
{
    int serial = 0;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (argc > 1) {
        strict = (size_t) atol(argv[1]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (enum when when = POSTED_FIRST; when < WHENS; when++) {
            serial++;
            if (check_rank == 0) {
                send_pair(&table[i], when, serial);
            } else if (check_rank == 1) {
                receive_pair(&table[i], when, serial);
            }
        }
    }
    if (spilled > 0) {
        printf("note: ob1 had %d of the large truncated messages placed whole\n", spilled);
    }
    return check_end();
}
