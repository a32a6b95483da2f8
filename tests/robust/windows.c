/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Windows that may not be had: an error at every rank that is concerned, and the program goes on.
 *
 *   windows MB       a window of more memory than may be pinned, such as 100
 *   windows kinds    created, allocated and dynamic ones; prints how many of each rank were refused
 *   windows none     the same, where none can be made but in memory that ranks of a node share
 */
#include "check.h"

enum { BYTES = 300001 };

/* Refused at all ranks alike: MPI says nothing of what becomes of the others' window otherwise. */
static bool all_have(bool mine)
{
    int have = mine, all;

    MPI_Allreduce(&have, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

/* Puts to the next rank and gets back what is there. */
static void use(MPI_Win win, char *memory, MPI_Aint there)
{
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;
    char *mine = check_memory(BYTES), *back = check_memory(BYTES);

    check_fill(mine, BYTES, check_seed(check_rank, next, BYTES));
    MPI_Win_fence(0, win);
    MPI_Put(mine, BYTES, MPI_BYTE, next, there, BYTES, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check_match(memory, BYTES, check_seed(previous, check_rank, BYTES), "put");
    MPI_Get(back, BYTES, MPI_BYTE, next, there, BYTES, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check_match(back, BYTES, check_seed(check_rank, next, BYTES), "get");
    free(mine);
    free(back);
}

static bool created(void)
{
    char *memory = check_memory(BYTES);
    MPI_Win win = MPI_WIN_NULL;
    bool made =
        MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS;

    if (all_have(made)) {
        use(win, memory, 0);
        MPI_Win_free(&win);
    }
    free(memory);
    return made;
}

static bool allocated(void)
{
    MPI_Win win = MPI_WIN_NULL;
    char *memory;
    bool made =
        MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS;

    if (all_have(made)) {
        use(win, memory, 0);
        MPI_Win_free(&win);
    }
    return made;
}

static bool dynamic(void)
{
    char *memory = check_memory(BYTES);
    MPI_Win win = MPI_WIN_NULL;
    MPI_Aint mine, there;
    bool made = MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS;

    if (all_have(made)) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        made = MPI_Win_attach(win, memory, BYTES) == MPI_SUCCESS;
        MPI_Get_address(memory, &mine);
        MPI_Sendrecv(&mine, 1, MPI_AINT, (check_rank + check_ranks - 1) % check_ranks, 0, &there, 1,
                     MPI_AINT, (check_rank + 1) % check_ranks, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (all_have(made)) {
            use(win, memory, there);
        }
        if (made) {
            MPI_Win_detach(win, memory);
        }
        MPI_Win_free(&win);
    }
    free(memory);
    return made;
}

static void too_large(size_t bytes)
{
    char *memory = check_memory(bytes);
    MPI_Win win;
    int error = MPI_Win_create(memory, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);

    check_that(error != MPI_SUCCESS, "a window that cannot be pinned was made");
    free(memory);
}

static void kinds(bool none)
{
    const int refused = !created() + !dynamic();
    const int all = refused + !allocated();

    check_that(!none || refused == 2, "%d kinds were refused, not 2", refused);
    fprintf(stderr, "refused: %d kinds at rank %d\n", all, check_rank);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "100M";

    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(what, "kinds") == 0 || strcmp(what, "none") == 0) {
        kinds(strcmp(what, "none") == 0);
    } else {
        too_large((size_t) atoi(what) * CHECK_M);
    }
    return check_end();
}
