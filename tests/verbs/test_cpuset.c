/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Sets of processors: lists that are read, and printed as they were, and those that are refused. */
#include "unit.h"

#include <sched.h>

#include "common/cpuset.h"

static const struct {
    const char *list;
    uint32_t count;
} lists[] = {{"", 0},           {"0", 1},         {"8191", 1},     {"0-8191", 8192},
             {"0-1", 2},        {"63-64", 2},     {"0,2", 2},      {"0-3,8,10", 6},
             {"62,64-127", 65}, {"1,3,5,7-9", 6}, {"0-62,64", 64}, {"4095,4097", 2}};

static char *printed(const struct rbuf_cpuset *set)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(stream);
    rbuf_cpuset_print(set, stream);
    fclose(stream);
    return text;
}

START_TEST(a_list_is_read_and_printed)
{
    struct rbuf_cpuset set;
    char *text;

    ck_assert(rbuf_cpuset_read(&set, lists[_i].list));
    ck_assert_uint_eq(rbuf_cpuset_count(&set), lists[_i].count);
    text = printed(&set);
    ck_assert_str_eq(text, lists[_i].list);
    free(text);
}
END_TEST

static const char *const no_lists[] = {
    "8192",  "0-8192", "00000000001", "4294967296", "-1",  "1-",    "3-1",   "1-1",
    "1,",    ",1",     "1,,2",        "2,1",        "1,1", "0-3,4", "0-3,2", "1 2",
    "1-2-3", "x",      "0x1",         "1\n",        " 1",  "+1",    "99999"};

START_TEST(what_is_no_list_is_refused)
{
    struct rbuf_cpuset set;

    ck_assert_msg(!rbuf_cpuset_read(&set, no_lists[_i]), "%s", no_lists[_i]);
}
END_TEST

/* Each of some sets against each. */
START_TEST(within_means_every_processor)
{
    static const char *const list[] = {"0", "0-1", "1", "0-127", "64", "0,64", "8191"};
    static const char *const within[] = {"0 0-1 0-127 0,64", "0-1 0-127",  "1 0-1 0-127", "0-127",
                                         "64 0-127 0,64",    "0,64 0-127", "8191"};

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        for (size_t j = 0; j < sizeof(list) / sizeof(list[0]); j++) {
            struct rbuf_cpuset one, all;
            char text[64], word[16];

            ck_assert(rbuf_cpuset_read(&one, list[i]) && rbuf_cpuset_read(&all, list[j]));
            (void) snprintf(text, sizeof(text), " %s ", within[i]);
            (void) snprintf(word, sizeof(word), " %s ", list[j]);
            ck_assert_msg(rbuf_cpuset_within(&one, &all) == (strstr(text, word) != NULL),
                          "%s within %s", list[i], list[j]);
        }
    }
}
END_TEST

/* Bound to each of the processors that it may have, and to all of them. */
START_TEST(the_own_set_is_the_binding)
{
    cpu_set_t all, one;
    struct rbuf_cpuset own;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    ck_assert(rbuf_cpuset_own(&own));
    ck_assert_int_eq((int) rbuf_cpuset_count(&own), CPU_COUNT(&all));
    for (int i = 0; i < CPU_SETSIZE; i++) {
        char expected[16], *text;

        if (!CPU_ISSET(i, &all)) {
            continue;
        }
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
        ck_assert(rbuf_cpuset_own(&own));
        (void) snprintf(expected, sizeof(expected), "%d", i);
        text = printed(&own);
        ck_assert_str_eq(text, expected);
        free(text);
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpuset");

    unit_add_loop(suite, a_list_is_read_and_printed, sizeof(lists) / sizeof(lists[0]));
    unit_add_loop(suite, what_is_no_list_is_refused, sizeof(no_lists) / sizeof(no_lists[0]));
    unit_add(suite, within_means_every_processor);
    unit_add(suite, the_own_set_is_the_binding);
    return unit_run(suite);
}
