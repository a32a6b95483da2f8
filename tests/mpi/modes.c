/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The send modes: a synchronous send does not complete before its receive is posted, a buffered
 * send completes without one, a ready send finds its receive; every byte compared at every size.
 */
#include "check.h"

#include <time.h>
#include <unistd.h>

enum { LARGEST = 4 * CHECK_M + 3 };

typedef int (*send_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

struct mode {
    const char *name;
    send_function send;
};

static const struct mode modes[] = {{"Ssend", MPI_Ssend}, {"Bsend", MPI_Bsend}, {"Send", MPI_Send}};

static void every_size(const struct mode *mode, char *buffer)
{
    for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
        const size_t size = check_sizes[i];
        for (int sender = 0; sender < 2; sender++) {
            if (check_rank == sender) {
                check_fill(buffer, size, i);
                mode->send(buffer, (int) size, MPI_BYTE, 1 - sender, 4, MPI_COMM_WORLD);
                /* The buffer is ours again: a byte changed now must not arrive. */
                memset(buffer, 0xee, size);
            } else {
                memset(buffer, 0, size);
                MPI_Recv(buffer, (int) size, MPI_BYTE, sender, 4, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                check_match(buffer, size, i, mode->name);
            }
        }
    }
}

/* Issend is tested for 50 ms while the receiver is known not to have posted. */
static void synchronous_waits(char *buffer, size_t size)
{
    if (check_rank == 0) {
        MPI_Request request;
        int done = 0;
        const double until = MPI_Wtime() + 0.05;
        check_fill(buffer, size, size);
        MPI_Issend(buffer, (int) size, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
        while (!done && MPI_Wtime() < until) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        check_that(!done, "Issend of %zu bytes completed before its receive", size);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
        if (!done) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, (int) size, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, size, size, "Issend");
    }
}

/* Both ranks send first and receive afterwards: with buffered sends that is allowed. */
static void buffered_crosses(char *buffer, size_t size)
{
    const int peer = 1 - check_rank;

    check_fill(buffer, size, check_seed(check_rank, peer, 1));
    MPI_Bsend(buffer, (int) size, MPI_BYTE, peer, 7, MPI_COMM_WORLD);
    memset(buffer, 0xee, size);
    MPI_Recv(buffer, (int) size, MPI_BYTE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(buffer, size, check_seed(peer, check_rank, 1), "crossing Bsend");
}

static void ready_finds_receive(char *buffer, size_t size)
{
    if (check_rank == 1) {
        MPI_Request request;
        memset(buffer, 0, size);
        MPI_Irecv(buffer, (int) size, MPI_BYTE, 0, 8, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_match(buffer, size, size + 1, "Rsend");
    } else {
        check_fill(buffer, size, size + 1);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Rsend(buffer, (int) size, MPI_BYTE, 1, 8, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_rank < 2) {
        char *buffer = check_memory(LARGEST);
        int attached = 4 * (LARGEST + MPI_BSEND_OVERHEAD);
        void *attach = check_memory((size_t) attached);
        MPI_Buffer_attach(attach, attached);
        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
            every_size(&modes[m], buffer);
        }
        for (size_t i = 0; i < CHECK_SIZE_COUNT; i += 3) {
            synchronous_waits(buffer, check_sizes[i]);
        }
        for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
            buffered_crosses(buffer, check_sizes[i]);
            ready_finds_receive(buffer, check_sizes[i]);
        }
        MPI_Buffer_detach(&attach, &attached);
        free(attach);
        free(buffer);
    }
    return check_end();
}
