/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * NAS IS, the parallel integer sort: ten timed rankings of one set of keys over MPI.
 *
 * An iteration puts the keys into bucket order, adds up the bucket counts over all ranks, deals
 * consecutive buckets to the ranks, exchanges the keys with one alltoallv, and counts the keys of
 * its own range. With --one-sided each bucket is put into its owner's window instead, in one fence
 * epoch. The exchange buffers live in mappings of their own, which --fresh-buffers
 * replaces before every iteration; neither mapping, touching nor unmapping is on the clock.
 * Exit status: 0 verified, 1 not verified or no memory, 2 bad usage.
 */
#define _GNU_SOURCE
#include "classes.h"

#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum buffers { BUFFERS_REUSED, BUFFERS_FRESH };
enum exchange { EXCHANGE_ALLTOALLV, EXCHANGE_PUTS };
enum output { OUTPUT_LINE, OUTPUT_JSON };

struct options {
    const struct is_class *cls;
    enum buffers buffers;
    enum exchange exchange;
    enum output output;
};

/* One mapping of keys; `capacity` in keys. */
struct key_map {
    uint32_t *keys;
    size_t capacity;
};

struct run {
    const struct is_class *cls;
    enum exchange exchange;
    int rank, ranks;
    uint32_t *keys; /* this rank's part of the sequence */
    size_t count;
    struct key_map send, recv;
    size_t received;
    int *bucket_count;  /* own keys a bucket, then the test keys this rank holds */
    int *bucket_total;  /* the same over all ranks */
    size_t *bucket_pos; /* where the next key of a bucket goes */
    int *bucket_owner;  /* the rank that a bucket is dealt to */
    int *send_count, *send_start, *recv_count, *recv_start;
    int *put_start;    /* where this rank's keys go in the receive buffer of each */
    uint32_t *at_most; /* at_most[k - min_key] = received keys <= k */
    uint32_t min_key, key_range;
    int64_t lesser; /* keys on the ranks below this one */
    int passed;     /* test keys found at their rank by this rank */
};

static const char USAGE[] =
    "usage: nas_is [--class S|W|A|B|C|D] [--fresh-buffers] [--one-sided] [--json]\n"
    "  --class C        problem class (default S)\n"
    "  --fresh-buffers  map the send and the receive buffer of the key exchange anew for every\n"
    "                   iteration. They are mapped and touched before the iteration's clock\n"
    "                   starts and unmapped after it stops: page faults are not measured, what\n"
    "                   the network does about memory it has not seen is.\n"
    "  --one-sided      exchange the keys by MPI_Put, one for each bucket, in a window that is "
    "made\n"
    "                   for every iteration\n"
    "  --json           print the result as one JSON object instead of key=value pairs\n"
    "Start it with mpirun on a power of two of ranks: 1 to 128 for class S, 1 to 1024 for W to C,\n"
    "4 to 1024 for D. The time is the sum of ten iterations, each begun together after a barrier,\n"
    "maximum over the ranks, the same for both kinds of buffers. Exit status 0 if the ranks of\n"
    "the test keys and the sorted sequence are right, 1 if not, 2 on bad usage.\n";

/* Ends the whole job: for causes that leave the other ranks nothing to do. */
static void fail(const struct run *run, const char *what)
{
    fprintf(stderr, "nas_is: rank %d: %s\n", run->rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static size_t map_bytes(size_t capacity)
{
    return (capacity * sizeof(uint32_t) + 4095) & ~(size_t) 4095;
}

static void map_keys(const struct run *run, struct key_map *map, size_t capacity)
{
    void *address = mmap(NULL, map_bytes(capacity + 1), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (address == MAP_FAILED) {
        fail(run, "no memory for the keys; take a smaller class or more ranks on other nodes");
    }
    memset(address, 0xff, map_bytes(capacity + 1));
    map->keys = address;
    map->capacity = capacity;
}

static void unmap_keys(struct key_map *map)
{
    munmap(map->keys, map_bytes(map->capacity + 1));
    *map = (struct key_map){0};
}

static void renew_keys(const struct run *run, struct key_map *map)
{
    const size_t capacity = map->capacity;

    unmap_keys(map);
    map_keys(run, map, capacity);
}

static void *array(const struct run *run, size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        fail(run, "no memory for the counters");
    }
    return memory;
}

static size_t bucket_number(const struct is_class *cls)
{
    return (size_t) 1 << cls->buckets_log2;
}

static void run_init(struct run *run, const struct is_class *cls)
{
    const size_t buckets = bucket_number(cls);

    run->cls = cls;
    run->count = ((size_t) 1 << cls->keys_log2) / (size_t) run->ranks;
    run->keys = array(run, run->count, sizeof *run->keys);
    is_generate_keys(cls, (int64_t) run->count * run->rank, run->keys, run->count);
    map_keys(run, &run->send, run->count);
    map_keys(run, &run->recv, run->count + run->count / 4);
    run->bucket_count = array(run, buckets + IS_TEST_KEYS, sizeof(int));
    run->bucket_total = array(run, buckets + IS_TEST_KEYS, sizeof(int));
    run->bucket_pos = array(run, buckets, sizeof(size_t));
    run->bucket_owner = array(run, buckets, sizeof(int));
    run->put_start = array(run, (size_t) run->ranks, sizeof(int));
    run->send_count = array(run, (size_t) run->ranks, sizeof(int));
    run->send_start = array(run, (size_t) run->ranks, sizeof(int));
    run->recv_count = array(run, (size_t) run->ranks, sizeof(int));
    run->recv_start = array(run, (size_t) run->ranks, sizeof(int));
    run->at_most = array(run, (size_t) 1 << cls->max_key_log2, sizeof(uint32_t));
}

static void run_free(struct run *run)
{
    unmap_keys(&run->send);
    unmap_keys(&run->recv);
    free(run->keys);
    free(run->bucket_count);
    free(run->bucket_total);
    free(run->bucket_pos);
    free(run->bucket_owner);
    free(run->put_start);
    free(run->send_count);
    free(run->send_start);
    free(run->recv_count);
    free(run->recv_start);
    free(run->at_most);
}

/* Sorts the own keys into bucket order in the send buffer; the test keys are noted on the way. */
static void fill_buckets(struct run *run)
{
    const size_t buckets = bucket_number(run->cls);
    const int shift = run->cls->max_key_log2 - run->cls->buckets_log2;
    const int64_t first = (int64_t) run->count * run->rank;
    size_t pos = 0;

    memset(run->bucket_count, 0, (buckets + IS_TEST_KEYS) * sizeof(int));
    for (int i = 0; i < IS_TEST_KEYS; i++) {
        const int64_t at = run->cls->test[i].index - first;
        if (at >= 0 && at < (int64_t) run->count) {
            run->bucket_count[buckets + (size_t) i] = (int) run->keys[at];
        }
    }
    for (size_t i = 0; i < run->count; i++) {
        run->bucket_count[run->keys[i] >> shift]++;
    }
    for (size_t b = 0; b < buckets; b++) {
        run->bucket_pos[b] = pos;
        pos += (size_t) run->bucket_count[b];
    }
    for (size_t i = 0; i < run->count; i++) {
        const uint32_t key = run->keys[i];
        run->send.keys[run->bucket_pos[key >> shift]++] = key;
    }
}

/*
 * Deals consecutive buckets to the ranks: a rank's share ends with the bucket that takes the sum
 * to its multiple of the average. Sets this rank's key range and the send counts.
 */
static void deal_buckets(struct run *run)
{
    const size_t buckets = bucket_number(run->cls);
    const int shift = run->cls->max_key_log2 - run->cls->buckets_log2;
    int64_t sum = 0;
    int owner = 0;

    memset(run->send_count, 0, (size_t) run->ranks * sizeof(int));
    run->min_key = 0;
    run->key_range = 0;
    run->lesser = 0;
    for (size_t b = 0; b < buckets; b++) {
        if (owner == run->rank) {
            if (run->key_range == 0) {
                run->min_key = (uint32_t) b << shift;
                run->lesser = sum;
            }
            run->key_range += (uint32_t) 1 << shift;
        }
        run->bucket_owner[b] = owner;
        run->send_count[owner] += run->bucket_count[b];
        sum += run->bucket_total[b];
        while (owner < run->ranks - 1 && sum >= (int64_t) (owner + 1) * (int64_t) run->count) {
            owner++;
        }
    }
}

/* One put for each bucket that has keys here, behind those of the lower buckets and lower ranks. */
static void put_buckets(struct run *run)
{
    const size_t buckets = bucket_number(run->cls);
    const uint32_t *from = run->send.keys;
    MPI_Win win;

    MPI_Alltoall(run->recv_start, 1, MPI_INT, run->put_start, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Win_create(run->recv.keys, (MPI_Aint) (run->recv.capacity * sizeof(uint32_t)),
                   (int) sizeof(uint32_t), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (size_t b = 0; b < buckets; b++) {
        const int owner = run->bucket_owner[b], count = run->bucket_count[b];

        if (count > 0) {
            MPI_Put(from, count, MPI_UINT32_T, owner, run->put_start[owner], count, MPI_UINT32_T,
                    win);
        }
        run->put_start[owner] += count;
        from += count;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
}

static void exchange_keys(struct run *run)
{
    size_t received = 0, sent = 0;

    MPI_Alltoall(run->send_count, 1, MPI_INT, run->recv_count, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < run->ranks; r++) {
        run->send_start[r] = (int) sent;
        run->recv_start[r] = (int) received;
        sent += (size_t) run->send_count[r];
        received += (size_t) run->recv_count[r];
    }
    if (received > INT32_MAX) {
        fail(run, "more keys than MPI counts can name; take more ranks");
    }
    if (received > run->recv.capacity) {
        /* Seen in the untimed iteration when few buckets are dealt to many ranks. */
        unmap_keys(&run->recv);
        map_keys(run, &run->recv, received + received / 4);
    }
    if (run->exchange == EXCHANGE_PUTS) {
        put_buckets(run);
    } else {
        MPI_Alltoallv(run->send.keys, run->send_count, run->send_start, MPI_UINT32_T,
                      run->recv.keys, run->recv_count, run->recv_start, MPI_UINT32_T,
                      MPI_COMM_WORLD);
    }
    run->received = received;
}

static void rank_keys(struct run *run)
{
    uint32_t *const at_most = run->at_most;

    memset(at_most, 0, run->key_range * sizeof *at_most);
    for (size_t i = 0; i < run->received; i++) {
        at_most[run->recv.keys[i] - run->min_key]++;
    }
    for (uint32_t k = 1; k < run->key_range; k++) {
        at_most[k] += at_most[k - 1];
    }
}

/* Compares the ranks of those test keys that fell into this rank's range. */
static void check_test_keys(struct run *run, int t)
{
    const size_t buckets = bucket_number(run->cls);

    for (int i = 0; i < IS_TEST_KEYS; i++) {
        const uint32_t offset = (uint32_t) run->bucket_total[buckets + (size_t) i] - run->min_key;
        if (offset >= run->key_range) {
            continue;
        }
        const int64_t rank = run->lesser + (offset > 0 ? run->at_most[offset - 1] : 0);
        const int64_t expected = is_expected_rank(run->cls, i, t);
        if (rank == expected) {
            run->passed++;
        } else {
            fprintf(stderr, "nas_is: iteration %d: test key %d has rank %lld, expected %lld\n", t,
                    i, (long long) rank, (long long) expected);
        }
    }
}

static void iterate(struct run *run, int t)
{
    if (run->rank == 0) {
        run->keys[t] = (uint32_t) t;
        run->keys[t + IS_ITERATIONS] = ((uint32_t) 1 << run->cls->max_key_log2) - (uint32_t) t;
    }
    fill_buckets(run);
    MPI_Allreduce(run->bucket_count, run->bucket_total,
                  (int) bucket_number(run->cls) + IS_TEST_KEYS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    deal_buckets(run);
    exchange_keys(run);
    rank_keys(run);
    check_test_keys(run, t);
}

/* The ten iterations; returns this rank's seconds. */
static double iterate_all(struct run *run, enum buffers buffers)
{
    double seconds = 0;

    iterate(run, 1); /* untimed: connections, first touch */
    run->passed = 0;
    for (int t = 1; t <= IS_ITERATIONS; t++) {
        if (buffers == BUFFERS_FRESH) {
            renew_keys(run, &run->send);
            renew_keys(run, &run->recv);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        iterate(run, t);
        seconds += MPI_Wtime() - start;
    }
    return seconds;
}

/* Number, sum and sum of squares (mod 2^64): equal for the keys sent and the keys received. */
static void tally(const uint32_t *keys, size_t count, uint64_t sums[3])
{
    sums[0] = count;
    sums[1] = sums[2] = 0;
    for (size_t i = 0; i < count; i++) {
        sums[1] += keys[i];
        sums[2] += (uint64_t) keys[i] * keys[i];
    }
}

/*
 * Full verification: puts the received keys in their places and checks that they ascend, on this
 * rank and from the ranks before it, and that no key was lost or made up. Uses up at_most[].
 */
static bool sequence_sorted(struct run *run)
{
    uint64_t sums[6], totals[6];
    int64_t last = -1, before = -1;
    struct key_map sorted;
    bool ascends = true;

    map_keys(run, &sorted, run->received);
    for (size_t i = 0; i < run->received; i++) {
        const uint32_t key = run->recv.keys[i];
        sorted.keys[--run->at_most[key - run->min_key]] = key;
    }
    for (size_t i = 0; i < run->received; i++) {
        ascends = ascends && (int64_t) sorted.keys[i] >= last;
        last = sorted.keys[i];
    }
    MPI_Exscan(&last, &before, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (run->rank > 0 && run->received > 0) {
        ascends = ascends && (int64_t) sorted.keys[0] >= before;
    }
    tally(run->keys, run->count, sums);
    tally(sorted.keys, run->received, sums + 3);
    unmap_keys(&sorted);
    MPI_Allreduce(sums, totals, 6, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return ascends && memcmp(totals, totals + 3, 3 * sizeof totals[0]) == 0;
}

static void report(const struct options *options, int ranks, double seconds, int partial, bool full)
{
    const char *const formats[] = {
        [OUTPUT_LINE] = "nas_is class=%c ranks=%d buffers=%s seconds=%.6f mops=%.3f verified=%s "
                        "partial=%d/%d full=%s\n",
        [OUTPUT_JSON] =
            "{\"class\": \"%c\", \"ranks\": %d, \"buffers\": \"%s\", \"seconds\": %.6f, "
            "\"mops\": %.3f, \"verified\": %s, \"partial\": \"%d/%d\", \"full\": %s}\n",
    };
    const char *const words[][2] = {
        [OUTPUT_LINE] = {"no", "yes"}, [OUTPUT_JSON] = {"false", "true"}};
    const int tests = IS_TEST_KEYS * IS_ITERATIONS;
    const double keys = (double) ((int64_t) 1 << options->cls->keys_log2);
    const bool verified = partial == tests && full;

    printf(formats[options->output], options->cls->name, ranks,
           options->buffers == BUFFERS_FRESH ? "fresh" : "reused", seconds,
           IS_ITERATIONS * keys / seconds / 1e6, words[options->output][verified], partial, tests,
           words[options->output][full]);
}

/* Rank 0 alone speaks of usage; every rank reads the same arguments, so all leave together. */
static void usage_error(int rank, const char *format, const char *value)
{
    if (rank == 0) {
        fprintf(stderr, "nas_is: ");
        fprintf(stderr, format, value);
        fprintf(stderr, " (nas_is --help explains)\n");
    }
    MPI_Finalize();
    exit(2);
}

static void parse(struct options *options, int rank, int argc, char **argv)
{
    static const struct option known[] = {
        {"class", required_argument, NULL, 'c'}, {"fresh-buffers", no_argument, NULL, 'f'},
        {"one-sided", no_argument, NULL, 'o'},   {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    int letter;

    opterr = 0;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (letter) {
        case 'c':
            options->cls = strlen(optarg) == 1 ? is_class_find(optarg[0]) : NULL;
            if (options->cls == NULL) {
                usage_error(rank, "there is no class '%s'; classes are S, W, A, B, C, D", optarg);
            }
            break;
        case 'o':
            options->exchange = EXCHANGE_PUTS;
            break;
        case 'f':
            options->buffers = BUFFERS_FRESH;
            break;
        case 'j':
            options->output = OUTPUT_JSON;
            break;
        case 'h':
            if (rank == 0) {
                fputs(USAGE, stdout);
            }
            MPI_Finalize();
            exit(0);
        default:
            usage_error(rank, "unknown or incomplete option '%s'", argv[optind - 1]);
        }
    }
    if (optind < argc) {
        usage_error(rank, "unexpected argument '%s'", argv[optind]);
    }
}

static void check_ranks(const struct is_class *cls, int rank, int ranks)
{
    char text[128];

    if ((ranks & (ranks - 1)) == 0 && ranks >= cls->min_ranks && ranks <= cls->max_ranks) {
        return;
    }
    snprintf(text, sizeof text, "%d ranks: class %c runs on a power of two from %d to %d", ranks,
             cls->name, cls->min_ranks, cls->max_ranks);
    usage_error(rank, "%s", text);
}

int main(int argc, char **argv)
{
    struct options options = {.cls = is_class_find('S')};
    struct run run = {0};
    double seconds, slowest;
    int partial, sorted, all_sorted;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    parse(&options, run.rank, argc, argv);
    check_ranks(options.cls, run.rank, run.ranks);

    run.exchange = options.exchange;
    run_init(&run, options.cls);
    seconds = iterate_all(&run, options.buffers);
    sorted = sequence_sorted(&run);
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&run.passed, &partial, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&sorted, &all_sorted, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (run.rank == 0) {
        report(&options, run.ranks, slowest, partial, all_sorted);
    }
    run_free(&run);
    MPI_Finalize();
    return partial == IS_TEST_KEYS * IS_ITERATIONS && all_sorted ? 0 : 1;
}
