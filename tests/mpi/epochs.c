/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Epochs of every kind on windows of every kind, all ranks to all, themselves among them: put, get,
 * sums, fetch_and_op, requests, derived types, flush and flush_local.
 *
 *   epochs [any] [packed] WINDOW...
 *     any       Open MPI chooses the component for one-sided communication
 *     packed    small operations of active epochs are packed, by osc/rbuf
 *     WINDOW    created, allocated, dynamic, shared (which osc/rdma does not have), self
 */
#include "check.h"

enum {
    INTS = 3000,     /* of the largest put: more than is packed */
    FEW = 100,       /* that are packed */
    PIECES = 40,     /* of a derived type, each of two ints with a third between */
    PART = 3 * INTS, /* of each rank in a window: the large, the few, the pieces */
    MOST_RANKS = 8,
    COUNTERS = MOST_RANKS * PART,
    WINDOW_INTS = COUNTERS + 4,
};

enum synchronisation { FENCE, GROUPS, LOCK, LOCK_ALL, REQUESTS, SYNCHRONISATIONS };
static const char *const names[] = {"fence", "post and start", "lock", "lock_all", "requests"};

static struct {
    const char *kind;
    enum synchronisation how;
    MPI_Win win;
    MPI_Comm comm;
    int rank, ranks;
    int *memory;                /* this rank's */
    MPI_Aint there[MOST_RANKS]; /* displacements, in ints, but in bytes if dynamic */
    int unit;                   /* bytes of a displacement */
    MPI_Datatype pieces;
    MPI_Group all;
} window;

static MPI_Aint at(int rank, size_t ints)
{
    return window.there[rank] + (MPI_Aint) (ints * sizeof(int)) / window.unit;
}

static bool is_passive(void)
{
    return window.how >= LOCK;
}

static void begin(void)
{
    MPI_Barrier(window.comm);
    switch (window.how) {
    case FENCE:
        MPI_Win_fence(0, window.win);
        break;
    case GROUPS:
        MPI_Win_post(window.all, 0, window.win);
        MPI_Win_start(window.all, 0, window.win);
        break;
    case LOCK:
        break;
    default:
        MPI_Win_lock_all(0, window.win);
        break;
    }
}

static void end(void)
{
    switch (window.how) {
    case FENCE:
        MPI_Win_fence(0, window.win);
        break;
    case GROUPS:
        MPI_Win_complete(window.win);
        MPI_Win_wait(window.win);
        break;
    case LOCK:
        break;
    default:
        MPI_Win_unlock_all(window.win);
        break;
    }
    MPI_Barrier(window.comm);
}

static void lock(int rank)
{
    if (window.how == LOCK) {
        MPI_Win_lock(rank % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, rank, 0, window.win);
    }
}

static void unlock(int rank)
{
    if (window.how == LOCK) {
        MPI_Win_unlock(rank, window.win);
    }
}

/* The i-th int of what `from` puts to `to`. */
static int value(int from, int to, int part, int i)
{
    return ((part * 10 + from) * 10 + to) * 10000 + i + 1;
}

static void fill(int *to, int count, int from, int target, int part)
{
    for (int i = 0; i < count; i++) {
        to[i] = value(from, target, part, i);
    }
}

static void put(const int *from, int count, int rank, size_t ints, int target_count,
                MPI_Datatype type)
{
    MPI_Request request;

    if (window.how == REQUESTS) {
        MPI_Rput(from, count, MPI_INT, rank, at(rank, ints), target_count, type, window.win,
                 &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Put(from, count, MPI_INT, rank, at(rank, ints), target_count, type, window.win);
    }
}

/* What is put may be overwritten after a flush_local. */
static void put_all(int rank)
{
    static int large[MOST_RANKS][INTS], few[MOST_RANKS][FEW], pieces[MOST_RANKS][2 * PIECES];
    const size_t mine = (size_t) window.rank * PART;
    int local[FEW];

    fill(large[rank], INTS, window.rank, rank, 0);
    fill(few[rank], FEW, window.rank, rank, 1);
    fill(pieces[rank], 2 * PIECES, window.rank, rank, 2);
    lock(rank);
    put(large[rank], INTS, rank, mine, INTS, MPI_INT);
    if (is_passive()) {
        memcpy(local, few[rank], sizeof local);
        put(local, FEW, rank, mine + INTS, FEW, MPI_INT);
        MPI_Win_flush_local(rank, window.win);
        memset(local, 0, sizeof local);
    } else {
        put(few[rank], FEW, rank, mine + INTS, FEW, MPI_INT);
    }
    put(pieces[rank], 2 * PIECES, rank, mine + 2 * INTS, 1, window.pieces);
    unlock(rank);
}

/* Where the i-th int of the derived type is. */
static int piece_at(int i)
{
    return i / 2 * 3 + i % 2;
}

static void check_puts(void)
{
    for (int from = 0; from < window.ranks; from++) {
        const int *part = window.memory + (size_t) from * PART;
        int wrong[3] = {0, 0, 0};

        for (int i = 0; i < INTS; i++) {
            wrong[0] += part[i] != value(from, window.rank, 0, i);
        }
        for (int i = 0; i < FEW; i++) {
            wrong[1] += part[INTS + i] != value(from, window.rank, 1, i);
        }
        for (int i = 0; i < 2 * PIECES; i++) {
            wrong[2] += part[2 * INTS + piece_at(i)] != value(from, window.rank, 2, i);
        }
        wrong[2] += part[2 * INTS + 2] != 0;
        check_that(wrong[0] + wrong[1] + wrong[2] == 0,
                   "%s, %s: put: %d, %d and %d ints from %d are wrong", window.kind,
                   names[window.how], wrong[0], wrong[1], wrong[2], from);
    }
}

static void get(int *to, int count, int rank, size_t ints, int target_count, MPI_Datatype type)
{
    MPI_Request request;

    if (window.how == REQUESTS) {
        MPI_Rget(to, count, MPI_INT, rank, at(rank, ints), target_count, type, window.win,
                 &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Get(to, count, MPI_INT, rank, at(rank, ints), target_count, type, window.win);
    }
}

static int got[MOST_RANKS][3][INTS];

static void get_all(int rank)
{
    const size_t mine = (size_t) window.rank * PART;

    memset(got[rank], 0, sizeof got[rank]);
    lock(rank);
    get(got[rank][0], INTS, rank, mine, INTS, MPI_INT);
    get(got[rank][1], FEW, rank, mine + INTS, FEW, MPI_INT);
    get(got[rank][2], 2 * PIECES, rank, mine + 2 * INTS, 1, window.pieces);
    unlock(rank);
}

static void check_gets(void)
{
    static const int counts[] = {INTS, FEW, 2 * PIECES};

    for (int rank = 0; rank < window.ranks; rank++) {
        for (int part = 0; part < 3; part++) {
            int wrong = 0;

            for (int i = 0; i < counts[part]; i++) {
                wrong += got[rank][part][i] != value(window.rank, rank, part, i);
            }
            check_that(wrong == 0, "%s, %s: get: %d ints of part %d from %d are wrong", window.kind,
                       names[window.how], wrong, part, rank);
        }
    }
}

/* All add to two ints of each rank, one with a result, and draw numbers from a third; with requests
 * where the epoch has them. */
static int drawn[MOST_RANKS];

static void add_all(int rank)
{
    static const int one = 1;
    static int before[MOST_RANKS];
    MPI_Request requests[2];

    lock(rank);
    if (window.how == REQUESTS) {
        MPI_Raccumulate(&one, 1, MPI_INT, rank, at(rank, COUNTERS), 1, MPI_INT, MPI_SUM, window.win,
                        &requests[0]);
        MPI_Rget_accumulate(&one, 1, MPI_INT, &before[rank], 1, MPI_INT, rank,
                            at(rank, COUNTERS + 1), 1, MPI_INT, MPI_SUM, window.win, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Accumulate(&one, 1, MPI_INT, rank, at(rank, COUNTERS), 1, MPI_INT, MPI_SUM, window.win);
        MPI_Get_accumulate(&one, 1, MPI_INT, &before[rank], 1, MPI_INT, rank,
                           at(rank, COUNTERS + 1), 1, MPI_INT, MPI_SUM, window.win);
    }
    MPI_Get_accumulate(&one, 0, MPI_INT, &before[rank], 0, MPI_INT, rank, at(rank, COUNTERS), 0,
                       MPI_INT, MPI_SUM, window.win);
    MPI_Fetch_and_op(&one, &drawn[rank], MPI_INT, rank, at(rank, COUNTERS + 2), MPI_SUM,
                     window.win);
    if (window.how == LOCK_ALL || window.how == REQUESTS) {
        MPI_Win_flush(rank, window.win);
    }
    unlock(rank);
}

static void check_sums(void)
{
    const int wanted = window.ranks * (window.ranks - 1) / 2;
    int sums[MOST_RANKS];

    for (int i = 0; i < 3; i++) {
        check_that(window.memory[COUNTERS + i] == window.ranks, "%s, %s: sum %d is %d", window.kind,
                   names[window.how], i, window.memory[COUNTERS + i]);
    }
    MPI_Allreduce(drawn, sums, window.ranks, MPI_INT, MPI_SUM, window.comm);
    for (int rank = 0; rank < window.ranks; rank++) {
        check_that(sums[rank] == wanted, "%s, %s: the numbers drawn of %d add up to %d",
                   window.kind, names[window.how], rank, sums[rank]);
    }
}

/* Local loads and stores to the window need an epoch of one's own. */
static void in_own_epoch(void (*look)(void))
{
    MPI_Win_lock(MPI_LOCK_SHARED, window.rank, 0, window.win);
    look();
    MPI_Win_unlock(window.rank, window.win);
    MPI_Barrier(window.comm);
}

static void clear(void)
{
    memset(window.memory, 0, WINDOW_INTS * sizeof(int));
}

static void to_all(void (*operation)(int rank))
{
    begin();
    for (int i = 0; i < window.ranks; i++) {
        operation((window.rank + i) % window.ranks);
    }
    end();
}

static void every_epoch(void)
{
    for (int how = 0; how < SYNCHRONISATIONS; how++) {
        window.how = (enum synchronisation) how;
        in_own_epoch(clear);
        to_all(put_all);
        in_own_epoch(check_puts);
        to_all(get_all);
        check_gets();
        to_all(add_all);
        in_own_epoch(check_sums);
        if (how == FENCE) {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
        }
    }
}

/* ---- what is not inside of the window ---- */

enum outside { PUT, GET, ACCUMULATE, GET_ACCUMULATE, OUTSIDE };
static const char *const outside_names[] = {"put", "get", "accumulate", "get_accumulate"};

/* The error of the operation, or that of the epoch. */
static int reach_outside(enum outside what)
{
    static int one = 1, before;
    const int rank = (window.rank + 1) % window.ranks;
    const MPI_Aint far = at(rank, 0) + ((MPI_Aint) 1 << 40);
    int status, begin_status, end_status;

    begin_status = MPI_Win_fence(0, window.win); /* the next one may be in its epoch already */
    if (what == PUT) {
        status = MPI_Put(&one, 1, MPI_INT, rank, far, 1, MPI_INT, window.win);
    } else if (what == GET) {
        status = MPI_Get(&before, 1, MPI_INT, rank, far, 1, MPI_INT, window.win);
    } else if (what == ACCUMULATE) {
        status = MPI_Accumulate(&one, 1, MPI_INT, rank, far, 1, MPI_INT, MPI_SUM, window.win);
    } else {
        status = MPI_Get_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, rank, far, 1, MPI_INT,
                                    MPI_SUM, window.win);
    }
    end_status = MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
    return status != MPI_SUCCESS ? status : begin_status != MPI_SUCCESS ? begin_status : end_status;
}

/* Everybody does it to the next one, so everybody hears of it. */
static void outside(void)
{
    MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    for (int what = 0; what < OUTSIDE; what++) {
        const int status = reach_outside((enum outside) what);
        int class = MPI_SUCCESS;

        MPI_Error_class(status, &class);
        check_that(class == MPI_ERR_RMA_RANGE, "%s, %s outside: error class %d", window.kind,
                   outside_names[what], class);
        MPI_Barrier(window.comm);
    }
    MPI_Win_set_errhandler(window.win, MPI_ERRORS_ARE_FATAL);
}

/* ---- windows ---- */

static bool make_window(const char *kind, int *memory)
{
    const MPI_Aint bytes = WINDOW_INTS * sizeof(int);
    MPI_Aint mine = 0;
    int status;

    window.memory = memory;
    window.unit = sizeof(int);
    if (strcmp(kind, "allocated") == 0) {
        status = MPI_Win_allocate(bytes, window.unit, MPI_INFO_NULL, window.comm, &window.memory,
                                  &window.win);
    } else if (strcmp(kind, "shared") == 0) {
        status = MPI_Win_allocate_shared(bytes, window.unit, MPI_INFO_NULL, window.comm,
                                         &window.memory, &window.win);
    } else if (strcmp(kind, "dynamic") == 0) {
        window.unit = 1;
        status = MPI_Win_create_dynamic(MPI_INFO_NULL, window.comm, &window.win);
        if (status == MPI_SUCCESS) {
            MPI_Win_attach(window.win, memory, bytes);
            MPI_Get_address(memory, &mine);
        }
    } else {
        status =
            MPI_Win_create(memory, bytes, window.unit, MPI_INFO_NULL, window.comm, &window.win);
    }
    MPI_Allgather(&mine, 1, MPI_AINT, window.there, 1, MPI_AINT, window.comm);
    return check_mpi(status, kind);
}

static void use_window(const char *kind)
{
    int *memory = check_memory(WINDOW_INTS * sizeof(int));

    window.kind = kind;
    window.comm = strcmp(kind, "self") == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD;
    MPI_Comm_rank(window.comm, &window.rank);
    MPI_Comm_size(window.comm, &window.ranks);
    MPI_Comm_set_errhandler(window.comm, MPI_ERRORS_RETURN);
    if (make_window(kind, memory)) {
        MPI_Comm_group(window.comm, &window.all);
        if (getenv("OMPI_MCA_osc") != NULL) { /* else it may be osc/sm, which does not look */
            outside();
        }
        every_epoch();
        MPI_Group_free(&window.all);
        if (strcmp(kind, "dynamic") == 0) {
            MPI_Win_detach(window.win, memory);
        }
        MPI_Win_free(&window.win);
    }
    free(memory);
}

int main(int argc, char **argv)
{
    const bool any = argc > 1 && strcmp(argv[1], "any") == 0;
    const bool packed = argc > 1 + any && strcmp(argv[1 + any], "packed") == 0;

    if (packed) {
        (void) check_pack_one_sided();
    }
    if (any) {
        unsetenv("OMPI_MCA_osc");
    }
    check_begin(&argc, &argv);
    if (check_ranks > MOST_RANKS) {
        check_skip("at most 8 ranks");
    }
    check_need_windows();
    MPI_Type_vector(PIECES, 2, 3, MPI_INT, &window.pieces);
    MPI_Type_commit(&window.pieces);
    for (int i = 1 + any + packed; i < argc; i++) {
        use_window(argv[i]);
    }
    MPI_Type_free(&window.pieces);
    return check_end();
}
