/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The launcher's command line, and the names of the fabric's files that are made of it.
 */
#include "arguments.h"

#include "fabric_file.c" /* for its inside: joining a fabric would make files */

static void check_files(const struct softhca_options *options)
{
    static const char start[] = "/dev/shm/softhca-";
    struct fabric_file file, other;
    struct softhca_options changed = *options;

    memset(&file, 'x', sizeof(file));
    name_files(&file, options);
    fuzz_require(memchr(file.segment, 0, sizeof(file.segment)) != NULL &&
                     strncmp(file.segment, start, sizeof(start) - 1) == 0 &&
                     strchr(file.segment + sizeof(start) - 1, '/') == NULL,
                 "the segment is a file of its folder");
    fuzz_require(strlen(file.segment) + 1 < sizeof(file.segment), "its name is whole");
    fuzz_require(strncmp(file.users, file.segment, strlen(file.segment)) == 0 &&
                     strcmp(file.users + strlen(file.segment), ".users") == 0,
                 "its users are counted beside it");
    changed.settings.latency++;
    name_files(&other, &changed);
    fuzz_require(strcmp(file.segment, other.segment) != 0, "other settings have another fabric");
}

static void check_run(const struct softhca_options *options, const struct arguments *arguments)
{
    bool found = false;

    for (int i = 1; i < arguments->count; i++) {
        found |= options->command == arguments->list + i;
    }
    fuzz_require(found && options->command[0] != NULL, "the command is the rest of the line");
    fuzz_require(options->profile != NULL && profile_find(options->profile->name) != NULL,
                 "there is a profile");
    fuzz_require(options->stats == NULL || options->stats[0] != '\0', "a file has a name");
    fuzz_require(options->fault == NULL || options->fault[0] != '\0', "faults are named");
    if (options->fabric != NULL) {
        fuzz_require(
            strlen(options->fabric) >= 1 && strlen(options->fabric) <= 64 &&
                options->fabric[0] != '.' &&
                options->fabric[strspn(options->fabric, "abcdefghijklmnopqrstuvwxyz0123456789._-"
                                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0',
            "a fabric's name can be part of a file's");
    }
    check_files(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct printed printed;
    struct softhca_options options;
    struct arguments arguments;
    enum options_outcome outcome;

    arguments_read(&arguments, "softhca", data, size);
    printed_begin(&printed);
    outcome = options_parse(arguments.count, arguments.list, &options);
    printed_end(&printed);
    switch (outcome) {
    case OPTIONS_RUN:
        fuzz_require(printed.text[0] == '\0', "nothing is said of what is right");
        check_run(&options, &arguments);
        break;
    case OPTIONS_DONE:
        fuzz_require(printed.text[0] != '\0', "what was asked for is printed");
        break;
    case OPTIONS_WRONG:
        fuzz_require(printed_lines(&printed) == 1 && strncmp(printed.text, "softhca: ", 9) == 0,
                     "what is wrong is reported in one line");
        break;
    }
    arguments_free(&arguments);
    return 0;
}
