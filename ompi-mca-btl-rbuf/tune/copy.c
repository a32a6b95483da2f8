/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copies as the component does: block by block, with a flag between blocks, and with a checksum
 * where it makes one.
 */
#include "tune/copy.h"

#include <stdint.h>
#include <sys/mman.h>

#include "core/base/checksum.h"
#include "core/base/copy.h"
#include "common/clock.h"
#include "core/base/schedule.h"
#include "tune/rounds.h"

#define AT_ONCE  (64u << 10) /* bytes: shorter messages are copied several times, to be timed */
#define OFF_PAGE 16u         /* where malloc() puts large blocks */

enum direction { SEND, RECEIVE, DIRECTIONS };

struct work {
    unsigned char *message; /* tune_copy_bytes(TUNE_COPIES - 1) bytes */
    unsigned char *staging;
    size_t staging_blocks;
    size_t block; /* bytes */
    bool checked; /* with a checksum, which each side makes as it copies */
};

static void copy_message(const struct work *work, enum direction direction, size_t bytes)
{
    const size_t payload = work->block - RBUF_FLAG_BYTES;
    size_t at = 0;

    for (size_t block = 0; at < bytes; block++) {
        const size_t part = bytes - at < payload ? bytes - at : payload;
        unsigned char *stage = work->staging + block % work->staging_blocks * work->block;

        unsigned char *to = direction == SEND ? stage : work->message + at;
        const unsigned char *from = direction == SEND ? work->message + at : stage;

        if (work->checked) {
            (void) rbuf_copy_checksum(to, from, part);
        } else {
            rbuf_copy(to, from, part);
        }
        at += part;
    }
}

/* ns a message. */
static double time_copy(const struct work *work, enum direction direction, size_t bytes)
{
    const size_t times = bytes < AT_ONCE ? AT_ONCE / bytes : 1;
    double start;

    copy_message(work, direction, bytes);
    start = clock_ns();
    for (size_t i = 0; i < times; i++) {
        copy_message(work, direction, bytes);
    }
    return (clock_ns() - start) / (double) times;
}

static void to_speeds(const void *about, const double *times, double *values)
{
    (void) about;
    for (int i = 0; i < TUNE_COPIES; i++) {
        values[i] = (double) tune_copy_bytes(i) / times[i];
    }
}

static void measure(const struct work *work, struct tune_side *side, double seconds)
{
    static struct tune_samples samples[DIRECTIONS];
    struct tune_rounds rounds;

    samples[SEND].points = samples[RECEIVE].points = TUNE_COPIES;
    tune_rounds_open(&rounds, "how fast both processors copy", seconds);
    while (tune_rounds_next(&rounds, &samples[SEND])) {
        const int round = samples[SEND].rounds;

        for (int i = 0; i < TUNE_COPIES; i++) {
            for (int k = 0; k < DIRECTIONS; k++) {
                samples[k].ns[i][round] = time_copy(work, (enum direction) k, tune_copy_bytes(i));
            }
        }
    }
    samples[RECEIVE].rounds = samples[SEND].rounds;
    tune_constants(&samples[SEND], to_speeds, NULL, side->send_copy, TUNE_COPIES);
    tune_constants(&samples[RECEIVE], to_speeds, NULL, side->receive_copy, TUNE_COPIES);
}

bool tune_copy(struct tune_side *side, size_t staging, size_t block, double seconds)
{
    const size_t longest = tune_copy_bytes(TUNE_COPIES - 1) + OFF_PAGE;
    const int protection = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    unsigned char *memory = mmap(NULL, longest + staging, protection, flags, -1, 0);
    struct work work = {.message = memory + staging + OFF_PAGE,
                        .staging = memory,
                        .staging_blocks = staging / block,
                        .block = block,
                        .checked = side->subblock == RBUF_SUBBLOCK_CHECKED};

    if (memory == MAP_FAILED) {
        return false;
    }
    measure(&work, side, seconds);
    (void) munmap(memory, longest + staging);
    return true;
}
