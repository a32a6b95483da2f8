/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads command lines by getopt_long() and a table.
 */
#include "common/options.h"

#include <assert.h>
#include <getopt.h>
#include <stddef.h>

#include "rbuf_version.h"

enum { VERSION = OPTIONS_MAX + 1 };

static void take_defaults(const struct option_row *rows, int count, void *options)
{
    for (int i = 0; i < count; i++) {
        if (rows[i].standard != NULL) {
            (void) rows[i].take(options, rows[i].standard);
        }
    }
}

static enum options_result take_argument(const struct option_row *row, void *options, char *message)
{
    const char *wants;

    if (row->take == NULL) {
        return OPTIONS_HELP;
    }
    wants = row->take(options, optarg);
    if (wants == NULL) {
        return OPTIONS_RUN;
    }
    snprintf(message, OPTIONS_MESSAGE_MAX, "--%s '%.60s': wants %s", row->name, optarg, wants);
    return OPTIONS_BAD;
}

static enum options_result take_arguments(const struct option_row *rows, const struct option *known,
                                          void *options, int argc, char **argv, char *message)
{
    enum options_result result = OPTIONS_RUN;
    int index;

    opterr = 0;
    while (result == OPTIONS_RUN && (index = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (index == '?') {
            snprintf(message, OPTIONS_MESSAGE_MAX,
                     "option '%.60s': unknown, or its value is missing", argv[optind - 1]);
            return OPTIONS_BAD;
        }
        result =
            index == VERSION ? OPTIONS_VERSION : take_argument(&rows[index - 1], options, message);
    }
    if (result == OPTIONS_RUN && optind < argc) {
        snprintf(message, OPTIONS_MESSAGE_MAX, "argument '%.60s': not expected", argv[optind]);
        return OPTIONS_BAD;
    }
    return result;
}

enum options_result options_parse(const struct option_row *rows, int count, void *options, int argc,
                                  char **argv, char message[OPTIONS_MESSAGE_MAX])
{
    struct option known[OPTIONS_MAX + 2] = {0};

    assert(count <= OPTIONS_MAX);
    for (int i = 0; i < count; i++) {
        known[i] =
            (struct option){.name = rows[i].name,
                            .has_arg = rows[i].argument == NULL ? no_argument : required_argument,
                            .val = i + 1};
    }
    known[count] = (struct option){.name = "version", .val = VERSION};
    take_defaults(rows, count, options);
    return take_arguments(rows, known, options, argc, argv, message);
}

void options_print(FILE *stream, const struct option_row *rows, int count)
{
    for (int i = 0; i < count; i++) {
        const struct option_row *row = &rows[i];
        char head[40];

        snprintf(head, sizeof head, "--%s%s%s", row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        fprintf(stream, "    %-17s %s%s%s%s\n", head, row->help, row->standard ? " [" : "",
                row->standard ? row->standard : "", row->standard ? "]" : "");
    }
    fprintf(stream, "    %-17s %s\n", "--version", "print it, and end");
}

void options_print_version(FILE *stream, const char *tool)
{
    fprintf(stream, "%s (rbuf " RBUF_VERSION ")\n", tool);
}
