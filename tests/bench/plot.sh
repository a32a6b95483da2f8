#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests rbuf-plot: what it tells gnuplot about known lines, what it refuses, and, where gnuplot is
# installed, that pictures come out.

here=$(cd "$(dirname "$0")" && pwd)
plot=$here/../../ompi-mca-btl-rbuf/compare/plot.sh
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

# Two transports, three rounds, two sizes; an overlap pattern besides.
head=fabric,round,transport,size,buffers,pattern,type,cache,window,median_us,mb_per_s,messages_per_s,hidden_percent
{
    echo $head
    for round in 1 2 3; do
        echo "f,$round,superpipeline,1048576,fresh,pingpong,bytes,warm,1,$((1000 + round)),$((1000 * round)),1,-"
        echo "f,$round,superpipeline,65536,fresh,pingpong,bytes,warm,1,60,500,2,-"
        echo "f,$round,rcache,65536,fresh,pingpong,bytes,warm,1,120,$((250 * round)),3,-"
        echo "f,$round,rcache,65536,fresh,overlap,bytes,warm,1,120,250,3,$((20 + round)).5"
    done
} >"$work/a.csv"
# The same columns in another order, as a later release may print them.
awk -F, -v OFS=, '{ t = $4; $4 = $10; $10 = t; print }' "$work/a.csv" >"$work/b.csv"

script() { # OPTION...: what gnuplot would be told
    "$plot" --output "$work/out.gp" "$@" && cat "$work/out.gp"
}

has() { # NAME TEXT OPTION...
    local name=$1 text=$2
    shift 2
    if script "$@" >"$(log_of "$name")" 2>&1 && grep -qF -- "$text" "$(log_of "$name")"; then
        pass "$name"
    else
        fail "$name" "no '$text' in:"
        show_log "$name" 40
    fi
}

hasnt() { # NAME TEXT OPTION...
    local name=$1 text=$2
    shift 2
    if script "$@" >"$(log_of "$name")" 2>&1 && ! grep -qF -- "$text" "$(log_of "$name")"; then
        pass "$name"
    else
        fail "$name" "'$text' in:"
        show_log "$name" 40
    fi
}

refuses() { # STATUS TEXT OPTION...
    local wanted=$1 text=$2 status=0 output
    shift 2
    output=$("$plot" "$@" 2>&1) || status=$?
    if [ $status -eq "$wanted" ] && [[ $output == *"$text"* ]]; then
        pass "refused: $*"
    else
        fail "refused: $*" "status $status: $output"
    fi
}

only=(--only pattern=pingpong)
has "median and band over the rounds" "1048576 2000 1000 3000" "${only[@]}" "$work/a.csv"
has "columns go by name" "1048576 2000 1000 3000" "${only[@]}" "$work/b.csv"
has "a line is named by what differs" 'title "rcache"' "${only[@]}" "$work/a.csv"
has "what is alike is the title" 'set title "fresh, f"' "${only[@]}" "$work/a.csv"
has "a title of one's own" 'set title "mine"' --title mine "${only[@]}" "$work/a.csv"
has "ratios are taken round by round" "65536 1 0.5 1.5" --what relative:superpipeline "${only[@]}" "$work/a.csv"
has "time" "1048576 1002 1001 1003" --what time "${only[@]}" "$work/a.csv"
has "hidden" "65536 22.5 21.5 23.5" --what hidden "$work/a.csv"
hasnt "hidden is known of overlap patterns alone" "1048576 " --what hidden "$work/a.csv"

# --- what a line looks like ---

{
    echo $head
    for size in 65536 1048576 4194304; do
        # Within 1 %, and one that is not at one size; the other sizes are not all there.
        echo "f,1,superpipeline,$size,fresh,pingpong,bytes,warm,1,60,1000,2,-"
        echo "f,1,superpipeline,$size,reused,pingpong,bytes,warm,1,60,1005,2,-"
        echo "f,1,ucx,$size,fresh,pingpong,bytes,warm,1,60,$((size == 65536 ? 700 : 1000)),2,-"
        echo "f,1,ucx,$size,reused,pingpong,bytes,warm,1,60,1200,2,-"
        [ $size = 65536 ] || echo "f,1,mine,$size,reused,pingpong,bytes,warm,1,60,1200,2,-"
    done
} >"$work/alike.csv"
has "lines that coincide are one" \
    '$line1 using 1:2 with linespoints lc rgb "#0072b2" dt 1 pt 4 pi 1 ps 0.8 lw 1.5 title "superpipeline, fresh"' "$work/alike.csv"
has "with both names in the key" \
    'NaN with linespoints lc rgb "#0072b2" dt 1 pt 4 pi 1 ps 0.8 lw 1.5 title "and superpipeline, reused"' "$work/alike.csv"
hasnt "and are not drawn twice" '$line2' "$work/alike.csv"
has "their band is of both" "65536 1000 1000 1005" "$work/alike.csv"
has "who differs at one size is another line" 'lc rgb "#cc79a7" dt 1 pt 4 pi 1 ps 0.8 lw 1.5 title "ucx, fresh"' "$work/alike.csv"
has "a colour is a transport, dashes are its buffers" 'lc rgb "#cc79a7" dt 2 pt 4 pi 1 ps 0.8 lw 1.5 title "ucx, reused"' "$work/alike.csv"
has "other sizes are another line" 'title "mine, reused"' "$work/alike.csv"
has "the colour does not depend on the company" 'lc rgb "#cc79a7" dt 2 pt 4 pi 1 ps 0.8 lw 1.5 title "measured"' \
    --only transport=ucx --only buffers=reused "$work/alike.csv"
has "points are what else differs" 'lc rgb "#d55e00" dt 1 pt 5' "$work/a.csv"

has "the wire" "x / (x / 1400 + 2)" --wire 1.4G,2us "${only[@]}" "$work/a.csv"
has "the wire in ns" "x / 3000 + 1.5" --what time --wire 3G,1500ns "${only[@]}" "$work/a.csv"
hasnt "filters leave out" superpipeline --only transport=rcache,ucx "$work/a.csv"
printf '%s\n' size,median_us,mb_per_s '8,"`touch %s/evil`",1' >"$work/evil.csv"
has "no title runs a command" 'set title "touch'  --title "\`touch $work/evil\`" "$work/evil.csv"

printf '%s\n' 0.1,5000000 0.2,0 '0.3,5000000 "`evil`"' >"$work/rcache.csv"
has "memory over time" "0.1 5" --what memory "$work/rcache.csv"
has "a line is named by its file" 'title "rcache"' --what memory "$work/rcache.csv"
hasnt "what is no number is left out" evil --what memory "$work/rcache.csv"
has "memory has the same colours" 'with steps lc rgb "#d55e00" dt 1' --what memory "$work/rcache.csv"

refuses 2 "ends in .png" --output x.jpg "$work/a.csv"
refuses 2 "no CSV file" --output x.png
refuses 2 "cannot be read" --output x.png "$work/none.csv"
refuses 2 "--what 'speed'" --output x.png --what speed "$work/a.csv"
refuses 2 "--size '10'" --output x.png --size 10 "$work/a.csv"
refuses 2 "--wire '1.4'" --output x.png --wire 1.4 "$work/a.csv"
refuses 2 "--only 'fresh'" --output x.png --only fresh "$work/a.csv"
refuses 1 "no such column" --output "$work/x.gp" --only colour=red "$work/a.csv"
refuses 1 "is left to draw" --output "$work/x.gp" --only transport=ucx "$work/a.csv"
echo "not,a,file" >"$work/c.csv"
refuses 1 "is no CSV file" --output "$work/x.gp" "$work/c.csv"
refuses 0 "usage: rbuf-plot" --help
refuses 0 "rbuf-plot (rbuf " --version

if command -v gnuplot >/dev/null; then
    try "png" "$plot" --output "$work/x.png" "${only[@]}" "$work/a.csv"
    try "png has its signature" sh -c "head -c 8 '$work/x.png' | tail -c 7 | head -c 3 | grep -q PNG"
    try "svg" "$plot" --output "$work/x.svg" "${only[@]}" "$work/a.csv"
    try "svg names the lines" grep -q superpipeline "$work/x.svg"
    figures() {
        "$here/../papers/figures.sh" --plot "$work/figures" && grep -q 'superpipeline' "$work/figures/denis2011-fig6-infini.svg" &&
            test "$(find "$work/figures" -name '*.svg' -size +2k | wc -l)" = 9
    }
    try "the simulator's figures" figures
else
    skip "pictures" "gnuplot is not installed"
fi
tally
