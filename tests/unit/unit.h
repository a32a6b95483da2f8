/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What every unit test starts with: Check, and a main() for one suite.
 *
 * Exit status 0 if every case passed. Cases run in processes of their own unless CK_FORK=no.
 */
#ifndef RBUF_UNIT_H
#define RBUF_UNIT_H

#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_TIMEOUT_S 120.0
#define UNIT_LINES     4096u /* of a test, at most */

/* Check notes each check that passes, in a file, so that it can say where a test that crashed was
 * last. In a loop over all lengths that is most of the test's time: here the first time counts. The
 * linker puts this in the place of Check's (-Wl,--wrap=_mark_point). */
void __real__mark_point(const char *file, int line);
__attribute__((weak)) void __wrap__mark_point(const char *file, int line)
{
    static bool passed[UNIT_LINES];

    if (line < 0 || line >= (int) UNIT_LINES || !passed[line]) {
        __real__mark_point(file, line);
    }
    if (line >= 0 && line < (int) UNIT_LINES) {
        passed[line] = true;
    }
}

/* Adds one test to the suite, in a case of its own that carries the test's name. */
#define unit_add(suite, test) unit_add_named((suite), (test), #test)

static inline TCase *unit_add_named(Suite *suite, const TTest *test, const char *name)
{
    TCase *one = tcase_create(name);

    tcase_set_timeout(one, UNIT_TIMEOUT_S);
    tcase_add_test(one, test);
    suite_add_tcase(suite, one);
    return one;
}

/* The same of a test that is run for `_i` from 0 to count - 1, each time with the whole timeout. */
#define unit_add_loop(suite, test, count) unit_add_loop_named((suite), (test), #test, (count))

static inline void unit_add_loop_named(Suite *suite, const TTest *test, const char *name, int count)
{
    TCase *one = tcase_create(name);

    tcase_set_timeout(one, UNIT_TIMEOUT_S);
    tcase_add_loop_test(one, test, 0, count);
    suite_add_tcase(suite, one);
}

/* File descriptors that the process has open, and one more. */
static inline unsigned unit_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static inline int unit_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
