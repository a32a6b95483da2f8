/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The copy: every size up to 9000 bytes at sampled alignments, every pair of alignments at the
 * sizes where its paths change, and nothing written beside the target.
 */
#include "core/base/copy.h"
#include "random.h"
#include "unit.h"

#define LARGEST 9000u
#define ALIGN   64u
#define GUARD   64u
#define SPACE   (GUARD + ALIGN + LARGEST + GUARD)

static unsigned char source[SPACE], sink[SPACE];

static void check_copy(size_t from, size_t to, size_t bytes)
{
    unsigned char *target = sink + GUARD + to;

    memset(target - GUARD, 0xa5, bytes + 2 * GUARD);
    rbuf_copy(target, source + from, bytes);
    ck_assert_msg(memcmp(target, source + from, bytes) == 0, "%zu bytes, %zu to %zu", bytes, from,
                  to);
    for (size_t i = 0; i < GUARD; i++) {
        ck_assert_msg(target[-1 - (ptrdiff_t) i] == 0xa5 && target[bytes + i] == 0xa5,
                      "%zu bytes, %zu to %zu: wrote beside the target", bytes, from, to);
    }
}

static void fill_source(void)
{
    sim_pattern_fill(source, sizeof(source), 1);
}

START_TEST(every_size)
{
    struct sim_random random = {5};

    fill_source();
    for (size_t bytes = 0; bytes <= LARGEST; bytes++) {
        check_copy(0, 0, bytes);
        check_copy(sim_random_below(&random, ALIGN), sim_random_below(&random, ALIGN), bytes);
    }
}
END_TEST

START_TEST(every_alignment)
{
    const size_t sizes[] = {1, 7, 8, 255, 256, 257, 383, 384, 511, 4080, 4088, 4096, LARGEST};

    fill_source();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t from = 0; from < ALIGN; from++) {
            for (size_t to = 0; to < ALIGN; to++) {
                check_copy(from, to, sizes[i]);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");

    unit_add(suite, every_size);
    unit_add(suite, every_alignment);
    return unit_run(suite);
}
