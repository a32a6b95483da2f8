#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# rbuf-compare: rbuf-bench over several transports in one run.
#
# A round measures every transport once, in one process that goes through all cases; the next round
# starts with another transport. A figure is the median over the rounds of the medians that rbuf-bench
# found, with the lowest and the highest; a ratio is taken within each round before its median is, so
# that a slow minute of the machine falls on both sides of it.
set -u

usage()
{
    cat <<'END'
usage: rbuf-compare [OPTION...] [-- MPIRUN-OPTION...]
Transports and rounds:
  --transports LIST  superpipeline,rcache,openib-pinned,openib-unpinned,ucx by default; also the other
                     protocols of rbuf, tcp and vader. openib-pinned is the openib BTL with its
                     registration cache (mpi_leave_pinned 1), openib-unpinned without; what this
                     Open MPI does not have is left out. A protocol of rbuf may be followed by
                     parameters of its own: superpipeline:subblock=off:c0=8k. component=DIR among them
                     is the directory of another build's mca_btl_rbuf.so, to compare with that
  --rounds N         rounds (5)
  --profile NAME     profile of the emulated HCA where this machine has none (graphene)
  --gap TIME         the emulated HCA's gap between messages, such as 100ns
  --mca NAME VALUE   passed to mpirun, for every transport; may be repeated
  --no-probe         do not wait for the machine to be quiet
  --handover NS:NS   nor count it as quiet unless a cache line takes so long from core to core; see
                     PROBING in rbuf-bench --help
  --ranks N          ranks (2); more for the patterns of all ranks alone, with --no-probe
Where: the ranks run on this machine, or where the scheduler's allocation (Slurm, PBS, LSF) or mpirun's
options say: --host, --hostfile, --map-by here or anything behind --, as in
    rbuf-compare --host node1,node2 --buffers fresh
    rbuf-compare -- --hostfile nodes --map-by ppr:1:node --bind-to core
With those nothing is emulated: each node's adapter is used
Cases, as rbuf-bench has them (rbuf-bench --help): each combination is measured
  --sizes LIST (64K,1M,4M), or --min SIZE --max SIZE --step PERCENT
  --pattern LIST  --buffers LIST (reused,fresh)  --type LIST  --cache LIST
  --window N  --burst N  --sets N  --working-set SIZE  --late US  --reps N  --pages
  --check  --no-warm-up
Output:
  --csv FILE         every line of every round
  --add              FILE's earlier rounds count as well, and stay in it
  --plot FILE        a picture, .png or .svg: bandwidth over size, one line a transport
  --report FILE      measure nothing: summarise the CSV file of an earlier run
Exit status: 0, 1 if a transport failed, 2 on bad usage.
END
}

refuse()
{
    echo "rbuf-compare: $* (--help explains)" >&2
    exit 2
}

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)

# part NAME: the path of one of our files, installed, in the source tree or in a build within it.
part()
{
    local directory
    for directory in "$here/../share/rbuf" "$here" "$here/../common" "$here/../../contrib" \
        "$here/compare" "$here/common" "$here/../contrib"; do
        if [ -r "$directory/$1" ]; then
            echo "$directory/$1"
            return
        fi
    done
    refuse "$1 is missing: neither installed nor in the source tree"
}

find_programs()
{
    local file
    file=${RBUF_TRANSPORTS:-$(part transports.sh)} || exit 2
    # shellcheck source=contrib/transports.sh
    . "$file"
    bench=${RBUF_BENCH:-$here/rbuf-bench}
    if [ ! -x "$bench" ] && ! bench=$(command -v rbuf-bench); then
        refuse "rbuf-bench is not installed beside rbuf-compare; name it in RBUF_BENCH"
    fi
    if [ -z "${RBUF_COMPONENT_DIR-}" ] && [ -e "$here/../lib/openmpi/mca_btl_rbuf.so" ]; then
        RBUF_COMPONENT_DIR=$(cd "$here/../lib/openmpi" && pwd)
    fi
    if [ -z "${SOFTHCA-}" ] && [ -x "$here/softhca" ]; then
        SOFTHCA=$here/softhca
    fi
}

transports=superpipeline,rcache,openib-pinned,openib-unpinned,ucx
rounds=5
ranks=2
profile=
gap=
csv=
add=no
plot=
report=
probe=(--probe)
handover=any
sized=no
cases=()
extra=()
placement=()

parse()
{
    local buffered=no
    while [ $# -gt 0 ]; do
        case $1 in
        --version)
            echo "rbuf-compare (rbuf @VERSION@)"
            exit 0
            ;;
        --help)
            usage
            exit 0
            ;;
        --no-probe) probe=() ;;
        --handover)
            [ $# -ge 2 ] || refuse "$1 wants a value"
            handover=$2
            shift
            ;;
        --add) add=yes ;;
        --pages | --check | --no-warm-up) cases+=("$1") ;;
        --mca)
            [ $# -ge 3 ] || refuse "--mca wants a name and a value"
            extra+=(--mca "$2" "$3")
            shift 2
            ;;
        --sizes | --min | --max | --step | --pattern | --buffers | --type | --cache | --window | \
            --burst | --sets | --working-set | --late | --reps)
            [ $# -ge 2 ] || refuse "$1 wants a value"
            case $1 in
            --sizes | --min | --max | --step) sized=yes ;;
            --buffers) buffered=yes ;;
            esac
            cases+=("$1" "$2")
            shift
            ;;
        --host | --hostfile | --map-by)
            [ $# -ge 2 ] || refuse "$1 wants a value"
            placement+=("$1" "$2")
            shift
            ;;
        --)
            placement+=("${@:2}")
            break
            ;;
        --transports | --rounds | --ranks | --profile | --gap | --csv | --plot | --report)
            [ $# -ge 2 ] || refuse "$1 wants a value"
            printf -v "${1#--}" %s "$2"
            shift
            ;;
        *) refuse "unknown option '$1'" ;;
        esac
        shift
    done
    if [ "$handover" != any ]; then
        [ ${#probe[@]} -gt 0 ] || refuse "--handover wants the probe, which --no-probe leaves out"
        probe+=(--probe-handover "$handover")
    fi
    [ $sized = yes ] || cases+=(--sizes 64K,1M,4M)
    [ $buffered = yes ] || cases+=(--buffers "reused,fresh")
}

# options_of NAME[:PARAMETER=VALUE...]: as transport_options; component=DIR is another build's.
options_of()
{
    local directory name=$1 RBUF_COMPONENT_DIR=${RBUF_COMPONENT_DIR-}
    case $name in
    *:component=*)
        directory=${name#*:component=}
        directory=${directory%%:*}
        RBUF_COMPONENT_DIR=$directory
        [ -r "$RBUF_COMPONENT_DIR/mca_btl_rbuf.so" ] ||
            refuse "--transports '$1': $RBUF_COMPONENT_DIR has no mca_btl_rbuf.so"
        name=${name/:component=$directory/}
        ;;
    esac
    transport_options "$name"
}

choose_transports()
{
    local name bare=() needs_hca=no all
    IFS=, read -ra all <<<"$transports"
    [ ${#all[@]} -gt 0 ] || refuse "--transports is empty"
    for name in "${all[@]}"; do
        options_of "$name" || exit 2
        bare+=("${name%%:*}")
    done
    transports_keep "${bare[@]}"
    names=()
    for name in "${all[@]}"; do
        case " ${transports_kept[*]} " in
        *" ${name%%:*} "*)
            names+=("$name")
            ! transport_needs_hca "${name%%:*}" || needs_hca=yes
            ;;
        esac
    done
    [ ${#names[@]} -gt 0 ] || refuse "this Open MPI has none of these transports"
    if mpi_placed "${placement[@]}"; then
        choose_nodes
    else
        choose_machine "$needs_hca"
    fi
    transports_open "${names[@]}" -- "$bench" --sizes 0 --reps 1
    names=("${transports_kept[@]}")
    [ ${#names[@]} -gt 0 ] || refuse "none of these transports starts"
}

choose_nodes()
{
    [ -z "$profile$gap" ] ||
        refuse "--profile and --gap are the emulated HCA's, which serves the processes of one machine alone"
    mpi_place "$ranks" "${placement[@]}"
    fabric_ask || exit 1
    [[ $fabric_hosts == *+* ]] ||
        echo "rbuf-compare: all ranks run on $fabric_hosts: what is measured stays in one node" >&2
}

choose_machine() # NEEDS-HCA
{
    local fabric_options=() wanted=${profile:-graphene}
    [ "$1" = yes ] || wanted=none
    [ -z "$gap" ] || fabric_options=(--gap "$gap")
    fabric_choose "$wanted" "${fabric_options[@]}" || exit 2
    # shellcheck disable=SC2154
    if [ ${#fabric_command[@]} -gt 0 ] && [ -z "$profile" ]; then
        echo "rbuf-compare: no HCA with an active port here: an emulated one is measured, profile $wanted" >&2
    fi
    fabric_name=$fabric_name${gap:+:gap=$gap}
    mpi_launch_options "$ranks"
    mpi_args+=("${placement[@]}")
}

# measure ROUND TRANSPORT: appends the lines to $raw.
measure()
{
    local status=0
    options_of "$2"
    timeout -k 5 900 "${fabric_command[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${transport_args[@]}" "${extra[@]}" "$bench" "${cases[@]}" "${probe[@]}" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
    if [ $status -ne 0 ]; then
        echo "rbuf-compare: $2 failed in round $1 with status $status:" >&2
        tail -n 15 "$work/err" "$work/out" >&2
        # What rbuf-bench does not understand, it does not understand in any round.
        [ $status -ne 2 ] || exit 2
        failed=1
        return
    fi
    local columns
    columns=$(sed -n '/^size,/s/^/fabric,hosts,round,transport,/p' "$work/out")
    [ -s "$raw" ] || echo "$columns" >"$raw"
    [ "$columns" = "$(head -n 1 "$raw")" ] ||
        refuse "--add: '$csv' has other columns than this rbuf-bench; begin another file"
    awk -v key="$fabric_name,$fabric_hosts,$1,$2," '/^[0-9]/ { print key $0 }' "$work/out" >>"$raw"
}

measure_rounds()
{
    local round first=1 i name
    if [ $add = yes ] && [ -s "$csv" ]; then
        cp "$csv" "$raw" || exit 1
        ! awk -F, 'NR > 1 { print $1 }' "$raw" | grep -qvxF "$fabric_name" ||
            refuse "--add: '$csv' has figures of another fabric than $fabric_name; begin another file"
        first=$(awk -F, 'NR == 1 { while ($++at != "round" && at < NF); next }
            $at + 0 > last { last = $at + 0 } END { print last + 1 }' "$raw")
    fi
    for ((round = first; round < first + rounds; round++)); do
        for ((i = 0; i < ${#names[@]}; i++)); do
            name=${names[(i + round - 1) % ${#names[@]}]}
            [ ! -t 2 ] || printf '\rround %d, to %d: %-50s' "$round" $((first + rounds - 1)) "$name" >&2
            measure "$round" "$name"
        done
    done
    [ ! -t 2 ] || printf '\r%-70s\r' '' >&2
    [ -s "$raw" ] || exit 1
    if [ -n "$csv" ]; then
        cp "$raw" "$csv" || failed=1
    fi
}

failed=0
parse "$@"
case $rounds in
'' | *[!0-9]* | 0*) refuse "--rounds '$rounds': wants a whole number above 0" ;;
esac
case $ranks in
'' | *[!0-9]* | 0* | 1) refuse "--ranks '$ranks': wants a whole number above 1" ;;
esac
[ $add = no ] || [ -n "$csv" ] || refuse "--add wants --csv FILE"
summary=$(part compare_report.awk) && median=$(part median.awk) || exit 2
if [ -n "$report" ]; then
    [ -r "$report" ] || refuse "--report '$report': cannot be read"
    raw=$report
else
    find_programs
    choose_transports
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    raw=$work/raw.csv
    measure_rounds
fi
awk -F, -f "$median" -f "$summary" "$raw" || failed=1
if [ -n "$plot" ]; then
    plotter=$here/rbuf-plot
    [ -x "$plotter" ] || plotter=$here/plot.sh
    "$plotter" --output "$plot" "$raw" || failed=1
fi
exit $failed
