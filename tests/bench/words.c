/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Cuts lines into words (see words.h). */
#include "words.h"

#include <check.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

int words_of(const char *program, const char *line, char *arguments[WORDS_MOST + 2])
{
    static char copy[512], name[32];
    int count = 1;

    snprintf(name, sizeof name, "%s", program);
    snprintf(copy, sizeof copy, "%s", line);
    arguments[0] = name;
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        ck_assert_int_le(count, WORDS_MOST);
        arguments[count++] = word;
    }
    arguments[count] = NULL;
    optind = 0; /* the C library's way to start anew */
    return count;
}
