/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Passive target epochs with packed accumulates (osc_rbuf_passive): each is atomic with those of
 * all other processes, in the order of its own, and done behind a flush.
 *
 *     passive          everything
 *     passive updates [COUNT]
 *                      each process adds to random places of all windows, COUNT times (102400) with
 * a flush each 1024; prints "updates: N a second", of all processes together
 */
#include "check.h"
#include "counter.h"
#include "usage.h"

enum {
    TURNS = 200,
    UPDATES = 100 * 1024,
    /* by default */ BATCH = 1024,
    PLACES = 4096,
    RESULTS = 500
};

static struct {
    MPI_Win win;
    long *memory; /* PLACES words */
} shared;

static void open_window(void)
{
    MPI_Win_allocate(PLACES * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *) &shared.memory, &shared.win);
    memset(shared.memory, 0, PLACES * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
    MPI_Win_free(&shared.win);
}

static int next_rank(void)
{
    return (check_rank + 1) % check_ranks;
}

/* All count up one word of the last process: no two see the same number. */
static void count_up(void)
{
    const int target = check_ranks - 1;
    const long one = 1;
    long seen = -1, before = -1, sum;

    open_window();
    MPI_Win_lock_all(0, shared.win);
    for (int i = 0; i < TURNS; i++) {
        MPI_Fetch_and_op(&one, &seen, MPI_LONG, target, 7, MPI_SUM, shared.win);
        MPI_Win_flush(target, shared.win);
        check_that(seen > before, "turn %d: saw %ld behind %ld", i, seen, before);
        before = seen;
        MPI_Accumulate(&one, 1, MPI_LONG, target, 7, 1, MPI_LONG, MPI_SUM, shared.win);
    }
    MPI_Win_unlock_all(shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = shared.memory[7];
    MPI_Bcast(&sum, 1, MPI_LONG, target, MPI_COMM_WORLD);
    check_that(sum == 2l * TURNS * check_ranks, "counted to %ld, not %ld", sum,
               2l * TURNS * check_ranks);
    close_window();
}

/* A lock of compare-and-swap and replace, which the program makes itself. Whoever has it counts up
 * by a get and a put: an update is lost if two have it. */
static void take_turns(void)
{
    const long mine = 1 + check_rank, nobody = 0;
    long found, value, sum;

    open_window();
    MPI_Win_lock_all(0, shared.win);
    for (int i = 0; i < TURNS / 10; i++) {
        do {
            MPI_Compare_and_swap(&mine, &nobody, &found, MPI_LONG, 0, 1, shared.win);
            MPI_Win_flush(0, shared.win);
        } while (found != nobody);
        MPI_Get(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, shared.win);
        MPI_Win_flush(0, shared.win);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, shared.win);
        MPI_Win_flush(0, shared.win);
        MPI_Fetch_and_op(&nobody, &found, MPI_LONG, 0, 1, MPI_REPLACE, shared.win);
        MPI_Win_flush(0, shared.win);
        check_that(found == mine, "turn %d: %ld had the lock", i, found);
    }
    MPI_Win_unlock_all(shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = shared.memory[2];
    MPI_Bcast(&sum, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    check_that(sum == (long) (TURNS / 10) * check_ranks, "%ld turns, not %ld", sum,
               (long) (TURNS / 10) * check_ranks);
    close_window();
}

/* Exclusive locks: what was packed is done before the next one has the lock. */
static void lock_in_turn(void)
{
    const long one = 1;
    long value, sum;

    open_window();
    for (int i = 0; i < TURNS / 10; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, shared.win);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 3, 1, MPI_LONG, MPI_SUM, shared.win);
        MPI_Win_unlock(0, shared.win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, shared.win);
        MPI_Get(&value, 1, MPI_LONG, 0, 3, 1, MPI_LONG, shared.win);
        MPI_Win_unlock(0, shared.win);
        check_that(value > i, "lock %d: %ld", i, value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sum = shared.memory[3];
    MPI_Bcast(&sum, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    check_that(sum == (long) (TURNS / 10) * check_ranks, "%ld, not %ld", sum,
               (long) (TURNS / 10) * check_ranks);
    close_window();
}

/* Operations of a process on a word keep their order, through messages that are full. */
static void keep_order(void)
{
    const int target = next_rank();
    long *results = malloc(RESULTS * sizeof(long));
    long wrong = 0;

    open_window();
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, shared.win);
    for (long i = 0; i < RESULTS; i++) {
        MPI_Fetch_and_op(&i, &results[i], MPI_LONG, target, 5, MPI_REPLACE, shared.win);
    }
    MPI_Win_flush_local(target, shared.win);
    for (long i = 1; i < RESULTS; i++) {
        wrong += results[i] != i - 1;
    }
    check_that(wrong == 0, "%ld of %d results out of order", wrong, RESULTS);
    MPI_Win_unlock(target, shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(shared.memory[5] == RESULTS - 1, "the last one is %ld", shared.memory[5]);
    close_window();
    free(results);
}

/* Operations with requests, and long ones in several messages. */
static void use_requests(void)
{
    const int target = next_rank();
    double *data = malloc(3 * PLACES * sizeof(double));
    double *results = data + PLACES, *others = results + PLACES;
    MPI_Request requests[2];
    MPI_Win win;
    double *memory;
    long wrong = 0;

    MPI_Win_allocate(PLACES * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *) &memory, &win);
    for (int i = 0; i < PLACES; i++) {
        memory[i] = i;
        data[i] = 2;
        others[i] = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Raccumulate(data, PLACES, MPI_DOUBLE, target, 0, PLACES, MPI_DOUBLE, MPI_SUM, win,
                    &requests[0]);
    MPI_Rget_accumulate(data, PLACES, MPI_DOUBLE, results, PLACES, MPI_DOUBLE, target, 0, PLACES,
                        MPI_DOUBLE, MPI_SUM, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PLACES; i++) {
        data[i] = -7; /* it may be written over */
    }
    MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, others, PLACES, MPI_DOUBLE, target, 0, PLACES,
                       MPI_DOUBLE, MPI_NO_OP, win);
    MPI_Win_flush_local_all(win);
    for (int i = 0; i < PLACES; i++) {
        wrong += results[i] != i + 2 || others[i] != i + 4;
    }
    check_that(wrong == 0, "%ld of %d results", wrong, PLACES);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(data);
}

struct pair {
    double value;
    int index;
};

enum {
    MANY = 300,
    VERY_MANY = 100000,
    REQUEST_MOST = 800 /* bytes: Open MPI's request, a result, a record of two pairs */
};

/* None of the calls waits: the target calls MPI only when all of them are made. A pair goes as a
 * message of MPI. */
static void request_pairs(MPI_Win flag_win)
{
    static struct pair pairs[MANY], found[MANY];
    MPI_Request requests[MANY];
    const char flag = 1;
    long wrong = 0;
    int done;

    for (int i = 0; i < MANY; i++) {
        pairs[i] = (struct pair){i + 1, i};
        MPI_Rget_accumulate(&pairs[i], 1, MPI_DOUBLE_INT, &found[i], 1, MPI_DOUBLE_INT, 1, 6, 1,
                            MPI_DOUBLE_INT, MPI_REPLACE, shared.win, &requests[i]);
    }
    MPI_Test(&requests[MANY - 1], &done, MPI_STATUS_IGNORE);
    check_that(!done, "a request was over before its target called MPI");
    MPI_Put(&flag, 1, MPI_BYTE, 1, 0, 1, MPI_BYTE, flag_win);
    MPI_Win_flush(1, flag_win);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        wrong += found[i].value != i;
    }
    check_that(wrong == 0, "%ld of %d pairs are wrong", wrong, MANY);
}

/* Each ends without a flush; so does one of nothing, and one that is refused is none. */
static void request_words(void)
{
    const long one = 1;
    long results[MANY], wrong = 0;
    MPI_Request requests[MANY];

    for (int i = 0; i < MANY; i++) {
        MPI_Rget_accumulate(&one, 1, MPI_LONG, &results[i], 1, MPI_LONG, 1, 9, 1, MPI_LONG, MPI_SUM,
                            shared.win, &requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        wrong += results[i] != i;
    }
    check_that(wrong == 0, "%ld of %d words are wrong", wrong, MANY);
    MPI_Rget_accumulate(&one, 0, MPI_LONG, results, 0, MPI_LONG, 1, 9, 0, MPI_LONG, MPI_SUM,
                        shared.win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_set_errhandler(shared.win, MPI_ERRORS_RETURN);
    check_that(MPI_Rget_accumulate(&one, 1, MPI_LONG, results, 1, MPI_LONG, 1, PLACES, 1, MPI_LONG,
                                   MPI_SUM, shared.win, &requests[0]) != MPI_SUCCESS,
               "a request behind the window's end");
}

/* As many as a program likes, while the target does not call MPI: each takes what its request, its
 * result and its part of a message take, and no message of its own. */
static void request_very_many(MPI_Win flag_win)
{
    static const struct pair one = {1, 1};
    struct pair *found = calloc(VERY_MANY, sizeof(*found));
    MPI_Request *requests = calloc(VERY_MANY, sizeof(MPI_Request));
    const char flag = 2;
    struct usage before, after;
    long wrong = 0;

    memset(found, 0x55, VERY_MANY * sizeof(*found)); /* resident */
    memset(requests, 0x55, VERY_MANY * sizeof(MPI_Request));
    before = usage_now();
    for (int i = 0; i < VERY_MANY; i++) {
        MPI_Rget_accumulate(&one, 1, MPI_DOUBLE_INT, &found[i], 1, MPI_DOUBLE_INT, 1, 20, 1,
                            MPI_DOUBLE_INT, MPI_REPLACE, shared.win, &requests[i]);
    }
    after = usage_now();
    check_that((after.private - before.private) / VERY_MANY <= REQUEST_MOST,
               "each of %d requests takes %ld bytes, not %d at most", VERY_MANY,
               (after.private - before.private) / VERY_MANY, REQUEST_MOST);
    printf("%d requests: %ld bytes each\n", VERY_MANY,
           (after.private - before.private) / VERY_MANY);
    MPI_Put(&flag, 1, MPI_BYTE, 1, 0, 1, MPI_BYTE, flag_win);
    MPI_Win_flush(1, flag_win);
    MPI_Waitall(VERY_MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < VERY_MANY; i++) {
        wrong += found[i].value != (i > 0);
    }
    check_that(wrong == 0, "%ld of %d pairs are wrong", wrong, VERY_MANY);
    free(requests);
    free(found);
}

static void use_many_requests(void)
{
    MPI_Win flag_win;
    char *flag;

    MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *) &flag, &flag_win);
    *flag = 0;
    open_window();
    MPI_Win_lock_all(0, shared.win);
    MPI_Win_lock_all(0, flag_win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        request_pairs(flag_win);
        request_words();
        MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        request_very_many(flag_win);
    } else if (check_rank == 1) {
        check_that(check_becomes(flag, 1), "the other waits in its calls");
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_that(check_becomes(flag, 2), "the other waits in its calls");
    }
    MPI_Win_unlock_all(flag_win);
    MPI_Win_unlock_all(shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(check_rank != 1 || shared.memory[9] == MANY, "counted to %ld", shared.memory[9]);
    close_window();
    MPI_Win_free(&flag_win);
}

/* A request to the process itself leaves nothing packed behind, and the end of the epoch still
 * waits for its answer. */
static void request_of_own(void)
{
    const long one = 1;
    MPI_Request request;
    long found;

    open_window();
    for (int turn = 0; turn < 4; turn++) {
        if (turn % 2 == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, shared.win);
        } else {
            MPI_Win_lock_all(0, shared.win);
        }
        MPI_Rget_accumulate(&one, 1, MPI_LONG, &found, 1, MPI_LONG, check_rank, 9, 1, MPI_LONG,
                            MPI_SUM, shared.win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_that(found == turn, "turn %d: found %ld", turn, found);
        if (turn % 2 == 0) {
            MPI_Win_flush(check_rank, shared.win);
            MPI_Win_unlock(check_rank, shared.win);
        } else {
            MPI_Win_unlock_all(shared.win);
        }
    }
    close_window();
}

/* What the program may not do is MPI's error, and nothing is lost by it. */
static void refuse(void)
{
    const long one = 1;
    long found;

    open_window();
    MPI_Win_set_errhandler(shared.win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, shared.win);
    check_that(MPI_Accumulate(&one, 1, MPI_LONG, next_rank(), PLACES, 1, MPI_LONG, MPI_SUM,
                              shared.win) != MPI_SUCCESS,
               "behind the window's end");
    if (check_ranks > 2) {
        check_that(MPI_Fetch_and_op(&one, &found, MPI_LONG, (next_rank() + 1) % check_ranks, 0,
                                    MPI_SUM, shared.win) != MPI_SUCCESS,
                   "a process that is not locked");
    }
    check_mpi(MPI_Fetch_and_op(&one, &found, MPI_LONG, next_rank(), 9, MPI_SUM, shared.win),
              "behind an error");
    check_mpi(MPI_Win_unlock(next_rank(), shared.win), "MPI_Win_unlock");
    check_that(found == 0, "found %ld", found);
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(shared.memory[9] == 1, "%ld there", shared.memory[9]);
    close_window();
}

/* A flush of all asks those that have something to say, in the order of no rank. */
static void flush_some(void)
{
    const long one = 1;
    long found[2];

    open_window();
    MPI_Win_lock_all(0, shared.win);
    for (int turn = 0; turn < TURNS; turn++) {
        const int target = (check_rank + turn) % check_ranks;

        MPI_Fetch_and_op(&one, &found[0], MPI_LONG, target, 8 + check_rank, MPI_SUM, shared.win);
        MPI_Fetch_and_op(&one, &found[1], MPI_LONG, next_rank(), 64 + check_rank, MPI_SUM,
                         shared.win);
        MPI_Win_flush_all(shared.win);
        check_that(found[0] == turn / check_ranks && found[1] == turn, "turn %d: %ld and %ld", turn,
                   found[0], found[1]);
        MPI_Win_flush_all(shared.win);
    }
    MPI_Win_unlock_all(shared.win);
    close_window();
}

/* Passive epochs behind active ones, and before them, on the same words. */
static void mix_epochs(void)
{
    const long one = 1;

    open_window();
    for (int i = 0; i < 20; i++) {
        MPI_Win_fence(0, shared.win);
        for (int k = 0; k < check_ranks; k++) {
            MPI_Accumulate(&one, 1, MPI_LONG, k, 4, 1, MPI_LONG, MPI_SUM, shared.win);
        }
        MPI_Win_fence(MPI_MODE_NOSUCCEED, shared.win);
        MPI_Win_lock_all(0, shared.win);
        for (int k = 0; k < check_ranks; k++) {
            MPI_Accumulate(&one, 1, MPI_LONG, k, 4, 1, MPI_LONG, MPI_SUM, shared.win);
        }
        MPI_Win_unlock_all(shared.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(shared.memory[4] == 40l * check_ranks, "%ld, not %ld", shared.memory[4],
               40l * check_ranks);
    close_window();
}

static void update(int updates)
{
    const unsigned long one = 1;
    unsigned long state = 1 + (unsigned long) check_rank;
    double took;
    long sum = 0, all;

    open_window();
    MPI_Win_lock_all(0, shared.win);
    took = MPI_Wtime();
    for (int i = 1; i <= updates; i++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        MPI_Accumulate(&one, 1, MPI_LONG, (int) (state >> 33) % check_ranks,
                       (int) (state >> 40) % PLACES, 1, MPI_LONG, MPI_SUM, shared.win);
        if (i % BATCH == 0) {
            MPI_Win_flush_all(shared.win);
        }
    }
    took = MPI_Wtime() - took;
    MPI_Win_unlock_all(shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < PLACES; i++) {
        sum += shared.memory[i];
    }
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check_that(all == (long) updates * check_ranks, "%ld updates, not %ld", all,
               (long) updates * check_ranks);
    if (check_rank == 0) {
        printf("updates: %.0f a second\n", updates * check_ranks / took);
    }
    close_window();
}

int main(int argc, char **argv)
{
    const bool updates = argc > 1 && strcmp(argv[1], "updates") == 0;
    const bool is_rbuf =
        updates || (check_pack_one_sided() && setenv("OMPI_MCA_osc_rbuf_passive", "1", 1) == 0);

    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    if (!is_rbuf) {
        check_skip("only rbuf packs them");
    }
    if (updates) {
        update(argc > 2 ? atoi(argv[2]) : UPDATES);
        return check_end();
    }
    counter_begin();
    count_up();
    take_turns();
    lock_in_turn();
    keep_order();
    use_requests();
    use_many_requests();
    request_of_own();
    flush_some();
    refuse();
    mix_epochs();
    check_that(counter_read("osc_rbuf_packed") >= 3 * TURNS, "hardly any were packed");
    counter_end();
    return check_end();
}
