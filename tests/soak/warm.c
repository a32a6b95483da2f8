/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The warm-up: more of every kind of message at once than any round has, from each rank to each, so
 * that every connection is made and every pool as large as it will be. Bytes are not compared.
 */
#include "soak.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_WARM = 1, LARGEST = 4 * SOAK_M };

/* So many messages of one type from each to each; the receivers come late if wished. */
static void burst(const struct group *group, int messages, size_t bytes, MPI_Datatype type,
                  bool late)
{
    const int most = 2 * messages * group->ranks;
    MPI_Request *requests = soak_memory((size_t) most * sizeof(MPI_Request));
    char *out = soak_memory(2 * bytes);
    char *in = soak_memory(2 * bytes);
    const int count = type == MPI_BYTE ? (int) bytes : 1;
    int used = 0;

    memset(out, 1, 2 * bytes);
    soak_at("sending", (int) bytes);
    for (int i = 0; i < messages * group->ranks; i++) {
        MPI_Isend(out, count, type, i % group->ranks, TAG_WARM, group->comm, &requests[used++]);
    }
    if (late) {
        MPI_Barrier(group->comm);
        usleep(200000);
    }
    for (int i = 0; i < messages * group->ranks; i++) {
        MPI_Irecv(in, count, type, i % group->ranks, TAG_WARM, group->comm, &requests[used++]);
    }
    soak_mpi(MPI_Waitall(used, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    MPI_Barrier(group->comm);
    free(requests);
    free(out);
    free(in);
}

void warm_up(const struct group *group)
{
    static const size_t sizes[] = {8, 1000, 12000, 60 * SOAK_K};
    static const int messages[] = {9000, 3000, 3000, 1000};
    MPI_Datatype gaps;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        burst(group, messages[i] / group->ranks, sizes[i], MPI_BYTE, i % 2 == 0);
    }
    MPI_Type_vector(SOAK_M / 16, 8, 16, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    burst(group, 12, SOAK_M, gaps, false);
    MPI_Type_free(&gaps);
    burst(group, 1, LARGEST, MPI_BYTE, false);
}
