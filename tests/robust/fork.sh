#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# On a kernel that does not copy pinned pages at fork ibv_fork_init() is called, unless the user's word for
# rbuf or Open MPI's for all verbs, given by whatever way, is against it. And a child that outlives its
# parent holds nothing up: neither the port of the next job, nor the news of the parent's death.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
file=$TALLY_LOGS/params.conf

# state NAME STATE [OPTION...]
state() {
    local name="fork: $1" wanted=$2 wrong
    shift 2
    mpi=("$@")
    job "$name" 60 2 "$robust_tests/fork_state"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(grep -c "fork support is $wanted$" "$log")" = 2 ] ||
        wrong="$(grep -m 1 'fork support is' "$log"), not $wanted"
    verdict "$name" "$wrong"
}

in_file() { # WORD: the options that make Open MPI read it out of a file
    echo "opal_common_verbs_want_fork_support = $1" >"$file"
    by_file=(--mca mca_base_param_files "$file")
}

export SOFTHCA_OLD_FORK=0
state "a kernel that copies pinned pages" unneeded
export SOFTHCA_OLD_FORK=1
state "by default" enabled
state "btl_rbuf_fork_support=off" disabled --mca btl_rbuf_fork_support off
state "Open MPI's word is no" disabled --mca opal_common_verbs_want_fork_support 0
state "Open MPI's word is if possible" enabled --mca opal_common_verbs_want_fork_support -1
in_file 0
state "Open MPI's word is no, in a file" disabled "${by_file[@]}"
state "rbuf's own word is the last" enabled "${by_file[@]}" --mca btl_rbuf_fork_support on
unset SOFTHCA_OLD_FORK

# outliving HOW: a job whose last rank leaves a child behind
child_file=$TALLY_LOGS/child
outliving() {
    rm -f "$child_file"
    job "$1" 60 2 "$robust_tests/outliving" "$2" "$child_file"
}
end_child() {
    [ -s "$child_file" ] && kill -KILL "$(cat "$child_file")"
}

# The second of two jobs, with as many ports as ranks, while a child of the first lives.
port=$((26100 + $$ % 1000 * 2))
mpi=(--mca btl_rbuf_listen_ports "$port-$((port + 1))")
outliving "fork: a child outlives a job" finalize
verdict "fork: a child outlives a job" "$(wrong_success)"
job "fork: the next job has its ports" 60 2 "$robust_tests/steady" 0
wrong=$(wrong_success)
kill -0 "$(cat "$child_file")" 2>/dev/null || wrong="the child did not live as long"
verdict "fork: the next job has its ports" "$wrong"
end_child

# mpirun is told to leave the other rank alone.
died() {
    outliving "$1" killed
    wrong=$(wrong_errors "$patience" 1)
    [ -n "$wrong" ] || kill -0 "$(cat "$child_file")" 2>/dev/null || wrong="the child did not live as long"
    end_child
}
mpi=(--enable-recovery)
until_told died "fork: a parent's death is heard of"
verdict "fork: a parent's death is heard of" "$wrong" "after $took s"
tally
