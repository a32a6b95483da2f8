#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Is what rbuf-tune picks the best? Runs the schedule that it picks against a grid over C0 and q, all in
# interleaved rounds, by rbuf-compare.
#
#   contrib/tune_grid.sh [--profile NAME] [--gap TIME] [--rounds N] [--file FILE] [--csv FILE [--add]]
#                        [--report FILE] [--column NAME] [-- OPTION-OF-RBUF-COMPARE...]
#
#   --profile NAME, --gap TIME   the emulated adapter, where the machine has none (graphene, 100ns)
#   --rounds N                   4 or more (8)
#   --file FILE                  what rbuf-tune wrote, instead of running it
#   --csv FILE, --add            keep every line; the rounds that FILE has count, too
#   --report FILE                measure nothing: judge the lines of an earlier run
#   --column NAME                of rbuf-bench's times (median_us); best_us where the machine is busy
#
# Programs come from PATH (bin of an installation). A point's speed in a round is its mean over the sizes,
# against the pick's in the same round. The best point is sought in the odd rounds and judged in the even
# ones, since the best of many is lucky where it was found. The last line has the 95 % interval of the
# pick's speed over that point's. Exit status: 0 if 1 is in it or below it, 1 if not, 2 on bad usage.
set -u

profile=graphene
gap=100ns
rounds=8
file=
csv=
add=
report=
column=median_us
refuse() {
    echo "tune_grid.sh: $*" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        sed -n '4,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --add) add=--add ;;
    --profile | --gap | --rounds | --file | --csv | --report | --column)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --)
        shift
        break
        ;;
    *) refuse "unknown option '$1' (--help explains)" ;;
    esac
    shift
done
[[ $rounds =~ ^[0-9]+$ ]] && [ "$rounds" -ge 4 ] || refuse "--rounds '$rounds': wants 4 or more"
case $column in
median_us | best_us | p10_us | mean_us) ;;
*) refuse "--column '$column': wants median_us, best_us, p10_us or mean_us" ;;
esac
[ -z "$report" ] || [ -r "$report" ] || refuse "'$report' cannot be read"
[ -z "$file" ] || [ -r "$file" ] || refuse "'$file' cannot be read"

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Runs rbuf-tune where rbuf-compare will run.
pick() {
    # shellcheck source=contrib/transports.sh
    . "$(dirname "$0")/transports.sh"
    transport_options superpipeline && fabric_choose "$profile" --gap "$gap" && mpi_launch_options 2 &&
        "${fabric_command[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" \
            rbuf-tune --quiet --output "$1" >"$work/tune.out" && return
    cat "$work/tune.out"
    return 1
}

# parameter FILE NAME
parameter() {
    sed -n "s/^btl_rbuf_$2=//p" "$1"
}

# The pick first, then the grid with all else as the pick has it.
transports() {
    local first growth largest rest head
    largest=$(parameter "$1" largest_chunk)
    head=$(parameter "$1" early_size) # none without early data
    rest=buffers=$(parameter "$1" buffers):largest_chunk=$largest:block_size=$(parameter "$1" block_size)
    rest+=${head:+:early_size=$head}
    printf 'superpipeline:c0=%s:q=%s:%s' "$(parameter "$1" c0)" "$(parameter "$1" q)" "$rest"
    for first in 4k 8k 16k 32k; do
        for growth in 1 1.5 2 3; do
            [ "$first:$growth" = "$(parameter "$1" c0):$(parameter "$1" q)" ] ||
                printf ',superpipeline:c0=%s:q=%s:%s' "$first" "$growth" "$rest"
        done
    done
}

measure() {
    if [ -z "$file" ]; then
        file=$work/picked.conf
        pick "$file" || exit 2
    fi
    rbuf-compare --profile "$profile" --gap "$gap" --rounds "$rounds" --csv "$report" $add \
        --transports "$(transports "$file")" --sizes 16K,64K,256K,1M,4M --buffers reused "$@" >"$work/compare.out" ||
        {
            cat "$work/compare.out"
            exit 2
        }
}

if [ -z "$report" ]; then
    report=${csv:-$work/rounds.csv}
    measure "$@"
fi

awk -F, -v what="$column" '
    # Two-sided 95 % of the t distribution by degrees of freedom.
    BEGIN {
        split("12.71 4.30 3.18 2.78 2.57 2.45 2.36 2.31 2.26 2.23 2.20 2.18 2.16 2.14 2.13", t, " ")
    }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        name = $column["transport"]; round = $column["round"] + 0; place = $column["size"] $column["buffers"]
        if (pick == "") pick = name
        if (!(name in seen)) { seen[name] = 1; names[++count] = name }
        if (!(place in at)) { at[place] = 1; places[++sizes] = place }
        if (round > rounds) rounds = round
        time[name, place, round] = $column[what]
    }
    # The speed of a point over that of the pick in one round; 0 if something is missing.
    function speed(name, round,    s, sum) {
        for (s = 1; s <= sizes; s++) {
            if (!((name, places[s], round) in time) || !((pick, places[s], round) in time)) return 0
            sum += time[pick, places[s], round] / time[name, places[s], round]
        }
        return sum / sizes
    }
    function mean_speed(name, from,    r, n, sum, x) {
        for (r = from; r <= rounds; r += 2) if ((x = speed(name, r)) > 0) { n++; sum += x }
        return n ? sum / n : 0
    }
    END {
        if (rounds < 4 || count < 2) { print "too few rounds or points to judge"; exit 1 }
        print "speed over that of the pick, " pick ":"
        for (i = 2; i <= count; i++) {
            x = mean_speed(names[i], 1)
            printf "  %.4f  %s\n", x, names[i]
            if (x > top) { top = x; best = names[i] }
        }
        for (r = 2; r <= rounds; r += 2)
            if ((x = speed(best, r)) > 0) { n++; sum += 1 / x; square += 1 / x / x }
        if (n < 2) { print "too few rounds to judge"; exit 1 }
        mean = sum / n
        half = t[n - 1 < 15 ? n - 1 : 15] * sqrt((square - n * mean * mean > 0 ? square - n * mean * mean : 0) / (n - 1) / n)
        printf "the pick against the best of the grid, %s: %.4f (%.4f - %.4f of 95 %%), %d rounds\n", best, mean,
            mean - half, mean + half, n
        exit mean + half < 1
    }' "$report"
