/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packed one-sided operations touch the bytes of a type's elements, and no others. Every operation
 * on every predefined type, plain and in derived types of many shapes, at the origin, at the result
 * and at the target, in fence, post-start-complete-wait and lock_all epochs; counts of 0, 1, 2 and
 * 1000. All memory has one value before, so that each byte of a hole, of a gap and behind the last
 * element is looked at. What has to be there is computed here, from the elements' parts: MPI is not
 * asked.
 *
 * Each rank's target is the next one. In an epoch each operation has an area of its own.
 *
 *     elements [long]: all together, else by turns, and every third type, other ones on other days
 */
#include "elements.h"

#include <time.h>

enum { GUARD = 0xA5, LEAD = 3, MANY = 1000 };

static const int counts[] = {0, 1, 2, MANY}; /* of a shape */
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* ---- areas: LEAD elements, then the elements of `count` instances ---- */

/* What one side of an operation has. */
struct side {
    const struct shape *shape;
    int count;
};

static struct value value_of(const struct type *type, int seed, size_t number)
{
    const long at = (long) number + seed;

    return (struct value){type->kind == LOGICAL ? at % 2 : 1 + at * 5 % 6,
                          type->second != NONE ? 1 + at % 3 : 0};
}

static unsigned char *element_at(unsigned char *area, const struct type *type,
                                 const struct side *side, size_t number)
{
    const size_t each = (size_t) side->shape->elements;
    const long place =
        LEAD + (long) (number / each) * side->shape->extent + side->shape->at[number % each];

    return area + (size_t) place * type->extent;
}

static size_t elements_of(const struct side *side)
{
    return (size_t) side->shape->elements * (size_t) side->count;
}

static size_t area_bytes(const struct type *type, const struct side *side)
{
    return (size_t) (LEAD + 9 + side->shape->extent * side->count) * type->extent;
}

/* Guards, and in the elements the values of `seed`, or nothing. */
static void area_fill(unsigned char *area, const struct type *type, const struct side *side,
                      int seed)
{
    memset(area, GUARD, area_bytes(type, side));
    for (size_t i = 0; seed > 0 && i < elements_of(side); i++) {
        unsigned char *at = element_at(area, type, side, i);

        memset(at, 0, number_bytes[type->first]); /* of a long double that of all its bytes */
        memset(at + type->second_at, 0, number_bytes[type->second]);
        value_write(at, type, value_of(type, seed, i));
    }
}

/* The last six bytes of a long double are the compiler's to write or not. */
static void forgive(unsigned char *at, enum number number)
{
    if (number == R80) {
        memset(at + 10, 0, number_bytes[R80] - 10);
    }
}

static void area_forgive(unsigned char *area, const struct type *type, const struct side *side)
{
    for (size_t i = 0; i < elements_of(side); i++) {
        unsigned char *at = element_at(area, type, side, i);

        forgive(at, type->first);
        forgive(at + type->second_at, type->second);
    }
}

/* ---- epochs ---- */

enum { ORIGIN_SEED = 3, TARGET_SEED = 11 };
enum form { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, FORMS };
static const char *const form_names[] = {"put", "get", "accumulate", "get_accumulate",
                                         "fetch_and_op"};

/* LOCK_ALL with osc_rbuf_passive. */
enum epoch { FENCES, GROUPS, LOCK_ALL, EPOCHS };
static const char *const epoch_names[] = {"fence", "post and start", "lock_all"};

struct trial {
    const struct type *type;
    enum form form;
    enum epoch epoch;
    struct side origin, result, target;
};

static struct {
    MPI_Group next, previous;
} groups;

static int next_rank(void)
{
    return (check_rank + 1) % check_ranks;
}

static void begin(enum epoch epoch, MPI_Win win)
{
    switch (epoch) {
    case FENCES:
        MPI_Win_fence(0, win);
        break;
    case GROUPS:
        MPI_Win_post(groups.previous, 0, win);
        MPI_Win_start(groups.next, 0, win);
        break;
    case LOCK_ALL:
    case EPOCHS:
        MPI_Win_lock_all(0, win);
        break;
    }
}

static void end(enum epoch epoch, MPI_Win win)
{
    switch (epoch) {
    case FENCES:
        MPI_Win_fence(0, win);
        break;
    case GROUPS:
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        break;
    case LOCK_ALL:
    case EPOCHS:
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
}

static bool applies(const struct trial *trial, const struct operation *operation)
{
    if (trial->form == PUT || trial->form == GET) {
        return operation->op == (trial->form == PUT ? MPI_REPLACE : MPI_NO_OP);
    }
    return (operation->kinds & trial->type->kind) &&
           (operation->op != MPI_NO_OP || trial->form != ACCUMULATE);
}

/* The memory of a trial: for each operation an area at the origin, the result and the target. */
struct memory {
    size_t origin_bytes, result_bytes, target_bytes; /* of an area */
    unsigned char *origins, *results, *targets;
};

static void issue(const struct trial *trial, const struct memory *memory, int number, MPI_Win win)
{
    const size_t lead = LEAD * trial->type->extent;
    const MPI_Aint there = (MPI_Aint) ((size_t) number * memory->target_bytes + lead);
    unsigned char *origin = memory->origins + (size_t) number * memory->origin_bytes + lead;
    unsigned char *result = memory->results + (size_t) number * memory->result_bytes + lead;
    const MPI_Op op = operations[number].op;
    MPI_Datatype origin_type = shape_type(trial->origin.shape, trial->type);
    MPI_Datatype result_type = shape_type(trial->result.shape, trial->type);
    MPI_Datatype target_type = shape_type(trial->target.shape, trial->type);
    const int count = trial->origin.count, results = trial->result.count,
              targets = trial->target.count, rank = next_rank();

    switch (trial->form) {
    case PUT:
        MPI_Put(origin, count, origin_type, rank, there, targets, target_type, win);
        break;
    case GET:
        MPI_Get(result, results, result_type, rank, there, targets, target_type, win);
        break;
    case ACCUMULATE:
        MPI_Accumulate(origin, count, origin_type, rank, there, targets, target_type, op, win);
        break;
    case GET_ACCUMULATE:
        MPI_Get_accumulate(origin, count, origin_type, result, results, result_type, rank, there,
                           targets, target_type, op, win);
        break;
    default:
        MPI_Fetch_and_op(origin, result, trial->type->type, rank, there, op, win);
        break;
    }
    forget(trial->origin.shape, &origin_type);
    forget(trial->result.shape, &result_type);
    forget(trial->target.shape, &target_type);
}

/* Byte by byte; the first that differs is named. */
static void compare(const struct trial *trial, const struct side *side, const char *what,
                    int number, unsigned char *is, unsigned char *expected)
{
    const size_t bytes = area_bytes(trial->type, side);
    size_t at = 0;

    area_forgive(is, trial->type, side);
    area_forgive(expected, trial->type, side);
    while (at < bytes && is[at] == expected[at]) {
        at++;
    }
    check_that(at == bytes,
               "%s, %s, %s, %s: origin %d of %s, result %s, target %s: byte %zu of the %s",
               form_names[trial->form], operations[number].name, trial->type->name,
               epoch_names[trial->epoch], trial->origin.count, trial->origin.shape->name,
               trial->result.shape->name, trial->target.shape->name, at, what);
}

static void judge(const struct trial *trial, const struct memory *memory, int number)
{
    const struct type *type = trial->type;
    const bool changes = trial->form != GET;
    const bool has_result = trial->form != PUT && trial->form != ACCUMULATE;
    unsigned char *target = check_memory(memory->target_bytes);
    unsigned char *result = check_memory(memory->result_bytes);

    area_fill(target, type, &trial->target, TARGET_SEED);
    area_fill(result, type, &trial->result, 0);
    for (size_t i = 0; i < elements_of(&trial->target); i++) {
        const struct value a = value_of(type, ORIGIN_SEED, i), b = value_of(type, TARGET_SEED, i);

        if (has_result) {
            value_write(element_at(result, type, &trial->result, i), type, b);
        }
        if (changes) {
            value_write(element_at(target, type, &trial->target, i), type,
                        combined(type->kind, operations[number].op, a, b));
        }
    }
    compare(trial, &trial->target, "target", number,
            memory->targets + (size_t) number * memory->target_bytes, target);
    if (has_result) {
        compare(trial, &trial->result, "result", number,
                memory->results + (size_t) number * memory->result_bytes, result);
    }
    free(target);
    free(result);
}

/* A window ends with the last element's last byte, where the type lets it. */
static size_t window_bytes(const struct trial *trial, const struct memory *memory)
{
    const struct type *type = trial->type;
    unsigned char *last = memory->targets + (OPERATIONS - 1) * memory->target_bytes;

    if (trial->target.count == 0) {
        return 0;
    }
    for (size_t i = 0; i < elements_of(&trial->target); i++) {
        unsigned char *at = element_at(memory->targets + (OPERATIONS - 1) * memory->target_bytes,
                                       type, &trial->target, i);
        last = at > last ? at : last;
    }
    last += type->second != NONE ? type->second_at + number_bytes[type->second]
                                 : number_bytes[type->first];
    return (size_t) (last - memory->targets);
}

static void try(const struct trial *trial)
{
    struct memory memory = {.origin_bytes = area_bytes(trial->type, &trial->origin),
                            .result_bytes = area_bytes(trial->type, &trial->result),
                            .target_bytes = area_bytes(trial->type, &trial->target)};
    MPI_Win win;

    memory.origins = check_memory(OPERATIONS * memory.origin_bytes);
    memory.results = check_memory(OPERATIONS * memory.result_bytes);
    memory.targets = check_memory(OPERATIONS * memory.target_bytes);
    for (size_t o = 0; o < OPERATIONS; o++) {
        area_fill(memory.origins + o * memory.origin_bytes, trial->type, &trial->origin,
                  ORIGIN_SEED);
        area_fill(memory.results + o * memory.result_bytes, trial->type, &trial->result, 0);
        area_fill(memory.targets + o * memory.target_bytes, trial->type, &trial->target,
                  TARGET_SEED);
    }
    MPI_Win_create(memory.targets, (MPI_Aint) window_bytes(trial, &memory), 1, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    begin(trial->epoch, win);
    for (int o = 0; o < OPERATIONS; o++) {
        if (applies(trial, &operations[o])) {
            issue(trial, &memory, o, win);
        }
    }
    end(trial->epoch, win);
    for (int o = 0; o < OPERATIONS; o++) {
        if (applies(trial, &operations[o])) {
            judge(trial, &memory, o);
        }
    }
    MPI_Win_free(&win);
    free(memory.origins);
    free(memory.results);
    free(memory.targets);
}

/* A shape at one side of an operation, at all, or at none. */
static void try_shape(const struct type *type, enum form form, const struct shape *shape, int count,
                      enum epoch epoch)
{
    const struct side plain = {&shapes[0], count * shape->elements}, shaped = {shape, count};
    const struct side *sides[][3] = {
        {&plain, &plain, &shaped}, {&shaped, &shaped, &plain}, {&shaped, &shaped, &shaped}};
    const size_t kinds = shape == &shapes[0] ? 1 : 3;

    for (size_t i = 0; i < kinds; i++) {
        const struct trial trial = {.type = type,
                                    .form = form,
                                    .epoch = epoch,
                                    .origin = *sides[i][0],
                                    .result = *sides[i][1],
                                    .target = *sides[i][2]};

        try(&trial);
    }
}

/* Two instances of what interleaves do not touch each other; three would. */
static bool fits(const struct shape *shape, int count)
{
    return shape->make != make_interleaved || count <= 2;
}

/* Whether a trial has its turn: each type has every shape, form and count, but not all of them
 * together. */
static bool has_turn(int type, int shape, int form, int count)
{
    return counts[count] == MANY ? (type + shape + form) % 8 == 0
                                 : shape == 0 || (type + shape + form + count) % 4 == 0;
}

static bool goes_packed(enum form form, enum epoch epoch)
{
    return epoch != LOCK_ALL || (form != PUT && form != GET);
}

static void try_type(int number, bool all)
{
    const struct type *type = &types[number];

    for (int s = 0; s < SHAPES; s++) {
        for (int c = 0; c < COUNTS; c++) {
            for (int form = 0; form < FORMS; form++) {
                const bool one = form == FETCH_AND_OP;
                const bool fit = one ? s == 0 && counts[c] == 1 : fits(&shapes[s], counts[c]);

                for (int epoch = 0; epoch < EPOCHS && fit; epoch++) {
                    if (goes_packed((enum form) form, (enum epoch) epoch) &&
                        (all || (has_turn(number, s, form, c) && (number + c) % EPOCHS == epoch))) {
                        try_shape(type, (enum form) form, &shapes[s], counts[c],
                                  (enum epoch) epoch);
                    }
                }
            }
        }
    }
}

static void make_groups(void)
{
    const int next = next_rank(), previous = (check_rank + check_ranks - 1) % check_ranks;
    MPI_Group all;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &groups.next);
    MPI_Group_incl(all, 1, &previous, &groups.previous);
    MPI_Group_free(&all);
}

/* Open MPI may be built without Fortran. */
static bool is_there(const struct type *type)
{
    int bytes = 0;

    if (type->type == MPI_DATATYPE_NULL || MPI_Type_size(type->type, &bytes) != MPI_SUCCESS) {
        return false;
    }
    return bytes == (int) (number_bytes[type->first] + number_bytes[type->second]);
}

/* Days of Unix, alike for all: midnight may come while the ranks start. */
static int day_of_all(void)
{
    int day = (int) (time(NULL) / 86400);

    MPI_Bcast(&day, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return day;
}

int main(int argc, char **argv)
{
    const bool is_rbuf = check_pack_one_sided() && setenv("OMPI_MCA_osc_rbuf_passive", "1", 1) == 0;
    const bool all = argc > 1 && strcmp(argv[1], "long") == 0;
    int day;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    if (!is_rbuf) {
        check_skip("only rbuf packs them");
    }
    make_groups();
    day = day_of_all();
    for (int t = 0; t < TYPES; t++) {
        if (is_there(&types[t]) && (all || (t + day) % 3 == 0)) {
            try_type(t, all);
        }
    }
    MPI_Group_free(&groups.next);
    MPI_Group_free(&groups.previous);
    return check_end();
}
