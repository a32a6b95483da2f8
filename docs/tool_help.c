/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Prints what a measuring tool says to --help, for its man page. The tools themselves start MPI
 * first.
 */
#include <stdio.h>
#include <string.h>

#include "bench/help.h"
#include "tune/options.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "rbuf-bench") == 0) {
        bench_print_help(stdout);
    } else if (argc == 2 && strcmp(argv[1], "rbuf-tune") == 0) {
        tune_print_help(stdout);
    } else {
        fprintf(stderr, "usage: tool_help rbuf-bench|rbuf-tune\n");
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
