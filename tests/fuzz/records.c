/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Mutation of inputs that are records (see records.h). libFuzzer's own mutation still works inside
 * of a record, where its tables of compared values help.
 */
#include <stdbool.h>
#include <string.h>

#include "random.h"
#include "records.h"

bool record_take(const uint8_t **data, size_t *left, struct record *record)
{
    size_t bytes = *left < RECORD_BYTES ? *left : RECORD_BYTES;

    _Static_assert(sizeof(*record) == RECORD_BYTES, "a record has no padding");
    if (bytes == 0) {
        return false;
    }
    memset(record, 0, sizeof(*record));
    memcpy(record, *data, bytes);
    *data += bytes;
    *left -= bytes;
    return true;
}

enum mutation {
    MUTATE_BYTES, /* of one record */
    MUTATE_INSERT,
    MUTATE_REMOVE,
    MUTATE_REPEAT, /* a run of records, in place */
    MUTATE_MOVE,
    MUTATE_VALUE, /* a number that tends to matter */
    MUTATE_OPERANDS,
    MUTATIONS
};

static uint64_t telling_value(struct sim_random *random)
{
    uint64_t power = 1ull << sim_random_below(random, 64);

    switch (sim_random_below(random, 6)) {
    case 0:
        return sim_random_below(random, 8);
    case 1:
        return 0 - sim_random_below(random, 8);
    case 2:
        return power;
    case 3:
        return power - 1 - sim_random_below(random, 2);
    case 4:
        return power + sim_random_below(random, 64);
    default:
        return sim_random_next(random);
    }
}

static struct record random_record(struct sim_random *random)
{
    return (struct record){.code = (uint8_t) sim_random_next(random),
                           .which = (uint8_t) sim_random_next(random),
                           .amount = (uint16_t) telling_value(random),
                           .spare = (uint32_t) telling_value(random),
                           .value = telling_value(random)};
}

/* Makes room for `count` records at `place`; false if there is none. */
static bool open_gap(struct record *records, size_t *total, size_t most, size_t place, size_t count)
{
    if (*total + count > most) {
        return false;
    }
    memmove(records + place + count, records + place, (*total - place) * sizeof(*records));
    *total += count;
    return true;
}

static void mutate_one(struct record *records, size_t *total, size_t most,
                       struct sim_random *random)
{
    size_t place = sim_random_below(random, *total);
    size_t other = sim_random_below(random, *total);
    size_t run = 1 + sim_random_below(random, *total - place < 8 ? *total - place : 8);
    struct record kept;

    switch ((enum mutation) sim_random_below(random, MUTATIONS)) {
    case MUTATE_BYTES:
        (void) LLVMFuzzerMutate((uint8_t *) &records[place], sizeof(kept), sizeof(kept));
        break;
    case MUTATE_INSERT:
        if (open_gap(records, total, most, place, 1)) {
            records[place] = random_record(random);
        }
        break;
    case MUTATE_REMOVE:
        if (*total > run) {
            memmove(records + place, records + place + run,
                    (*total - place - run) * sizeof(*records));
            *total -= run;
        }
        break;
    case MUTATE_REPEAT:
        if (open_gap(records, total, most, place, run)) {
            memcpy(records + place, records + place + run, run * sizeof(*records));
        }
        break;
    case MUTATE_MOVE:
        kept = records[place];
        records[place] = records[other];
        records[other] = kept;
        break;
    case MUTATE_VALUE:
        records[place].value = telling_value(random);
        break;
    default:
        records[place].which ^= (uint8_t) (1u << sim_random_below(random, 8));
        records[place].amount = (uint16_t) telling_value(random);
        break;
    }
}

#define RECORDS_MAX 512u

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static struct record records[RECORDS_MAX];
    struct sim_random random = {seed};
    size_t most = max_size / RECORD_BYTES < RECORDS_MAX ? max_size / RECORD_BYTES : RECORDS_MAX;
    size_t total = 0;
    const uint8_t *from = data;
    size_t left = size;

    if (most == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    while (total < most && record_take(&from, &left, &records[total])) {
        total++;
    }
    if (total == 0) {
        records[total++] = random_record(&random);
    }
    for (uint64_t i = sim_random_below(&random, 4) + 1; i > 0; i--) {
        mutate_one(records, &total, most, &random);
    }
    memcpy(data, records, total * RECORD_BYTES);
    return total * RECORD_BYTES;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t max_size,
                                 unsigned int seed)
{
    struct sim_random random = {seed};
    size_t first = sim_random_below(&random, one_size / RECORD_BYTES + 1) * RECORD_BYTES;
    size_t skipped = sim_random_below(&random, other_size / RECORD_BYTES + 1) * RECORD_BYTES;
    size_t second = other_size - skipped;

    first = first < max_size ? first : max_size;
    second = second < max_size - first ? second : max_size - first;
    memcpy(out, one, first);
    memcpy(out + first, other + skipped, second);
    return first + second;
}
