/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a broadcast or a scatter takes its root, and what it takes the others: the collective, and a
 * barrier behind it, as Rashti and Afsahi 2011 measure (section 5.1.3). Their mean over all
 * processes hides that a root whose messages are not copied waits for the adapter, and that the
 * barrier behind it is shorter by that.
 *
 *     rooted [--size BYTES] [--reps N] [--header]
 *
 * Rank 0 prints, for each of the two, a line of CSV: operation, ranks, bytes (of a scatter, of each
 * rank), and medians in us: of the root, of the others (the mean of their medians), of the
 * collective over all ranks (as rbuf-bench has it), and of the root's collective and barrier
 * together. All bytes are checked once more when the clock has stopped.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/statistics.h"

enum operation { BCAST, SCATTER, OPERATIONS };

static const char *const names[] = {"bcast", "scatter"};

struct run {
    int rank, ranks, size, reps;
    unsigned char *source, *target;
    double *collective, *whole; /* us, of each repetition */
};

static void collect(const struct run *run, enum operation operation)
{
    if (operation == BCAST) {
        MPI_Bcast(run->rank == 0 ? run->source : run->target, run->size, MPI_BYTE, 0,
                  MPI_COMM_WORLD);
    } else {
        MPI_Scatter(run->source, run->size, MPI_BYTE, run->target, run->size, MPI_BYTE, 0,
                    MPI_COMM_WORLD);
    }
}

static unsigned char byte_of(enum operation operation, int rank, int i)
{
    return (unsigned char) (i * 7 + (operation == SCATTER ? rank : 0) + 1);
}

static void prepare(const struct run *run, enum operation operation)
{
    for (int to = 0; to < run->ranks; to++) {
        for (int i = 0; i < run->size; i++) {
            run->source[(size_t) to * (size_t) run->size + (size_t) i] = byte_of(operation, to, i);
        }
    }
    memset(run->target, 0, (size_t) run->size);
}

static bool is_right(const struct run *run, enum operation operation)
{
    const unsigned char *data = operation == BCAST && run->rank == 0 ? run->source : run->target;
    bool right = true;

    for (int i = 0; i < run->size; i++) {
        right = right && data[i] == byte_of(operation, run->rank, i);
    }
    return right;
}

static void measure(const struct run *run, enum operation operation)
{
    for (int i = 0; i < run->reps; i++) {
        const double start = MPI_Wtime();

        collect(run, operation);
        run->collective[i] = (MPI_Wtime() - start) * 1e6;
        MPI_Barrier(MPI_COMM_WORLD);
        run->whole[i] = (MPI_Wtime() - start) * 1e6;
    }
}

/* Whether all ranks found the right bytes. */
static bool run_operation(const struct run *run, enum operation operation)
{
    double mine, whole, *all = calloc((size_t) run->ranks, sizeof(*all)), others = 0;
    bool right;

    if (all == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    prepare(run, operation);
    measure(run, operation);
    mine = stats_median(run->collective, run->reps);
    whole = stats_median(run->whole, run->reps);
    MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    right = is_right(run, operation);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    if (run->rank == 0) {
        for (int i = 1; i < run->ranks; i++) {
            others += all[i] / (run->ranks - 1);
        }
        printf("%s,%d,%d,%.3f,%.3f,%.3f,%.3f\n", names[operation], run->ranks, run->size, all[0],
               others, (all[0] + others * (run->ranks - 1)) / run->ranks, whole);
        fflush(stdout);
        if (!right) {
            fprintf(stderr, "%s: wrong bytes\n", names[operation]);
        }
    }
    free(all);
    return right;
}

static int number_of(const char *text)
{
    const long value = text != NULL ? strtol(text, NULL, 10) : 0;

    if (value < 1 || value > 1 << 24) {
        fprintf(stderr, "usage: rooted [--size BYTES] [--reps N] [--header]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (int) value;
}

int main(int argc, char **argv)
{
    struct run run = {.size = 8192, .reps = 2000};
    bool right = true, header = false;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--header") == 0) {
            header = true;
        } else if (strcmp(argv[i], "--size") == 0) {
            run.size = number_of(argv[++i]);
        } else {
            run.reps = number_of(strcmp(argv[i], "--reps") == 0 ? argv[++i] : NULL);
        }
    }
    run.source = malloc((size_t) run.ranks * (size_t) run.size);
    run.target = malloc((size_t) run.size);
    run.collective = calloc((size_t) run.reps, sizeof(*run.collective));
    run.whole = calloc((size_t) run.reps, sizeof(*run.whole));
    if (run.source == NULL || run.target == NULL || run.collective == NULL || run.whole == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (header && run.rank == 0) {
        printf("operation,ranks,bytes,root_us,others_us,all_us,whole_us\n");
    }
    for (enum operation operation = BCAST; operation < OPERATIONS; operation++) {
        right = run_operation(&run, operation) && right;
    }
    free(run.source);
    free(run.target);
    free(run.collective);
    free(run.whole);
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
