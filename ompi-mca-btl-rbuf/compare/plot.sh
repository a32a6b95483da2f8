#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# rbuf-plot: draws CSV files of rbuf-bench and rbuf-compare with gnuplot.
#
# A line is a transport in one case; what is the same in all lines is left to the title. Its points
# are medians over the rounds; a band reaches from the lowest round to the highest. How lines look is
# said in common/curves.awk, for all that is drawn: rbuf-compare, rbuf-tune and the figures of the simulator
# come by here.
set -u

usage()
{
    cat <<'END'
usage: rbuf-plot [OPTION...] --output FILE CSV...
  --output FILE      .png or .svg; with .gp only what gnuplot would be told
  --what WHAT        bandwidth over size (default), time, rate (messages a second), hidden (per cent
                     of transfer or computing, overlap patterns), or relative:TRANSPORT, the
                     bandwidth divided by that transport's in the same case and round; memory: bytes
                     over time, of files of seconds,bytes that are named as their lines are to be
  --only COLUMN=V    only lines with that value, as buffers=fresh; several values with commas; may
                     be repeated
  --wire RATE,TIME   a line for the network itself: bytes a second and latency, as 1.4G,2us; with
                     time and bandwidth
  --title TEXT       instead of what is the same in all lines
  --size WxH         pixels (1120x640)
A colour is a transport, dashes are a kind of buffers: solid new ones, dashed reused ones. Lines that lie on
one another are drawn as one, which has all their names.
Columns are those of the CSV file's first line: transport, pattern, buffers, type, cache, window and so
on. Exit status: 0, 1 if nothing could be drawn, 2 on bad usage, 3 without gnuplot.
END
}

refuse()
{
    echo "rbuf-plot: $* (--help explains)" >&2
    exit 2
}

output=
what=bandwidth
only=
wire=
title=
size=1120x640
files=()
while [ $# -gt 0 ]; do
    case $1 in
    --version)
        echo "rbuf-plot (rbuf @VERSION@)"
        exit 0
        ;;
    --help)
        usage
        exit 0
        ;;
    --output | --what | --wire | --title | --size)
        [ -n "${2-}" ] || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --only)
        case ${2-} in
        ?*=?*) only+="$2;" ;;
        *) refuse "--only '${2-}': wants COLUMN=VALUE" ;;
        esac
        shift
        ;;
    --*) refuse "unknown option '$1'" ;;
    *)
        [ -r "$1" ] || refuse "'$1' cannot be read"
        files+=("$1")
        ;;
    esac
    shift
done
case $what in
bandwidth | time | rate | hidden | memory | relative:?*) ;;
*) refuse "--what '$what': wants bandwidth, time, rate, hidden, memory or relative:TRANSPORT" ;;
esac
[[ $size =~ ^[1-9][0-9]{1,3}x[1-9][0-9]{1,3}$ ]] || refuse "--size '$size': wants WIDTHxHEIGHT"
[ ${#files[@]} -gt 0 ] || refuse "no CSV file is named"
case $output in
*.png) terminal="pngcairo size ${size/x/,} font \"sans,11\"" ;;
*.svg) terminal="svg size ${size/x/,} dynamic font \"sans,12\" background \"white\"" ;;
*.gp) terminal= ;;
*) refuse "--output '$output': wants a name that ends in .png, .svg or .gp" ;;
esac
if [ -n "$wire" ]; then
    [[ $wire =~ ^([0-9.]+)([kMG]?),([0-9.]+)(ns|us)$ ]] ||
        refuse "--wire '$wire': wants bytes a second and a latency, such as 1.4G,2us"
    wire=$(awk -v r="${BASH_REMATCH[1]}" -v u="${BASH_REMATCH[2]}" -v t="${BASH_REMATCH[3]}" \
        -v v="${BASH_REMATCH[4]}" 'BEGIN {
            f["k"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; f[""] = 1
            print r * f[u] / 1e6, t * (v == "ns" ? 1e-3 : 1) }')
fi

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)

# part NAME: the path of one of our files, installed, in the source tree or in a build within it.
part()
{
    local directory
    for directory in "$here/../share/rbuf" "$here" "$here/../common" "$here/compare" "$here/common"; do
        if [ -r "$directory/$1" ]; then
            echo "$directory/$1"
            return
        fi
    done
    refuse "$1 is missing: neither installed nor in the source tree"
}

# draw_memory CSV...: a step a line of the files.
draw_memory()
{
    local file name plots='' styles
    styles=$(printf '%s\n' "$@" | awk "$(cat "$curves")"' { sub(/.*\//, ""); sub(/\.csv$/, ""); print curve_style($0, "") }')
    test -z "$terminal" || printf 'set terminal %s\nset output "%s"\n' "$terminal" "$output"
    printf 'set title "%s"\nset xlabel "seconds"\nset ylabel "registered (10^6 bytes)"\n' "${title//[\"\\\`@]/}"
    printf 'set yrange [0:*]\nset key outside right top\nset border 3\nset tics nomirror\n'
    for file; do
        name=$(basename "$file" .csv | tr -dc '[:alnum:] .-')
        printf '$%s << END\n%s\nEND\n' "line${#plots}" "$(awk -F, '$1 + 0 == $1 && $2 + 0 == $2 { print $1, $2 / 1e6 }' "$file")"
        plots+="${plots:+, }\$line${#plots} with steps $(head -n 1 <<<"$styles") lw 1.5 title \"$name\""
        styles=$(tail -n +2 <<<"$styles")
    done
    printf 'plot %s\n' "$plots"
}

program=$(part plot.awk) && median=$(part median.awk) && curves=$(part curves.awk) || exit 2
script=$(mktemp) || exit 1
trap 'rm -f "$script"' EXIT
if [ "$what" = memory ]; then
    draw_memory "${files[@]}" >"$script"
else
    awk -F, -v what="$what" -v only="$only" -v wire="$wire" -v title="$title" \
        -v terminal="$terminal" -v output="$output" -f "$median" -f "$curves" -f "$program" "${files[@]}" >"$script" ||
        exit 1
fi
if [ -z "$terminal" ]; then
    cp "$script" "$output" || exit 1
    exit 0
fi
if ! command -v gnuplot >/dev/null; then
    echo "rbuf-plot: gnuplot is not installed (Debian: gnuplot-nox); --output x.gp keeps its script" >&2
    exit 3
fi
if ! gnuplot "$script" || [ ! -s "$output" ]; then
    echo "rbuf-plot: gnuplot drew nothing into $output" >&2
    exit 1
fi
