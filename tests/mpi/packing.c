/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What osc/rbuf makes of an epoch: how many messages, by its counters, all ranks to all others; and
 * what becomes of one whose target has no memory, where rank 0 is told.
 *
 *   packing [counts] [memory] [groups] [asserts] [nochecks] [misplaced]
 *     groups   empty ones, and those that overlap
 *     asserts  one that is not true is an error, and nothing is lost
 *     nochecks likewise, MPI_MODE_NOCHECK that a post has and its start has not, and others
 *     misplaced calls that the epochs of the window do not allow
 *   packing starved: the first active messages find a target without memory, which computes
 *   packing starved-inside: likewise, and it is inside of MPI
 *   packing unlike: odd ranks are told not to pack, so nobody does
 */
#include "check.h"
#include "counter.h"

#include <errno.h>

enum {
    MOST_RANKS = 8,
    MESSAGE = 7776,    /* bytes of a message: a size that nothing else has */
    PUT = 400,         /* bytes */
    LARGE = 10000,     /* bytes: not packed */
    PLACE = 2 * LARGE, /* bytes of each origin in a window */
    WINDOW = MOST_RANKS * PLACE
};

/* ---- memory that is not there ---- */

void *__libc_malloc(size_t bytes);

static struct {
    size_t least, most; /* bytes that are refused */
    atomic_int times;   /* how often they will be */
    atomic_int refused; /* how often they were */
} shortage;

static void refuse(size_t least, size_t most, int times)
{
    shortage.least = least;
    shortage.most = most;
    atomic_store(&shortage.refused, 0);
    atomic_store(&shortage.times, times);
}

void *malloc(size_t bytes)
{
    if (atomic_load(&shortage.times) > 0 && bytes >= shortage.least && bytes <= shortage.most) {
        atomic_fetch_sub(&shortage.times, 1);
        atomic_fetch_add(&shortage.refused, 1);
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(bytes);
}

/* ---- epochs ---- */

enum synchronisation { FENCE, GROUPS, UNCHECKED, SYNCHRONISATIONS };
static const char *const names[] = {"fence", "post and start", "the same, not checked"};

static struct {
    char *memory;
    MPI_Win win;
    MPI_Group others;
} window;

static char data[LARGE];

static void begin(enum synchronisation how)
{
    const int mode = how == UNCHECKED ? MPI_MODE_NOCHECK : 0;

    if (how == FENCE) {
        check_mpi(MPI_Win_fence(0, window.win), "MPI_Win_fence");
    } else {
        check_mpi(MPI_Win_post(window.others, mode, window.win), "MPI_Win_post");
        if (mode != 0) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        check_mpi(MPI_Win_start(window.others, mode, window.win), "MPI_Win_start");
    }
}

/* The error of the origin's part of it, and that of the target's: one for both of a fence. */
static void end(enum synchronisation how, int *origin, int *target)
{
    if (how == FENCE) {
        *origin = *target = MPI_Win_fence(0, window.win);
    } else {
        *origin = MPI_Win_complete(window.win);
        *target = MPI_Win_wait(window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- how many messages ---- */

enum what { PUTS, GETS, SUMS, PIECES_PUT, PIECES_GOT, LARGE_PUTS, LONG_PIECES, MANY_PIECES };

/* An epoch, and what it is to take for each target. */
static const struct epoch {
    const char *text;
    enum what what;
    int operations, bytes;
    int messages; /* with operations, and with results */
    int answers;
} epochs[] = {
    {"nothing", PUTS, 0, 0, 0, 0},
    {"one put", PUTS, 1, PUT, 1, 0},
    {"10 puts", PUTS, 10, PUT, 1, 0},
    {"17 puts", PUTS, 17, PUT, 1, 0}, /* (7776 - 8) / (56 + 400) */
    {"18 puts", PUTS, 18, PUT, 2, 0},
    {"10 gets", GETS, 10, PUT, 1, 1},
    {"40 gets", GETS, 40, PUT, 1, 3},
    {"10 sums", SUMS, 10, 8, 1, 0},
    {"a sum of 4000 numbers", SUMS, 1, 32000, 5, 0},
    {"3 puts of 64 pieces", PIECES_PUT, 3, 8, 1, 0},
    {"3 gets of 64 pieces", PIECES_GOT, 3, 8, 1, 1},
    {"3 large puts", LARGE_PUTS, 3, LARGE, 0, 0},
    {"3 puts of 64 long pieces", LONG_PIECES, 3, 1000, 0, 0},
    {"2 puts of 199 pieces", MANY_PIECES, 2, 700, 0, 0}, /* more than 16 messages */
};

static int64_t numbers[4000];

/* Pieces of so many bytes, with gaps between them. */
static void move_pieces(enum what what, int bytes, int rank, MPI_Aint at, char *result)
{
    static char pieces[WINDOW];
    const int count = what == MANY_PIECES ? 199 : 64;
    MPI_Datatype type;

    MPI_Type_vector(count, bytes, what == MANY_PIECES ? bytes + 100 : 2 * bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (what == PIECES_GOT) {
        MPI_Get(result, count * bytes, MPI_BYTE, rank, at, 1, type, window.win);
    } else {
        MPI_Put(pieces, count * bytes, MPI_BYTE, rank, at, 1, type, window.win);
    }
    MPI_Type_free(&type);
}

static void issue(const struct epoch *epoch, int rank)
{
    static char results[MOST_RANKS][WINDOW];
    const MPI_Aint at = (MPI_Aint) check_rank * PLACE;

    for (int i = 0; i < epoch->operations; i++) {
        switch (epoch->what) {
        case PUTS:
        case LARGE_PUTS:
            MPI_Put(data, epoch->bytes, MPI_BYTE, rank, at, epoch->bytes, MPI_BYTE, window.win);
            break;
        case GETS:
            MPI_Get(results[rank] + (size_t) i * PUT, epoch->bytes, MPI_BYTE, rank, at,
                    epoch->bytes, MPI_BYTE, window.win);
            break;
        case SUMS:
            MPI_Accumulate(numbers, epoch->bytes / 8, MPI_INT64_T, rank, 0, epoch->bytes / 8,
                           MPI_INT64_T, MPI_SUM, window.win);
            break;
        case PIECES_PUT:
        case PIECES_GOT:
        case LONG_PIECES:
        case MANY_PIECES:
            move_pieces(epoch->what, epoch->bytes, rank, epoch->what >= LONG_PIECES ? 0 : at,
                        results[rank] + (size_t) i * 64 * 8);
            break;
        }
    }
}

/* A fence needs a message where there is something to say; a start one that says that it is over,
 * and a post one each, if anybody asks. */
static long messages_of(const struct epoch *epoch, enum synchronisation how)
{
    const int last = how == FENCE ? epoch->messages : epoch->messages > 0 ? epoch->messages : 1;

    return (long) (check_ranks - 1) * (last + epoch->answers + (how == GROUPS));
}

static void count(const struct epoch *epoch, enum synchronisation how)
{
    const bool passes = epoch->what >= LARGE_PUTS;
    const long wanted[3] = {messages_of(epoch, how),
                            passes ? 0 : (long) epoch->operations * (check_ranks - 1),
                            passes ? (long) epoch->operations * (check_ranks - 1) : 0};
    static const char *const counters[] = {"osc_rbuf_messages", "osc_rbuf_packed",
                                           "osc_rbuf_passed"};
    long before[3];
    int origin, target;

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        before[i] = counter_read(counters[i]);
    }
    begin(how);
    for (int i = 1; i < check_ranks; i++) {
        issue(epoch, (check_rank + i) % check_ranks);
    }
    end(how, &origin, &target);
    check_that(origin == MPI_SUCCESS && target == MPI_SUCCESS, "%s, %s: failed", epoch->text,
               names[how]);
    for (int i = 0; i < 3; i++) {
        const long taken = counter_read(counters[i]) - before[i];

        check_that(taken == wanted[i], "%s, %s: %s is %ld, not %ld", epoch->text, names[how],
                   counters[i], taken, wanted[i]);
    }
}

static void counts(void)
{
    for (int how = 0; how < SYNCHRONISATIONS; how++) {
        for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++) {
            count(&epochs[i], (enum synchronisation) how);
        }
    }
}

/* ---- no memory at the target ---- */

/* Rank 1 has none for the messages with its answers: they leave when others have left. */
static void no_room_for_answers(enum synchronisation how)
{
    enum { GETS_OF_ALL = 100 };
    static char results[GETS_OF_ALL][PUT];
    int origin, target, wrong = 0;

    memset(results, 0, sizeof results);
    check_fill(window.memory, PUT, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    begin(how);
    if (check_rank == 1) {
        refuse(MESSAGE, MESSAGE + 200, 1000000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < GETS_OF_ALL && check_rank == 0; i++) {
        MPI_Get(results[i], PUT, MPI_BYTE, 1, 0, PUT, MPI_BYTE, window.win);
    }
    end(how, &origin, &target);
    refuse(0, 0, 0);
    check_that(origin == MPI_SUCCESS && target == MPI_SUCCESS, "%s: no room for answers: failed",
               names[how]);
    for (int i = 0; i < GETS_OF_ALL && check_rank == 0; i++) {
        wrong += memcmp(results[i], window.memory, PUT) != 0;
    }
    check_that(wrong == 0, "%s: no room for answers: %d are wrong", names[how], wrong);
}

/* Rank 1 has none to take a target with gaps apart. */
static void no_room_for_elements(enum synchronisation how, bool with_result)
{
    enum { ELEMENTS = 701 };
    static int mine[ELEMENTS], result[ELEMENTS];
    MPI_Datatype gaps;
    int errors[2], refused;

    MPI_Type_vector(ELEMENTS, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Barrier(MPI_COMM_WORLD);
    begin(how);
    if (check_rank == 1) {
        refuse(sizeof mine, sizeof mine, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0 && with_result) {
        MPI_Get_accumulate(mine, ELEMENTS, MPI_INT, result, ELEMENTS, MPI_INT, 1, 0, 1, gaps,
                           MPI_SUM, window.win);
    } else if (check_rank == 0) {
        MPI_Accumulate(mine, ELEMENTS, MPI_INT, 1, 0, 1, gaps, MPI_SUM, window.win);
    }
    end(how, &errors[0], &errors[1]);
    refused = atomic_load(&shortage.refused);
    refuse(0, 0, 0);
    check_that(check_rank != 1 || refused == 1, "%s: memory was there", names[how]);
    if (check_rank == (with_result ? 0 : 1)) {
        check_that(errors[0] != MPI_SUCCESS || errors[1] != MPI_SUCCESS, "%s, %s: no error",
                   names[how], with_result ? "get_accumulate" : "accumulate");
    }
    MPI_Type_free(&gaps);
}

static void memory(void)
{
    for (int how = 0; how < SYNCHRONISATIONS; how++) {
        no_room_for_answers((enum synchronisation) how);
        no_room_for_elements((enum synchronisation) how, true);
        no_room_for_elements((enum synchronisation) how, false);
        count(&epochs[2], (enum synchronisation) how); /* and all is well again */
    }
}

/* Rank 1 has none for active messages that come, REFUSALS times: they are done when it has. */
static void starve(bool inside)
{
    enum { REFUSALS = 50, COUNT = 10 };
    const long one = 1;
    long found[COUNT], wrong = 0;

    if (check_rank == 1) {
        refuse(MESSAGE, MESSAGE + 200, REFUSALS);
    }
    MPI_Win_lock_all(0, window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT && check_rank == 0; i++) {
        found[i] = -1;
        MPI_Fetch_and_op(&one, &found[i], MPI_LONG, 1, 8, MPI_SUM, window.win);
    }
    if (check_rank == 0) {
        MPI_Win_flush(1, window.win);
        for (int i = 0; i < COUNT; i++) {
            wrong += found[i] != i;
        }
        check_that(wrong == 0, "%ld results of a target without memory", wrong);
        check_that(counter_read("osc_rbuf_active_sent") > 0, "no active message went");
    } else if (check_rank == 1 && !inside) {
        check_that(check_becomes(window.memory + 8, COUNT), "nothing was done while it computed");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1) {
        check_that(atomic_load(&shortage.refused) == REFUSALS, "memory was there: refused %d times",
                   atomic_load(&shortage.refused));
    }
    MPI_Win_unlock_all(window.win);
}

static void starved(void)
{
    starve(false);
}

static void starved_inside(void)
{
    starve(true);
}

static void nobody_packs(void)
{
    int origin, target;

    for (int how = 0; how < SYNCHRONISATIONS; how++) {
        begin((enum synchronisation) how);
        for (int i = 1; i < check_ranks; i++) {
            issue(&epochs[2], (check_rank + i) % check_ranks);
        }
        end((enum synchronisation) how, &origin, &target);
        check_that(origin == MPI_SUCCESS && target == MPI_SUCCESS, "%s: failed", names[how]);
    }
    check_that(counter_read("osc_rbuf_packed") == 0, "packed, though some processes do not");
}

static void make_window(void)
{
    MPI_Group world;

    window.memory = check_window(WINDOW, &window.win);
    MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    memset(window.memory, 0, WINDOW);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &check_rank, &window.others);
    MPI_Group_free(&world);
}

/* ---- groups ---- */

static void put_value(int rank, char value)
{
    memset(data, value, PUT);
    MPI_Put(data, PUT, MPI_BYTE, rank, (MPI_Aint) check_rank * PLACE, PUT, MPI_BYTE, window.win);
}

static void expect_value(int origin, char value, const char *what)
{
    check_that(window.memory[origin * PLACE] == value &&
                   window.memory[origin * PLACE + PUT - 1] == value,
               "%s: rank %d's put is not there", what, origin);
}

static void nobody(void)
{
    int done = 0;

    check_mpi(MPI_Win_post(MPI_GROUP_EMPTY, 0, window.win), "MPI_Win_post of nobody");
    check_mpi(MPI_Win_start(MPI_GROUP_EMPTY, 0, window.win), "MPI_Win_start of nobody");
    check_mpi(MPI_Win_complete(window.win), "MPI_Win_complete of nobody");
    check_mpi(MPI_Win_test(window.win, &done), "MPI_Win_test of nobody");
    check_that(done, "an exposure to nobody is not over");
    if (!done) {
        MPI_Win_wait(window.win);
    }
}

/* Each is open for all others at once, and reaches them in two starts: the even ones, then the odd.
 */
static void halves(void)
{
    MPI_Group all, half[2];
    int member[2][MOST_RANKS], members[2] = {0, 0};

    for (int rank = 0; rank < check_ranks; rank++) {
        if (rank != check_rank) {
            member[rank % 2][members[rank % 2]++] = rank;
        }
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    check_mpi(MPI_Win_post(window.others, 0, window.win), "MPI_Win_post");
    for (int i = 0; i < 2; i++) {
        MPI_Group_incl(all, members[i], member[i], &half[i]);
        check_mpi(MPI_Win_start(half[i], 0, window.win), "MPI_Win_start of a half");
        for (int k = 0; k < members[i]; k++) {
            put_value(member[i][k], (char) (10 + check_rank));
        }
        check_mpi(MPI_Win_complete(window.win), "MPI_Win_complete of a half");
        MPI_Group_free(&half[i]);
    }
    check_mpi(MPI_Win_wait(window.win), "MPI_Win_wait");
    MPI_Group_free(&all);
    for (int rank = 0; rank < check_ranks; rank++) {
        if (rank != check_rank) {
            expect_value(rank, (char) (10 + rank), "two starts");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void overlapping_groups(void)
{
    nobody();
    halves();
    nobody();
}

/* ---- assertions that are not true ---- */

static void asserts(void)
{
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;
    int class = MPI_SUCCESS;

    MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, window.win);
    put_value(next, 77);
    MPI_Error_class(MPI_Win_fence(MPI_MODE_NOPRECEDE, window.win), &class);
    check_that(class == MPI_ERR_RMA_SYNC, "operations before MPI_MODE_NOPRECEDE: class %d", class);
    check_mpi(MPI_Win_fence(0, window.win), "the fence behind it");
    expect_value(previous, 77, "the fence behind MPI_MODE_NOPRECEDE");
    check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, window.win), "no epoch");
}

/* ---- MPI_MODE_NOCHECK on one side ---- */

/* Whether the target sees that an access epoch came before its post. */
enum { POST_FIRST, START_FIRST };

static int class_of(int error)
{
    int class;

    MPI_Error_class(error, &class);
    return class;
}

/* An epoch of all to all others, with a put; the classes of its errors. */
static void unlike_epoch(int post, int start, int order, char value, int *origin, int *target)
{
    int there = 0;

    if (order == POST_FIRST) {
        check_mpi(MPI_Win_post(window.others, post, window.win), "MPI_Win_post");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check_mpi(MPI_Win_start(window.others, start, window.win), "MPI_Win_start");
    for (int i = 1; i < check_ranks; i++) {
        put_value((check_rank + i) % check_ranks, value);
    }
    *origin = class_of(MPI_Win_complete(window.win));
    if (order == START_FIRST) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 1000; i++) { /* what has come is done, before the post */
            MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        }
        check_mpi(MPI_Win_post(window.others, post, window.win), "MPI_Win_post");
    }
    *target = class_of(MPI_Win_wait(window.win));
    for (int rank = 0; rank < check_ranks; rank++) {
        if (rank != check_rank) {
            expect_value(rank, value, "unlike assertions");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The next epoch waits for a post of its own: what rank 0 gets was written right before that. */
static void checked_epoch(char value)
{
    char got = 0;
    int there, target = MPI_SUCCESS, origin = MPI_SUCCESS;
    MPI_Group all, first, second;
    const int zero = 0, one = 1;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_incl(all, 1, &one, &second);
    if (check_rank == 1) {
        const double start = MPI_Wtime();

        while (MPI_Wtime() - start < 0.1) {
            MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        }
        window.memory[WINDOW - 1] = value;
        MPI_Win_post(first, 0, window.win);
        target = class_of(MPI_Win_wait(window.win));
    } else if (check_rank == 0) {
        MPI_Win_start(second, 0, window.win);
        MPI_Get(&got, 1, MPI_BYTE, 1, WINDOW - 1, 1, MPI_BYTE, window.win);
        origin = class_of(MPI_Win_complete(window.win));
        check_that(got == value, "the epoch behind did not wait for its post: %d", got);
    }
    check_that(origin == MPI_SUCCESS && target == MPI_SUCCESS, "the epoch behind: classes %d, %d",
               origin, target);
    MPI_Group_free(&first);
    MPI_Group_free(&second);
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nochecks(void)
{
    static const struct {
        int post, start, order;
        int origin, target; /* classes */
    } epochs_of[] = {
        {MPI_MODE_NOCHECK, 0, POST_FIRST, MPI_ERR_RMA_SYNC, MPI_ERR_RMA_SYNC},
        {0, MPI_MODE_NOCHECK, POST_FIRST, MPI_SUCCESS, MPI_ERR_RMA_SYNC},
        {0, MPI_MODE_NOCHECK, START_FIRST, MPI_SUCCESS, MPI_ERR_RMA_SYNC},
        {MPI_MODE_NOCHECK, MPI_MODE_NOCHECK, START_FIRST, MPI_SUCCESS, MPI_ERR_RMA_SYNC},
        {MPI_MODE_NOCHECK, MPI_MODE_NOCHECK, POST_FIRST, MPI_SUCCESS, MPI_SUCCESS}};

    MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    for (int i = 0; i < (int) (sizeof epochs_of / sizeof epochs_of[0]); i++) {
        int origin, target;

        unlike_epoch(epochs_of[i].post, epochs_of[i].start, epochs_of[i].order, (char) (20 + i),
                     &origin, &target);
        check_that(origin == epochs_of[i].origin, "case %d: complete: class %d, not %d", i, origin,
                   epochs_of[i].origin);
        check_that(target == epochs_of[i].target, "case %d: wait: class %d, not %d", i, target,
                   epochs_of[i].target);
        checked_epoch((char) (40 + i));
    }
}

/* ---- calls that do not fit the epochs ---- */

static void expect_refused(int error, const char *what)
{
    const int class = class_of(error);

    check_that(class == MPI_ERR_RMA_SYNC, "%s: class %d", what, class);
}

static void misplaced(void)
{
    MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    expect_refused(MPI_Win_complete(window.win), "complete without start");
    check_mpi(MPI_Win_post(window.others, 0, window.win), "MPI_Win_post");
    expect_refused(MPI_Win_post(window.others, 0, window.win), "post in an exposure epoch");
    check_mpi(MPI_Win_start(window.others, 0, window.win), "MPI_Win_start");
    expect_refused(MPI_Win_start(window.others, 0, window.win), "start in an access epoch");
    expect_refused(MPI_Win_fence(0, window.win), "fence in an access epoch");
    check_mpi(MPI_Win_complete(window.win), "MPI_Win_complete");
    check_mpi(MPI_Win_wait(window.win), "MPI_Win_wait");
    check_mpi(MPI_Win_post(MPI_GROUP_EMPTY, 0, window.win), "a post for nobody");
    expect_refused(MPI_Win_post(MPI_GROUP_EMPTY, 0, window.win), "post in one of nobody");
    check_mpi(MPI_Win_wait(window.win), "a wait for nobody");
    check_mpi(MPI_Win_lock_all(0, window.win), "MPI_Win_lock_all");
    expect_refused(MPI_Win_start(window.others, 0, window.win), "start in a passive epoch");
    expect_refused(MPI_Win_fence(0, window.win), "fence in a passive epoch");
    check_mpi(MPI_Win_unlock_all(window.win), "MPI_Win_unlock_all");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const bool is_rbuf = check_pack_one_sided();
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const bool unlike = argc > 1 && strcmp(argv[1], "unlike") == 0;

    setenv("OMPI_MCA_osc_rbuf_message_size", "7776", 1);
    if (argc > 1 && strncmp(argv[1], "starved", 7) == 0) {
        setenv("OMPI_MCA_osc_rbuf_passive", "1", 1);
    }
    if (unlike && rank != NULL && atoi(rank) % 2 == 1) {
        setenv("OMPI_MCA_osc_rbuf_aggregate", "0", 1);
    }
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (!is_rbuf || check_ranks > MOST_RANKS) {
        check_skip("of rbuf, on at most 8 ranks");
    }
    counter_begin();
    if (counter_read("osc_rbuf_messages") < 0) {
        check_skip("this Open MPI has no osc/rbuf");
    }
    make_window();
    for (int i = 1; i < argc; i++) {
        (unlike                                   ? nobody_packs
         : strcmp(argv[i], "starved") == 0        ? starved
         : strcmp(argv[i], "starved-inside") == 0 ? starved_inside
         : strcmp(argv[i], "counts") == 0         ? counts
         : strcmp(argv[i], "groups") == 0         ? overlapping_groups
         : strcmp(argv[i], "asserts") == 0        ? asserts
         : strcmp(argv[i], "nochecks") == 0       ? nochecks
         : strcmp(argv[i], "misplaced") == 0      ? misplaced
                                                  : memory)();
    }
    MPI_Win_free(&window.win);
    MPI_Group_free(&window.others);
    free(window.memory);
    counter_end();
    return check_end();
}
