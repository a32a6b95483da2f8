/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */

/* What programs do with Global Arrays, each result compared with what this program computes itself:
 * patches (put, get, accumulate, at once and begun ahead), every n-th element, lists of elements, a
 * shared counter that hands out work, mutexes, a product of matrices.
 *
 * Each process writes, and checks, what lies with the others. The first fault of a check is told,
 * with its place. It ends with the line "global_arrays: N checks, no errors", or with status 1. */

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <ga.h>
#include <macdecls.h>

enum { ROWS = 90, COLUMNS = 70, TICKETS = 600, LISTED = 300, ROUNDS = 40, ORDER = 48 };

static int me, processes;
static long checks, errors;

/* Counts a check; tells what is wrong with the first few. */
__attribute__((format(printf, 2, 3))) static void check(int right, const char *text, ...)
{
    va_list values;

    checks++;
    if (right || errors++ >= 10)
        return;
    printf("global_arrays: process %d: ", me);
    va_start(values, text);
    vprintf(text, values);
    va_end(values);
    printf("\n");
}

/* The value that belongs to an element: an integer, so that sums are exact. */
static double value_at(int row, int column)
{
    return 1000.0 * row + column;
}

static int array_of(int type, int rows, int columns, const char *name)
{
    char text[32];
    int dims[2] = {rows, columns}, array;

    snprintf(text, sizeof(text), "%s", name);
    array = NGA_Create(type, 2, dims, text, NULL);
    if (array == 0)
        GA_Error("no array", 1);
    GA_Zero(array);
    return array;
}

/* Fills the patch at `buffer`, whose rows lie `leading` elements apart. */
static void fill(double *buffer, int leading, const int low[2], const int high[2])
{
    for (int i = low[0]; i <= high[0]; i++)
        for (int j = low[1]; j <= high[1]; j++)
            buffer[(i - low[0]) * leading + j - low[1]] = value_at(i, j);
}

/* Compares every element of the array with `factor` times its value. */
static void check_all(int array, double factor, const char *what)
{
    static double all[ROWS][COLUMNS];
    int low[2] = {0, 0}, high[2] = {ROWS - 1, COLUMNS - 1}, leading = COLUMNS;

    NGA_Get(array, low, high, all, &leading);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            check(all[i][j] == factor * value_at(i, j), "%s: element %d,%d is %g, not %g", what, i,
                  j, all[i][j], factor * value_at(i, j));
}

/* Patches of 7 by 9, shared out so that about half lie with another process. Their rows have gaps
 * between them here, and lie apart there. */
static void patches(void)
{
    int array = array_of(C_DBL, ROWS, COLUMNS, "patches"), number = 0;
    double patch[7][11];
    int leading = 11;

    for (int i = 0; i < ROWS; i += 7) {
        for (int j = 0; j < COLUMNS; j += 9) {
            int low[2] = {i, j};
            int high[2] = {i + 6 < ROWS ? i + 6 : ROWS - 1, j + 8 < COLUMNS ? j + 8 : COLUMNS - 1};

            if (number++ % processes != me)
                continue;
            fill(&patch[0][0], leading, low, high);
            NGA_Put(array, low, high, patch, &leading);
        }
    }
    GA_Sync();
    check_all(array, 1, "put");
    GA_Destroy(array);
}

/* Every process adds to every element, by patches that it begins ahead of their end. */
static void sums(void)
{
    int array = array_of(C_DBL, ROWS, COLUMNS, "sums"), leading = COLUMNS;
    static double strips[ROWS / 6][6][COLUMNS];
    double two = 2;
    ga_nbhdl_t handles[ROWS / 6];

    for (int turn = 0; turn < 2; turn++) {
        for (int strip = 0; strip < ROWS / 6; strip++) {
            int low[2] = {strip * 6, 0}, high[2] = {strip * 6 + 5, COLUMNS - 1};

            fill(&strips[strip][0][0], leading, low, high);
            if (turn == 0)
                NGA_NbAcc(array, low, high, strips[strip], &leading, &two, &handles[strip]);
            else
                NGA_Acc(array, low, high, strips[strip], &leading, &two);
        }
        for (int strip = 0; turn == 0 && strip < ROWS / 6; strip++)
            NGA_NbWait(&handles[strip]);
    }
    GA_Sync();
    check_all(array, 4.0 * processes, "accumulate");
    GA_Destroy(array);
}

/* The same with complex numbers: the factor turns the parts around. */
static void complex_sums(void)
{
    int array = array_of(C_DCPL, 20, 20, "complex"), low[2] = {0, 0}, high[2] = {19, 19},
        leading = 20;
    static double add[20][20][2], got[20][20][2];
    double factor[2] = {0, 1};

    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 20; j++) {
            add[i][j][0] = i;
            add[i][j][1] = j;
        }
    }
    NGA_Acc(array, low, high, add, &leading, factor);
    GA_Sync();
    NGA_Get(array, low, high, got, &leading);
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            check(got[i][j][0] == -j * processes && got[i][j][1] == i * processes,
                  "complex accumulate: element %d,%d is %g and %g, not %d and %d", i, j,
                  got[i][j][0], got[i][j][1], -j * processes, i * processes);
    GA_Sync();
    GA_Destroy(array);
}

/* Every third row and every second column of the array. */
static void every_nth(void)
{
    int array = array_of(C_DBL, ROWS, COLUMNS, "every"), skip[2] = {3, 2}, leading = COLUMNS / 2;
    int low[2] = {0, 0}, high[2] = {ROWS - 3, COLUMNS - 2};
    static double some[ROWS / 3][COLUMNS / 2], all[ROWS][COLUMNS];

    for (int i = 0; i < ROWS / 3; i++)
        for (int j = 0; j < COLUMNS / 2; j++)
            some[i][j] = value_at(3 * i, 2 * j);
    if (me == 0)
        NGA_Strided_put(array, low, high, skip, some, &leading);
    GA_Sync();
    high[0] = ROWS - 1;
    high[1] = COLUMNS - 1;
    leading = COLUMNS;
    NGA_Get(array, low, high, all, &leading);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double right = i % 3 == 0 && j % 2 == 0 ? value_at(i, j) : 0;

            check(all[i][j] == right, "strided put: element %d,%d is %g, not %g", i, j, all[i][j],
                  right);
        }
    }
    GA_Sync();
    GA_Destroy(array);
}

/* A list of single elements, its last one first: each process writes its share, adds to all, and
 * reads all. */
static void lists(void)
{
    int array = array_of(C_DBL, ROWS, COLUMNS, "lists"), *places[LISTED], at[LISTED][2], mine = 0;
    double values[LISTED], one = 1;

    for (int k = LISTED - 1; k >= 0; k--) {
        if (k % processes != me)
            continue;
        at[mine][0] = k * 37 % ROWS;
        at[mine][1] = k * 11 % COLUMNS;
        places[mine] = at[mine];
        values[mine++] = k;
    }
    NGA_Scatter(array, values, places, mine);
    GA_Sync();
    for (int k = 0; k < LISTED; k++) {
        at[k][0] = (LISTED - 1 - k) * 37 % ROWS;
        at[k][1] = (LISTED - 1 - k) * 11 % COLUMNS;
        places[k] = at[k];
        values[k] = 1000;
    }
    NGA_Scatter_acc(array, values, places, LISTED, &one);
    GA_Sync();
    NGA_Gather(array, values, places, LISTED);
    for (int k = 0; k < LISTED; k++)
        check(values[k] == LISTED - 1 - k + 1000.0 * processes,
              "gather: element %d of the list is %g, not %g", k, values[k],
              LISTED - 1 - k + 1000.0 * processes);
    GA_Sync();
    GA_Destroy(array);
}

/* All draw tickets of one counter until there are no more: each is drawn once. */
static void tickets(void)
{
    int dims[1] = {1}, zero[1] = {0}, drawn[TICKETS] = {0};
    char name[] = "counter", plus[] = "+";
    int counter = NGA_Create(C_LONG, 1, dims, name, NULL);
    long ticket;

    GA_Zero(counter);
    while ((ticket = NGA_Read_inc(counter, zero, 1)) < TICKETS) {
        check(ticket >= 0, "counter: ticket %ld", ticket);
        drawn[ticket]++;
    }
    GA_Igop(drawn, TICKETS, plus);
    for (int k = 0; k < TICKETS; k++)
        check(drawn[k] == 1, "counter: ticket %d was drawn %d times", k, drawn[k]);
    GA_Sync();
    ticket = NGA_Read_inc(counter, zero, 0);
    check(ticket == TICKETS + processes, "counter: %ld at last, not %d", ticket,
          TICKETS + processes);
    GA_Sync();
    GA_Destroy(counter);
}

/* Each adds to what lies with each process, by a get and a put under a mutex. */
static void mutexes(void)
{
    int array = array_of(C_INT, processes, 8, "mutexes"), leading = 8, row[8];

    check(GA_Create_mutexes(processes) != 0, "no mutexes");
    for (int round = 0; round < ROUNDS; round++) {
        int mutex = (me + round) % processes, low[2] = {mutex, 0}, high[2] = {mutex, 7};

        GA_Lock(mutex);
        NGA_Get(array, low, high, row, &leading);
        for (int j = 0; j < 8; j++)
            row[j] += j + 1;
        GA_Init_fence();
        NGA_Put(array, low, high, row, &leading);
        GA_Fence(); // the put is there before another one reads
        GA_Unlock(mutex);
    }
    GA_Sync();
    for (int mutex = 0; mutex < processes; mutex++) {
        int low[2] = {mutex, 0}, high[2] = {mutex, 7};

        NGA_Get(array, low, high, row, &leading);
        for (int j = 0; j < 8; j++)
            check(row[j] == ROUNDS * (j + 1), "mutex %d: element %d is %d, not %d", mutex, j,
                  row[j], ROUNDS * (j + 1));
    }
    GA_Sync();
    GA_Destroy_mutexes();
    GA_Destroy(array);
}

/* A matrix times a matrix that moves each row up by one. */
static void product(void)
{
    int a = array_of(C_DBL, ORDER, ORDER, "a"), b = array_of(C_DBL, ORDER, ORDER, "b");
    int c = array_of(C_DBL, ORDER, ORDER, "c"), low[2] = {0, 0}, high[2] = {ORDER - 1, ORDER - 1},
        leading = ORDER;
    static double left[ORDER][ORDER], right[ORDER][ORDER], got[ORDER][ORDER];

    for (int i = 0; i < ORDER; i++) {
        left[i][(i + 1) % ORDER] = 1;
        for (int j = 0; j < ORDER; j++)
            right[i][j] = value_at(i, j);
    }
    if (me == 0)
        NGA_Put(a, low, high, left, &leading);
    if (me == processes - 1)
        NGA_Put(b, low, high, right, &leading);
    GA_Sync();
    GA_Dgemm('N', 'N', ORDER, ORDER, ORDER, 1.0, a, b, 0.0, c);
    NGA_Get(c, low, high, got, &leading);
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++)
            check(got[i][j] == value_at((i + 1) % ORDER, j), "product: element %d,%d is %g, not %g",
                  i, j, got[i][j], value_at((i + 1) % ORDER, j));
    GA_Sync();
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
}

int main(int argc, char **argv)
{
    char plus[] = "+";

    MPI_Init(&argc, &argv);
    GA_Initialize();
    MA_init(C_DBL, 100000, 100000);
    me = GA_Nodeid();
    processes = GA_Nnodes();
    patches();
    sums();
    complex_sums();
    every_nth();
    lists();
    tickets();
    mutexes();
    product();
    fflush(stdout);
    GA_Lgop(&checks, 1, plus);
    GA_Lgop(&errors, 1, plus);
    if (me == 0 && errors == 0)
        printf("global_arrays: %ld checks, no errors\n", checks);
    GA_Terminate();
    MPI_Finalize();
    return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}
