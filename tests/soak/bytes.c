/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The bytes of messages, and lengths worth drawing. */
#include "soak.h"

#include <string.h>

#define KEY_STEP  UINT64_C(0x9e3779b97f4a7c15)
#define WORD_STEP UINT64_C(0xd1342543de82ef95)
#define MIX       UINT64_C(0xbf58476d1ce4e5b9)

/* Words 8 bytes long; neighbours and keys differ in all of their bytes. */
static uint64_t word_at(uint64_t key, size_t i)
{
    uint64_t x = key * KEY_STEP + i * WORD_STEP;

    x ^= x >> 29;
    return x * MIX;
}

/* The number by which an odd one gives 1: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t is = odd;

    for (int bits = 3; bits < 64; bits *= 2) {
        is *= 2 - odd * is;
    }
    return is;
}

bool pattern_locate(const void *memory, size_t bytes, uint64_t key, size_t *at)
{
    uint64_t x;

    for (size_t shift = 0; shift < 8 && shift + sizeof(x) <= bytes; shift++) {
        memcpy(&x, (const char *) memory + shift, sizeof(x));
        x *= inverse(MIX);
        x ^= x >> 29 ^ x >> 58;
        x = (x - key * KEY_STEP) * inverse(WORD_STEP);
        if (x * 8 < PATTERN_LONGEST && x * 8 >= shift) {
            *at = x * 8 - shift;
            return true;
        }
    }
    return false;
}

void pattern_fill(void *memory, size_t bytes, uint64_t key, size_t from)
{
    char *to = memory;
    size_t done = 0;

    while (done < bytes) {
        const size_t at = from + done;
        const size_t skip = at % 8;
        const size_t most = 8 - skip;
        const size_t here = bytes - done < most ? bytes - done : most;
        const uint64_t word = word_at(key, at / 8);

        memcpy(to + done, (const char *) &word + skip, here);
        done += here;
        for (; bytes - done >= 8; done += 8) {
            const uint64_t next = word_at(key, (from + done) / 8);
            memcpy(to + done, &next, 8);
        }
    }
}

/* The first difference of up to eight bytes. */
static size_t differ(const char *memory, const char *wanted, size_t bytes)
{
    size_t i = 0;

    while (i < bytes && memory[i] == wanted[i]) {
        i++;
    }
    return i;
}

size_t pattern_match(const void *memory, size_t bytes, uint64_t key, size_t from)
{
    const char *is = memory;
    size_t done = 0;

    while (done < bytes) {
        const size_t at = from + done;
        const size_t skip = at % 8;
        const size_t most = 8 - skip;
        const size_t here = bytes - done < most ? bytes - done : most;
        const uint64_t word = word_at(key, at / 8);
        const char *wanted = (const char *) &word + skip;

        if (memcmp(is + done, wanted, here) != 0) {
            return done + differ(is + done, wanted, here);
        }
        done += here;
    }
    return bytes;
}

size_t untouched_match(const void *memory, size_t bytes)
{
    const unsigned char *is = memory;

    if (bytes == 0 || (is[0] == SOAK_UNTOUCHED && memcmp(is, is + 1, bytes - 1) == 0)) {
        return bytes;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (is[i] != SOAK_UNTOUCHED) {
            return i;
        }
    }
    return bytes;
}

/* Any length between, each power of two as likely as the next. */
static size_t any_scale(struct dice *dice, size_t least, size_t most)
{
    size_t top = least;

    while (top < most && !dice_percent(dice, 20)) {
        top *= 2;
    }
    return dice_between(dice, least, top < most ? top : most);
}

/* `bytes` or a little beside it. */
static size_t near(struct dice *dice, size_t bytes, size_t by)
{
    const size_t shifted = bytes + dice_below(dice, 2 * by + 1);

    return shifted < by ? 0 : shifted - by;
}

size_t dice_bytes(struct dice *dice, size_t most)
{
    /* inline and sendi, sizes of control messages, the eager limit, fragments of packed data */
    static const size_t limits[] = {
        0,           256,        512, 4096, 12 * SOAK_K - 32, 12 * SOAK_K, 48 * SOAK_K - 80,
        48 * SOAK_K, 64 * SOAK_K};
    static const int weights[] = {10, 20, 20, 30, 12, 7, 2, -1};
    size_t bytes = 0;

    switch (dice_weighted(dice, weights)) {
    case 0:
        bytes = dice_below(dice, 17);
        break;
    case 1:
        bytes = any_scale(dice, 1, 12 * SOAK_K);
        break;
    case 2:
        bytes = near(dice, limits[dice_below(dice, sizeof(limits) / sizeof(limits[0]))], 70);
        break;
    case 3: /* whole blocks: what chunks of every schedule are made of */
        bytes = near(dice, any_scale(dice, 1, 200) * soak.block, 2);
        break;
    case 4:
        bytes = any_scale(dice, 12 * SOAK_K, SOAK_M);
        break;
    case 5: /* whole staging buffers */
        bytes = near(dice,
                     dice_between(dice, 1, 7) * (soak.largest / (soak.block + 8)) * soak.block, 1);
        break;
    case 6:
        bytes = any_scale(dice, SOAK_M, 16 * SOAK_M);
        break;
    }
    return bytes <= most ? bytes : dice_below(dice, most + 1);
}
