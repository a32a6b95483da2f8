/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The texts of the help around what the tables say.
 */
#include "bench/help.h"
#include "bench/options.h"

static const char HEAD[] =
    "NAME\n"
    "    rbuf-bench - time of messages between two MPI ranks by size, as CSV or JSON\n"
    "\n"
    "SYNOPSIS\n"
    "    mpirun -np 2 [what chooses the transport] rbuf-bench [OPTION...]\n"
    "\n"
    "DESCRIPTION\n"
    "    A plain MPI program that measures any BTL or PML. Each repetition is prepared off the\n"
    "    clock, alike for every transport: buffers are mapped if they are to be new, every byte "
    "of\n"
    "    them is written, both ranks meet in a barrier. Then one exchange is timed. Checking and\n"
    "    unmapping come after. Options that take a LIST measure each combination, in one process.\n"
    "    Sizes are bytes, or 12k, 1M, 2g in powers of 1024.\n"
    "\n"
    "OPTIONS (defaults in brackets)\n";

static const char BUFFERS[] =
    "\n"
    "BUFFERS\n"
    "    reused            the same buffers in every repetition, mapped once a case\n"
    "                      With --sets N the exchanges of a burst use N of them in turn: within\n"
    "                      the caches, or beyond, if N times the size is well above the last\n"
    "                      level (lscpu: L3). The column sets has as many as are used, one at\n"
    "                      most for each exchange of a burst; of new buffers, as many as those.\n"
    "    fresh             mapped before each repetition's clock starts and unmapped after it has\n"
    "                      stopped on both ranks, so no transport can have seen their pages; each\n"
    "                      exchange of a burst has buffers of its own. The addresses may come\n"
    "                      again, as they do in programs that allocate and free. (A pool larger\n"
    "                      than a cache is not the same: a cache without limit ends up holding it\n"
    "                      all, one with a limit evicts at each use.)\n"
    "    25%               that share of the messages reuses buffers, drawn at random but alike "
    "in\n"
    "                      every run; median, low and high are then those of both, weighted\n";

static const char TAIL[] =
    "\n"
    "WARM-UP\n"
    "    Before the first case the ranks exchange 64 messages of 8 bytes each way, so that no "
    "case\n"
    "    measures how they connect, nor how a transport takes them into a set of peers whose "
    "small\n"
    "    messages go a shorter way. With --no-warm-up that is part of the first case's first\n"
    "    repetitions. Each case's first_us has what its own buffers take at their first use.\n"
    "\n"
    "PROBING\n"
    "    Virtual machines have phases in which memory that another core has touched is slow to\n"
    "    write. With --probe one rank writes 64 KB that the other has just read, before each case\n"
    "    and after it; while that is slower than --probe-rate the case waits, or is repeated.\n"
    "    Their processors wander, too: a cache line takes perhaps 30 ns between two threads of a\n"
    "    core, 50 between neighbours and 200 where no cache is shared, and small messages with\n"
    "    it. handover_ns tells, and --probe-handover keeps to one of them: before and after each\n"
    "    repetition, which is measured again until both fit; the first one, and the first that\n"
    "    uses kept buffers, only with the whole case. The rate counts before the case alone then.\n"
    "    When --probe-wait is used up the rest is measured all the same, and marked.\n"
    "\n"
    "OUTPUT\n"
    "    One line a case on rank 0, after a line of names; with --json an object a line, with the\n"
    "    same names, and null where CSV has -.\n"
    "    first_us, median_us, best_us, mean_us, p10_us, p90_us: microseconds a message over the\n"
    "    repetitions; low_us to high_us holds the median with a probability of 95 %.\n"
    "    mb_per_s, messages_per_s: 10^6 bytes and messages a second at the median, both "
    "directions\n"
    "    together. hidden_percent: how much of the shorter of transfer and computing went on "
    "behind\n"
    "    the other, in the overlap patterns; else -. checked: no, ok or bad. quiet: yes, no, or -\n"
    "    where nothing was probed; handover_ns: the last probe's, or -.\n"
    "\n"
    "EXIT STATUS\n"
    "    0; 1 if a check failed; 2 on bad usage.\n"
    "\n"
    "EXAMPLES\n"
    "    mpirun -np 2 --mca pml ob1 --mca btl rbuf,self rbuf-bench --buffers fresh,reused --check\n"
    "    mpirun -np 2 rbuf-bench --pattern rate --min 1 --max 1k --step 100\n"
    "    mpirun -np 2 rbuf-bench --sizes 1M --buffers 0%,25%,50%,75%,100% --reps 200\n"
    "\n"
    "SEE ALSO\n"
    "    rbuf-compare runs it over several transports in turn, rbuf-plot draws what it prints.\n";

static void print_words(FILE *stream, const char *title, const struct bench_word *words, int count)
{
    fprintf(stream, "\n%s\n", title);
    for (int i = 0; i < count; i++) {
        fprintf(stream, "    %-17s %s\n", words[i].name, words[i].help);
    }
}

void bench_print_help(FILE *stream)
{
    fputs(HEAD, stream);
    bench_print_options(stream);
    print_words(stream, "PATTERNS", bench_pattern_words, BENCH_PATTERNS);
    fputs(BUFFERS, stream);
    print_words(stream, "TYPES", bench_type_words, BENCH_TYPES);
    print_words(stream, "CACHES", bench_cache_words, BENCH_CACHES);
    fputs(TAIL, stream);
}
