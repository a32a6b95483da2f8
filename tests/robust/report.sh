#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What btl_rbuf_report prints: five lines that count all processes, a line each, JSON; and that nobody waits
# for ever for a process that does not come.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"
bench=$RBUF_BUILD/ompi-mca-btl-rbuf/rbuf-bench

# reported NAME LEVEL RANKS PROGRAM [ARGUMENT...]: a job with that level, after which a function judges.
reported() {
    mpi=(--mca btl_rbuf_report "$2" "${more[@]}")
    job "$1" 60 "$3" "${@:4}"
}
more=()

# check NAME JUDGE [ARGUMENT...]: of the last job.
check() {
    local wrong
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$("${@:2}")
    verdict "$1" "$wrong" "$took s"
}

# The job's number of COUNTER, as REGEX has it in the five lines.
in_summary() { # REGEX
    sed -n -E "s/^rbuf-report: .*$1.*/\1/p" "$log"
}

# The lines have what each process counted: STAGED and PUTS of all, in a job of RANKS.
wrong_summary() { # RANKS STAGED PUTS
    if [ "$(lines_with '^rbuf-report: ')" != 5 ]; then
        echo "$(lines_with '^rbuf-report: ') lines, not 5"
    elif ! grep -q -E "^rbuf-report: $1 processe?s? on 1 node, version [0-9.]+(~dev)?, protocol superpipeline, port softhca0:1\$" "$log"; then
        echo "not of $1 processes: $(grep -m 1 '^rbuf-report' "$log")"
    elif [ "$(in_summary 'rendezvous: ([0-9]+) staged')" != "$2" ]; then
        echo "$(in_summary 'rendezvous: ([0-9]+) staged') staged, not $2"
    elif [ "$(in_summary 'one-sided: ([0-9]+) puts')" != "$3" ]; then
        echo "$(in_summary 'one-sided: ([0-9]+) puts') puts, not $3"
    elif [ "$1" -gt 1 ] && ! [ "$(in_summary 'messages: ([0-9]+) \(')" -gt 0 ]; then
        echo "no messages"
    fi
}

wrong_lines() { # RANKS
    local rank
    [ "$(lines_with '^rbuf-report: ')" = "$1" ] || echo "$(lines_with '^rbuf-report: ') lines, not $1"
    for ((rank = 0; rank < $1; rank++)); do
        grep -q "^rbuf-report: rank=$rank host=[^ ]* version=[^ ]* protocol=superpipeline ports=softhca0:1 messages_sent=[1-9]" "$log" ||
            echo "no line of rank $rank"
    done
}

# Objects that a reader of JSON understands, with the names that NAMES (a file) has.
wrong_json() { # RANKS NAMES
    grep '^{' "$log" | perl -MJSON::PP -e '
        my ($ranks, $names) = @ARGV;
        open my $file, "<", $names or die;
        chomp(my @names = <$file>);
        my %seen;
        while (<STDIN>) {
            my $object = eval { decode_json($_) } or print("no JSON: $_"), exit;
            $seen{$object->{rank}}++;
            defined $object->{$_} or print("no $_\n") for "host", "version", "protocol", "ports", "processors", @names;
            $object->{messages_sent} > 0 or print("no messages\n");
        }
        print("ranks ", join(" ", sort keys %seen), "\n") if keys(%seen) != $ranks;
    ' "$1" "$2"
    [ "$(lines_with rbuf-report)" = 0 ] || echo "other lines"
}

# WHAT of the ranks is unusual, with what helps.
wrong_sharing() { # WHAT
    grep -q "^rbuf-report: unusual: $1 on [^ ]*: bind each to a core of its own (mpirun --bind-to core, srun --cpu-bind=cores)" "$log" ||
        echo "not said: $(grep -E ' unusual: |^rbuf-report' "$log" | tail -n 1)"
}

wrong_apart() {
    grep -m 1 'processes share' "$log"
    grep -q '^rbuf-report: unusual: ' "$log" || echo "nothing is said of what is unusual"
}

wrong_silence() {
    [ "$(lines_with '^rbuf-report|^\{')" = 0 ] || echo "something is reported"
}

# Each process for itself, and it says why.
wrong_each() { # RANK...
    local rank
    [ "$(lines_with 'each reports for itself$')" -ge $# ] || echo "not said by $# processes"
    for rank; do
        [ "$(lines_with "^rbuf-report: rank=$rank host=.* messages_sent=[1-9]")" = 1 ] ||
            echo "no line of rank $rank"
    done
}

wrong_leaving() {
    wrong_crash && return
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "hangs: no end after $took s"
    elif ! grep -q -E '^rbuf-report: (rank=0 |2 processes on 1 node \(of 3: nothing is known of the others\))' "$log"; then
        echo "rank 0 reports nothing"
    fi
}

# 2 ranks, 10 messages there and 10 back, and 10 puts. What is printed for the job is what the ranks print.
staged=("$bench" --sizes 1M --reps 10 --pattern "pingpong,put" --buffers reused)
name="report: all counters"
reported "$name" 2 2 "${staged[@]}"
check "$name" wrong_lines 2
expected=("$(counted staged_messages)" "$(counted one_sided_puts)")
tr ' ' '\n' <"$log" | sed -n 's/^\([a-z_0-9]*\)=[0-9]*$/\1/p' | sort -u >"$TALLY_LOGS/names"

name="report: the job"
reported "$name" 1 2 "${staged[@]}"
check "$name" wrong_summary 2 "${expected[@]}"

name="report: JSON"
reported "$name" 3 2 "${staged[@]}"
check "$name" wrong_json 2 "$TALLY_LOGS/names"

name="report: one process"
reported "$name" 1 1 "$mpi_tests/self"
check "$name" wrong_summary 1 0 0

# Where the processes may run.
read -ra processors < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{ for (i = $1; i <= $NF; i++) print i }' | tr '\n' ' ')
name="report: two ranks share a processor"
wrap=(taskset -c "${processors[0]}")
reported "$name" 1 2 "$mpi_tests/unlike"
check "$name" wrong_sharing "2 processes share 1 processor"
wrap=()

if [ ${#processors[@]} -lt 2 ]; then
    skip "report: processors of their own" "this machine has one"
else
    name="report: four ranks share two processors"
    wrap=(taskset -c "${processors[0]},${processors[1]}")
    reported "$name" 1 4 "$mpi_tests/unlike"
    check "$name" wrong_sharing "4 processes share 2 processors"

    name="report: two ranks may use two processors"
    reported "$name" 1 2 "$mpi_tests/unlike"
    check "$name" wrong_apart

    name="report: each rank has its processor"
    # shellcheck disable=SC2016 # for the shell of the rank
    wrap=(sh -c 'shift "$OMPI_COMM_WORLD_RANK" && exec taskset -c "$1" "$0"' "$mpi_tests/unlike")
    reported "$name" 1 2 "${processors[@]}"
    check "$name" wrong_apart
    wrap=()
fi

name="report: nothing"
reported "$name" 0 2 "$mpi_tests/unlike"
check "$name" wrong_silence

# --- processes that do not come ---

name="report: others were not asked"
reported "$name" 1 4 "$mpi_tests/unlike" report=0
check "$name" wrong_each 0 2

name="report: a process dies on the way"
preload leaving.c LEAVING=1
more=(--enable-recovery)
reported "$name" 1 3 "$robust_tests/steady" 0
verdict "$name" "$(wrong_leaving)" "$took s"

name="report: a process comes late"
preload leaving.c LEAVING=1
wrap+=(env LATE=14)
more=()
reported "$name" 1 3 "$robust_tests/steady" 0
check "$name" wrong_each 0 2
tally
