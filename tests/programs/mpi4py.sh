#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# mpi4py's test suite, from the sources of Debian's package (the folder that MPI4PY_TESTS names, if it is
# set), with the installed mpi4py on 2 ranks, and in the long form on 4. A test that fails over rbuf must
# fail over tcp, or over vader with the same one-sided component.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
python=/usr/bin/python3 # Debian's, whatever else comes first
osc=rdma,sm

if ! "$python" -c 'import mpi4py' 2>/dev/null; then
    skip mpi4py "python3-mpi4py is not installed"
    tally
    exit
fi
export PYTHONDONTWRITEBYTECODE=1

# What the package itself can check: a message around a ring of 4, compared where it started.
wrong_ring() {
    wrong_end | grep . || grep -m 1 'does not match' "$log" || grep -q '^time for' "$log" || echo "no result"
}

for protocol in "${protocols[@]}"; do
    for size in 1000 70001 3000001; do
        name="mpi4py ring, $size bytes, over $protocol"
        job "$name" "$protocol" 60 4 "$python" -m mpi4py.bench ringtest --loop 20 --size $size
        verdict "$name" "$(wrong_ring)"
    done
done

tests=${MPI4PY_TESTS:-$cache/sources/mpi4py}
if [ ! -e "$tests/runtests.py" ] && ! debian_source mpi4py test; then
    skip "mpi4py tests" "they cannot be had from the archive: $(grep -m 1 '^E:' "$log" | sed 's|[a-z]*://[^ ]*/||; s| *\[IP.*||')"
    tally
    exit
fi
cd "$tests" || exit 1
# Spawned processes, and the pool of workers made of them, would not get a fabric of the same name.
options=(-v -e test_spawn -e test_dynproc -e test_util_pool)
[ "$programs_all" = yes ] || options+=(-i test_p2p -i test_cco_buf -i test_cco_nb_buf -i test_rma -i test_pack
    -i test_msgspec -i test_win -i test_datatype)

# The tests that a log calls failed on any rank, one a line.
failing_tests() { # LOG
    sed -n -E 's/^.*>:(FAIL|ERROR): (.*)$/\2/p' "$1" | tr ' ' '_' | sort -u
}

# How many tests each rank ran, if it told.
tests_run() {
    sed -n -E 's/^.*>:Ran ([0-9]+) tests? in .*/\1/p' "$log" | sort -n | head -n 1
}

# suite NAME TRANSPORT RANKS: its failing tests go to $work/TRANSPORT.
suite() {
    job "$1" "$2" 900 "$3" --tag-output "$python" runtests.py "${options[@]}"
    failing_tests "$log" >"$work/$2"
    [ -n "$(tests_run)" ] || echo "(the suite did not end: $(wrong_end))" >>"$work/$2"
}

# References are run once for a number of ranks, and only if something failed: $work/excused.
excuse() { # RANKS
    [ ! -e "$work/excused" ] || return 0
    local osc=
    suite "mpi4py, $1 ranks, over tcp" tcp "$1"
    osc=rdma,sm
    suite "mpi4py, $1 ranks, over vader" vader "$1"
    sort -u "$work/tcp" "$work/vader" >"$work/excused"
}

mpi4py_over() { # PROTOCOL RANKS
    local name="mpi4py, $2 ranks, over $1" mine number saved status_of
    suite "$name" "$1" "$2"
    number=$(tests_run)
    saved=$log
    status_of=$(wrong_end)
    if [ -s "$work/$1" ]; then
        excuse "$2"
        mine=$(comm -23 "$work/$1" "$work/excused" | paste -s -d ' ')
    elif [ -n "$status_of" ]; then
        mine=$status_of
    else
        mine=
    fi
    log=$saved
    verdict "$name" "${mine:+fails where tcp and vader do not: $mine}" \
        "$number tests a rank; $(wc -l <"$work/$1") fail over Open MPI's own transports too"
}

ranks_of=(2)
[ "$programs_all" = no ] || ranks_of=(2 4)
for ranks in "${ranks_of[@]}"; do
    rm -f "$work/excused"
    for protocol in "${protocols[@]}"; do
        mpi4py_over "$protocol" "$ranks"
    done
done
tally
