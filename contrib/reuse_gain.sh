#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What frequently used buffers (btl_rbuf_reuse) gain, beside what equation 6 of Rashti and Afsahi 2011 gives with the
# times of copied and gathered messages that rbuf measures (docs/small-messages.md).
#
#   contrib/reuse_gain.sh [--prefix DIR] [--profiles LIST] [--points LIST] [--rounds N] [--column NAME]
#                        [--csv FILE [--add]]
#   contrib/reuse_gain.sh --report FILE      judges the lines of an earlier run
#
#   --prefix DIR       where rbuf is installed (what PATH has)
#   --profiles LIST    of the emulated adapter (infini,unpaced); its pages are not shared, so that the data of all messages
#                      are fetched alike
#   --points LIST      in: one buffer, which stays in the caches; beyond: as many in turn as are twice the last-level
#                      cache, both ranks together; time: of the sender's processor, apart from waiting, with one buffer,
#                      by a sender that computes, on nothing and on memory of the size of its second cache
#                      (in,beyond,time)
#   --rounds N         pairs of runs, with reuse off and on, each first in turn (8)
#   --column NAME      of rbuf-bench's times (median_us); p10_us where other jobs are on the machine. A difference, as the
#                      processor's time is, has its median in any case
#   --csv FILE         keeps all lines; with --add they come behind those that are there
#
# A process that polls is busy whatever it waits for, so getrusage() tells nothing, and instructions do not tell how long
# copies wait for memory: `processor` is how much longer computing takes with sends under way (rbuf-bench --help).
# Exit status: that of reuse_gain.pl; 2 on bad usage; 3 if a run failed.
set -u

prefix=
profiles=infini,unpaced
points=in,beyond,time
rounds=8
column=median_us
csv=
add=
report=
refuse()
{
    echo "reuse_gain.sh: $*" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        sed -n '4,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --add) add=yes ;;
    --prefix | --profiles | --points | --rounds | --column | --csv | --report)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    *) refuse "unknown option '$1' (--help explains)" ;;
    esac
    shift
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || refuse "--rounds '$rounds': wants a whole number above 0"
case $column in
median_us | best_us | p10_us | mean_us) ;;
*) refuse "--column '$column': wants median_us, best_us, p10_us or mean_us" ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
judge()
{
    perl "$here/reuse_gain.pl" "$1"
    exit
}
[ -z "$report" ] || judge "$report"
if [ -n "$prefix" ]; then
    export PATH=$prefix/bin:$PATH RBUF_COMPONENT_DIR=$prefix/lib/openmpi SOFTHCA=$prefix/bin/softhca
fi
# shellcheck source=contrib/transports.sh
. "$here/transports.sh"
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
csv=${csv:-$work/lines.csv}
[ -n "$add" ] && [ -s "$csv" ] || echo "fabric,round,buffers,pattern,size,off_us,on_us,copied_ns,gathered_ns,way" >"$csv"

# cache N: bytes of the first processor's data cache of that level, or of the last one there is below it.
cache()
{
    local directory
    for directory in /sys/devices/system/cpu/cpu0/cache/index*; do
        [ "$(cat "$directory/type")" = Instruction ] || [ "$(cat "$directory/level")" -gt "$1" ] ||
            numfmt --from=iec "$(cat "$directory/size")"
    done | sort -n | tail -n 1
}

# run PROFILE off|on BENCH-OPTION...: what it prints goes to $work/off or $work/on.
run()
{
    local reuse=$2
    transport_options superpipeline && fabric_choose "$1" && mpi_launch_options 2 || exit 3
    shift 2
    SOFTHCA_SHARE_PAGES=0 timeout -k 5 300 "${fabric_command[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${transport_args[@]}" --mca osc rdma --mca btl_base_verbose 10 --mca btl_rbuf_reuse "$reuse" \
        -x SOFTHCA_SHARE_PAGES rbuf-bench "$@" >"$work/$reuse" 2>&1 </dev/null && return
    tail -n 15 "$work/$reuse" >&2
    exit 3
}

# pair PROFILE ROUND BUFFERS SUFFIX BENCH-OPTION...: a run of each; SUFFIX goes behind the pattern's name.
pair()
{
    local profile=$1 round=$2 buffers=$3 suffix=$4 first=off then=on
    shift 4
    [ $((round % 2)) = 1 ] || first=on then=off
    run "$profile" $first "$@"
    run "$profile" $then "$@"
    awk -F, -v lead="$fabric_name,$round,$buffers" -v suffix="$suffix" -v time="$column" '
        FNR == 1 { file++ }
        / reuse: rank=0 / {
            for (i = split($0, part, " "); i > 0; i--) if (split(part[i], pair, "=") == 2) is[pair[1]] = pair[2]
            cost[is["kind"] "," is["from"]] = is["copied_ns"] "," is["gathered_ns"] "," is["way"]
        }
        $1 == "size" { for (i = 1; i <= NF; i++) column[$i] = i }
        /^[0-9]+,/ && NF > 15 {
            point = $column["pattern"] "," $1
            us = $column[$column["pattern"] == "processor" ? "median_us" : time]
            if (file == 1) { off[point] = us; order[++points] = point }
            else on[point] = us
        }
        END {
            for (i = 1; i <= points; i++) {
                split(order[i], part, ",")
                for (from = 1; 2 * from <= part[2]; from *= 2);
                key = (part[1] ~ /^(put|get)$/ ? part[1] : "send") "," from
                print lead "," part[1] suffix "," part[2] "," off[order[i]] "," on[order[i]] "," \
                    (key in cost ? cost[key] : "-,-,copy")
            }
        }' "$work/off" "$work/on" >>"$csv"
}

sizes=512,1k,2k,4k,8k,16k,32k   # one an octave, as rbuf tells times
one_sided=512,1k,2k,4k,8k,16k # longer ones take another way
one_round() # PROFILE ROUND
{
    local size bytes
    case ,$points, in
    *,in,*)
        pair "$1" "$2" in "" --sizes $sizes --burst 16 --reps 400
        pair "$1" "$2" in "" --sizes $one_sided --pattern put,get --burst 16 --reps 400
        ;;
    esac
    case ,$points, in
    *,beyond,*)
        for size in 4k 8k 16k 32k; do # shorter ones are more buffers than are worth a registration
            bytes=$(numfmt --from=iec "${size^^}")
            pair "$1" "$2" beyond "" --sizes "$size" --sets $(($(cache 9) * 2 / 4 / bytes)) --reps 60 # sent and received, by two
            [ "$size" = 32k ] || pair "$1" "$2" beyond "" --sizes "$size" --pattern put,get \
                --sets $(($(cache 9) * 2 / 2 / bytes)) --reps 40
        done
        ;;
    esac
    case ,$points, in
    *,time,*)
        pair "$1" "$2" in "" --sizes $sizes --pattern processor --burst 16 --reps 100
        pair "$1" "$2" in -cache --sizes $sizes --pattern processor --burst 16 --reps 100 --working-set "$(cache 2)"
        ;;
    esac
}

first=$(awk -F, 'NR > 1 && $2 > last { last = $2 } END { print last + 1 }' "$csv")
for ((round = first; round < first + rounds; round++)); do
    for profile in ${profiles//,/ }; do
        one_round "$profile" "$round"
    done
done
judge "$csv"
