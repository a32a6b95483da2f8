# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by run.sh: what peers cost. Jobs of 8 and 32 ranks (and 64 in the long form) in which each
# rank speaks to one peer, over rbuf and over tcp, which tells what Open MPI itself needs for more ranks;
# and 64 ranks all to all at the same moment.

scale=$RBUF_BUILD/tests/soak/scale
small_parameters=(--mca btl_rbuf_staging_size 256k --mca btl_rbuf_largest_chunk 16k
    --mca btl_rbuf_control_buffers 64 --mca btl_rbuf_bulk_buffers 8
    --mca btl_rbuf_control_credits 4 --mca btl_rbuf_bulk_credits 2 --mca btl_rbuf_send_queue 32)

# value LOG PEERS WHAT [most|mean]: of all ranks.
value() {
    sed -n "s/^scale: ranks=[0-9]* peers=$2 what=$3 .*${4:-most}=\([0-9.]*\) .*/\1/p" "$1"
}

at_most() { # WHAT VALUE LIMIT
    awk -v a="${2:-none}" -v b="$3" 'BEGIN { exit !(a != "none" && a + 0 <= b + 0) }' ||
        echo "$1: ${2:-nothing said}, at most $3 expected"
}

# What is pinned and open is as in a job of 8, whatever the number of ranks.
wrong_as_8() { # LOG; uses one_8
    local what before
    for before in 0 1; do
        for what in pinned descriptors; do
            at_most "$what after $before peers" "$(value "$1" $before $what)" \
                "$(value "$one_8" $before $what)"
        done
    done
}

# Nor does the heap grow with their number, but for what Open MPI itself keeps of each, and an entry in a
# table, whose ring is none before it is used. The mean of the ranks: one of them may have had memory for
# something else, and a difference of two jobs shows it.
wrong_silent() { # RANKS; uses one_8, one_RANKS, tcp_8, tcp_RANKS
    local many=one_$1 tcp=tcp_$1 peers=$(($1 - 8)) before
    wrong_as_8 "${!many}"
    for before in 0 1; do
        at_most "heap (KB) for each silent peer beyond tcp's, after $before peers, $1 ranks" "$(awk \
            -v a="$(value "${!many}" $before heap mean)" -v b="$(value "$one_8" $before heap mean)" \
            -v c="$(value "${!tcp}" $before heap mean)" -v d="$(value "$tcp_8" $before heap mean)" \
            -v n=$peers 'BEGIN { printf "%.2f", ((a - b) - (c - d)) / n }')" 0.75
    done
    at_most "something is pinned at the start, that is, counted" 1 "$(value "$one_8" 0 pinned)"
}

silent_peers() {
    local ranks list=(8 32)
    [ -z "$minutes" ] || list+=(64)
    for ranks in "${list[@]}"; do
        mpi=("${small_parameters[@]}")
        btls=rbuf,self
        job "one peer, $ranks ranks" 60 $ranks "$scale" one
        verdict "one peer, $ranks ranks" "$(wrong_success)" "$took s"
        declare -g "one_$ranks=$log"
        mpi=()
        btls=tcp,self
        job "one peer, $ranks ranks, tcp" 60 $ranks "$scale" one
        verdict "one peer, $ranks ranks, tcp" "$(wrong_success)" "$took s"
        declare -g "tcp_$ranks=$log"
    done
    btls=rbuf,self
    for ranks in "${list[@]:1}"; do
        verdict_on_others "$ranks ranks: silent peers cost nothing" "$(wrong_silent "$ranks")"
    done
}

# What each connected peer takes: one descriptor, and no more than so many KB.
each() { # LOG PEERS WHAT [most|mean]: of all ranks
    awk -v a="$(value "$@")" -v b="$(value "$1" 1 "${@:3}")" -v n=$(($2 - 1)) \
        'BEGIN { printf "%.2f", (a - b) / n }'
}

all_to_all() { # RANKS
    local peers=$(($1 - 1)) name="$1 ranks, all to all" wrong
    mpi=("${small_parameters[@]}")
    # Fewer descriptors than peers to begin with: the soft limit is raised.
    # shellcheck disable=SC2016 # for the shell of the rank
    job "$name" 120 "$1" bash -c 'ulimit -S -n 40; exec "$0"' "$scale"
    wrong=$(
        wrong_success
        wrong_as_8 "$log"
        at_most "descriptors a peer" "$(each "$log" $peers descriptors)" 1
        # What all ranks pin. One whose messages wait long, on a busy machine, pins some MB for fragments once.
        at_most "pinned KB a peer" "$(each "$log" $peers pinned mean)" 4
        at_most "heap KB a peer" "$(each "$log" $peers heap)" 16
    )
    verdict "$name" "$wrong" "$took s"
    sed -n 's/^scale: /      /p' "$log"
    printf '      each connected peer: %s KB of heap, %s KB pinned, %s KB in the adapter, %s descriptors\n' \
        "$(each "$log" $peers heap)" "$(each "$log" $peers pinned mean)" "$(each "$log" $peers adapter)" \
        "$(each "$log" $peers descriptors)"
}

hca=()
if [ "$(nproc)" -lt 2 ]; then
    skip "connections" "wants two processors"
else
    silent_peers
    all_to_all 64
fi
