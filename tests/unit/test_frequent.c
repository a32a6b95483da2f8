/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which buffers are registered for reuse, when, and for how long; and whether the program gets on
 * faster with that.
 */
#include "core/choice/frequent.h"
#include "core/choice/gather.h"
#include "unit.h"

#define BASE     0x10000000ull
#define DISTANCE 8192u
#define BYTES    8192u

static const struct rbuf_frequent_options usual = {.buffers = 64,
                                                   .most_bytes = 1u << 20,
                                                   .speculation = 0.25,
                                                   .gather_ns = 100,
                                                   .fetched_ns = 100,
                                                   .registration_ns = 40000};

static struct rbuf_frequent table;
static char registrations[256]; /* things to point at */

/* A copied message takes 600 ns: a registration pays after 40000 / (600 - 200) = 100. */
static void open_table(const struct rbuf_frequent_options *options)
{
    ck_assert_int_eq(rbuf_frequent_open(&table, options), 0);
    for (unsigned i = 0; i < RBUF_FREQUENT_TIMES; i++) {
        ck_assert_uint_eq(table.threshold[RBUF_FREQUENT_SEND][rbuf_frequent_size(BYTES)],
                          RBUF_FREQUENT_NEVER);
        rbuf_frequent_took(&table, RBUF_FREQUENT_SEND, RBUF_PATH_COPY, BYTES, 600);
    }
}

static void close_table(void)
{
    while (rbuf_frequent_drop(&table, RBUF_FREQUENT_ANY) != NULL) {
    }
    ck_assert_uint_eq(table.mr_count, 0);
    ck_assert_uint_eq(table.mr_bytes, 0);
    rbuf_frequent_close(&table);
}

static uint64_t base_of(unsigned i)
{
    return BASE + (uint64_t) i * DISTANCE;
}

/* So many messages of the buffer; true if it is then to be registered. */
static bool use(unsigned i, unsigned messages)
{
    struct rbuf_frequent_buffer *buffer = NULL;

    while (messages-- > 0) {
        buffer = rbuf_frequent_use(&table, base_of(i), BYTES, 1);
    }
    return buffer != NULL && buffer->mr == NULL &&
           rbuf_frequent_wants(&table, buffer, RBUF_FREQUENT_SEND, BYTES);
}

static struct rbuf_frequent_buffer *hold(unsigned i)
{
    struct rbuf_frequent_buffer *buffer = rbuf_frequent_find(&table, base_of(i));

    ck_assert_ptr_nonnull(buffer);
    ck_assert(
        rbuf_frequent_hold(&table, buffer, RBUF_FREQUENT_SEND, &registrations[i % 256], 7, 0));
    ck_assert(rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES));
    return buffer;
}

/* At a quarter of n; what is longer than the registration is not in it. */
START_TEST(registered_at_a_share)
{
    struct rbuf_frequent_buffer *buffer;

    open_table(&usual);
    ck_assert(!use(0, 25));
    ck_assert(use(0, 1));
    buffer = hold(0);
    ck_assert(!rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES + 1));
    ck_assert(rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES));
    ck_assert(!use(0, 1));
    ck_assert_uint_eq(rbuf_frequent_top(&table).uses, 27);
    ck_assert(!rbuf_frequent_is_outgrown(buffer, BYTES));
    ck_assert(rbuf_frequent_is_outgrown(buffer, BYTES + 1));
    ck_assert_ptr_eq(rbuf_frequent_forget(&table, buffer->mr), &registrations[0]);
    ck_assert(!rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES));
    ck_assert(!rbuf_frequent_is_outgrown(buffer, BYTES + 1));
    close_table();
}
END_TEST

/* Where gathering turns out to take as long as copying, nothing more is registered, and nothing
 * that is registered is gathered. */
START_TEST(not_where_it_does_not_pay)
{
    struct rbuf_frequent_buffer *buffer;
    struct rbuf_frequent_cost cost;

    open_table(&usual);
    use(0, 30);
    buffer = hold(0);
    for (unsigned i = 0; i < RBUF_FREQUENT_TIMES; i++) {
        rbuf_frequent_took(&table, RBUF_FREQUENT_SEND, RBUF_PATH_IN_PLACE, BYTES, 500);
    }
    ck_assert(!rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES));
    ck_assert(!use(1, 100000));
    ck_assert(rbuf_frequent_cost(&table, RBUF_FREQUENT_SEND, rbuf_frequent_size(BYTES), &cost));
    ck_assert_double_eq_tol(cost.copied, 600, 0.1);
    ck_assert_double_eq_tol(cost.gathered, 500 + usual.fetched_ns, 0.1);
    ck_assert(!rbuf_frequent_cost(&table, RBUF_FREQUENT_PUT, rbuf_frequent_size(BYTES), &cost));
    for (unsigned i = 0; i < 200; i++) {
        rbuf_frequent_took(&table, RBUF_FREQUENT_SEND, RBUF_PATH_COPY, BYTES, 1000);
    }
    ck_assert(rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES));
    ck_assert(use(1, 1));
    close_table();
}
END_TEST

/* After a while most messages are not looked at, in a program that takes its buffers in turn; those
 * that are stand for them, whatever the number of buffers is, and some are timed. */
START_TEST(some_stand_for_others)
{
    const unsigned buffers = (unsigned) _i + 1, uses = 8000;
    unsigned looks = 0, timed = 0;

    open_table(&usual);
    for (unsigned i = 0; i < buffers * uses; i++) {
        if (rbuf_frequent_is_due(&table)) {
            ck_assert_ptr_nonnull(
                rbuf_frequent_use(&table, base_of(i % buffers), BYTES,
                                  rbuf_frequent_stands_for(&table, RBUF_FREQUENT_SEND)));
            timed += rbuf_frequent_times(&table);
            ck_assert(!rbuf_frequent_turn(&table, false));
            looks++;
        }
    }
    ck_assert_uint_le(looks, buffers * uses / 16 + 20 * RBUF_FREQUENT_LOOKS);
    ck_assert_uint_eq(timed, looks / RBUF_FREQUENT_TIMED);
    for (unsigned i = 0; i < buffers; i++) {
        ck_assert_uint_ge(rbuf_frequent_find(&table, base_of(i))->uses, uses * 2 / 3);
        ck_assert_uint_le(rbuf_frequent_find(&table, base_of(i))->uses, uses * 4 / 3);
    }
    close_table();
}
END_TEST

/* Messages are handed over in place from the first on that could be gathered, and until so many in
 * a row are not; at once and always where all buffers are registered. */
START_TEST(in_place_while_it_pays)
{
    struct rbuf_frequent_options options = usual;

    open_table(&usual);
    ck_assert(!rbuf_frequent_turn(&table, false));
    for (unsigned round = 0; round < 2; round++) {
        ck_assert(rbuf_frequent_turn(&table, true));
        for (unsigned i = 0; i < 10 * RBUF_FREQUENT_COPIES; i++) {
            ck_assert(!rbuf_frequent_turn(&table, i % RBUF_FREQUENT_COPIES == 0));
            ck_assert(table.in_place);
        }
        ck_assert(rbuf_frequent_turn(&table, false));
        ck_assert(!table.in_place);
    }
    close_table();
    options.speculation = 0;
    ck_assert_int_eq(rbuf_frequent_open(&table, &options), 0);
    for (unsigned i = 0; i < 2 * RBUF_FREQUENT_COPIES; i++) {
        ck_assert(table.in_place);
        ck_assert(!rbuf_frequent_turn(&table, false));
    }
    close_table();
}
END_TEST

/* One that is seen for the first time may never come again. */
START_TEST(a_new_one_stands_for_itself)
{
    open_table(&usual);
    ck_assert_uint_eq(rbuf_frequent_use(&table, BASE, BYTES, RBUF_FREQUENT_GAP)->uses, 1);
    ck_assert_uint_eq(rbuf_frequent_use(&table, BASE, BYTES, RBUF_FREQUENT_GAP)->uses,
                      1 + RBUF_FREQUENT_GAP);
    close_table();
}
END_TEST

/* Puts and gets save the whole copy: what theirs takes decides, not what messages' does. */
START_TEST(each_kind_has_its_threshold)
{
    const uint32_t size = rbuf_frequent_size(BYTES);
    struct rbuf_frequent_buffer *buffer;

    open_table(&usual);
    for (unsigned i = 0; i < RBUF_FREQUENT_TIMES; i++) {
        rbuf_frequent_took(&table, RBUF_FREQUENT_GET, RBUF_PATH_COPY, BYTES, 1000);
    }
    ck_assert_uint_eq(table.threshold[RBUF_FREQUENT_SEND][size], 26);
    ck_assert_uint_eq(table.threshold[RBUF_FREQUENT_GET][size], 11);
    ck_assert_uint_eq(table.threshold[RBUF_FREQUENT_PUT][size], RBUF_FREQUENT_NEVER);
    use(0, 12);
    buffer = rbuf_frequent_find(&table, base_of(0));
    ck_assert(rbuf_frequent_wants(&table, buffer, RBUF_FREQUENT_GET, BYTES));
    ck_assert(!rbuf_frequent_wants(&table, buffer, RBUF_FREQUENT_SEND, BYTES));
    buffer = hold(0);
    ck_assert(rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_GET, BYTES));
    ck_assert(!rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_PUT, BYTES));
    close_table();
}
END_TEST

/* What is given back to the system, wherever it touches a page of the buffer, is used no more; what
 * is beside it stays. */
START_TEST(released_memory_is_not_used)
{
    static const struct {
        int64_t from, bytes;
        bool touches;
    } rows[] = {{-4096, 4096, false},
                {0, 4096, true},
                {BYTES - 4096, 4096, true},
                {BYTES, 4096, false},
                {-4096, 1 << 20, true}};

    open_table(&usual);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rbuf_frequent_buffer *buffer;
        struct rbuf_frequent_mr *mr;

        use(0, 30);
        buffer = hold(0);
        mr = rbuf_frequent_start(buffer);
        rbuf_frequent_release(&table, base_of(0) + (uint64_t) rows[i].from,
                              (uint64_t) rows[i].bytes);
        ck_assert_int_eq(rbuf_frequent_covers(&table, buffer, RBUF_FREQUENT_SEND, BYTES),
                         !rows[i].touches);
        ck_assert_int_eq(rbuf_frequent_has_released(&table), rows[i].touches);
        ck_assert_ptr_null(rbuf_frequent_drop(&table, RBUF_FREQUENT_RELEASED)); /* under way */
        rbuf_frequent_end(&table, mr);
        ck_assert_int_eq(rbuf_frequent_has_released(&table), rows[i].touches);
        ck_assert_ptr_eq(rbuf_frequent_drop(&table, rows[i].touches ? RBUF_FREQUENT_RELEASED
                                                                    : RBUF_FREQUENT_ANY),
                         &registrations[0]);
        ck_assert_uint_eq(buffer->uses, 0);
    }
    close_table();
}
END_TEST

/* Memory is given back anywhere: registrations that end in another region (2 MB) are found there,
 * also by who gives back more than there are regions, and those that share a count are not. */
START_TEST(regions)
{
    const uint64_t region = 1ull << RBUF_FREQUENT_REGION_SHIFT,
                   all = region * RBUF_FREQUENT_REGIONS;
    const uint64_t border = 10 * all + region, base = border - 4096;
    const struct {
        uint64_t base, bytes;
        bool touches;
    } rows[] = {{border, 4096, true},
                {border - 4096, 4096, true},
                {border - 8192, 4096, false},
                {border + all, region, false},
                {border + 3 * region, region, false},
                {border - all, 2 * all, true},
                {border, 2 * all, true},
                {border + region, 2 * all, false}};

    open_table(&usual);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rbuf_frequent_buffer *buffer = rbuf_frequent_use(&table, base, BYTES, 30);

        ck_assert(rbuf_frequent_hold(&table, buffer, RBUF_FREQUENT_SEND, registrations, 7, 0));
        rbuf_frequent_release(&table, rows[i].base, rows[i].bytes);
        ck_assert_int_eq(rbuf_frequent_has_released(&table), rows[i].touches);
        ck_assert_ptr_nonnull(rbuf_frequent_drop(&table, RBUF_FREQUENT_ANY));
        (void) rbuf_frequent_drop(&table, RBUF_FREQUENT_RELEASED);
    }
    for (size_t i = 0; i < RBUF_FREQUENT_REGIONS; i++) {
        ck_assert_uint_eq(table.in_region[i], 0);
    }
    close_table();
}
END_TEST

/* Half as many buffers as the table has places are registered, in any order of coming and going. */
START_TEST(many_are_registered)
{
    struct rbuf_frequent_options options = usual;
    struct rbuf_frequent_buffer *buffer;

    options.buffers = 4096;
    options.most_bytes = 4096 * BYTES;
    open_table(&options);
    for (unsigned i = 0; !rbuf_frequent_is_full(&table, BYTES); i++) {
        buffer = rbuf_frequent_use(&table, base_of(i), BYTES, 1);
        if (buffer == NULL) {
            continue; /* both its places are others' */
        }
        hold(i);
        buffer = rbuf_frequent_find(&table, base_of(i / 2)); /* an older one, or itself */
        if (i % 3 == 0 && buffer != NULL && buffer->mr != NULL) {
            ck_assert_ptr_nonnull(rbuf_frequent_forget(&table, buffer->mr));
        }
    }
    ck_assert_uint_eq(table.mr_count, 2048);
    close_table();
}
END_TEST

/* Buffers whose memory goes before they have paid are registered later, in the end at n and more;
 * when some live on, sooner again. */
START_TEST(short_lives_make_it_wait)
{
    unsigned lives = 0;

    open_table(&usual);
    for (; !use(1, 0) && lives < 10; lives++) {
        unsigned uses = 0;

        while (!use(0, 1)) {
            uses++;
        }
        ck_assert_uint_eq(uses, 25u << (lives < 4 ? lives : 4));
        hold(0);
        rbuf_frequent_release(&table, base_of(0), BYTES);
        ck_assert_ptr_nonnull(rbuf_frequent_drop(&table, RBUF_FREQUENT_RELEASED));
    }
    use(0, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        rbuf_frequent_end(&table,
                          rbuf_frequent_start(i == 0 ? hold(0) : rbuf_frequent_find(&table, BASE)));
    }
    ck_assert_ptr_nonnull(rbuf_frequent_drop(&table, RBUF_FREQUENT_ANY));
    ck_assert_uint_eq(table.raised, 3);
    close_table();
}
END_TEST

/* A full table of buffers that are used once takes no more; they fade. Frequently used ones keep
 * their places, and where there are enough of them others come in. */
START_TEST(few_frequent_ones_stop_its_growth)
{
    uint64_t refused;
    unsigned i = 0;

    open_table(&usual);
    for (; table.counters.refused == 0; i++) {
        use(i, 2);
    }
    ck_assert_uint_gt(table.taken, 16);
    for (; i < 1000; i++) {
        use(i, 1);
    }
    refused = table.counters.refused;
    ck_assert_uint_gt(refused, 300); /* each that comes in has made others fade before */
    for (unsigned k = 0; k < 32; k++) {
        if (rbuf_frequent_use(&table, base_of(k), BYTES, 1) != NULL) {
            hold(k);
        }
    }
    ck_assert_uint_gt(table.mr_count, table.taken / 5);
    for (i = 0; i < 1000; i++) {
        struct rbuf_frequent_buffer *buffer =
            rbuf_frequent_use(&table, base_of(2000 + i % 100), BYTES, 1);

        ck_assert(buffer == NULL || buffer->mr == NULL);
    }
    close_table();
}
END_TEST

/* No more is registered than may be; the oldest goes. */
START_TEST(registered_up_to_a_limit)
{
    struct rbuf_frequent_options options = usual;

    options.buffers = 4096;
    options.most_bytes = 3 * BYTES;
    open_table(&options);
    for (unsigned i = 0; i < 3; i++) {
        use(i, 30);
        hold(i);
    }
    ck_assert(rbuf_frequent_is_full(&table, BYTES));
    use(3, 30);
    ck_assert(!rbuf_frequent_hold(&table, rbuf_frequent_find(&table, base_of(3)),
                                  RBUF_FREQUENT_SEND, &registrations[3], 7, 0));
    ck_assert_ptr_eq(rbuf_frequent_drop(&table, RBUF_FREQUENT_ANY), &registrations[0]);
    ck_assert(!rbuf_frequent_is_full(&table, BYTES));
    close_table();
}
END_TEST

/* ---- gather ---- */

/* A program whose messages take so long, apart from every tenth block, in which it computes. The
 * messages that were gathered, of `blocks` of 10. */
static unsigned run(struct rbuf_gather *gather, unsigned blocks, uint64_t copy_ns,
                    uint64_t gather_ns)
{
    static uint64_t now_ns = 1;
    unsigned gathered = 0;

    for (unsigned i = 0; i < 10 * blocks; i++) {
        if (rbuf_gather_count(gather, 1, 10)) {
            rbuf_gather_turn(gather, now_ns);
        }
        gathered += gather->path == RBUF_PATH_IN_PLACE;
        now_ns += gather->path == RBUF_PATH_IN_PLACE ? gather_ns : copy_ns;
        now_ns += i % 100 == 5 ? 100000 : i % 7;
    }
    return gathered;
}

/* Each path is tried at first; then the faster one is taken but for a try now and then. */
START_TEST(the_faster_path)
{
    struct rbuf_gather gather = {0};

    ck_assert(rbuf_gather_needs_registrations(&gather));
    ck_assert_uint_le(run(&gather, 8, 500, 400), 50);
    ck_assert_uint_ge(run(&gather, 1000, 500, 400), 9500);
    gather = (struct rbuf_gather){0};
    ck_assert_uint_ge(run(&gather, 8, 500, 3000), 30);
    ck_assert_uint_le(run(&gather, 1000, 500, 3000), 30);
    ck_assert_int_eq(gather.path, RBUF_PATH_COPY);
    ck_assert(!rbuf_gather_needs_registrations(&gather));
}
END_TEST

/* What changes is found out, by the next tries. */
START_TEST(the_program_changes)
{
    struct rbuf_gather gather = {0};

    run(&gather, 300, 500, 3000);
    run(&gather, 4 * RBUF_PROBE_RAREST, 3000, 500);
    ck_assert_uint_ge(run(&gather, 100, 3000, 500), 980);
    run(&gather, 4 * RBUF_PROBE_RAREST, 500, 3000);
    ck_assert_uint_le(run(&gather, 100, 500, 3000), 20);
}
END_TEST

/* Three tries are enough, of the fewest blocks apart, as both paths take nearly as long. */
START_TEST(soon_found_out)
{
    struct rbuf_gather gather = {0};

    run(&gather, 300, 500, 540);
    run(&gather, 4 * RBUF_PROBE_EVERY, 500, 460);
    ck_assert_uint_ge(run(&gather, 100, 500, 460), 900);
}
END_TEST

/* Blocks of 10 messages that try to gather, of 3000 blocks, when each of the first `registering`
 * tries registers a buffer, which takes as long as four blocks. */
static unsigned tries(unsigned registering)
{
    struct rbuf_gather gather = {0};
    uint64_t now_ns = 1;
    unsigned found = 0;

    for (unsigned i = 0; i < 30000; i++) {
        if (rbuf_gather_count(&gather, 1, 10)) {
            rbuf_gather_turn(&gather, now_ns);
            if (gather.path == RBUF_PATH_IN_PLACE) {
                if (found++ < registering) {
                    rbuf_gather_registered(&gather, 20000);
                    now_ns += 20000;
                }
            }
        }
        now_ns += gather.path == RBUF_PATH_IN_PLACE ? 600 : 500;
    }
    return found;
}

/* What a try registers is part of what it costs, once. */
START_TEST(registrations_make_tries_rarer)
{
    ck_assert_uint_ge(tries(0), 3000 / 60);
    ck_assert_uint_le(tries(3000), 3 + 3000 / 1000);
    ck_assert_uint_ge(tries(1), 3 + 1000 / 60);
}
END_TEST

/* Registrations fall into the blocks that gather, and messages of buffers that are not registered
 * into all. */
START_TEST(what_blocks_hold_besides)
{
    struct rbuf_gather gather = {0};
    uint64_t now_ns = 1;
    unsigned gathered = 0;

    for (unsigned i = 0; i < 100000; i++) {
        const bool is_registered = i % 4 == 0;

        if (is_registered && i % 100 == 0 && gather.path == RBUF_PATH_IN_PLACE) {
            rbuf_gather_registered(&gather, 60000);
            now_ns += 60000;
        }
        if (rbuf_gather_count(&gather, 1, 40)) {
            rbuf_gather_turn(&gather, now_ns);
        }
        gathered += is_registered && gather.path == RBUF_PATH_IN_PLACE;
        now_ns += is_registered && gather.path == RBUF_PATH_IN_PLACE ? 900 : 1000;
    }
    ck_assert_uint_ge(gathered, 22500);
}
END_TEST

/* Many buffers used in turn are all registered in one round, which says nothing of either path: it
 * takes longer when they are gathered. The rounds that follow do. */
START_TEST(blocks_of_registrations)
{
    struct rbuf_gather gather = {0};
    bool is_registered[4096] = {false};
    uint64_t now_ns = 1;
    unsigned gathered = 0;

    for (unsigned i = 0; i < 4 * 4096; i++) {
        const unsigned buffer = i % 4096;
        const bool registers = !is_registered[buffer] && rbuf_gather_needs_registrations(&gather);

        if (rbuf_gather_count(&gather, 1, 40)) {
            rbuf_gather_turn(&gather, now_ns);
        }
        if (registers) {
            is_registered[buffer] = true;
            rbuf_gather_registered(&gather, 20000);
            now_ns += 20000;
        }
        if (gather.path == RBUF_PATH_IN_PLACE && is_registered[buffer]) {
            now_ns += registers ? 3000 : 1000;
            gathered++;
        } else {
            now_ns += 2000;
        }
    }
    ck_assert_uint_ge(gathered, 2 * 4096);
}
END_TEST

/* While messages are copied only some are looked at, and blocks are longer; what is faster does not
 * depend on that. */
START_TEST(blocks_of_unlike_lengths)
{
    struct rbuf_gather gather = {0};
    uint64_t now_ns = 1;
    unsigned gathered = 0, messages = 0;

    while (messages < 100000) {
        const unsigned uses = gather.path == RBUF_PATH_IN_PLACE ? 1 : 1 + messages % 16;

        if (rbuf_gather_count(&gather, uses, 40)) {
            rbuf_gather_turn(&gather, now_ns);
        }
        gathered += gather.path == RBUF_PATH_IN_PLACE ? uses : 0;
        now_ns += (uint64_t) uses * (gather.path == RBUF_PATH_IN_PLACE ? 540 : 500);
        messages += uses;
    }
    ck_assert_uint_le(gathered, 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frequent");

    unit_add(suite, registered_at_a_share);
    unit_add(suite, not_where_it_does_not_pay);
    unit_add_loop(suite, some_stand_for_others, 12);
    unit_add(suite, a_new_one_stands_for_itself);
    unit_add(suite, in_place_while_it_pays);
    unit_add(suite, each_kind_has_its_threshold);
    unit_add(suite, released_memory_is_not_used);
    unit_add(suite, regions);
    unit_add(suite, many_are_registered);
    unit_add(suite, short_lives_make_it_wait);
    unit_add(suite, few_frequent_ones_stop_its_growth);
    unit_add(suite, registered_up_to_a_limit);
    unit_add(suite, the_faster_path);
    unit_add(suite, the_program_changes);
    unit_add(suite, soon_found_out);
    unit_add(suite, registrations_make_tries_rarer);
    unit_add(suite, blocks_of_unlike_lengths);
    unit_add(suite, what_blocks_hold_besides);
    unit_add(suite, blocks_of_registrations);
    return unit_run(suite);
}
