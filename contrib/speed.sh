#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Measures what rbuf promises about speed and judges it, target by target.
#
# Each step below is one round of one comparison, a minute or two, and adds its lines to a file of
# its own in the results directory; rounds may be spread over as many calls as one likes. `judge` reads
# what is there and prints target, value, interval and whether it was met.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)

usage()
{
    cat <<'END'
usage: contrib/speed.sh [--prefix DIR] [--results DIR] [--rounds N] [--under COMMAND] [--handover NS:NS]
                        [STEP[:PROFILE]...]
  --prefix DIR     where rbuf is installed (build/demo/prefix, which contrib/demo.sh makes)
  --results DIR    where lines are collected (build/speed)
  --rounds N       how often each step is run in this call (1)
  --under COMMAND  goes before every round, such as a lock that keeps others off the machine
  --handover NS:NS nothing counts that was measured while a cache line took less or more from one core to
                   the other: on a virtual machine whose processors wander (rbuf-bench --help, PROBING).
                   The steps pinned and is do not look at it
  --list           the steps with their profiles
Without a STEP all are run, and judged. The machine needs two idle cores.
Exit status: 0; 1 if a step failed or, of judge, if a target was missed; 2 on bad usage.
END
}

# NAME, PROFILES, what is measured.
steps()
{
    cat <<'END'
large graphene,infini,roce40 ping-pong from 16 KB to 16 MB, fresh and reused buffers, every peer
mid graphene,infini ping-pong at 64 KB to 1 MB with more repetitions
checked-small graphene,infini,unpaced checksums beside order that the adapter promises, 8 B and 1 KB
checked graphene,infini the same, 16 KB to 4 MB
both graphene,infini,roce40 both directions at once, and streams
packed graphene,infini vectors and structures beside contiguous messages
small graphene,unpaced half round trips from 8 B to 1 KB, messages a second
eager graphene,infini half round trips from 2 KB to 47 KB, windows of 16
reuse graphene,roce40 shares of reused buffers from 0 to 100 %
receiver graphene cold receive buffers, a late receiver, overlap with computation
pinned graphene memory registered by one process, message by message size
onesided graphene,infini puts and gets from 8 B to 1 MB, fence and post-start-complete-wait
is graphene NAS IS, classes W and B, 2 ranks, kept and fresh buffers
END
}

refuse()
{
    echo "speed.sh: $* (--help explains)" >&2
    exit 2
}

prefix=$top/build/demo/prefix
results=$top/build/speed
rounds=1
under=
handover=any
wanted=()
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        usage
        exit 0
        ;;
    --list)
        steps
        exit 0
        ;;
    --prefix | --results | --rounds | --under | --handover)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    judge) wanted+=(judge) ;;
    *)
        steps | grep -q "^${1%%:*} " || refuse "'$1' is no step; --list names them"
        wanted+=("$1")
        ;;
    esac
    shift
done
[[ $handover =~ ^(any|[0-9.]+:[0-9.]+)$ ]] || refuse "--handover '$handover': wants any or NS:NS, such as 40:120"
case $rounds in
'' | *[!0-9]* | 0*) refuse "--rounds '$rounds': wants a whole number above 0" ;;
esac
mkdir -p "$results" && results=$(cd "$results" && pwd) || exit 2
read -ra before <<<"$under"
failed=0

use_prefix()
{
    [ -x "$prefix/bin/rbuf-compare" ] ||
        refuse "--prefix '$prefix': rbuf is not installed there (contrib/demo.sh builds and installs it)"
    prefix=$(cd "$prefix" && pwd)
    export PATH=$prefix/bin:$PATH RBUF_COMPONENT_DIR=$prefix/lib/openmpi SOFTHCA=$prefix/bin/softhca
    # shellcheck source=contrib/transports.sh
    . "$top/contrib/transports.sh"
}

# compare STEP PROFILE OPTION...: one round into its file. Small messages have no gap: it stands for what
# an adapter takes for a message, and to pace them is most of what the emulated one does for them.
compare()
{
    local file=$results/$1-$2.csv profile=$2 gap=(--gap 100ns)
    case $1 in
    small | rate | checked-small) gap=() ;;
    esac
    shift 2
    if ! "${before[@]}" rbuf-compare --profile "$profile" "${gap[@]}" --handover "$handover" --rounds 1 \
        --csv "$file" --add "$@" >"$results/last.txt"; then
        echo "speed.sh: this round of $(basename "$file" .csv) is incomplete" >&2
        failed=1
    fi
}

peers=rcache,openib-pinned,openib-unpinned,ucx

step_large()
{
    compare large "$1" --transports "superpipeline,superpipeline:subblock=off,$peers" \
        --min 16k --max 16M --step 100 --reps 16
}

step_mid()
{
    compare mid "$1" --transports "superpipeline,superpipeline:subblock=off,$peers" \
        --min 64k --max 1M --step 100 --reps 60
}

# The profiles' adapter promises order: without a setting flags are believed.
checked=superpipeline,superpipeline:subblock=checked,superpipeline:subblock=off

step_checked-small()
{
    compare checked-small "$1" --transports $checked --sizes 8,1k --buffers reused --reps 3000
}

# Without blocks, messages go round many receive buffers: only with many repetitions is the median not that of
# their first use.
step_checked()
{
    compare checked "$1" --transports $checked --sizes 16k,32k,64k --buffers reused --reps 1500
    compare checked "$1" --transports $checked --sizes 256k,1M,4M --buffers reused --reps 60
}

# In a burst the ranks need not start at the same moment, which counts at the smaller sizes. New
# buffers of one are as many as its exchanges, and are to stay in the caches.
step_both()
{
    local transports=superpipeline,openib-pinned,ucx
    compare both "$1" --transports $transports --sizes 64k,256k \
        --pattern pingpong,both --buffers fresh --burst 4 --reps 16
    compare both "$1" --transports $transports --sizes 1M,4M,16M \
        --pattern pingpong,both --buffers fresh --reps 16
    compare both "$1" --transports $transports --min 64k --max 16M --step 300 \
        --pattern pingpong,both --buffers reused --burst 8 --reps 8
    compare stream "$1" --transports $transports --sizes 64k,256k,1M --pattern stream --reps 8
}

step_packed()
{
    compare packed "$1" --transports superpipeline,openib-pinned,ucx --min 64k --max 4M --step 300 \
        --type bytes,vector,struct --buffers reused --reps 40
}

step_small()
{
    local transports=superpipeline,superpipeline:polling_set=0,openib-pinned,ucx
    compare small "$1" --transports $transports --sizes 8,64,256,1k --buffers reused --burst 200 \
        --reps 30
    compare rate "$1" --transports $transports --sizes 8,64,256,1k --pattern rate --buffers reused \
        --reps 60
}

# Fresh buffers, so that no rival has them registered.
step_eager()
{
    local transports=superpipeline,superpipeline:ring_longest=0,openib-pinned,ucx
    compare eager "$1" --transports $transports --sizes 2k,3k,4k,6k,8k,12k,16k,20k,24k,28k,32k,40k,47k \
        --buffers fresh --reps 100
    compare eager_rate "$1" --transports $transports --sizes 4k,8k,16k,32k --pattern rate --burst 16 \
        --buffers reused --reps 20
}

step_reuse()
{
    local transports=superpipeline,rcache
    case " $transport_protocols " in
    *" auto "*) transports+=,auto ;;
    esac
    compare reuse "$1" --transports $transports --sizes 64k,256k,1M \
        --buffers 0%,10%,25%,50%,75%,90%,100% --reps 80
}

step_receiver()
{
    compare receiver "$1" --transports superpipeline,openib-pinned,ucx --sizes 64k,1M \
        --pattern pingpong,late,overlap-send,overlap-recv,overlap --cache warm,cold-recv,cold \
        --buffers fresh --reps 20
}

# Over osc/rdma, which openib's registrations are cached for.
step_onesided()
{
    local transports=superpipeline,rcache,openib-pinned
    compare onesided "$1" --transports $transports --sizes 8,256,4k,16k,64k,256k,1M \
        --pattern put,get,put-pscw,get-pscw --buffers reused --burst 20 --reps 12 -- --mca osc rdma
    compare onesided "$1" --transports $transports --sizes 64k,256k,1M --pattern put,get --buffers fresh \
        --burst 4 --reps 12 -- --mca osc rdma
    compare onesided "$1" --transports "$transports,superpipeline:rma_order=both,rcache:rma_order=both" \
        --sizes 4k,16k,64k,256k,1M --pattern puts-gets,put-get-pscw --buffers reused --burst 3 --reps 12 \
        -- --mca osc rdma
}

# registered OUTPUT: the most that one process had registered at once, in bytes.
registered()
{
    sed -n 's/.*"peak_registered_bytes": *\([0-9]*\).*/\1/p' "$1" | sort -n | tail -n 1
}

# run_over PROFILE TRANSPORT COMMAND...: its output goes to $work/out, the adapters' counters to $work/stats.
run_over()
{
    local profile=$1
    transport_options "$2"
    shift 2
    : >"$work/stats"
    fabric_choose "$profile" --gap 100ns --stats "$work/stats" && mpi_launch_options 2 &&
        timeout -k 5 300 "${before[@]}" "${fabric_command[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
            "${transport_args[@]}" "$@" >"$work/out" 2>&1 </dev/null
}

step_pinned()
{
    local size transport file=$results/pinned-$1.csv
    [ -s "$file" ] || echo "fabric,round,transport,size,pinned_bytes" >"$file"
    for transport in superpipeline openib-pinned; do
        for size in 64k 1M 16M 64M; do
            if run_over "$1" $transport rbuf-bench --sizes $size --reps 4 --buffers reused; then
                echo "$fabric_name,1,$transport,$size,$(registered "$work/stats")" >>"$file"
            else
                failed=1
            fi
        done
    done
}

# is_round PROFILE CLASS: every transport once with each kind of buffers, another one first each time.
is_round()
{
    local file=$results/is-$1.csv buffers transport round verified seconds option
    local transports=(superpipeline rcache openib-pinned openib-unpinned ucx)
    [ -s "$file" ] || echo "fabric,round,transport,class,buffers,seconds,verified,pinned_bytes" >"$file"
    round=$(awk -F, -v class="$2" '$4 == class && $2 + 0 > last { last = $2 + 0 } END { print last + 1 }' "$file")
    for transport in "${transports[@]:round % 5}" "${transports[@]:0:round % 5}"; do
        for buffers in reused fresh; do
            option=()
            [ $buffers = reused ] || option=(--fresh-buffers)
            run_over "$1" "$transport" "$prefix/libexec/rbuf/nas_is" --class "$2" "${option[@]}"
            verified=$(sed -n 's/^nas_is .*verified=\([a-z]*\).*/\1/p' "$work/out")
            seconds=$(sed -n 's/^nas_is .*seconds=\([0-9.]*\).*/\1/p' "$work/out")
            [ "$verified" = yes ] || failed=1
            echo "$fabric_name,$round,$transport,$2,$buffers,${seconds:--},${verified:-no},$(
                registered "$work/stats")" >>"$file"
        done
    done
}

# Class W takes hundredths of a second, of which the machine's noise is a larger part.
step_is()
{
    is_round "$1" W
    is_round "$1" W
    is_round "$1" W
    is_round "$1" B
}

judge()
{
    perl "$top/contrib/speed_judge.pl" "$results"
}

# The network that a profile is, for the judge: once for each.
note_network()
{
    local file=$results/networks.csv
    [ -s "$file" ] || echo "profile,bandwidth,latency_ns" >"$file"
    grep -q "^$1," "$file" || { profile_figures "$1" && echo "$1,$profile_bandwidth,$profile_latency" >>"$file"; }
}

# run_step STEP[:PROFILE]: with each of its profiles, or that one.
run_step()
{
    local name=${1%%:*} profile profiles begin
    profiles=$(steps | awk -v name="$name" '$1 == name { print $2 }')
    if [ "$name" != "$1" ]; then
        case ",$profiles," in
        *",${1#*:},"*) profiles=${1#*:} ;;
        *) refuse "'$1': $name is measured with $profiles" ;;
        esac
    fi
    for profile in ${profiles//,/ }; do
        begin=$SECONDS
        note_network "$profile" || failed=1
        printf '%-10s %-10s ' "$name" "$profile"
        "step_$name" "$profile"
        echo "$((SECONDS - begin)) s"
    done
}

if [ "${wanted[*]-}" = judge ]; then
    judge
    exit
fi
use_prefix
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
ended=no
if [ ${#wanted[@]} -eq 0 ]; then
    read -ra wanted < <(steps | awk '{ printf "%s ", $1 }')
    ended=judge
fi
for ((i = 0; i < rounds; i++)); do
    for step in "${wanted[@]}"; do
        [ "$step" != judge ] || continue
        run_step "$step"
    done
done
if [ $ended = judge ] || [[ " ${wanted[*]} " == *" judge "* ]]; then
    judge || failed=1
fi
exit $failed
