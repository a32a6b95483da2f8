#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Who has a helper, and on which core, by each policy (btl_rbuf_helper_policy): on a node of two cores, whatever this
# machine has. The kernel tells where the thread may run and how long it ran, rbuf's counters what it did.
#
# Three bindings: each rank on a node of its own, with the other core idle; both on core 0 of one node, with core 1
# idle; each on a core of one node, and none idle. The program is that of figure 1 of Li et al. 2011.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
needs helper

# A buffer is used again after some 70 ms, or after some 3 ms: two time slices are longer than that, whatever the
# kernel (common/time_slice.h).
long=(--buffers 3 --size 200000 --pause 20 --turns 20)
short=(--buffers 2 --size 100000 --pause 1 --turns 300)

read -ra allowed <<<"$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) printf "%d ", i }')"
if ! [[ "${allowed[*]-}" == "0 1"* ]]; then
    skip "policies of the helper" "it wants processors 0 and 1, and may use ${allowed[*]-}"
    tally
    exit
fi
# hwloc counts the node's cores. These two are processors of this machine all the same, so that threads are bound.
test "${#allowed[@]}" -eq 2 || export HWLOC_SYNTHETIC="node:1 core:2 pu:1(indexes=0,1)" HWLOC_THISSYSTEM=1

# with POLICY: the next jobs' options.
with() {
    mpi=(--mca btl_rbuf_protocol helper --mca btl_rbuf_report 2 --mca btl_rbuf_helper_policy "$1")
}

one_core=(taskset -c 0)
# shellcheck disable=SC2016 # for the shell of the rank
own_core=(sh -c 'exec taskset -c $OMPI_COMM_WORLD_RANK "$@"' -)
own_node=(-H "$(hostname):1,other:1" --map-by node --mca plm_rsh_agent "$here/../../contrib/node_here.sh")

# of RANK NAME: what that rank counted.
of() {
    grep "rank=$1 " "$log" | grep -o " helper_$2=[0-9]*" | cut -d= -f2
}

# cpus RANK, us RANK: where its helper may run, and how long it has.
cpus() {
    sed -n "s/^rhythm: rank=$1 helper_cpus=\([^ ]*\) .*/\1/p" "$log"
}
us() {
    sed -n "s/^rhythm: rank=$1 .*helper_us=//p" "$log"
}

# wrong_works RANK CPUS: it was to register ahead there, and uses were to find that.
wrong_works() {
    if [ "$(cpus "$1")" != "$2" ]; then
        echo "the helper of rank $1 may run on $(cpus "$1")"
    elif [ "$(of "$1" ahead)" -lt 5 ]; then
        echo "the helper of rank $1 registered $(of "$1" ahead) times ahead"
    elif [ "$(of "$1" ready)" -lt 5 ]; then
        echo "rank $1 found its memory registered $(of "$1" ready) times"
    fi
}

# wrong_rests RANK CPUS: it was to do nothing there, and to stay where it began.
wrong_rests() {
    if [ "$(cpus "$1")" != "$2" ]; then
        echo "the helper of rank $1 may run on $(cpus "$1")"
    elif [ "$(of "$1" ahead)" != 0 ] || [ "$(of "$1" kept)" != 0 ]; then
        echo "the helper of rank $1 registered $(of "$1" ahead) times ahead, and kept $(of "$1" kept)"
    elif [ "$(us "$1")" -gt 100000 ]; then
        echo "the helper of rank $1 ran for $(us "$1") us"
    fi
}

# wrong_keeps RANK CPUS: the next use was too near to deregister: by equation 2, as the pause is long enough for equation 1.
wrong_keeps() {
    if [ "$(cpus "$1")" != "$2" ]; then
        echo "the helper of rank $1 may run on $(cpus "$1")"
    elif [ "$(of "$1" kept)" -lt 50 ] || [ "$(of "$1" ahead)" -gt $(($(of "$1" kept) / 4)) ]; then
        echo "the helper of rank $1 registered $(of "$1" ahead) times ahead, and kept $(of "$1" kept)"
    fi
}

# One of the two has the core, after a while: which one, their registrations decide. The other one's helper may have
# been there before.
wrong_one_works() { # CPUS
    local worker=0
    [ "$(of 0 ahead)" -gt "$(of 1 ahead)" ] || worker=1
    wrong_works "$worker" "$1" | grep . && return
    if [ $((5 * $(of $((1 - worker)) ahead))) -gt "$(of "$worker" ahead)" ]; then
        echo "both work: they registered $(of 0 ahead) and $(of 1 ahead) times ahead"
    fi
}

# case_of NAME PROGRAM-OPTIONS CHECK...: runs rhythm; each CHECK is a command that says what is wrong.
case_of() {
    local name="policy: $1" check
    local -n options=$2
    job "$name" 60 2 "$mpi_tests/rhythm" "${options[@]}" --where
    wrong=$(wrong_success)
    for check in "${@:3}"; do
        [ -n "$wrong" ] || wrong=$($check)
    done
    verdict "$name" "$wrong" "ahead $(of 0 ahead) $(of 1 ahead), kept $(of 0 kept) $(of 1 kept), ready $(of 0 ready) $(of 1 ready)"
}

wrap=("${own_core[@]}")
if transport_mpirun_is 5; then
    skip "policy: a node for each rank" "node_here.sh is for Open MPI 4"
else
    for policy in conservative aggressive coordinated force; do
        with $policy
        mpi+=("${own_node[@]}")
        case_of "$policy, an idle core for each rank" long "wrong_works 0 1" "wrong_works 1 0"
    done
    with off
    mpi+=("${own_node[@]}")
    case_of "off, an idle core for each rank" long "wrong_rests 0 0" "wrong_rests 1 1"
fi
for policy in conservative aggressive coordinated; do
    with $policy
    case_of "$policy, no idle core" long "wrong_rests 0 0" "wrong_rests 1 1"
done
with force
case_of "force, no idle core" long "wrong_works 0 0" "wrong_works 1 1"
case_of "force, no idle core, short pauses" short "wrong_works 0 0" "wrong_works 1 1"

wrap=("${one_core[@]}")
with conservative
case_of "conservative, one idle core" long "wrong_one_works 1"
case_of "conservative, one idle core, short pauses" short "wrong_one_works 1"
for policy in aggressive force; do
    with $policy
    case_of "$policy, one idle core" long "wrong_works 0 1" "wrong_works 1 1"
    case_of "$policy, one idle core, short pauses" short "wrong_keeps 0 1" "wrong_keeps 1 1"
done
with coordinated
case_of "coordinated, one idle core" long "wrong_works 0 1" "wrong_works 1 1"
case_of "coordinated, one idle core, short pauses" short "wrong_one_works 1"
tally
