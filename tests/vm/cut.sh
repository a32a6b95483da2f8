# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced after common.sh by the tests that cut a link under a running job.

cut_limit=10 # seconds within which the ranks have to say so
lost="0 1"

# Adds the time to each line.
stamped()
{
    local line
    while IFS= read -r line; do
        printf '%s %s\n' "$EPOCHREALTIME" "$line"
    done
}

# The seconds from AT until a rank says that it lost rank PEER, and the cause that it names; nothing if none
# does.
loss_said() # LOG AT PEER
{
    awk -v at="$2" -v peer=",1],$3]" '
        (start = index($0, " lost peer [[")) && (end = index($0, peer ": ")) > start {
            printf "%.1f %s\n", $1 - at, substr($0, end + length(peer) + 2)
            exit
        }
        index($0, " Peer: ") && index($0, peer) { told = $1 } # the help text: mpirun may lose either
        told && index($0, " Cause: ") {
            sub(/.* Cause: +/, "")
            printf "%.1f %s\n", told - at, $0
            exit
        }
    ' "$1"
}

# Runs the program on two ranks that mpirun leaves alone, and cuts the link when rank 1 is ready. Sets at,
# the time of that. Returns 1 if the job ended before.
run_and_cut() # LOG COMMAND-THAT-CUTS PROGRAM [ARGUMENT...]
{
    local log=$1 command=$2 job
    shift 2
    mpi_job 2 "$@"
    timeout -k 5 300 "${mpi_command[@]}" </dev/null 2>&1 | stamped >"$log" &
    job=$!
    until grep -q 'link: ready' "$log"; do
        kill -0 $job 2>/dev/null || return 1
        sleep 0.2
    done
    sleep 1
    $command
    at=$EPOCHREALTIME # not before: a busy machine takes its time to carry the command to the other guest
    wait $job
}

# Cuts once, in a job of its own. Sets wrong, empty if each rank of $lost is said to be lost soon and why, and
# remark, what was said.
cut_once() # LOG COMMAND-THAT-CUTS COMMAND-THAT-MENDS PROGRAM [ARGUMENT...]
{
    local log=$1 mends=$3 at peer said ended=0
    remark=
    wrong=
    run_and_cut "$log" "$2" "${@:4}" || ended=1
    $mends
    if [ $ended = 1 ]; then
        wrong="the job ended before the link was cut"
        return
    fi
    for peer in $lost; do
        said=$(loss_said "$log" "$at" "$peer")
        if [ -z "$said" ]; then
            wrong="nobody says that rank $peer is lost"
            return
        fi
        remark+="${remark:+; }rank $((1 - peer)) after ${said/ / s: }"
        if awk "BEGIN { exit !(${said%% *} > $cut_limit) }"; then
            wrong="late: $remark"
        fi
    done
}

# Counts a cut: it is said soon that each rank of $lost is lost ("0 1": both), by the other rank, and why. mpirun
# ends when the first rank has ended, and may lose all that the other said; then it is done again.
cut() # NAME COMMAND-THAT-CUTS COMMAND-THAT-MENDS PROGRAM [ARGUMENT...]
{
    local name="$vm_test: $1" log wrong remark
    log=$(log_of "$name")
    for _ in 1 2 3; do
        cut_once "$log" "${@:2}"
        [[ $wrong = "nobody says"* ]] || break
    done
    if [ -n "$wrong" ]; then
        fail "$name" "$wrong"
        show_log "$name"
        return 1
    fi
    pass "$name" "$remark"
}
