/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What osc/rbuf does where Open MPI or memory fails it (osc_refuse.h): an error at the process that
 * it befell, and right data once what was refused is there.
 */
#include "ompi_config.h"

#include "check.h"
#include "counter.h"
#include "osc_refuse.h"

#include <unistd.h>

#include "ompi/datatype/ompi_datatype.h"
#include "opal/runtime/opal_progress.h"
#include "osc_rbuf_compat.h"
#include "osc_rbuf_wire.h"

enum {
    LARGE = 20000, /* bytes: not packed */
    LONGS = 10000, /* elements of a derived type: several messages */
    AREA = 2 * LONGS * 8,
    LATE = 100000, /* us */
    FOUND = 6      /* gets whose results are more than a message */
};

static char *memory;
static MPI_Win win;

static char *mine; /* as long as the window */

/* Behind this rank 1 is out of its fence, and whatever it is to refuse is known. A message that
 * came before would be held in a buffer that rank 1 keeps, or be answered. */
static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Of zeros, in its first epoch. */
static void win_new(void)
{
    memory = check_window(AREA, &win);
    memset(memory, 0, AREA);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_mpi(MPI_Win_fence(0, win), "the first fence");
    meet();
}

static void win_end(void)
{
    MPI_Win_free(&win);
    free(memory);
}

/* ---- cases: rank 0 has the operations, rank 1 is the target ---- */

static void add(long value, int at)
{
    MPI_Accumulate(&value, 1, MPI_LONG, 1, at, 1, MPI_LONG, MPI_SUM, win);
}

/* What was refused leaves after all: the other process goes on. */
static void send_withheld(const char *what)
{
    if (check_that(withheld.used > 0, "%s: nothing was refused", what)) {
        send_by_pml(withheld.bytes, withheld.used, withheld.target, withheld.tag, withheld.comm);
    }
    withheld.used = 0;
    withhold = 0;
}

static void await_withheld(void)
{
    const double start = MPI_Wtime();
    int flag;

    while (withheld.used == 0 && MPI_Wtime() - start < CHECK_PATIENCE_S) {
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

/* A fence with a packed operation, in which both processes send over the communicator. */
static void exchange(void)
{
    const long one = 1;

    MPI_Accumulate(&one, 1, MPI_LONG, 1 - check_rank, AREA - 8, 1, MPI_LONG, MPI_SUM, win);
    check_mpi(MPI_Win_fence(0, win), "a fence");
    stand_between();
}

static void await_refusals(void)
{
    const double start = MPI_Wtime();
    int flag;

    MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (atomic_load(&refusals) > 0 && MPI_Wtime() - start < CHECK_PATIENCE_S) {
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

/* Rank 0 is a fence ahead, and rank 1 has no memory for its message. Comes first: rank 1 has taken
 * no buffer yet that it might keep, and a put that goes below sends just a header. */
static void held(void)
{
    enum { TIMES = 5 };
    const long *sum;

    win_new();
    sum = (const long *) (const void *) memory;
    if (check_rank == 0) {
        add(1, 0);
    }
    MPI_Win_fence(0, win);
    if (check_rank == 1) {
        MPI_Put(mine, LARGE, MPI_BYTE, 0, 0, LARGE, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
    stand_between();
    if (check_rank == 1) {
        refuse(TIMES, false);
        behind_sums = await_refusals;
    }
    meet();
    if (check_rank == 0) {
        add(1, 0);
    }
    MPI_Win_fence(0, win);
    if (check_rank == 0) {
        announce = OSC_RBUF_FENCE_DATA;
        add(1, 0);
    }
    check_that(check_rank == 0 || atomic_load(&refused) == TIMES, "held: %d refusals",
               atomic_load(&refused));
    check_mpi(MPI_Win_fence(0, win), "a fence with what was held");
    check_that(check_rank == 0 || *sum == 3, "held: the sum is %ld, not 3", *sum);
    win_end();
}

/* All elements of a derived type, which have a gap behind each. The target is late: several
 * messages wait for it, and it has no memory for the results of all. */
static void long_ones(bool fetch, int times, bool cursors)
{
    const long *there;
    long *ones = check_memory(LONGS * sizeof(long)), *found = check_memory(LONGS * sizeof(long));
    MPI_Datatype type;
    int wrong = 0;

    win_new();
    there = (const long *) (const void *) memory;
    MPI_Type_vector(LONGS, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < LONGS; i++) {
        ones[i] = i + 1;
        found[i] = -1;
    }
    if (check_rank == 1) {
        refuse(times, cursors);
    }
    meet();
    if (check_rank == 0 && fetch) {
        MPI_Get_accumulate(ones, LONGS, MPI_LONG, found, LONGS, MPI_LONG, 1, 0, 1, type, MPI_SUM,
                           win);
    } else if (check_rank == 0) {
        MPI_Accumulate(ones, LONGS, MPI_LONG, 1, 0, 1, type, MPI_SUM, win);
    } else {
        usleep(LATE);
    }
    check_mpi(MPI_Win_fence(0, win), "a fence of long accumulates");
    for (int i = 0; i < LONGS; i++) {
        wrong += check_rank == 0 ? fetch && found[i] != 0 : there[2l * i] != i + 1;
    }
    check_that(wrong == 0, "a long accumulate: %d longs are wrong", wrong);
    check_that(check_rank == 0 || atomic_load(&refused) > 0, "no memory was refused");
    refuse(0, false);
    MPI_Type_free(&type);
    win_end();
    free(ones);
    free(found);
}

/* The first of several messages with results is refused: the target's fence has the error. */
static void reply(void)
{
    static char found[FOUND][MESSAGE / 4];
    int status;

    win_new();
    check_fill(memory, MESSAGE / 4, 1);
    withhold = check_rank == 1 ? OSC_RBUF_REPLY : 0;
    meet();
    for (int i = 0; i < FOUND && check_rank == 0; i++) {
        MPI_Get(found[i], MESSAGE / 4, MPI_BYTE, 1, 0, MESSAGE / 4, MPI_BYTE, win);
    }
    status = MPI_Win_fence(0, win);
    check_that((status == MPI_SUCCESS) == (check_rank == 0), "a reply that does not leave: %d",
               status);
    if (check_rank == 1) {
        send_withheld("a reply");
    }
    for (int i = 0; i < FOUND && check_rank == 0; i++) {
        check_match(found[i], MESSAGE / 4, 1, "a reply that came late");
    }
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    win_end();
}

/* Puts until one of them has an error: the message that was full was refused. */
static void put_until_refused(void)
{
    int status = MPI_SUCCESS;

    for (int i = 0; i < MESSAGE && status == MPI_SUCCESS; i++) {
        status = MPI_Put(mine, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);
    }
    check_that(status != MPI_SUCCESS && withheld.used > 0, "a full message: no error");
    withheld.used = 0;
}

/* A full message of a fence epoch is refused: the operation that filled it has the error, and the
 * fence has that of the others. Nobody waits for the message. */
static void full(void)
{
    long sum;

    win_new();
    if (check_rank == 0) {
        withhold = OSC_RBUF_FENCE_DATA;
        put_until_refused();
        add(1, 0);
    }
    check_that((MPI_Win_fence(0, win) == MPI_SUCCESS) == (check_rank != 0),
               "a fence without a message of puts");
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    sum = *(const long *) (const void *) memory;
    check_that(check_rank == 0 || sum == 1, "behind a message that did not leave: %ld", sum);
    win_end();
}

/* One of each kind of operation with a result, which is of eight bytes. */
static int fetch(char *found)
{
    const long one = 1, compare = 5;
    int status = MPI_Get(found, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);

    if (status == MPI_SUCCESS) {
        status = MPI_Fetch_and_op(&one, found + 8, MPI_LONG, 1, 0, MPI_SUM, win);
    }
    if (status == MPI_SUCCESS) {
        status = MPI_Compare_and_swap(&one, &compare, found + 16, MPI_LONG, 1, 16, win);
    }
    return status;
}

/* Each of its results ends, and those of the messages behind it come. */
static void full_of_results(void)
{
    int status = MPI_SUCCESS;

    win_new();
    if (check_rank == 0) {
        withhold = OSC_RBUF_FENCE_DATA;
        for (int i = 0; i < MESSAGE / 24 && status == MPI_SUCCESS; i++) {
            status = fetch(mine + 24l * i);
        }
        check_that(status != MPI_SUCCESS && withheld.used > 0, "a message of results: no error");
        withheld.used = 0;
        check_fill(mine, 8, 1);
        check_mpi(MPI_Get(mine, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win), "a get behind it");
    }
    check_that((MPI_Win_fence(0, win) == MPI_SUCCESS) == (check_rank != 0),
               "a fence without a message of results");
    check_that(check_rank == 1 || *(const long *) (const void *) mine == 0,
               "a result behind it is not there");
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    win_end();
}

/* An accumulate of several messages, the first of which is refused: its result ends once. */
static void pieces(void)
{
    long *found = check_memory(LONGS * sizeof(long));

    win_new();
    if (check_rank == 0) {
        withhold = OSC_RBUF_FENCE_DATA;
        check_that(MPI_Get_accumulate(mine, LONGS, MPI_LONG, found, LONGS, MPI_LONG, 1, 0, LONGS,
                                      MPI_LONG, MPI_SUM, win) != MPI_SUCCESS,
                   "a piece that did not leave is no error");
        check_that(withheld.used > 0, "no piece was refused");
        withheld.used = 0;
    }
    check_that((MPI_Win_fence(0, win) == MPI_SUCCESS) == (check_rank != 0),
               "a fence without a piece");
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    win_end();
    free(found);
}

/* What a synchronisation sends itself is refused: the others are not kept waiting, and the error is
 * reported once. */
static void last_of_fence(void)
{
    win_new();
    if (check_rank == 0) {
        add(1, 0);
        fetch(mine);
        withhold = OSC_RBUF_FENCE_DATA;
    }
    check_that((MPI_Win_fence(0, win) == MPI_SUCCESS) == (check_rank != 0),
               "a fence whose message did not leave");
    check_that(check_rank == 1 || withheld.used > 0, "no last message was refused");
    withheld.used = 0;
    if (check_rank == 0) {
        add(2, 0);
    }
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    check_that(check_rank == 0 || *(const long *) (const void *) memory == 2,
               "behind a fence whose message did not leave");
    win_end();
}

static void last_of_group(void)
{
    const int other = 1 - check_rank;
    MPI_Group all, group;

    win_new();
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &group);
    for (int refused_too = 1; refused_too >= 0; refused_too--) {
        if (check_rank == 0) {
            MPI_Win_start(group, 0, win);
            fetch(mine);
            add(1, 0);
            withhold = refused_too ? OSC_RBUF_COMPLETE : 0;
            check_that((MPI_Win_complete(win) == MPI_SUCCESS) == !refused_too,
                       "a complete whose message did or did not leave");
            check_that(!refused_too || withheld.used > 0, "no complete was refused");
            withheld.used = 0;
        } else {
            MPI_Win_post(group, 0, win);
            check_mpi(MPI_Win_wait(win), "a wait for what did not leave");
        }
    }
    check_that(check_rank == 0 || *(const long *) (const void *) memory == 2,
               "a sum of the epoch behind it");
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    win_end();
}

/* An accumulate with a request, whose message is late, and is refused when it leaves. */
static void requested(void)
{
    enum { REQUESTS = 64 };
    const long one = 1;
    MPI_Request requests[REQUESTS];
    long found[REQUESTS], before;
    MPI_Datatype type;
    int failed = 0;

    win_new();
    before = counter_read("osc_rbuf_active_sent");
    MPI_Type_vector(1, 1, 2, MPI_LONG, &type); /* active messages do not take it */
    MPI_Type_commit(&type);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < REQUESTS && check_rank == 0; i++) {
        withhold = i == REQUESTS / 2 ? OSC_RBUF_PASSIVE_DATA : withhold;
        requests[i] = MPI_REQUEST_NULL;
        failed += MPI_Rget_accumulate(&one, 1, MPI_LONG, &found[i], 1, MPI_LONG, 1, 0, 1, type,
                                      MPI_SUM, win, &requests[i]) != MPI_SUCCESS;
    }
    for (int i = 0; i < REQUESTS && check_rank == 0; i++) {
        failed += MPI_Wait(&requests[i], MPI_STATUS_IGNORE) != MPI_SUCCESS;
    }
    check_that((failed > 0) == (check_rank == 0), "%d requests failed", failed);
    MPI_Win_unlock_all(win);
    check_that(check_rank == 1 || withheld.used > 0, "no late message was refused");
    check_that(counter_read("osc_rbuf_active_sent") == before, "they went as active messages");
    withheld.used = 0;
    withhold = 0;
    MPI_Type_free(&type);
    win_end();
}

/* After a fence without a barrier, what goes below asks the target. */
static void question(void)
{
    win_new();
    exchange();
    check_fill(mine, LARGE, 2);
    if (check_rank == 0) {
        withhold = OSC_RBUF_ASK;
        check_that(MPI_Put(mine, LARGE, MPI_BYTE, 1, 0, LARGE, MPI_BYTE, win) != MPI_SUCCESS,
                   "a question that does not leave is no error");
        check_that(withheld.used > 0, "no question was refused");
        withheld.used = 0;
        check_mpi(MPI_Put(mine, LARGE, MPI_BYTE, 1, 0, LARGE, MPI_BYTE, win), "the same put");
    }
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    if (check_rank == 1) {
        check_match(memory, LARGE, 2, "a put of the second try");
    }
    exchange();
    withhold = check_rank == 0 ? OSC_RBUF_ASK : 0;
    check_that((MPI_Win_lock_all(0, win) == MPI_SUCCESS) == (check_rank != 0),
               "all are locked, though a question has not left");
    if (check_rank == 0) {
        withheld.used = 0;
        check_mpi(MPI_Win_lock_all(0, win), "the second try");
    }
    check_mpi(MPI_Win_unlock_all(win), "its end");
    win_end();
}

/* The answer is refused: it is the target's error. */
static void answer(void)
{
    int status;

    win_new();
    exchange();
    check_fill(mine, LARGE, 3);
    withhold = check_rank == 1 ? OSC_RBUF_ENDED : 0;
    meet();
    if (check_rank == 0) {
        check_mpi(MPI_Put(mine, LARGE, MPI_BYTE, 1, 0, LARGE, MPI_BYTE, win), "a late put");
    } else {
        await_withheld();
        send_withheld("an answer");
    }
    status = MPI_Win_fence(0, win);
    check_that((status == MPI_SUCCESS) == (check_rank == 0), "an answer that does not leave: %d",
               status);
    if (check_rank == 1) {
        check_match(memory, LARGE, 3, "a put behind the answer");
    }
    win_end();
}

static void collective(void)
{
    win_new();
    exchange();
    fail_barrier = true;
    check_that(MPI_Win_fence(MPI_MODE_NOPRECEDE, win) != MPI_SUCCESS,
               "a barrier that failed is no error where an epoch begins");
    add(1, 0);
    check_that(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) != MPI_SUCCESS,
               "a barrier that failed is no error where the last one ends");
    fail_barrier = false;
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    check_that(check_rank == 0 || *(long *) (void *) memory == 2, "a sum is wrong");
    fail_sums = true;
    check_that(MPI_Win_fence(0, win) != MPI_SUCCESS, "sums that failed are no error");
    fail_sums = false;
    win_end();
}

/* Messages that no process of ours sends are dropped. */
static void unknown(void)
{
    const struct osc_rbuf_header kinds[] = {{0, 0}, {OSC_RBUF_KINDS, 0}, {UINT32_MAX, 0}};

    win_new();
    exchange();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        send_by_pml(&kinds[i], sizeof(kinds[i]), 1 - check_rank, window_tag, window_comm);
    }
    send_by_pml(kinds, 1, 1 - check_rank, window_tag, window_comm);
    send_by_pml(kinds, sizeof(kinds[0]), 1 - check_rank, window_tag + 1, window_comm);
    exchange();
    check_that(*(long *) (void *) (memory + AREA - 8) == 2, "behind unknown messages");
    win_end();
}

/* A type of Fortran's that none of MPI's own is like. */
static void unlike_all(void)
{
    const double one = 1;
    MPI_Datatype type;
    int status, id;

    if (MPI_Type_create_f90_real(15, 307, &type) != MPI_SUCCESS) {
        return;
    }
    win_new();
    id = type->id;
    type->id = INT16_MAX;
    status = MPI_Accumulate(&one, 1, type, 1, 0, 1, type, MPI_REPLACE, win);
    type->id = id;
    check_that(status != MPI_SUCCESS, "a type that there is none of was packed");
    check_mpi(MPI_Win_fence(0, win), "a fence behind it");
    win_end();
}

/* ---- others go on ---- */

static bool going_on;
static double since;

/* As another thread would: there is never a moment with nothing under way. */
static int go_on(void)
{
    const bool now = going_on && MPI_Wtime() - since < CHECK_PATIENCE_S;

    if (now) {
        going_on = false; /* this makes progress, too */
        add(1, 0);
        going_on = true;
    }
    return now;
}

static void others(void)
{
    const long ones[2] = {1, 1};
    const long sent = counter_read("osc_rbuf_active_sent");
    MPI_Datatype type;

    win_new();
    MPI_Type_vector(2, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    opal_progress_register(go_on);
    MPI_Win_lock_all(0, win);
    if (check_rank == 0) {
        add(1, 0);
        since = MPI_Wtime();
        going_on = true;
        MPI_Accumulate(ones, 2, MPI_LONG, 1, 64, 1, type, MPI_SUM, win);
        going_on = false;
        check_that(MPI_Wtime() - since < CHECK_PATIENCE_S, "it waited until others were done");
    }
    MPI_Win_unlock_all(win);
    check_that(check_rank != 0 || counter_read("osc_rbuf_active_sent") > sent,
               "nothing went as an active message");
    opal_progress_unregister(go_on);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(check_rank == 0 || ((long *) (void *) memory)[8] == 1, "a sum is wrong");
    win_end();
}

/* ---- windows begin ---- */

/* Each allocation of osc/rbuf's own for a window is refused at one process: the processes agree on
 * who serves the window. */
static void beginning(void)
{
    int allocations = 0, more = 1;
    bool can = true;

    while (more) {
        refuse(0, false);
        if (check_rank == 1) {
            can = refuse_nth(allocations + 1);
        }
        memory = check_window(AREA, &win);
        (void) refuse_nth(0);
        more = atomic_load(&refused);
        allocations += more;
        MPI_Bcast(&more, 1, MPI_INT, 1, MPI_COMM_WORLD);
        memset(memory, 0, AREA);
        check_mpi(MPI_Win_fence(0, win), "the first fence of a window without memory");
        if (check_rank == 0) {
            add(1, 0);
        }
        check_mpi(MPI_Win_fence(0, win), "a fence of a window without memory");
        check_that(check_rank == 0 || *(const long *) (const void *) memory == 1,
                   "a sum of a window without memory");
        win_end();
    }
    check_that(check_rank == 0 || !can || allocations > 2, "%d allocations were refused",
               allocations);
}

int main(int argc, char **argv)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", MESSAGE);
    if (check_pack_one_sided()) {
        setenv("OMPI_MCA_osc_rbuf_message_size", text, 1);
    }
    check_begin(&argc, &argv);
    counter_begin();
    if (check_ranks != 2 || !check_is_rbuf()) {
        check_skip("wants two ranks, and rbuf");
    }
    mine = check_memory(AREA);
    refuse_begin();
    held();
    long_ones(true, INT16_MAX, false);
    long_ones(true, INT16_MAX, true);
    long_ones(false, 1, true);
    reply();
    full();
    full_of_results();
    pieces();
    last_of_fence();
    last_of_group();
    requested();
    question();
    answer();
    collective();
    unknown();
    unlike_all();
    others();
    beginning();
    refuse_end();
    free(mine);
    counter_end();
    return check_end();
}
