/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* A line of text as the arguments of main(), for tests of command lines. */
#ifndef RBUF_TESTS_BENCH_WORDS_H
#define RBUF_TESTS_BENCH_WORDS_H

enum { WORDS_MOST = 16 };

/* Cuts a line of at most WORDS_MOST words with blanks between them: arguments[0] is the program's
 * name, and behind the last word is NULL. Returns argc. getopt() starts anew. The words are valid
 * until the next call. */
int words_of(const char *program, const char *line, char *arguments[WORDS_MOST + 2]);

#endif
