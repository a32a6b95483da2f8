/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The command line of nas_is, whose reader is inside of it. It ends the program for what is wrong;
 * here that comes back (-Wl,--wrap).
 */
#define main nas_is_main
int nas_is_main(int argc, char **argv);
#include "nas_is.c"
#undef main

#include <setjmp.h>

#include "arguments.h"

static jmp_buf ended;
static bool reading; /* else libFuzzer ends */
static int exit_status;

void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));
int __wrap_MPI_Finalize(void);

void __wrap_exit(int status)
{
    if (!reading) {
        __real_exit(status);
    }
    exit_status = status;
    longjmp(ended, 1);
}

int __wrap_MPI_Finalize(void)
{
    return 0;
}

static void read_all(struct arguments *arguments, int ranks)
{
    struct options options = {.cls = is_class_find('S')};

    parse(&options, 0, arguments->count, arguments->list);
    fuzz_require(options.cls != NULL && is_class_find(options.cls->name) == options.cls,
                 "there is such a class");
    check_ranks(options.cls, 0, ranks);
    fuzz_require(ranks > 0 && (ranks & (ranks - 1)) == 0 && ranks <= options.cls->max_ranks,
                 "the class runs on so many ranks");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct printed printed;
    static struct arguments arguments;
    int ranks = size > 0 ? data[0] : 1;

    if (ranks == 0) {
        return 0; /* there always is a rank */
    }
    arguments_read(&arguments, "nas_is", data + (size > 0), size - (size > 0));
    exit_status = -1;
    printed_begin(&printed);
    reading = true;
    if (setjmp(ended) == 0) {
        read_all(&arguments, ranks);
    }
    reading = false;
    printed_end(&printed);
    fuzz_require(exit_status == -1 || exit_status == 0 || exit_status == 2,
                 "what is wrong ends with status 2");
    fuzz_require(exit_status != 2 || printed_lines(&printed) == 1,
                 "what is wrong is reported in one line");
    fuzz_require(exit_status != -1 || printed.text[0] == '\0', "nothing is said of what is right");
    arguments_free(&arguments);
    return 0;
}
