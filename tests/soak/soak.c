/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Random traffic with every byte compared, for as long as is wished, and a look at what the process
 * holds.
 *
 *     soak [--seed S] [--epoch E] [--epochs N] [--seconds T] [--hang T] [--pause MS]
 *          [--ceiling MB] [--growth MB] [--leak KB] [--pinned MB]
 *
 * A run is a row of epochs; an epoch makes communicators, does some rounds on them, each of one
 * kind, and frees them. All of it follows from the seed and the epoch's number. It ends after
 * --epochs or after --seconds, whichever is first.
 *
 * What must not grow: file descriptors not at all, pinned memory by --pinned at most (a cache of
 * registrations may keep some), resident memory by --growth, and by --leak an epoch, which Open MPI
 * itself loses; and it is never above --ceiling. All of it is compared with how it was after a
 * warm-up. A round that takes longer than --hang seconds
 * is taken for a hang: every rank says where it is.
 */
#include "soak.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"

enum { GROUPS = 4, ATTACHED = 64 * SOAK_M, WARM_EPOCHS = 1, BLOCK_FLAG = 8 };

struct soak soak;

static struct options {
    uint64_t first_epoch, epochs;
    double seconds;
    unsigned hang;  /* s */
    size_t ceiling; /* bytes */
    size_t growth;  /* bytes */
    size_t leak;    /* bytes an epoch */
    size_t pinned;  /* bytes */
} options = {.epochs = UINT64_MAX,
             .seconds = 10,
             .hang = 120,
             .ceiling = 600ul * SOAK_M,
             .growth = 24ul * SOAK_M,
             .leak = 100ul * SOAK_K,
             .pinned = 2ul * SOAK_M};

/* ---- saying what is wrong ---- */

_Noreturn void soak_wrong(const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    fprintf(stderr, "wrong: rank %d, epoch %llu, round %d (%s), %s %d: %s\n", soak.rank,
            (unsigned long long) soak.epoch, soak.round, soak.kind, soak.step, soak.step_number,
            text);
    fprintf(stderr, "again: --seed %llu --epoch %llu\n", (unsigned long long) soak.seed,
            (unsigned long long) soak.epoch);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void soak_mpi(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
        soak_wrong("%s: %s", what, text);
    }
}

void *soak_memory(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        soak_wrong("no memory for %zu bytes", bytes);
    }
    return memory;
}

/* ---- the watchdog ---- */

/* With a debugger at hand, where the process is; the other ranks get the time to say so too. */
static void hangs(int signal)
{
    char pid[32];
    pid_t debugger;

    (void) signal;
    fprintf(stderr, "hangs: rank %d, epoch %llu, round %d (%s), %s %d, after %u s\n", soak.rank,
            (unsigned long long) soak.epoch, soak.round, soak.kind, soak.step, soak.step_number,
            options.hang);
    fprintf(stderr, "again: --seed %llu --epoch %llu\n", (unsigned long long) soak.seed,
            (unsigned long long) soak.epoch);
    snprintf(pid, sizeof(pid), "%d", (int) getpid());
    debugger = fork();
    if (debugger == 0) {
        unsetenv("LD_PRELOAD");
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp("gdb", "gdb", "-batch", "-nx", "-p", pid, "-ex", "thread apply all bt 25",
               (char *) NULL);
        _exit(127);
    }
    if (debugger > 0) {
        waitpid(debugger, NULL, 0);
    }
    sleep(10);
    _exit(124);
}

/* ---- communicators ---- */

/* All ranks; all, again; parts of them; or a part that leaves some ranks to themselves. */
static struct group make_group(const struct group *world, struct dice *dice, uint64_t id)
{
    static const int weights[] = {40, 40, 20, -1};
    struct group group = {.id = id * (SOAK_RANKS + 1)};
    int members[SOAK_RANKS];
    int color;

    switch (dice_weighted(dice, weights)) {
    case 0:
        MPI_Comm_dup(world->comm, &group.comm);
        break;
    case 1:
        for (int i = 0; i < world->ranks; i++) {
            members[i] = (int) dice_below(dice, 2);
        }
        color = members[world->rank];
        group.id += (uint64_t) color + 1;
        MPI_Comm_split(world->comm, color, -world->rank, &group.comm);
        break;
    default: /* turned round */
        MPI_Comm_split(world->comm, 0, world->ranks - world->rank, &group.comm);
        break;
    }
    MPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(group.comm, &group.rank);
    MPI_Comm_size(group.comm, &group.ranks);
    return group;
}

/* ---- rounds and epochs ---- */

struct kind {
    const char *name;
    void (*run)(const struct group *, struct dice);
};

static void run_round(const struct group *group, struct dice dice)
{
    static const struct kind kinds[] = {
        {"exchange", exchange_round}, {"flood", flood_round},           {"repeat", repeat_round},
        {"truncate", truncate_round}, {"collective", collective_round}, {"window", window_round},
    };
    static const int weights[] = {55, 5, 10, 8, 14, 8, -1};
    const struct kind *kind = &kinds[dice_weighted(&dice, weights)];

    /* Open MPI 4.1's osc/rdma names its shared file by the communicator's number alone, which
     * disjoint communicators may have in common: windows at the same time on both get mixed up. */
    if (kind->run == window_round && group->ranks < soak.ranks) {
        kind = &kinds[0];
    }
    soak.kind = kind->name;
    soak_at("beginning", -1);
    alarm(options.hang);
    kind->run(group, dice);
}

static char *attach(void)
{
    char *memory = mmap(NULL, ATTACHED, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        soak_wrong("no address space for buffered sends");
    }
    soak_mpi(MPI_Buffer_attach(memory, ATTACHED), "MPI_Buffer_attach");
    return memory;
}

static void detach(char *memory)
{
    void *was;
    int size;

    soak_at("waiting for buffered sends", -1);
    soak_mpi(MPI_Buffer_detach(&was, &size), "MPI_Buffer_detach");
    munmap(memory, ATTACHED);
}

static void run_epoch(const struct group *world)
{
    struct dice dice = dice_for(soak.epoch, 0);
    const int groups = (int) dice_between(&dice, 1, GROUPS);
    const int rounds = (int) dice_between(&dice, 4, 16);
    struct group group[GROUPS];
    char *buffered = attach();

    soak.round = -1;
    soak.kind = "communicators";
    soak_at("making", groups);
    alarm(options.hang);
    for (int i = 0; i < groups; i++) {
        group[i] = make_group(world, &dice, (uint64_t) i);
    }
    for (soak.round = 0; soak.round < rounds; soak.round++) {
        const struct group *on = &group[dice_below(&dice, (size_t) groups)];
        const uint64_t place = soak.epoch << 20 | (uint64_t) soak.round;

        run_round(on, dice_for(place, 1 + on->id));
    }
    alarm(options.hang);
    detach(buffered);
    soak_at("freeing", groups);
    for (int i = 0; i < groups; i++) {
        MPI_Comm_free(&group[i].comm);
    }
}

/* The pools of the transport and of Open MPI have grown as far as they will. */
static void run_warm_up(const struct group *world)
{
    char *buffered = attach();

    soak.kind = "warm-up";
    alarm(options.hang);
    warm_up(world);
    detach(buffered);
}

/* ---- what must not grow ---- */

struct watch {
    struct resources warm; /* of the first epochs, to compare with */
    struct resources last;
    uint64_t epochs;
};

static size_t more(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void watch(struct watch *watch)
{
    struct resources now, *warm = &watch->warm;

    resources_look(&now);
    watch->last = now;
    if (now.resident > options.ceiling) {
        soak_wrong("%zu MB resident, the ceiling is %zu", now.resident / SOAK_M,
                   options.ceiling / SOAK_M);
    }
    if (watch->epochs++ < WARM_EPOCHS) {
        warm->resident = more(warm->resident, now.resident);
        warm->pinned = more(warm->pinned, now.pinned);
        warm->descriptors = (int) more((size_t) warm->descriptors, (size_t) now.descriptors);
        return;
    }
    if (now.descriptors > warm->descriptors) {
        soak_wrong("%d file descriptors, %d after the warm-up", now.descriptors, warm->descriptors);
    }
    if (now.pinned > warm->pinned + options.pinned) {
        soak_wrong("%zu KB pinned, %zu after the warm-up", now.pinned / SOAK_K,
                   warm->pinned / SOAK_K);
    }
    if (now.resident > warm->resident + options.growth + watch->epochs * options.leak) {
        soak_wrong("%zu MB resident, %zu after the warm-up", now.resident / SOAK_M,
                   warm->resident / SOAK_M);
    }
}

static void tell(const struct watch *watch, double seconds, const char *when)
{
    printf(
        "%s: rank %d, %.0f s, epoch %llu, %llu messages, %llu MB compared; resident %zu KB (warm "
        "%zu), pinned %zu KB (warm %zu), %d descriptors (warm %d)\n",
        when, soak.rank, seconds, (unsigned long long) soak.epoch,
        (unsigned long long) soak.messages, (unsigned long long) (soak.checked / SOAK_M),
        watch->last.resident / SOAK_K, watch->warm.resident / SOAK_K, watch->last.pinned / SOAK_K,
        watch->warm.pinned / SOAK_K, watch->last.descriptors, watch->warm.descriptors);
    fflush(stdout);
}

/* Rank 0's clock decides. */
static bool goes_on(const struct group *world, double passed)
{
    int more = passed < options.seconds && soak.epoch - options.first_epoch + 1 < options.epochs;

    alarm(options.hang);
    soak_mpi(MPI_Bcast(&more, 1, MPI_INT, 0, world->comm), "MPI_Bcast");
    return more;
}

static void run(const struct group *world)
{
    struct watch state = {.epochs = 0};
    double start, told = 0;
    bool more = true;

    run_warm_up(world);
    start = MPI_Wtime();
    for (soak.epoch = options.first_epoch; more; soak.epoch += more) {
        const double passed = MPI_Wtime() - start;

        run_epoch(world);
        watch(&state);
        if (passed - told > 60) {
            told = passed;
            tell(&state, passed, "still");
        }
        more = goes_on(world, passed);
    }
    alarm(0);
    tell(&state, MPI_Wtime() - start, "end");
}

/* ---- the command line ---- */

static size_t setting(const char *name, size_t initial)
{
    char variable[80];
    const char *value;
    char *end;
    size_t number;

    snprintf(variable, sizeof(variable), "OMPI_MCA_btl_rbuf_%s", name);
    value = getenv(variable);
    if (value == NULL) {
        return initial;
    }
    number = strtoul(value, &end, 10);
    return *end == 'k' ? number * SOAK_K : *end == 'm' ? number * SOAK_M : number;
}

static bool read_option(const char *name, const char *value)
{
    const double number = atof(value);

    if (strcmp(name, "--seed") == 0) {
        soak.seed = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--epoch") == 0) {
        options.first_epoch = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--epochs") == 0) {
        options.epochs = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--seconds") == 0) {
        options.seconds = number;
    } else if (strcmp(name, "--hang") == 0) {
        options.hang = (unsigned) number;
    } else if (strcmp(name, "--pause") == 0) {
        soak.pause_max = (unsigned) number;
    } else if (strcmp(name, "--ceiling") == 0) {
        options.ceiling = (size_t) (number * SOAK_M);
    } else if (strcmp(name, "--growth") == 0) {
        options.growth = (size_t) (number * SOAK_M);
    } else if (strcmp(name, "--leak") == 0) {
        options.leak = (size_t) (number * SOAK_K);
    } else if (strcmp(name, "--pinned") == 0) {
        options.pinned = (size_t) (number * SOAK_M);
    } else {
        return false;
    }
    return true;
}

static void read_options(int argc, char **argv)
{
    soak.seed = 1;
    soak.pause_max = 2000;
    soak.block = setting("block_size", 4 * SOAK_K) - BLOCK_FLAG;
    soak.largest = setting("largest_chunk", 256 * SOAK_K);
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 >= argc || !read_option(argv[i], argv[i + 1])) {
            fprintf(stderr, "soak: no option %s, or no value for it\n", argv[i]);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct group world = {.id = 0};

    read_options(argc, argv);
    signal(SIGALRM, hangs);
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
    MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* buffered sends answer there */
    MPI_Comm_rank(world.comm, &world.rank);
    MPI_Comm_size(world.comm, &world.ranks);
    soak.rank = world.rank;
    soak.ranks = world.ranks;
    if (world.ranks > SOAK_RANKS) {
        soak_wrong("more than %d ranks", SOAK_RANKS);
    }
    resources_open();
    buffers_open();
    run(&world);
    buffers_close();
    resources_close();
    MPI_Comm_free(&world.comm);
    MPI_Finalize();
    return 0;
}
