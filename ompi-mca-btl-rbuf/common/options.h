/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Command lines of the tools, each by one table of its options.
 *
 * Defaults are texts that are read like the user's, so that the help cannot differ from what
 * happens. Every rank reads the same arguments and comes to the same answer: a refusal needs no
 * communication. What is not fully understood is refused with the option, the value and what is
 * allowed. Nothing is printed but by options_print(). Not for two threads at once (getopt).
 */
#ifndef RBUF_COMMON_OPTIONS_H
#define RBUF_COMMON_OPTIONS_H

#include <stdio.h>

enum { OPTIONS_MAX = 32, OPTIONS_MESSAGE_MAX = 300 };

enum options_result {
    OPTIONS_RUN,
    OPTIONS_HELP,    /* print the help and leave with status 0 */
    OPTIONS_VERSION, /* likewise the version */
    OPTIONS_BAD      /* the message says why; leave with status 2 */
};

struct option_row {
    const char *name;
    const char *argument; /* NULL: it takes none */
    const char *standard; /* its default; NULL: none */
    const char *help;
    /* Puts the value (NULL: there is none) into the tool's options. Returns NULL, or what the
     * option wants, if the value is not that. No function: the option asks for the help. */
    const char *(*take)(void *options, const char *value);
};

/* Every tool has --version besides. Takes the defaults and then the arguments, whose texts *options
 * may point into. `count` is at most OPTIONS_MAX. `message` is set with OPTIONS_BAD alone. */
enum options_result options_parse(const struct option_row *rows, int count, void *options, int argc,
                                  char **argv, char message[OPTIONS_MESSAGE_MAX]);

/* A line for each option: what it takes, what it does, its default; and one for --version. */
void options_print(FILE *stream, const struct option_row *rows, int count);

/* "rbuf-tune (rbuf 0.10.0)" */
void options_print_version(FILE *stream, const char *tool);

#endif
