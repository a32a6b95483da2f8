#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Processes with several ports, with unlike numbers of them, with ports of several fabrics, and with ports
# that go down. The data is right, and messages go by the ports that are meant, or the error names the port.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
subject=ports
shown=messages_sent
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"

storm="$mpi_tests/storm"

# Each rank has its word of LIST in the environment variable.
by_rank() { # VARIABLE LIST
    # shellcheck disable=SC2016 # for the shell of the rank
    wrap=(bash -c 'read -ra word <<<"$1"; export "$0=${word[OMPI_COMM_WORLD_RANK]}"; exec "${@:2}"'
        "$1" "$2")
}

# The pairs of ports that a job makes: "0:ib0:1 1:ib0:1", sorted, RANK:PORT of those that reach another rank.
pairs_made() {
    sed -n 's/.*rbuf: port \([^ ]*\) is paired with port number [0-9]* of \[\[[0-9]*,1\],\([0-9]*\)\].*/\2<\1/p' \
        "$log" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# --- any numbers ---

for ours in 1 2 3 4; do
    for theirs in 1 2 3 4; do
        by_rank SOFTHCA_PORTS "$ours $theirs"
        with
        # Where one port leads to the other process early data goes along as with one port in all.
        heads="heads_led=0 heralds=0"
        if [ $ours = 1 ] || [ $theirs = 1 ]; then
            heads="heads_led>0"
        fi
        right "$ours against $theirs" "$heads" 2 "$storm" 4 300001 2
    done
done
with
for numbers in "1 2 3 4" "4 1 1 2"; do
    by_rank SOFTHCA_PORTS "$numbers"
    right "$numbers, small and large" "messages_sent>0" 4 "$storm"
    right "$numbers, all to all" "messages_sent>0" 4 "$mpi_tests/collectives"
done
by_rank SOFTHCA_PORTS "2 1"
right "2 against 1, packed" "heralds>0" 2 "$mpi_tests/packed"
for numbers in "2 2" "3 4"; do
    by_rank SOFTHCA_PORTS "$numbers"
    right "$numbers, packed" "heralds=0" 2 "$mpi_tests/packed" uncounted
done
by_rank SOFTHCA_PORTS "2 3"
right "2 against 3, threads" "messages_sent>0" 2 "$mpi_tests/threads"
right "2 against 3, one-sided" "messages_sent>0" 2 "$mpi_tests/onesided"
for protocol in pipeline copy register rcache auto; do
    with protocol=$protocol
    right "2 against 3, $protocol" "messages_sent>0" 2 "$storm" 4 300001 2
done

tally
