/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Lists of names that users give, as a table; and lists of what there is, in a problem's text. */
#include "unit.h"

#include "common/names.h"
#include "common/problem.h"

static const struct {
    const char *list;
    const char *entries; /* joined by | */
} rows[] = {{NULL, ""},
            {"", ""},
            {" ,\t, ", ""},
            {"eth0", "eth0"},
            {"mlx5_0:1,mlx5_1", "mlx5_0:1|mlx5_1"},
            {" ,eth0 ,\tib0,, 10.0.0.1\t", "eth0|ib0|10.0.0.1"}};

START_TEST(entries_come_in_order)
{
    const char *list = rows[_i].list;
    struct rbuf_name name;
    char joined[64] = "";

    while (rbuf_names_next(&list, &name)) {
        size_t used = strlen(joined);

        (void) snprintf(joined + used, sizeof(joined) - used, "%s%.*s", used > 0 ? "|" : "",
                        (int) name.length, name.start);
    }
    ck_assert_str_eq(joined, rows[_i].entries);
    ck_assert_int_eq(rbuf_names_any(rows[_i].list), rows[_i].entries[0] != '\0');
}
END_TEST

/* Neither the beginning of a name nor a longer one is that name. */
START_TEST(whole_names_are_compared)
{
    const char *list = "eth1,eth";
    struct rbuf_name name;

    ck_assert(rbuf_names_next(&list, &name));
    ck_assert(rbuf_name_is(&name, "eth1"));
    ck_assert(!rbuf_name_is(&name, "eth"));
    ck_assert(!rbuf_name_is(&name, "eth10"));
    ck_assert(!rbuf_name_is(&name, "eth1,eth"));
}
END_TEST

START_TEST(a_list_in_a_problem_goes_behind_its_text)
{
    struct rbuf_problem problem;

    (void) rbuf_problem_set(&problem, "topic", -1, "what");
    rbuf_problem_list(&problem, "%s %d", "port", 1);
    rbuf_problem_list(&problem, "%s %d", "port", 2);
    ck_assert_str_eq(problem.value, "port 1, port 2");
    rbuf_problem_value(&problem, "in use are: ");
    rbuf_problem_list(&problem, "%d", 3);
    rbuf_problem_list(&problem, "%d", 4);
    ck_assert_str_eq(problem.value, "in use are: 3, 4");
}
END_TEST

/* The text has a whole entry at its end, however many there are. */
START_TEST(a_list_in_a_problem_that_is_full_takes_no_more)
{
    struct rbuf_problem problem;
    size_t length;

    (void) rbuf_problem_set(&problem, "topic", -1, "what");
    for (int i = 0; i < 100; i++) {
        rbuf_problem_list(&problem, "entry%02d", i);
    }
    length = strlen(problem.value);
    ck_assert_uint_gt(length, sizeof(problem.value) - sizeof(", entry00"));
    ck_assert_uint_lt(length, sizeof(problem.value));
    ck_assert_str_eq(problem.value + length - strlen("entry27"), "entry27");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names");

    unit_add_loop(suite, entries_come_in_order, sizeof(rows) / sizeof(rows[0]));
    unit_add(suite, whole_names_are_compared);
    unit_add(suite, a_list_in_a_problem_goes_behind_its_text);
    unit_add(suite, a_list_in_a_problem_that_is_full_takes_no_more);
    return unit_run(suite);
}
