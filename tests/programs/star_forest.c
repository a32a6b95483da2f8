/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */

/* PETSc's star forests over windows: the roots of each process are the leaves of the next one, by a
 * list in reverse order, so that each leaf is an operation of its own. Broadcast, reduce and
 * fetch-and-op, each result compared with what this program computes itself.
 *
 *     star_forest [-roots N] [-rounds N] -sf_type window -sf_window_sync SYNC -sf_window_flavor
 * FLAVOR
 *
 * PETSc takes the forest's type from the options. The program ends with the line "star_forest: N
 * checks, no errors", or with status 1. */

#include <petscsf.h>

typedef struct {
    PetscSF forest;
    PetscMPIInt rank, processes;
    PetscInt count; // of the roots, and of the leaves, of each process
    PetscInt *roots, *leaves, *before;
    PetscReal *reals, *copies;
    PetscInt checks, errors;
} job_t;

/* Counts a check; tells the first few that failed. */
static void check(job_t *job, const char *what, PetscInt place, PetscReal got, PetscReal wanted)
{
    job->checks++;
    if (got != wanted && job->errors++ < 5)
        fprintf(stderr, "star_forest: rank %d: %s: element %d is %g, not %g\n", job->rank, what,
                (int) place, got, wanted);
}

static PetscInt root_value(const job_t *job, PetscInt rank, PetscInt root, PetscInt round)
{
    return (rank * job->count + root) * 3 + round;
}

/* Leaf i of this process is the root count - 1 - i of the next one. */
static PetscErrorCode plant(job_t *job)
{
    PetscSFNode *remote;
    PetscInt count = job->count;

    PetscFunctionBeginUser;
    PetscCall(PetscMalloc1(count, &remote));
    for (PetscInt i = 0; i < count; i++) {
        remote[i].rank = (job->rank + 1) % job->processes;
        remote[i].index = count - 1 - i;
    }
    PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &job->forest));
    PetscCall(PetscSFSetFromOptions(job->forest));
    PetscCall(PetscSFSetGraph(job->forest, count, count, NULL, PETSC_OWN_POINTER, remote,
                              PETSC_OWN_POINTER));
    PetscCall(PetscSFSetUp(job->forest));
    PetscCall(PetscMalloc5(count, &job->roots, count, &job->leaves, count, &job->before, count,
                           &job->reals, count, &job->copies));
    PetscFunctionReturn(0);
}

/* Roots come to their leaves: integers, and real numbers besides. */
static PetscErrorCode broadcast(job_t *job, PetscInt round)
{
    PetscMPIInt next = (job->rank + 1) % job->processes;

    PetscFunctionBeginUser;
    for (PetscInt i = 0; i < job->count; i++) {
        job->roots[i] = root_value(job, job->rank, i, round);
        job->reals[i] = job->roots[i] + 0.5;
        job->leaves[i] = -1;
        job->copies[i] = -1;
    }
    PetscCall(PetscSFBcastBegin(job->forest, MPIU_INT, job->roots, job->leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(job->forest, MPIU_INT, job->roots, job->leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastBegin(job->forest, MPIU_REAL, job->reals, job->copies, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(job->forest, MPIU_REAL, job->reals, job->copies, MPI_REPLACE));
    for (PetscInt i = 0; i < job->count; i++) {
        PetscInt wanted = root_value(job, next, job->count - 1 - i, round);

        check(job, "broadcast of integers", i, job->leaves[i], wanted);
        check(job, "broadcast of reals", i, job->copies[i], wanted + 0.5);
    }
    PetscFunctionReturn(0);
}

/* Leaves are added to their roots, or replace them. */
static PetscErrorCode reduce(job_t *job, PetscInt round, MPI_Op op)
{
    PetscMPIInt previous = (job->rank + job->processes - 1) % job->processes;

    PetscFunctionBeginUser;
    for (PetscInt i = 0; i < job->count; i++) {
        job->roots[i] = 7 * i;
        job->leaves[i] = root_value(job, job->rank, i, round);
    }
    PetscCall(PetscSFReduceBegin(job->forest, MPIU_INT, job->leaves, job->roots, op));
    PetscCall(PetscSFReduceEnd(job->forest, MPIU_INT, job->leaves, job->roots, op));
    for (PetscInt i = 0; i < job->count; i++) {
        PetscInt leaf = root_value(job, previous, job->count - 1 - i, round);

        check(job, op == MPI_SUM ? "sum" : "replacement", i, job->roots[i],
              op == MPI_SUM ? 7 * i + leaf : leaf);
    }
    PetscFunctionReturn(0);
}

/* Leaves are added to their roots, and get what was there before. */
static PetscErrorCode fetch_and_add(job_t *job, PetscInt round)
{
    PetscMPIInt next = (job->rank + 1) % job->processes,
                previous = (job->rank + job->processes - 1) % job->processes;

    PetscFunctionBeginUser;
    for (PetscInt i = 0; i < job->count; i++) {
        job->roots[i] = root_value(job, job->rank, i, round);
        job->leaves[i] = job->rank + i;
        job->before[i] = -1;
    }
    PetscCall(PetscSFFetchAndOpBegin(job->forest, MPIU_INT, job->roots, job->leaves, job->before,
                                     MPI_SUM));
    PetscCall(
        PetscSFFetchAndOpEnd(job->forest, MPIU_INT, job->roots, job->leaves, job->before, MPI_SUM));
    for (PetscInt i = 0; i < job->count; i++) {
        PetscInt other = job->count - 1 - i;

        check(job, "what was before the sum", i, job->before[i],
              root_value(job, next, other, round));
        check(job, "sum of fetch-and-op", i, job->roots[i],
              root_value(job, job->rank, i, round) + previous + other);
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode run(job_t *job)
{
    PetscInt rounds = 2;
    PetscBool fetches = PETSC_TRUE;
    PetscInt totals[2];

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &job->rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &job->processes));
    job->count = 500;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-roots", &job->count, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-fetches", &fetches, NULL));
    PetscCall(plant(job));
    for (PetscInt round = 0; round < rounds; round++) {
        PetscCall(broadcast(job, round));
        PetscCall(reduce(job, round, MPI_SUM));
        PetscCall(reduce(job, round, MPI_REPLACE));
        if (fetches)
            PetscCall(fetch_and_add(job, round));
    }
    totals[0] = job->checks;
    totals[1] = job->errors;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    job->errors = totals[1];
    if (totals[1] == 0)
        PetscCall(
            PetscPrintf(PETSC_COMM_WORLD, "star_forest: %d checks, no errors\n", (int) totals[0]));
    PetscCall(PetscFree5(job->roots, job->leaves, job->before, job->reals, job->copies));
    PetscCall(PetscSFDestroy(&job->forest));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    job_t job = {0};

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(run(&job));
    PetscCall(PetscFinalize());
    return job.errors ? 1 : 0;
}
