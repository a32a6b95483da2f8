/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long the parts of a message's way take that decide on its registration, in nanoseconds: the
 * median, and the 10th to 90th percentile.
 *
 *     choice_time table   a look-up of a buffer
 *     choice_time helper  what the main thread does for the helper
 *     choice_time copy    a copy of a message, and n
 *
 * A look-up is one in core/choice/frequent.h's table, with the default number of places and with
 * 2^20, beside what M. J. Rashti and A. Afsahi, 2011, compare in figure 3: 2^20 buckets with
 * chains, a balanced tree. What is done for the helper is timed alone and while another thread does
 * it, too, beside the spin lock of D. Li et al., 2011 (section 4.1). Copies are in the cache, and n
 * is R / (C - V), with graphene's registration for R and the look-up for V.
 */
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/statistics.h"
#include "core/choice/frequent.h"
#include "core/helper/helper.h"
#include "side.h"
#include "softhca/profile_figures.h"

#define SAMPLES 201u
#define CALLS   2000u /* in a sample */
#define BUCKETS (1u << 20)
#define MOST    (1u << 18) /* buffers */

struct buffer {
    uint64_t base;
    uint64_t uses;
    struct buffer *next;
};

static struct rbuf_frequent table;
static struct buffer buffers[MOST];
static struct buffer **bucket;
static void *tree;
static uint32_t in_use;
static uint64_t seed = 1;

static uint64_t base_of(uint32_t buffer)
{
    return 0x10000000 + (uint64_t) buffer * 8192;
}

static uint32_t any(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t) (seed >> 33) % in_use;
}

/* Runs `call` and prints what one takes. */
static double time_of(void (*call)(void))
{
    double sample[SAMPLES], median;

    for (unsigned i = 0; i < SAMPLES; i++) {
        double start = clock_ns();

        for (unsigned k = 0; k < CALLS; k++) {
            call();
        }
        sample[i] = (clock_ns() - start) / CALLS;
    }
    median = stats_median(sample, SAMPLES);
    printf(" %.1f (%.1f - %.1f) |", median, sample[SAMPLES / 10],
           sample[SAMPLES - 1 - SAMPLES / 10]);
    return median;
}

/* ---- the table ---- */

static void look_up(void)
{
    (void) rbuf_frequent_use(&table, base_of(any()), 4096, 1);
}

static uint64_t bucket_of(uint64_t base)
{
    return base * UINT64_C(0x9e3779b97f4a7c15) >> 44;
}

static void look_up_chain(void)
{
    const uint64_t base = base_of(any());
    struct buffer *buffer = bucket[bucket_of(base)];

    while (buffer->base != base) {
        buffer = buffer->next;
    }
    buffer->uses++;
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = ((const struct buffer *) one)->base;
    const uint64_t b = ((const struct buffer *) other)->base;

    return (a > b) - (a < b);
}

static void look_up_tree(void)
{
    const struct buffer key = {.base = base_of(any())};

    (*(struct buffer **) tfind(&key, &tree, compare))->uses++;
}

static void open_table(uint64_t places)
{
    const struct rbuf_frequent_options options = {.buffers = places, .speculation = 1};

    if (rbuf_frequent_open(&table, &options) != 0) {
        side_die("choice_time: no memory");
    }
    for (uint32_t i = 0; i < in_use; i++) {
        (void) rbuf_frequent_use(&table, base_of(i), 4096, 1);
    }
}

static void time_table(void)
{
    uint32_t entered = 0;

    bucket = side_allocate(BUCKETS * sizeof(*bucket));
    printf("| buffers | 16384 places, ns | 2^20 places, ns | chains, ns | tree, ns |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (in_use = 64; in_use <= MOST; in_use *= 8) {
        for (; entered < in_use; entered++) {
            struct buffer *buffer = &buffers[entered];
            struct buffer **first = &bucket[bucket_of(base_of(entered))];

            *buffer = (struct buffer){.base = base_of(entered), .next = *first};
            *first = buffer;
            (void) tsearch(buffer, &tree, compare);
        }
        printf("| %u |", in_use);
        for (unsigned i = 0; i < 2; i++) {
            open_table(i == 0 ? 16384 : BUCKETS);
            (void) time_of(look_up);
            rbuf_frequent_close(&table);
        }
        (void) time_of(look_up_chain);
        (void) time_of(look_up_tree);
        printf("\n");
    }
}

static void time_copy(void)
{
    static unsigned char from[1 << 16], to[1 << 16];
    double sample[SAMPLES], look;

    in_use = 1024;
    open_table(16384);
    printf("| look-up, ns |");
    look = time_of(look_up);
    printf("\n\n| bytes | copy, ns | n |\n| --- | --- | --- |\n");
    for (size_t bytes = 512; bytes <= sizeof(from) / 2; bytes *= 2) {
        double copy;

        for (unsigned i = 0; i < SAMPLES; i++) {
            double start = clock_ns();

            for (unsigned k = 0; k < CALLS; k++) {
                memcpy(to, from, bytes);
                __asm__ volatile("" : : "r"(to) : "memory");
            }
            sample[i] = (clock_ns() - start) / CALLS;
        }
        copy = stats_median(sample, SAMPLES);
        if (copy > look) {
            printf(
                "| %zu | %.0f | %.0f |\n", bytes, copy,
                (SOFTHCA_GRAPHENE_REG + SOFTHCA_GRAPHENE_REG_PAGE * (double) (bytes / 4096 + 1)) /
                    (copy - look));
        } else {
            printf("| %zu | %.0f | never |\n", bytes, copy);
        }
    }
    rbuf_frequent_close(&table);
}

/* ---- the helper ---- */

static struct rbuf_helper helper;
static _Atomic bool locked, over;

/* Taken and given back; the list of what was given back is taken, as the helper does. */
static void take_and_give(void)
{
    struct rbuf_mr *mr;
    enum rbuf_mr_taken taken = rbuf_mr_take(&helper.mrs, base_of(0), 8192, 1, &mr);

    if (taken == RBUF_MR_TO_REGISTER) {
        rbuf_mr_publish(mr, &helper, 1);
        taken = RBUF_MR_TAKEN;
    }
    if (taken == RBUF_MR_TAKEN) {
        (void) rbuf_mr_give(&helper.mrs, mr);
    }
}

static void put_point(void)
{
    struct rbuf_use point = {.time_ns = 1, .base = base_of(0), .bytes = 8192};

    (void) rbuf_use_queue_put(&helper.points, &point);
    (void) rbuf_use_queue_get(&helper.points, &point);
}

static void spin(void)
{
    bool is = false;

    while (!atomic_compare_exchange_weak_explicit(&locked, &is, true, memory_order_acquire,
                                                  memory_order_relaxed)) {
        is = false;
    }
    atomic_store_explicit(&locked, false, memory_order_release);
}

static void *contend(void *call)
{
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        (*(void (**)(void)) call)();
    }
    return NULL;
}

static void time_both(const char *name, void (*call)(void), void (*other)(void), const char *paper)
{
    pthread_t thread;

    printf("| %s |", name);
    (void) time_of(call);
    atomic_store(&over, false);
    if (pthread_create(&thread, NULL, contend, &other) != 0) {
        side_die("choice_time: no thread");
    }
    (void) time_of(call);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    printf(" %s |\n", paper);
}

static void put_other(void)
{
    const struct rbuf_use point = {.time_ns = 1, .base = base_of(1), .bytes = 8192};

    (void) rbuf_use_queue_put(&helper.points, &point);
}

static void time_helper(void)
{
    const struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;

    if (rbuf_helper_open(&helper, &options) != 0) {
        side_die("choice_time: no memory");
    }
    printf("| | alone, ns | contended, ns | Li et al., ns |\n| --- | --- | --- | --- |\n");
    time_both("spin lock, taken and freed", spin, spin, "18, 72");
    time_both("region, taken and given back", take_and_give, take_and_give, "");
    time_both("point, put and got", put_point, put_other, "");
    rbuf_helper_close(&helper);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "table") == 0) {
        time_table();
    } else if (strcmp(what, "helper") == 0) {
        time_helper();
    } else if (strcmp(what, "copy") == 0) {
        time_copy();
    } else {
        fprintf(stderr, "usage: choice_time table | helper | copy\n");
        return 2;
    }
    return EXIT_SUCCESS;
}
