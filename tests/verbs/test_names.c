/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Lists of names, as a table. */
#include "unit.h"

#include "common/names.h"

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

int main(void)
{
    Suite *suite = suite_create("names");

    unit_add_loop(suite, entries_come_in_order, sizeof(rows) / sizeof(rows[0]));
    unit_add(suite, whole_names_are_compared);
    return unit_run(suite);
}
