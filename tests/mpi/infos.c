/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI's info keys of accumulates over osc/rbuf: what MPI_Win_get_info() says of them, and what
 * accumulate_ordering changes for an operation that no active message takes (a pair) beside one
 * that goes as one (a word), on memory of their own.
 */
#include "check.h"
#include "counter.h"

enum { WORD = 0, PAIR = 16, BYTES = 4096 };

#define ALL "rar,raw,war,waw"

struct pair {
    double value;
    int index;
};

static MPI_Win win;
static char *memory;

static void open_window(const char *key, const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    if (key != NULL) {
        MPI_Info_set(info, key, value);
    }
    MPI_Win_allocate(BYTES, 1, info, MPI_COMM_WORLD, (void *) &memory, &win);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void set(const char *key, const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    check_mpi(MPI_Win_set_info(win, info), value);
    MPI_Info_free(&info);
}

/* `text` has room for the longest value. */
static void read_info(MPI_Info info, const char *key, char *text, int *there)
{
#if MPI_VERSION >= 4
    int length = MPI_MAX_INFO_VAL + 1;

    MPI_Info_get_string(info, key, &length, text, there);
#else
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, text, there);
#endif
}

/* Open MPI 4.1 shows the value as the program gave it, which may have other blanks, and leaves out
 * a key whose value was not taken. Others show what is in use. */
static void expect(const char *key, const char *value, const char *given, const char *what)
{
    const bool is_old = OMPI_MAJOR_VERSION < 5;
    char text[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int there;

    check_mpi(MPI_Win_get_info(win, &info), "MPI_Win_get_info");
    read_info(info, key, text, &there);
    if (is_old && given == NULL) {
        check_that(!there, "%s: %s is '%s', and should not be there", what, key, text);
    } else {
        check_that(there && strcmp(text, is_old ? given : value) == 0, "%s: %s is '%s', not '%s'",
                   what, key, there ? text : "(not there)", value);
    }
    MPI_Info_free(&info);
}

/* ---- what MPI_Win_get_info() says ---- */

static const struct given {
    const char *key, *value, *used;
} givens[] = {{"accumulate_ordering", "none", "none"},
              {"accumulate_ordering", " waw , rar", "rar,waw"},
              {"accumulate_ordering", "raw", "raw"},
              {"accumulate_ordering", ALL, ALL},
              {"accumulate_ordering", "waw,waw,war", "war,waw"},
              {"accumulate_ops", "same_op", "same_op"},
              {"accumulate_ops", "same_op_no_op", "same_op_no_op"}};

static void give_back(void)
{
    for (size_t i = 0; i < sizeof givens / sizeof givens[0]; i++) {
        const struct given *given = &givens[i];

        open_window(given->key, given->value);
        expect(given->key, given->used, given->value, "made with it");
        MPI_Win_free(&win);
        open_window(NULL, NULL);
        expect("accumulate_ordering", ALL, ALL, "nothing given");
        expect("accumulate_ops", "same_op_no_op", "same_op_no_op", "nothing given");
        set(given->key, given->value);
        expect(given->key, given->used, given->value, "set");
        MPI_Win_free(&win);
    }
}

/* What MPI does not know changes nothing. */
static void refuse(void)
{
    static const char *const wrong[] = {"any", "rar;waw", "none,rar", "rar,",
                                        "RAR", ",",       "rar raw",  "rarwaw"};

    open_window("accumulate_ordering", "sometimes");
    expect("accumulate_ordering", ALL, NULL, "made with nonsense");
    set("accumulate_ordering", "rar");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        set("accumulate_ordering", wrong[i]);
        expect("accumulate_ordering", "rar", NULL, wrong[i]);
    }
    set("accumulate_ops", "same_op");
    set("accumulate_ops", "other_op");
    expect("accumulate_ops", "same_op", NULL, "other_op");
    MPI_Win_free(&win);
}

/* ---- what it changes ---- */

enum does { READS = 'r', WRITES = 'w' };

static void do_pair(enum does does, struct pair *found)
{
    const struct pair one = {5, 1};

    if (does == READS) {
        MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, found, 1, MPI_DOUBLE_INT, 1, PAIR, 1,
                           MPI_DOUBLE_INT, MPI_NO_OP, win);
    } else {
        MPI_Accumulate(&one, 1, MPI_DOUBLE_INT, 1, PAIR, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    }
}

static void do_word(enum does does, long *found)
{
    const long one = 1;

    if (does == READS) {
        MPI_Get_accumulate(NULL, 0, MPI_LONG, found, 1, MPI_LONG, 1, WORD, 1, MPI_LONG, MPI_NO_OP,
                           win);
    } else {
        MPI_Accumulate(&one, 1, MPI_LONG, 1, WORD, 1, MPI_LONG, MPI_SUM, win);
    }
}

/* Whether `next` has to stay behind `before`: "raw" is a read behind a write. */
static bool is_ordered(const char *ordering, enum does before, enum does next)
{
    const char name[] = {(char) next, 'a', (char) before, '\0'};

    return strstr(ordering, name) != NULL;
}

/* A pair, then a word: this one is an active message unless it has to stay behind. */
static void word_behind_pair(const char *ordering, enum does before, enum does next)
{
    const long sent = counter_read("osc_rbuf_active_sent");
    const bool ordered = is_ordered(ordering, before, next);
    struct pair pair = {-1, -1};
    long word = -1, went;

    do_pair(before, &pair);
    do_word(next, &word);
    MPI_Win_flush(1, win);
    went = counter_read("osc_rbuf_active_sent") - sent;
    check_that(went == !ordered, "%s: %c behind %c: %ld active messages", ordering, next, before,
               went);
    check_that((before == WRITES || pair.index >= 0) && (next == WRITES || word >= 0),
               "%s: %c behind %c: no result", ordering, next, before);
}

/* A word, then a pair: this one waits for the word's result if it has to stay behind. */
static void pair_behind_word(const char *ordering, enum does next)
{
    const bool ordered = is_ordered(ordering, READS, next);
    struct pair pair = {-1, -1};
    long word = -1;

    do_word(READS, &word);
    do_pair(next, &pair);
    check_that((word >= 0) == ordered, "%s: %c behind a word that is read: it %s", ordering, next,
               word >= 0 ? "waited" : "did not wait");
    MPI_Win_flush(1, win);
    check_that(word >= 0 && (next == WRITES || pair.index >= 0), "%s: no result", ordering);
}

static void heed(void)
{
    static const char *const orderings[] = {ALL,   "none", "rar",     "raw",
                                            "war", "waw",  "rar,waw", " waw , war"};
    static const enum does kinds[] = {READS, WRITES};
    long words = 0;

    open_window(NULL, NULL);
    MPI_Win_lock_all(0, win);
    if (check_rank == 0) { /* who has never spoken to the other sends it messages of MPI */
        do_word(WRITES, NULL);
        MPI_Win_flush(1, win);
        words++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof orderings / sizeof orderings[0]; i++) {
        set("accumulate_ordering", orderings[i]);
        for (int k = 0; k < 4 && check_rank == 0; k++) {
            word_behind_pair(orderings[i], kinds[k / 2], kinds[k % 2]);
            words += kinds[k % 2] == WRITES;
        }
        for (int k = 0; k < 2 && check_rank == 0; k++) {
            pair_behind_word(orderings[i], kinds[k]);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Bcast(&words, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (check_rank == 1) {
        check_that(*(long *) (void *) memory == words, "counted to %ld, not %ld",
                   *(long *) (void *) memory, words);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    const bool is_rbuf = check_pack_one_sided() && setenv("OMPI_MCA_osc_rbuf_passive", "1", 1) == 0;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    if (!is_rbuf) {
        check_skip("only rbuf packs them");
    }
    counter_begin();
    give_back();
    refuse();
    heed();
    counter_end();
    return check_end();
}
