/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Passive target epochs whose target computes, PIECE_MS at a time without a call of MPI: packed
 * operations are done meanwhile, by rbuf's thread, soon, once, and in their order. The last rank is
 * the target; those before it fetch, swap, add and flush, until all are through.
 *
 *     passive_busy           how soon as well; prints the median and the longest wait for a flush
 *     passive_busy threads   likewise with MPI_THREAD_MULTIPLE, two threads an origin
 *     passive_busy unlike    ranks of odd numbers take no active messages: values alone
 */
#include "check.h"
#include "counter.h"

#include <pthread.h>

#include "common/statistics.h"

enum { PIECE_MS = 50, SOON_MS = 20, COUNT = 80, BATCH = 600, PLACES = 4096, CHURN = 12, LONG = 64 };

/* Words of the target's window. */
enum { COUNTER = 0, SUMS = 16, ORDERS = 128, SWAPS = 256, TAKEN = 300 };

static struct {
    MPI_Win win;
    long *memory; /* PLACES words */
    bool timed;   /* by one thread */
    int waited;   /* flushes in `waits` */
    double waits[4 * COUNT];
} shared;

static int target(void)
{
    return check_ranks - 1;
}

static volatile double computed; /* the compiler must not leave out what it takes to find */

static void compute(double ms)
{
    const double until = MPI_Wtime() + ms / 1000;

    while (MPI_Wtime() < until) { /* which looks at the clock, and makes no progress */
        for (int i = 1; i < 1000; i++) {
            computed += 1.0 / i;
        }
    }
}

static void flush(void)
{
    const double start = MPI_Wtime();

    MPI_Win_flush(target(), shared.win);
    if (shared.timed) {
        shared.waits[shared.waited++] = 1000 * (MPI_Wtime() - start);
    }
}

static void open_window(void)
{
    MPI_Win_allocate(PLACES * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *) &shared.memory, &shared.win);
    memset(shared.memory, 0, PLACES * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The first words of a pair need both: the target is inside of MPI. */
static void meet(void)
{
    long zero = 0, found;

    MPI_Win_lock_all(0, shared.win);
    for (int i = 0; i < 2 && check_rank != target(); i++) {
        MPI_Fetch_and_op(&zero, &found, MPI_LONG, target(), TAKEN, MPI_SUM, shared.win);
        MPI_Win_flush(target(), shared.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(shared.win);
}

/* ---- the target ---- */

/* Computes until every origin has said that it is through, and takes part itself now and then. */
static long compute_on(void)
{
    const long one = 1;
    long taken = 0;

    for (int through = 0; through < check_ranks - 1;) {
        int there;

        compute(PIECE_MS);
        MPI_Accumulate(&one, 1, MPI_LONG, target(), COUNTER, 1, MPI_LONG, MPI_SUM, shared.win);
        taken++;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        for (; there; through++) {
            MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        }
    }
    return taken;
}

static void be_through(void)
{
    if (check_rank != target()) {
        MPI_Send(NULL, 0, MPI_BYTE, target(), 1, MPI_COMM_WORLD);
    }
}

/* ---- origins: every one's thread number `mine` ---- */

static void *count_up(void *mine)
{
    const long one = 1, me = 1 + (long) (intptr_t) mine;
    const long before_me = me - 1;
    long seen = -1, before = -1, values[LONG], found;

    for (int i = 0; i < LONG; i++) {
        values[i] = i;
    }
    for (long i = 0; i < COUNT; i++) {
        MPI_Fetch_and_op(&one, &seen, MPI_LONG, target(), COUNTER, MPI_SUM, shared.win);
        flush();
        check_that(seen > before, "%ld: saw %ld behind %ld", i, seen, before);
        before = seen;
        MPI_Accumulate(values, LONG, MPI_LONG, target(), SUMS, LONG, MPI_LONG, MPI_SUM, shared.win);
        flush();
        /* The word of this thread alone: its last value is the number before. */
        MPI_Fetch_and_op(&i, &found, MPI_LONG, target(), ORDERS + (int) me, MPI_REPLACE,
                         shared.win);
        flush();
        check_that(found == (i == 0 ? 0 : i - 1), "%ld replaced %ld", i, found);
        MPI_Compare_and_swap(i == 0 ? &me : &before_me, i % 2 == 0 ? &before_me : &me, &found,
                             MPI_LONG, target(), SWAPS + (int) me, shared.win);
        flush();
    }
    return NULL;
}

/* More than a message's worth at a time, in order; now and then an operation that no active message
 * takes, as its type has gaps, on the same words. */
static void keep_order(void)
{
    const int place = 1024 + 16 * check_rank;
    long *results = malloc(BATCH * sizeof(long));
    long wrong = 0, gaps = 0;
    MPI_Datatype spread;

    MPI_Type_vector(2, 1, 2, MPI_LONG, &spread);
    MPI_Type_commit(&spread);
    for (long i = 0; i < BATCH; i++) {
        const long pair[2] = {-i, i};

        if (i % 250 == 249) { /* word `place` gets -i */
            MPI_Accumulate(pair, 2, MPI_LONG, target(), place, 1, spread, MPI_REPLACE, shared.win);
            gaps++;
        }
        MPI_Fetch_and_op(&i, &results[i], MPI_LONG, target(), place, MPI_REPLACE, shared.win);
    }
    MPI_Win_flush(target(), shared.win);
    for (long i = 1; i < BATCH; i++) {
        wrong += results[i] != (i % 250 == 249 ? -i : i - 1);
    }
    check_that(wrong == 0 && gaps == 2, "%ld of %d results out of order", wrong, BATCH);
    MPI_Type_free(&spread);
    free(results);
}

/* Long ones, with results that are as long. */
static void fetch_long(void)
{
    double *data = malloc(2 * 4000 * sizeof(double)), *results = data + 4000;
    long wrong = 0;

    for (int i = 0; i < 4000; i++) {
        data[i] = 0;
        results[i] = -1;
    }
    for (int count = 1; count <= 1000; count *= 10) {
        MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, results, count, MPI_DOUBLE, target(), 3000, count,
                           MPI_DOUBLE, MPI_NO_OP, shared.win);
        MPI_Accumulate(data, count, MPI_DOUBLE, target(), 3000, count, MPI_DOUBLE, MPI_SUM,
                       shared.win);
        MPI_Win_flush(target(), shared.win);
        for (int i = 0; i < count; i++) {
            wrong += results[i] != 0;
        }
    }
    check_that(wrong == 0, "%ld results", wrong);
    free(data);
}

/* Half of them come soon. The longest are those of an origin that has yielded its processor to
 * other jobs: the answer was there. */
static void judge_waits(void)
{
    const double median = stats_median(shared.waits, (int) shared.waited);

    printf("rank %d: a flush waits %.2f ms, %.2f at most\n", check_rank, median,
           shared.waits[shared.waited - 1]);
    check_that(median < SOON_MS, "half of the flushes took more than %.1f ms", median);
    shared.waited = 0;
}

static void sums(long taken, int threads)
{
    const long origins = (long) (check_ranks - 1) * threads;

    if (check_rank != target()) {
        return;
    }
    check_that(shared.memory[COUNTER] == COUNT * origins + taken, "counted to %ld, not %ld",
               shared.memory[COUNTER], COUNT * origins + taken);
    for (int i = 0; i < LONG; i++) {
        check_that(shared.memory[SUMS + i] == i * COUNT * origins, "sum %d is %ld", i,
                   shared.memory[SUMS + i]);
    }
}

static void count_while_it_computes(int threads)
{
    long taken = 0;

    open_window();
    meet();
    MPI_Win_lock_all(0, shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == target()) {
        taken = compute_on();
    } else if (threads > 1) {
        pthread_t other;

        pthread_create(&other, NULL, count_up, (void *) (intptr_t) (2 * check_rank + 1));
        count_up((void *) (intptr_t) (2 * check_rank));
        pthread_join(other, NULL);
    } else {
        count_up((void *) (intptr_t) (2 * check_rank));
    }
    be_through();
    MPI_Win_unlock_all(shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    sums(taken, threads);
    MPI_Win_free(&shared.win);
}

static void order_while_it_computes(void)
{
    open_window();
    meet();
    MPI_Win_lock_all(0, shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == target()) {
        compute_on();
    } else {
        keep_order();
        fetch_long();
    }
    be_through();
    MPI_Win_unlock_all(shared.win);
    MPI_Win_free(&shared.win);
}

/* Locks that exclude: what was packed is done before another has the lock. The target frees the
 * window as soon as it has computed, and the program ends behind the last. */
static void lock_and_free(void)
{
    const long one = 1;

    for (int i = 0; i < CHURN; i++) {
        long value = -1;

        open_window();
        meet();
        if (check_rank == target()) {
            compute(PIECE_MS / 5.0);
        } else {
            for (int k = 0; k < 3; k++) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target(), 0, shared.win);
                MPI_Accumulate(&one, 1, MPI_LONG, target(), 3, 1, MPI_LONG, MPI_SUM, shared.win);
                MPI_Win_unlock(target(), shared.win);
            }
            MPI_Win_lock(MPI_LOCK_SHARED, target(), 0, shared.win);
            MPI_Fetch_and_op(NULL, &value, MPI_LONG, target(), 3, MPI_NO_OP, shared.win);
            MPI_Win_unlock(target(), shared.win);
            check_that(value >= 3 && value <= 3l * (check_ranks - 1), "window %d: %ld", i, value);
        }
        MPI_Win_free(&shared.win);
    }
}

/* They did go as active messages, and the thread did them. */
static void judge_counters(void)
{
    const long went = counter_read("osc_rbuf_active_sent"),
               came = counter_read("osc_rbuf_by_thread");

    if (check_rank == target()) {
        check_that(came >= COUNT, "rbuf's thread did %ld", came);
    } else {
        check_that(went >= 4 * COUNT, "%ld active messages", went);
    }
}

int main(int argc, char **argv)
{
    const bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    const bool unlike = argc > 1 && strcmp(argv[1], "unlike") == 0;
    const bool is_rbuf = check_pack_one_sided() && setenv("OMPI_MCA_osc_rbuf_passive", "1", 1) == 0;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    int provided;

    if (unlike && rank != NULL && atoi(rank) % 2 == 1) {
        setenv("OMPI_MCA_osc_rbuf_active_messages", "0", 1);
    }
    check_begin_threads(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check_need_ranks(2);
    check_need_windows();
    if (!is_rbuf) {
        check_skip("only rbuf packs them");
    }
    counter_begin();
    shared.timed = !threads && !unlike;
    count_while_it_computes(threads && provided == MPI_THREAD_MULTIPLE ? 2 : 1);
    if (shared.timed && check_rank != target()) {
        judge_waits();
    }
    shared.timed = false;
    order_while_it_computes();
    lock_and_free();
    if (!unlike) {
        judge_counters();
    }
    counter_end();
    return check_end();
}
