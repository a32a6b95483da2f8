#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPI programs under valgrind's memcheck. Open MPI, its run-time and hwloc have errors and leaks of
# their own; what counts are those with a function of the component in their stack.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
ompi_suppressions=/usr/share/openmpi/openmpi-valgrind.supp

if ! command -v valgrind >/dev/null; then
    skip "valgrind" "it is not installed"
    tally
    exit
fi

# The records of the last job that have a function of ours in the stack, by the path of its file. Symbols of the component,
# which is unloaded before the end, are kept by --keep-debuginfo.
records_of_ours() {
    cat "$TALLY_LOGS/memcheck".* 2>/dev/null | perl -e '
        my $ours = qr{opal/mca/btl/rbuf/[\w./]+\.[ch]:\d+\)};
        my $record = "";
        while (<STDIN>) {
            if (/^==\d+== *$/) {
                print $record if $record =~ $ours;
                $record = "";
            } else {
                $record .= "$_";
            }
        }'
}

memcheck() { # NAME PROTOCOL PROGRAM [ARGUMENT...]
    local name=$1
    rm -f "$TALLY_LOGS/memcheck".*
    # Fair: else a rank that spins in MPI_Finalize can keep its listener's thread off for ten seconds,
    # and then has not heard that its peer leaves.
    wrap=(valgrind --fair-sched=try --leak-check=full --show-leak-kinds=definite --num-callers=40
        --keep-debuginfo=yes --fullpath-after= "--suppressions=$here/memcheck.supp" "--log-file=$TALLY_LOGS/memcheck.%p")
    test -f $ompi_suppressions && wrap+=("--suppressions=$ompi_suppressions")
    mpi=(--mca btl_rbuf_protocol "$2" "${auto_args[@]}")
    job "$name" 300 2 "${@:3}"
}

clean() { # PROTOCOL PROGRAM [ARGUMENT...]
    local name wrong
    name="memcheck: $1, $(basename "$2")"
    memcheck "$name" "$@"
    wrong=$(wrong_success)
    if [ -z "$wrong" ] && [ "$(ls "$TALLY_LOGS"/memcheck.* 2>/dev/null | wc -l)" -lt 2 ]; then
        wrong="no report of valgrind"
    fi
    if [ -z "$wrong" ] && [ -n "$(records_of_ours)" ]; then
        wrong="errors or leaks"
        records_of_ours >>"$log"
    fi
    verdict "$name" "$wrong" "$took s"
}

# What the program does wrong is seen where the component does it.
sees() {
    local name="memcheck: a wrong read is seen"
    memcheck "$name" superpipeline "$robust_tests/outside"
    if records_of_ours | grep -q 'Invalid read'; then
        pass "$name"
    else
        verdict "$name" "it is not: nothing above means anything"
    fi
}

clean superpipeline "$robust_tests/steady" 0
clean superpipeline "$mpi_tests/finalize"
clean register "$mpi_tests/window" 4
if [ "$robust_all" = yes ]; then
    # superpipeline has most of pipeline's and copy's code, and auto most of register's and rcache's: the rest
    # of these is run by one program each. What sends hardly a large message is the same with both.
    for program in modes cancel collectives comms many_to_one persistent probe self; do
        clean superpipeline "$mpi_tests/$program"
    done
    for program in order pingpong truncate types packed unexpected onesided copied; do
        clean superpipeline "$mpi_tests/$program"
    done
    for program in onesided copied; do
        clean auto "$mpi_tests/$program"
    done
    for protocol in superpipeline auto; do
        clean $protocol "$mpi_tests/threads" 5
    done
    clean pipeline "$mpi_tests/types"
    clean copy "$mpi_tests/order"
    clean register "$mpi_tests/onesided"
    clean rcache "$mpi_tests/order"
    clean auto "$mpi_tests/readonly"
fi
sees
tally
