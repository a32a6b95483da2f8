/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI_Probe, MPI_Iprobe, MPI_Mprobe and MPI_Improbe: a message is announced with its true size,
 * tag and source, and received whole afterwards. A matched message belongs to its handle: a later
 * receive of the same tag gets the next one.
 */
#include "check.h"

enum { LARGEST = 4 * CHECK_M + 3, TAGS = 1000 };

static void send_all(void)
{
    char *buffer = check_memory(LARGEST);
    MPI_Request request;

    for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
        for (int kind = 0; kind < 4; kind++) {
            check_fill(buffer, check_sizes[i], i * 4 + (size_t) kind);
            MPI_Isend(buffer, (int) check_sizes[i], MPI_BYTE, 1, (int) i, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    /* Two of one tag, for the receiver that matches the first and then receives. */
    for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
        char *second = check_memory(check_sizes[i]);
        MPI_Request pair[2];
        check_fill(buffer, check_sizes[i], 100 + i);
        check_fill(second, check_sizes[i], 500 + i);
        MPI_Isend(buffer, (int) check_sizes[i], MPI_BYTE, 1, TAGS, MPI_COMM_WORLD, &pair[0]);
        MPI_Isend(second, (int) check_sizes[i], MPI_BYTE, 1, TAGS, MPI_COMM_WORLD, &pair[1]);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        free(second);
    }
    free(buffer);
}

static void check_status(const MPI_Status *status, size_t size, int tag, const char *what)
{
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
    check_that((size_t) count == size && status->MPI_SOURCE == 0 && status->MPI_TAG == tag,
               "%s announces %d bytes, tag %d from %d; %zu, tag %d sent", what, count,
               status->MPI_TAG, status->MPI_SOURCE, size, tag);
}

static void receive_probed(char *buffer, size_t i, int kind)
{
    const size_t size = check_sizes[i];
    MPI_Message message;
    MPI_Status status;
    int found = 0;

    switch (kind) {
    case 0:
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        break;
    case 1:
        while (!found) {
            MPI_Iprobe(0, (int) i, MPI_COMM_WORLD, &found, &status);
        }
        break;
    case 2:
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        break;
    default:
        while (!found) {
            MPI_Improbe(MPI_ANY_SOURCE, (int) i, MPI_COMM_WORLD, &found, &message, &status);
        }
        break;
    }
    check_status(&status, size, (int) i, kind < 2 ? "a probe" : "a matched probe");
    if (kind < 2) {
        MPI_Recv(buffer, (int) size, MPI_BYTE, 0, (int) i, MPI_COMM_WORLD, &status);
    } else {
        MPI_Mrecv(buffer, (int) size, MPI_BYTE, &message, &status);
    }
    check_match(buffer, size, i * 4 + (size_t) kind, "probed");
}

static void matched_stays_matched(char *buffer, size_t i)
{
    const size_t size = check_sizes[i];
    MPI_Message message;
    MPI_Status status;

    MPI_Mprobe(0, TAGS, MPI_COMM_WORLD, &message, &status);
    MPI_Recv(buffer, (int) size, MPI_BYTE, 0, TAGS, MPI_COMM_WORLD, &status);
    check_match(buffer, size, 500 + i, "behind a matched one");
    MPI_Mrecv(buffer, (int) size, MPI_BYTE, &message, &status);
    check_match(buffer, size, 100 + i, "matched");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_rank == 0) {
        send_all();
    } else if (check_rank == 1) {
        char *buffer = check_memory(LARGEST);
        for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
            for (int kind = 0; kind < 4; kind++) {
                receive_probed(buffer, i, kind);
            }
        }
        for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
            matched_stays_matched(buffer, i);
        }
        free(buffer);
    }
    return check_end();
}
