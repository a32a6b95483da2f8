/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */

/* Says which one-sided operations a program makes, and what becomes of them: a library to be loaded
 * before the program's others (LD_PRELOAD), which counts its calls of MPI on their way to Open MPI.
 * When a process calls MPI_Finalize it writes one line to standard error:
 *
 *     mix: rank=0 put=12 put_bytes=96 ... seconds=1.234 atomics=40 ... osc_rbuf_packed=100 ...
 *
 * First its calls, then the seconds since MPI_Init (or the first operation), then the counters of
 * rbuf and osc/rbuf; those that there are not, over other transports, are left out. Programs with
 * one thread in MPI. */

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef enum {
    PUT,
    GET,
    ACCUMULATE,
    GET_ACCUMULATE,
    FETCH_AND_OP,
    COMPARE_AND_SWAP,
    LOCK,
    FLUSH,
    FENCE,
    START,
    CALLS
} call_t;

static const char *const names[CALLS] = {
    "put",  "get",   "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap",
    "lock", "flush", "fence",      "start"};

static unsigned long long calls[CALLS], bytes[CALLS];

static const char *const variables[] = {
    "btl_rbuf_one_sided_puts", "btl_rbuf_one_sided_gets", "btl_rbuf_atomics",
    "btl_rbuf_messages_sent",  "osc_rbuf_packed",         "osc_rbuf_passed",
    "osc_rbuf_messages",       "osc_rbuf_active_sent",    "osc_rbuf_by_thread"};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static bool begun;
static double start; /* seconds, when MPI had begun */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[VARIABLES]; /* NULL: there is none of that name */

static void begin(void);

/* Counts an operation on `count` of the type. */
static void took(call_t call, int count, MPI_Datatype type)
{
    int size;

    begin();
    calls[call]++;
    PMPI_Type_size(type, &size);
    bytes[call] += (unsigned long long) size * (unsigned) count;
}

/* Open MPI counts for a handle from its making on, so they are made before the first operation. */
static void begin(void)
{
    int provided;

    if (begun) {
        return;
    }
    begun = true;
    start = PMPI_Wtime();
    if (PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        PMPI_T_pvar_session_create(&session) != MPI_SUCCESS) {
        return;
    }
    for (size_t i = 0; i < VARIABLES; i++) {
        for (int class = MPI_T_PVAR_CLASS_STATE; class <= MPI_T_PVAR_CLASS_GENERIC; class ++) {
            int index, count;

            if (handles[i] == NULL &&
                PMPI_T_pvar_get_index(variables[i], class, &index) == MPI_SUCCESS) {
                PMPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count);
            }
        }
    }
}

/* Appends " NAME=VALUE" of each variable that there is, its name without "btl_rbuf_". */
static void append_variables(char *line, size_t room)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *name = variables[i];
        unsigned long long value = 0;
        const size_t length = strlen(line);

        if (handles[i] != NULL && PMPI_T_pvar_read(session, handles[i], &value) == MPI_SUCCESS) {
            snprintf(line + length, room - length, " %s=%llu",
                     strncmp(name, "btl_rbuf_", 9) == 0 ? name + 9 : name, value);
        }
    }
}

int MPI_Init(int *argc, char ***argv)
{
    const int status = PMPI_Init(argc, argv);

    begin();
    return status;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
    const int status = PMPI_Init_thread(argc, argv, wanted, provided);

    begin();
    return status;
}

int MPI_Finalize(void)
{
    const double end = PMPI_Wtime();
    char line[2000];
    size_t length;
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(line, sizeof(line), "mix: rank=%d", rank);
    for (int i = 0; i < CALLS; i++) {
        length = strlen(line);
        snprintf(line + length, sizeof(line) - length,
                 i < LOCK ? " %s=%llu %s_bytes=%llu" : " %s=%llu", names[i], calls[i], names[i],
                 bytes[i]);
    }
    length = strlen(line);
    snprintf(line + length, sizeof(line) - length, " seconds=%.4f", begun ? end - start : 0.0);
    append_variables(line, sizeof(line));
    fprintf(stderr, "%s\n", line);
    return PMPI_Finalize();
}

int MPI_Put(const void *origin, int count, MPI_Datatype type, int target, MPI_Aint place,
            int target_count, MPI_Datatype target_type, MPI_Win window)
{
    took(PUT, count, type);
    return PMPI_Put(origin, count, type, target, place, target_count, target_type, window);
}

int MPI_Rput(const void *origin, int count, MPI_Datatype type, int target, MPI_Aint place,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request *request)
{
    took(PUT, count, type);
    return PMPI_Rput(origin, count, type, target, place, target_count, target_type, window,
                     request);
}

int MPI_Get(void *origin, int count, MPI_Datatype type, int target, MPI_Aint place,
            int target_count, MPI_Datatype target_type, MPI_Win window)
{
    took(GET, count, type);
    return PMPI_Get(origin, count, type, target, place, target_count, target_type, window);
}

int MPI_Rget(void *origin, int count, MPI_Datatype type, int target, MPI_Aint place,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request *request)
{
    took(GET, count, type);
    return PMPI_Rget(origin, count, type, target, place, target_count, target_type, window,
                     request);
}

int MPI_Accumulate(const void *origin, int count, MPI_Datatype type, int target, MPI_Aint place,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window)
{
    took(ACCUMULATE, count, type);
    return PMPI_Accumulate(origin, count, type, target, place, target_count, target_type, op,
                           window);
}

int MPI_Get_accumulate(const void *origin, int count, MPI_Datatype type, void *result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint place,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window)
{
    took(GET_ACCUMULATE, result_count, result_type);
    return PMPI_Get_accumulate(origin, count, type, result, result_count, result_type, target,
                               place, target_count, target_type, op, window);
}

int MPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target,
                     MPI_Aint place, MPI_Op op, MPI_Win window)
{
    took(FETCH_AND_OP, 1, type);
    return PMPI_Fetch_and_op(origin, result, type, target, place, op, window);
}

int MPI_Compare_and_swap(const void *origin, const void *compared, void *result, MPI_Datatype type,
                         int target, MPI_Aint place, MPI_Win window)
{
    took(COMPARE_AND_SWAP, 1, type);
    return PMPI_Compare_and_swap(origin, compared, result, type, target, place, window);
}

int MPI_Win_lock(int kind, int target, int assertion, MPI_Win window)
{
    calls[LOCK]++;
    return PMPI_Win_lock(kind, target, assertion, window);
}

int MPI_Win_lock_all(int assertion, MPI_Win window)
{
    calls[LOCK]++;
    return PMPI_Win_lock_all(assertion, window);
}

int MPI_Win_flush(int target, MPI_Win window)
{
    calls[FLUSH]++;
    return PMPI_Win_flush(target, window);
}

int MPI_Win_flush_all(MPI_Win window)
{
    calls[FLUSH]++;
    return PMPI_Win_flush_all(window);
}

int MPI_Win_flush_local(int target, MPI_Win window)
{
    calls[FLUSH]++;
    return PMPI_Win_flush_local(target, window);
}

int MPI_Win_flush_local_all(MPI_Win window)
{
    calls[FLUSH]++;
    return PMPI_Win_flush_local_all(window);
}

int MPI_Win_fence(int assertion, MPI_Win window)
{
    calls[FENCE]++;
    return PMPI_Win_fence(assertion, window);
}

int MPI_Win_start(MPI_Group group, int assertion, MPI_Win window)
{
    calls[START]++;
    return PMPI_Win_start(group, assertion, window);
}
