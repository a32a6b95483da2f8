#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Shows rbuf at work on this machine: builds it, runs NAS IS over each of its protocols and over
# its rivals (Open MPI's own openib BTL with and without its registration cache, and UCX), once with
# buffers that the program keeps and once with buffers that are new in every iteration, and prints
# one table; with a user's tree of NASA's programs (NPB) all of these, too, and over what the papers changed: reuse of
# frequently used buffers, the helper thread, no eager rings, and rings of 5 slots. Then it measures ping-pong with
# fresh buffers over the same transports and draws it: bandwidth over size, one line a transport.
#
# Rounds are interleaved: each runs everything once, and the table has the medians. Everything that
# is built or written goes under the build directory; the source tree stays as it is.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=contrib/transports.sh
. "$top/contrib/transports.sh"

usage()
{
    cat <<'END'
usage: contrib/demo.sh [options] [-- MPIRUN-OPTION...]
  --class C      NAS IS problem class: S, W, A (default), B, C or D
  --ranks N      a power of two (2)
  --rounds N     how often everything is run (3)
  --profile P    profile of the emulated HCA where this machine has none (graphene);
                 softhca --list-profiles shows them
  --json FILE    every run, as a list of objects
  --npb-dir DIR  run NASA's own programs as well, built for Open MPI: those in DIR/bin, or DIR, of
                 this class and number of ranks, such as cg.C.x or cg.C.2
  --transports L these only (superpipeline,rcache,register,pipeline,copy,openib-pinned,
                 openib-unpinned,ucx; what this Open MPI lacks is left out; with --npb-dir also
                 helper, and superpipeline with :reuse=on, :polling_set=0 and :ring_slots=5).
                 A protocol of rbuf may have parameters of its own: superpipeline:reuse=on
  --picture FILE where the picture of ping-pong goes, .png or .svg (BUILD/demo.png), or none
  --build DIR    build directory (build/demo)
  --prefix DIR   where rbuf is installed; nothing is built then
It runs on this machine, or where the scheduler's allocation (Slurm, PBS, LSF) or mpirun's options say (--host,
--hostfile, --map-by here or anything behind --): then nothing is emulated, and the build directory has
to be on a file system of all nodes.
As root it installs the Debian packages that are missing; otherwise it names them and stops.
Exit status: 0 if every run was verified (and the picture drawn), 1 if not, 2 on bad usage, 3 if packages are missing.
END
}

refuse()
{
    echo "demo.sh: $* (--help explains)" >&2
    exit 2
}

class=A
ranks=2
rounds=3
profile=
json=
npb_dir=
transports=
usual=superpipeline,rcache,register,pipeline,copy,openib-pinned,openib-unpinned,ucx
papers=helper,superpipeline:reuse=on,superpipeline:polling_set=0,superpipeline:ring_slots=5
picture=
build=$top/build/demo
prefix=
placement=()
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        usage
        exit 0
        ;;
    --class | --ranks | --rounds | --profile | --json | --npb-dir | --transports | --build | \
        --picture | --prefix)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        option=${1#--}
        printf -v "${option//-/_}" %s "$2"
        shift
        ;;
    --host | --hostfile | --map-by)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        placement+=("$1" "$2")
        shift
        ;;
    --)
        placement+=("${@:2}")
        break
        ;;
    *) refuse "unknown option '$1'" ;;
    esac
    shift
done
case $class in
S | W | A | B) limit=180 ;;
C) limit=900 ;;
D) limit=7200 ;;
*) refuse "--class '$class': there are S, W, A, B, C, D" ;;
esac
for number in "$ranks" "$rounds"; do
    case $number in
    '' | *[!0-9]* | 0* | ?????*) refuse "'$number': wants a whole number from 1 to 9999" ;;
    esac
done
[ $((ranks & (ranks - 1))) -eq 0 ] || refuse "--ranks $ranks: IS runs on a power of two of ranks"
transports=${transports:-$usual${npb_dir:+,$papers}}
IFS=, read -ra names <<<"$transports"
for name in "${names[@]}"; do
    transport_options "$name" || exit 2
done
# The programs of $npb_dir that can be run: sets npb_codes to their names (cg), npb_programs to their
# paths, and npb_others to what is there besides, with the reason.
npb_find()
{
    local path name code ranks_of_it side=1
    npb_codes=() npb_others=()
    declare -gA npb_programs=()
    while [ $((side * side)) -lt "$ranks" ]; do side=$((side + 1)); done
    for path in "$npb_dir"/bin/??.?.* "$npb_dir"/??.?.*; do
        name=${path##*/}
        [[ -x $path && $name =~ ^(bt|cg|ep|ft|is|lu|mg|sp)\.([SWABCDEF])\.(x|[0-9]+)$ ]] || continue
        code=${BASH_REMATCH[1]} ranks_of_it=${BASH_REMATCH[3]}
        if [ "${BASH_REMATCH[2]}" != "$class" ]; then
            npb_others+=("$name (class ${BASH_REMATCH[2]})")
        elif [[ $ranks_of_it != x && $ranks_of_it != "$ranks" ]]; then
            npb_others+=("$name ($ranks_of_it ranks)")
        elif [[ $ranks_of_it = x && $code = [bs][tp] && $((side * side)) != "$ranks" ]]; then
            npb_others+=("$name (wants a square number of ranks)")
        elif [ -z "${npb_programs[$code]-}" ]; then
            npb_codes+=("$code")
            npb_programs[$code]=$path
        fi
    done
}

npb_codes=()
if [ -n "$npb_dir" ]; then
    npb_find
    others=$(IFS=, && echo "${npb_others[*]}")
    [ ${#npb_codes[@]} -gt 0 ] || refuse "--npb-dir '$npb_dir': no program of class $class for $ranks ranks; \
there is ${others:-none at all, such as cg.$class.x or cg.$class.$ranks}"
    [ -z "$others" ] || echo "of $npb_dir is left out: ${others//,/, }"
fi
if [ -n "$prefix" ]; then
    [ -x "$prefix/bin/rbuf-compare" ] || refuse "--prefix '$prefix': rbuf is not installed there"
    prefix=$(cd "$prefix" && pwd)
fi
if [ -n "$json" ] && ! : >"$json"; then
    refuse "--json '$json': cannot be written"
fi
case $picture in
'' | none | *.png | *.svg) ;;
*) refuse "--picture '$picture': wants a name that ends in .png or .svg, or none" ;;
esac
if mpi_placed "${placement[@]}"; then
    placed=yes
    [ -z "$profile" ] || refuse "--profile is the emulated HCA's, which serves the processes of one machine alone"
else
    placed=no
    [ -n "$profile" ] || fabric_hca_present ||
        echo "no HCA with an active port here: one is emulated, profile graphene (--profile)"
    profile=${profile:-graphene}
fi
mkdir -p "$build/log" && build=$(cd "$build" && pwd) || exit 2

# step TEXT COMMAND...: runs the command with its output in a log, which is shown if it fails.
step()
{
    local text=$1 begin=$SECONDS log
    shift
    log=$build/log/build.log
    printf '%-34s' "$text"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        echo "failed; the end of $log:"
        tail -n 30 "$log"
        exit 1
    fi
    echo "$((SECONDS - begin)) s"
}

# The sources without what a build or a configure run in the tree may have left there.
copy_tree()
{
    mkdir -p "$build/source" && tar -C "$top" -cf - --exclude=./.git --exclude=./build \
        --exclude=./prefix --exclude='*.o' --exclude='*.lo' --exclude='*.la' --exclude=.libs \
        --exclude=.deps --exclude=Makefile --exclude=Makefile.in --exclude=./configure \
        --exclude=./aclocal.m4 --exclude=./autom4te.cache --exclude=./build-aux \
        --exclude=./config.h --exclude=./config.h.in --exclude=./config.status \
        --exclude=./libtool . | tar -C "$build/source" -xf -
}

configure_copy()
{
    mkdir -p "$build/objects" && cd "$build/objects" &&
        "$build/source/configure" --prefix="$prefix"
}

build_all()
{
    "$top/contrib/deps.sh" build demo || exit 3
    step "copying the sources" copy_tree
    if [ ! -e "$build/objects/config.status" ]; then
        step "autogen.pl" "$build/source/autogen.pl"
        step "configure" configure_copy
    fi
    step "make" make -C "$build/objects" -j"$(nproc)"
    step "make install into the build tree" make -C "$build/objects" install
}

# sum_of KEY: the sum over the ranks of key=value in rbuf's reports; nothing without a report.
sum_of()
{
    awk -v key="$1" '/^rbuf-report:/ {
        for (i = 2; i <= NF; i++)
            if (split($i, f, "=") == 2 && f[1] == key) { sum += f[2]; found = 1 }
    } END { if (found) printf "%.0f", sum }' "$output"
}

most_of()
{
    awk -v key="$1" '/^rbuf-report:/ {
        for (i = 2; i <= NF; i++)
            if (split($i, f, "=") == 2 && f[1] == key && f[2] + 0 >= most) { most = f[2] + 0; found = 1 }
    } END { if (found) printf "%.0f", most }' "$output"
}

# Sets hits, misses (sums over the ranks) and pinned (bytes, the most that one rank had registered
# at once); each is empty if nobody told. The emulated HCA sees all that is registered, whoever
# does it; on real hardware rbuf speaks for itself alone.
read_counters()
{
    case ${1%%:*} in
    rcache)
        hits=$(sum_of cache_hits)
        misses=$(sum_of cache_misses)
        ;;
    openib-*)
        # "grdma: stats (hit/miss/found/...): 20/2/0/..." from each rank and device.
        read -r hits misses < <(sed -n 's|.*grdma: stats ([^)]*): \([0-9]*\)/\([0-9]*\)/.*|\1 \2|p' \
            "$output" | awk '{ h += $1; m += $2 } END { if (NR) print h, m; else print "" }')
        ;;
    *)
        hits=
        misses=
        ;;
    esac
    pinned=$(sed -n 's/.*"peak_registered_bytes": *\([0-9]*\).*/\1/p' "$stats" | sort -n | tail -n 1)
    pinned=${pinned:-$(most_of pinned_peak)}
}

# Sets seconds, mops and verified from the program's own output.
read_result()
{
    case $1 in
    nas_is)
        seconds=$(sed -n 's/^nas_is .*seconds=\([0-9.]*\).*/\1/p' "$output")
        mops=$(sed -n 's/^nas_is .*mops=\([0-9.]*\).*/\1/p' "$output")
        verified=$(sed -n 's/^nas_is .*verified=\([a-z]*\).*/\1/p' "$output")
        ;;
    npb-*)
        seconds=$(sed -n 's/.*Time in seconds *= *\([0-9.]*\).*/\1/p' "$output")
        mops=$(sed -n 's/.*Mop\/s total *= *\([0-9.]*\).*/\1/p' "$output")
        verified=no
        if grep -q 'Verification *= *SUCCESSFUL' "$output"; then
            verified=yes
        fi
        ;;
    esac
}

# run ROUND TRANSPORT PROGRAM BUFFERS: one line in $results, tab-separated; empty fields are "-".
run()
{
    local round=$1 transport=$2 program=$3 buffers=$4 status=0 time=$limit command
    command=("$prefix/libexec/rbuf/nas_is" --class "$class")
    case $program-$buffers in
    nas_is-fresh) command+=(--fresh-buffers) ;;
    npb-*) command=("${npb_programs[${program#npb-}]}") time=$((10 * limit)) ;;
    esac
    transport_options "$transport"
    : >"$stats"
    timeout -k 5 "$time" "${fabric_command[@]}" "${MPIRUN:-mpirun}" \
        "${mpi_args[@]}" "${transport_args[@]}" --mca btl_rbuf_report 2 \
        --mca rcache_grdma_print_stats 1 "${command[@]}" >"$output" 2>&1 </dev/null || status=$?
    read_result "$program"
    if [ $status -ne 0 ] || [ -z "$seconds" ]; then
        verified=failed
        cp "$output" "$build/log/$transport-$program-$buffers.log"
        echo "    status $status; its output is in $build/log/$transport-$program-$buffers.log"
    fi
    read_counters "$transport"
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$transport" "$program" "$buffers" \
        "${seconds:--}" "${mops:--}" "${verified:-failed}" "${hits:--}" "${misses:--}" \
        "${pinned:--}" >>"$results"
}

run_rounds()
{
    local round at name kind n=0 total kinds=(nas_is:reused nas_is:fresh)
    for name in "${npb_codes[@]}"; do
        kinds+=("npb-$name:reused")
    done
    total=$((rounds * ${#names[@]} * ${#kinds[@]}))
    for ((round = 1; round <= rounds; round++)); do
        for ((at = 0; at < ${#names[@]}; at++)); do
            name=${names[(at + round - 1) % ${#names[@]}]}
            for kind in "${kinds[@]}"; do
                n=$((n + 1))
                run "$round" "$name" "${kind%:*}" "${kind#*:}"
                printf '%3d of %d  %-27s %-7s %-7s %10s s  %s\n' $n $total "$name" "${kind%:*}" \
                    "${kind#*:}" "${seconds:--}" "${verified/yes/verified}"
            done
        done
    done
}

print_table()
{
    awk -F'\t' -v transports="${names[*]}" '
    function middle(key,    n, i, j, t, list) {
        n = split(times[key], list, " ")
        for (i = 2; i <= n; i++) {
            t = list[i]
            for (j = i - 1; j >= 1 && list[j] + 0 > t + 0; j--) list[j + 1] = list[j]
            list[j + 1] = t
        }
        lowest = list[1]; highest = list[n]
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    # Median of the ratios within each round, so that a slow minute of the machine falls on both.
    function paired(key, base,    r) {
        times["ratio"] = ""
        for (r = 1; r <= rounds; r++)
            if (((key, r) in at) && ((base, r) in at) && at[base, r] > 0)
                times["ratio"] = times["ratio"] at[key, r] / at[base, r] " "
        return times["ratio"] == "" ? "-" : sprintf("%.3f", middle("ratio"))
    }
    {
        key = $2 "\t" $3 "\t" $4
        sort = $3 "\t" $4
        if (!(sort in seen)) { seen[sort] = 1; kinds[++kind_count] = sort }
        runs[key]++
        if ($5 != "-") { times[key] = times[key] $5 " "; at[key, $1] = $5; work = $5 * $6 }
        if ($1 > rounds) rounds = $1
        if ($7 == "yes") good[key]++
        hits[key] = $8; misses[key] = $9; pinned[key] = $10
    }
    END {
        n = split(transports, name, " ")
        printf "%-27s %-8s %-7s %9s %-19s %8s %9s %-9s %6s %6s %10s\n", "transport", "program",
            "buffers", "seconds", "(lowest - highest)", "ratio", "Mop/s", "verified", "hits",
            "misses", "pinned MB"
        for (k = 1; k <= kind_count; k++) {
            base = "superpipeline\t" kinds[k]
            for (t = 1; t <= n; t++) {
                key = name[t] "\t" kinds[k]
                split(kinds[k], kind, "\t")
                ok = good[key] + 0 == runs[key] ? "yes" : (good[key] + 0) " of " runs[key]
                if (!(key in times)) {
                    printf "%-27s %-8s %-7s %9s %-19s %8s %9s %-9s\n", name[t], kind[1], kind[2],
                        "-", "", "-", "-", ok
                    continue
                }
                ratio = paired(key, base)
                s = middle(key)
                printf "%-27s %-8s %-7s %9.4f %-19s %8s %9.1f %-9s %6s %6s %10s\n", name[t],
                    kind[1], kind[2], s, sprintf("(%.4f - %.4f)", lowest, highest),
                    ratio, (s > 0 ? work / s : 0), ok,
                    hits[key], misses[key],
                    (pinned[key] == "-" ? "-" : sprintf("%.1f", pinned[key] / 1e6))
            }
        }
    }' "$results"
}

# A list of runs. The protocol of a transport that is not rbuf's is the setting of mpi_leave_pinned.
print_json()
{
    awk -F'\t' -v class="$class" -v ranks="$ranks" -v fabric="$fabric_name" -v hosts="$fabric_hosts" '
    function number(x) { return x == "-" ? "null" : x + 0 }
    {
        transport = "rbuf"; protocol = $2
        if ($2 ~ /^openib-/) {
            transport = "openib"
            protocol = $2 == "openib-pinned" ? "leave_pinned 1" : "leave_pinned 0"
        } else if ($2 == "ucx" || $2 == "tcp" || $2 == "vader") {
            transport = $2; protocol = "default"
        }
        printf "%s\n  {\"transport\": \"%s\", \"protocol\": \"%s\", \"program\": \"%s\", " \
            "\"class\": \"%s\", \"ranks\": %d, \"buffers\": \"%s\", \"round\": %d, " \
            "\"seconds\": %s, \"mops\": %s, \"verified\": %s, \"hits\": %s, \"misses\": %s, " \
            "\"pinned_bytes\": %s, \"fabric\": \"%s\", \"hosts\": \"%s\"}", NR == 1 ? "[" : ",", transport, protocol,
            $3, class, ranks, $4, $1, number($5), number($6), $7 == "yes" ? "true" : "false",
            number($8), number($9), number($10), fabric, hosts
    }
    END { print NR ? "\n]" : "[]" }' "$results"
}

# Bandwidth of fresh buffers over size, and of the network itself where it is emulated.
draw_picture()
{
    local wire=() csv=$build/demo.csv
    if [[ $fabric_name == softhca:* ]]; then
        profile_figures "$profile" || return
        [ "$profile_bandwidth" -eq 0 ] || wire=(--wire "$profile_bandwidth,${profile_latency}ns")
    fi
    echo "ping-pong with fresh buffers, 4 KB to 8 MB, over each transport ..."
    local where=(--profile "$profile")
    [ $placed = no ] || where=()
    rbuf-compare "${where[@]}" --transports "$(IFS=, && echo "${names[*]}")" --rounds "$rounds" \
        --no-probe --buffers fresh --min 4k --max 8M --step 41.5 --reps 15 --csv "$csv" -- "${placement[@]}" \
        >"$build/log/picture.log" 2>&1 &&
        rbuf-plot "${wire[@]}" --output "$picture" "$csv" && echo "picture: $picture" && return
    echo "no picture; $build/log/picture.log ends with:"
    tail -n 5 "$build/log/picture.log"
    return 1
}

if [ -z "$prefix" ]; then
    prefix=$build/prefix
    build_all
fi
export PATH=$prefix/bin:$PATH RBUF_COMPONENT_DIR=$prefix/lib/openmpi
transports_keep "${names[@]}"
names=("${transports_kept[@]}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
output=$work/output
stats=$work/stats
results=$work/results
if [ $placed = yes ]; then
    mpi_place "$ranks" "${placement[@]}"
    fabric_ask || exit 1
    [[ $fabric_hosts == *+* ]] || echo "all ranks run on $fabric_hosts: what is measured stays in one node"
else
    fabric_choose "$profile" --stats "$stats" || exit 1
    mpi_launch_options "$ranks"
    mpi_args+=("${placement[@]}")
fi
transports_open "${names[@]}" -- "$prefix/libexec/rbuf/nas_is" --class S
names=("${transports_kept[@]}")
echo "adapter $fabric_name, on ${fabric_hosts//+/, }"
run_rounds
echo
echo "NAS IS${npb_codes[*]:+ and NPB ${npb_codes[*]}}, class $class, $ranks ranks, $fabric_name on ${fabric_hosts//+/, }, medians of $rounds rounds; hits and misses of"
echo "the registration cache over all ranks, and the most memory one rank had registered at once;"
echo "ratio to superpipeline: median of the ratios within each round"
echo
print_table
if [ -n "$json" ]; then
    print_json >"$json" || exit 1
    echo
    echo "all runs: $json"
fi
status=0
! cut -f 7 "$results" | grep -qv '^yes$' || status=1
if [ "$picture" != none ]; then
    picture=${picture:-$build/demo.png}
    echo
    draw_picture || status=1
fi
exit $status
