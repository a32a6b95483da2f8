#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Measures one-sided communication over rbuf and over its peers, in rounds that take turns: two processes that Open
# MPI takes for those of two nodes, a core each.
#
#   contrib/one_sided_peers.sh [OPTION...] --csv FILE epochs|operations|programs
#
#   epochs      put and get of 8 B with post-start-complete-wait and with a fence, and a fence behind 16 puts: rbuf-bench
#   operations  accumulates, fetches and swaps with a flush under lock_all (tests/mpi/passive_times), and updates of
#               random words (tests/mpi/passive updates)
#   programs    the programs of tests/programs that use windows, from MPI_Init to MPI_Finalize, and whether their
#               results are right
# Options:
#   --rounds N      5; each begins with another peer
#   --profile NAME  of the emulated adapter (infini)
#   --peers LIST    those of the step by default; with commas:
#                     rbuf            default settings: nothing is named but the pml and the btl
#                     rbuf-rdma       osc/rdma alone
#                     rbuf-pt2pt      Open MPI's osc/pt2pt over rbuf. It gives wrong data over a protocol that
#                                     copies (docs/one-sided.md), so with protocol rcache
#                     openib-pt2pt    osc/pt2pt over the openib BTL with its registration cache
#                     tcp-pt2pt       osc/pt2pt over the TCP BTL, by the loopback interface: no profile paces it
#                     ucx             osc/ucx over pml ucx, with UCX_TLS=rc,self
#   --quick         one short round that waits for no quiet machine: whether it works, not how fast it is. So does
#                   RBUF_QUICK=yes
#
# A run that fails, or whose results are wrong, has a line with - in place of a time.
#
# Environment: RBUF_BUILD, the build directory (build/demo/build, which contrib/demo.sh makes); RBUF_COMPONENT_DIR and
# SOFTHCA, as contrib/transports.sh has them; what is installed is found by PATH.
# Exit status: 0; 1 if a run over rbuf failed; 2 on bad usage.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
rounds=5
profile=infini
peers=
csv=
quick=${RBUF_QUICK:-no}
step=

refuse()
{
    echo "one_sided_peers.sh: $* (--help explains)" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"
        exit 0
        ;;
    --quick) quick=yes ;;
    --rounds | --profile | --peers | --csv)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    epochs | operations | programs) step=$1 ;;
    *) refuse "no step or option '$1'" ;;
    esac
    shift
done
[ -n "$step" ] || refuse "names no step"
[ -n "$csv" ] || refuse "wants --csv FILE"
[[ $rounds =~ ^[1-9][0-9]*$ ]] || refuse "--rounds '$rounds': wants a whole number above 0"
: "${RBUF_BUILD:=$top/build/demo/build}"
[ "$quick" = no ] || rounds=1
if [ -z "$peers" ]; then
    case $step in
    epochs) peers=rbuf,rbuf-rdma,openib-pt2pt,ucx ;;
    operations) peers=rbuf,rbuf-rdma,openib-pt2pt,ucx ;;
    programs) peers=rbuf,rbuf-rdma,rbuf-pt2pt,openib-pt2pt,tcp-pt2pt,ucx ;;
    esac
fi
IFS=, read -ra peers <<<"$peers"

# shellcheck source=contrib/transports.sh
. "$here/transports.sh"
# shellcheck source=tests/programs/builds.sh
. "$top/tests/programs/builds.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
fabric_choose "$profile" || exit 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
failed=0

# peer_options PEER: sets the array args to mpirun's options.
peer_options()
{
    case $1 in
    rbuf | rbuf-*)
        args=(--mca pml ob1 --mca btl "rbuf,self")
        [ -z "${RBUF_COMPONENT_DIR-}" ] ||
            args+=(--mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR")
        ;;
    openib-pt2pt) transport_options openib-pinned ;;
    tcp-pt2pt) transport_options tcp ;;
    ucx) transport_options ucx ;;
    *) refuse "--peers: there is no '$1'" ;;
    esac
    case $1 in
    rbuf) ;;
    rbuf-rdma) args+=(--mca osc rdma) ;;
    rbuf-pt2pt) args+=(--mca osc pt2pt --mca btl_rbuf_protocol rcache) ;;
    *-pt2pt) args=("${transport_args[@]}" --mca osc pt2pt) ;;
    ucx) args=("${transport_args[@]}" --mca osc ucx) ;;
    esac
}

# run PEER LIMIT PROGRAM [ARGUMENT...]: in the directory $work, at most LIMIT seconds; its output goes to $work/out.
run()
{
    local limit=$2 fabric=("${fabric_command[@]}")
    peer_options "$1"
    [ "$1" != tcp-pt2pt ] || fabric=()
    shift 2
    mpi_launch_apart 2
    # shellcheck disable=SC2016 # for the shell of the rank
    (cd "$work" && TMPDIR=$work timeout -k 5 "$limit" "${fabric[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${args[@]}" --mca mpi_warn_on_fork 0 sh -c 'exec taskset -c "$OMPI_COMM_WORLD_RANK" "$@"' sh "$@") \
        >"$work/out" 2>&1 </dev/null
}

# Says what is wrong with the last run.
complain() # ROUND PEER WHAT
{
    echo "one_sided_peers.sh: round $1: $3 over $2 failed:" >&2
    tail -n 15 "$work/out" | sed 's/^/    /' >&2
    [[ $2 != rbuf && $2 != rbuf-* ]] || failed=1
}

# ---- epochs ----

columns_epochs=fabric,round,peer,what,us,quiet

# bench ROUND PEER WHAT OPTION...: WHAT is one name for each line that rbuf-bench prints.
bench()
{
    local round=$1 peer=$2 what=$3
    shift 3
    if ! run "$peer" 300 rbuf-bench --sizes 8 --buffers reused "$@"; then
        complain "$round" "$peer" "$what"
        tr ' ' '\n' <<<"$what" | sed "s/.*/$fabric_name,$round,$peer,&,-,-/" >>"$csv"
        return
    fi
    awk -F, -v what="$what" -v key="$fabric_name,$round,$peer" '
        BEGIN { split(what, names, " ") }
        /^size,/ { for (i = 1; i <= NF; i++) at[$i] = i }
        /^[0-9]/ { print key "," names[++n] "," $at["median_us"] "," $at["quiet"] }' "$work/out" >>"$csv"
}

round_epochs() # ROUND PEER
{
    local often=(--burst 200 --reps 40 --probe)
    [ $quick = no ] || often=(--burst 5 --reps 3)
    bench "$1" "$2" "put-pscw get-pscw put-fence get-fence" --pattern put-pscw,get-pscw,put,get "${often[@]}"
    bench "$1" "$2" "puts-fence" --pattern put --window 16 "${often[@]}"
}

# ---- operations ----

columns_operations=fabric,round,peer,what,us

round_operations() # ROUND PEER
{
    local updates=102400 what key=$fabric_name,$1,$2
    [ $quick = no ] || updates=2048
    if run "$2" 300 "$RBUF_BUILD/tests/mpi/passive_times"; then
        sed -n 's/^\([a-z_]*\), \([0-9]*\) \(K\{0,1\}\)B  *\([0-9.]*\) us$/\1-\2\3,\4/p' "$work/out" |
            sed "s/^/$key,/" >>"$csv"
    else
        complain "$1" "$2" passive_times
        for what in accumulate-8 accumulate-1K get_accumulate-8 get_accumulate-1K fetch_and_op-8 \
            compare_and_swap-8 put-8; do
            echo "$key,$what,-"
        done >>"$csv"
    fi
    if run "$2" 300 "$RBUF_BUILD/tests/mpi/passive" updates $updates; then
        # What one process needs for an update of its own, us.
        awk -v key="$key" '/^updates: / { printf "%s,update,%.3f\n", key, 2e6 / $2 }' "$work/out" >>"$csv"
    else
        complain "$1" "$2" "passive updates"
        echo "$key,update,-" >>"$csv"
    fi
}

# ---- programs ----

columns_programs=fabric,round,peer,program,seconds

# Builds and lists the programs: NAME, what their output has if it is right, LIMIT, PROGRAM ARGUMENT...
prepare_programs()
{
    local synchronisation
    log=$work/building
    build_mix "$work" >"$log" 2>&1 || { cat "$log" >&2 && exit 1; }
    if build_global_arrays "$work" >"$log" 2>&1; then
        echo "global_arrays;checks, no errors;120;$work/global_arrays"
    fi
    if command -v nwchem >/dev/null; then
        cp "$top/tests/programs/water.nw" "$work" || exit 1
        echo "nwchem;Total SCF energy = *-75[.]98;300;nwchem water.nw"
    fi
    if build_coarrays "$work" >"$log" 2>&1; then
        echo "coarrays;checks, no errors;30;$work/coarrays"
    fi
    if build_star_forest "$work" >"$log" 2>&1; then
        for synchronisation in fence active lock; do
            echo "star_forest-$synchronisation;checks, no errors;120;$work/star_forest -roots 500 -rounds 100" \
                "-sf_type window -sf_window_flavor create -sf_window_sync $synchronisation"
        done
    fi
}

# The slower rank's time, of the last run.
seconds()
{
    sed -n 's/.*mix: .* seconds=\([0-9.]*\).*/\1/p' "$work/out" | sort -n | tail -n 1
}

round_programs() # ROUND PEER
{
    local name right limit command took
    while IFS=';' read -r name right limit command <&4; do
        read -ra command <<<"$command"
        took=
        # softhca has a library of its own to be loaded.
        # shellcheck disable=SC2016 # for the shell of the rank
        if run "$2" "$limit" sh -c 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"' "$work/mix.so" "${command[@]}" &&
            grep -q "$right" "$work/out"; then
            took=$(seconds)
        fi
        [ -n "$took" ] || complain "$1" "$2" "$name"
        echo "$fabric_name,$1,$2,$name,${took:--}" >>"$csv"
    done 4<"$work/programs"
}

# ---- all ----

columns=columns_$step
echo "${!columns}" >"$csv" || exit 1
if [ $step = programs ]; then
    prepare_programs >"$work/programs"
    [ -s "$work/programs" ] || refuse "none of the programs is installed"
fi
for ((round = 1; round <= rounds; round++)); do
    for ((i = 0; i < ${#peers[@]}; i++)); do
        "round_$step" "$round" "${peers[(i + round - 1) % ${#peers[@]}]}"
    done
done
exit $failed
