/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What peers cost: memory, pinned memory and file descriptors of a process before it has spoken to
 * anybody, after it has spoken to one peer, and after all have spoken to all at the same moment.
 * Every byte that is said is compared. Usage: scale [one]; with "one" they stop after one peer.
 *
 * Rank 0 prints a line a moment, the mean and the most of all ranks:
 *     scale: ranks=64 peers=1 what=heap mean=123.4 most=130 unit=KB
 */
#include "soak.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL = 100, LARGE = 60000, TAG_SMALL = 1, TAG_LARGE = 2 };

enum what { HEAP, PRIVATE, ADAPTER, PINNED, DESCRIPTORS, WHATS };

static const char *const names[WHATS] = {"heap", "private", "adapter", "pinned", "descriptors"};

struct moment {
    int peers; /* spoken to */
    double held[WHATS];
    double seconds; /* that speaking took */
};

struct soak soak;

_Noreturn void soak_wrong(const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    fprintf(stderr, "wrong: rank %d: %s\n", soak.rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void soak_mpi(int code, const char *what)
{
    if (code != MPI_SUCCESS) {
        soak_wrong("%s failed", what);
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

/* ---- what the process holds ---- */

/* KB of private memory, and of what an emulated adapter keeps in its shared file. */
static void look_at_maps(double *private, double *adapter)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool emulated = false;
    unsigned long kb;

    *private = *adapter = 0;
    if (file == NULL) {
        soak_wrong("/proc/self/smaps cannot be read");
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strchr(line, '-') != NULL && strchr(line, ':') > strchr(line, ' ')) {
            emulated = strstr(line, "/softhca") != NULL;
        } else if (!emulated && (sscanf(line, "Private_Dirty: %lu", &kb) == 1 ||
                                 sscanf(line, "Private_Hugetlb: %lu", &kb) == 1)) {
            *private += (double) kb;
        } else if (emulated && sscanf(line, "Rss: %lu", &kb) == 1) {
            *adapter += (double) kb;
        }
    }
    fclose(file);
}

static void look(struct moment *moment, int peers)
{
    const struct mallinfo2 heap = mallinfo2();
    struct resources resources;

    resources_look(&resources);
    moment->peers = peers;
    moment->held[HEAP] = (double) (heap.uordblks + heap.hblkhd) / SOAK_K;
    moment->held[PINNED] = (double) resources.pinned / SOAK_K;
    moment->held[DESCRIPTORS] = resources.descriptors;
    look_at_maps(&moment->held[PRIVATE], &moment->held[ADAPTER]);
}

/* ---- speaking ---- */

static uint64_t key_of(int from, int to, int tag)
{
    return ((uint64_t) from * SOAK_RANKS + (uint64_t) to) * 8 + (uint64_t) tag;
}

/* One small and one large message with each of the peers, all at once. */
static void speak(const int *peers, int count)
{
    const size_t bytes = SMALL + LARGE;
    char *out = soak_memory((size_t) count * bytes);
    char *in = soak_memory((size_t) count * bytes);
    MPI_Request *requests = soak_memory(4 * (size_t) count * sizeof(*requests));
    int used = 0;

    for (int i = 0; i < count; i++) {
        char *small = out + (size_t) i * bytes, *large = small + SMALL;
        char *back = in + (size_t) i * bytes;

        pattern_fill(small, SMALL, key_of(soak.rank, peers[i], TAG_SMALL), 0);
        pattern_fill(large, LARGE, key_of(soak.rank, peers[i], TAG_LARGE), 0);
        MPI_Isend(small, SMALL, MPI_BYTE, peers[i], TAG_SMALL, MPI_COMM_WORLD, &requests[used++]);
        MPI_Isend(large, LARGE, MPI_BYTE, peers[i], TAG_LARGE, MPI_COMM_WORLD, &requests[used++]);
        MPI_Irecv(back, SMALL, MPI_BYTE, peers[i], TAG_SMALL, MPI_COMM_WORLD, &requests[used++]);
        MPI_Irecv(back + SMALL, LARGE, MPI_BYTE, peers[i], TAG_LARGE, MPI_COMM_WORLD,
                  &requests[used++]);
    }
    soak_mpi(MPI_Waitall(used, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    for (int i = 0; i < count; i++) {
        const char *back = in + (size_t) i * bytes;

        if (pattern_match(back, SMALL, key_of(peers[i], soak.rank, TAG_SMALL), 0) != SMALL ||
            pattern_match(back + SMALL, LARGE, key_of(peers[i], soak.rank, TAG_LARGE), 0) !=
                LARGE) {
            soak_wrong("what rank %d said is not right", peers[i]);
        }
    }
    free(requests);
    free(in);
    free(out);
}

/* ---- waiting for each other, without a word that MPI would carry ---- */

static _Atomic int *arrived;

static void meet_open(void)
{
    char name[64];
    int file;

    snprintf(name, sizeof(name), "/rbuf-scale-%d",
             (int) getppid()); /* the launcher's: all have one */
    file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof(*arrived)) != 0) {
        soak_wrong("no shared memory");
    }
    arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (arrived == MAP_FAILED) {
        soak_wrong("no shared memory");
    }
    close(file);
}

/* Returns when all have come here as often as this process; MPI makes progress meanwhile. */
static void meet(void)
{
    static int times;
    int flag;

    times++;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < times * soak.ranks) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        usleep(1000);
    }
}

static void meet_close(void)
{
    char name[64];

    snprintf(name, sizeof(name), "/rbuf-scale-%d", (int) getppid());
    munmap((void *) arrived, sizeof(*arrived));
    if (soak.rank == 0) {
        shm_unlink(name);
    }
}

/* ---- telling ---- */

static void tell(const struct moment *moment)
{
    double sum[WHATS], most[WHATS], longest;

    MPI_Reduce(moment->held, sum, WHATS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(moment->held, most, WHATS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&moment->seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int what = 0; what < WHATS && soak.rank == 0; what++) {
        printf("scale: ranks=%d peers=%d what=%s mean=%.2f most=%.2f unit=%s\n", soak.ranks,
               moment->peers, names[what], sum[what] / soak.ranks, most[what],
               what == DESCRIPTORS ? "files" : "KB");
    }
    if (soak.rank == 0) {
        printf("scale: ranks=%d peers=%d what=time mean=%.2f most=%.2f unit=s\n", soak.ranks,
               moment->peers, longest, longest);
    }
}

int main(int argc, char **argv)
{
    const bool only_one = argc > 1 && strcmp(argv[1], "one") == 0;
    struct moment moments[3] = {0};
    int peers[SOAK_RANKS];
    int count = 0;
    double start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &soak.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &soak.ranks);
    if (soak.ranks > SOAK_RANKS || soak.ranks % 2 != 0) {
        soak_wrong("wants an even number of ranks, %d at most", SOAK_RANKS);
    }
    resources_open();
    meet_open();
    meet();
    look(&moments[0], 0);
    meet();
    start = MPI_Wtime();
    peers[0] = soak.rank ^ 1;
    speak(peers, 1);
    moments[1].seconds = MPI_Wtime() - start;
    meet();
    look(&moments[1], 1);
    meet();
    if (!only_one) {
        for (int i = 1; i < soak.ranks; i++) {
            peers[count++] = (soak.rank + i) % soak.ranks;
        }
        start = MPI_Wtime();
        speak(peers, count);
        moments[2].seconds = MPI_Wtime() - start;
        meet();
        look(&moments[2], count);
        meet();
    }
    meet_close();
    for (int i = 0; i < (only_one ? 2 : 3); i++) {
        tell(&moments[i]);
    }
    resources_close();
    MPI_Finalize();
    return 0;
}
