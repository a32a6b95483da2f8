#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates the figures of docs/superpipeline.md and compares them with tests/sim/golden, to the
# nanosecond: whoever changes what a transfer takes has to look at what he did.
#
#   figures.sh [--program FILE] [--update | --plot DIR [--format svg|png]]
#
# --update writes the golden files anew; --plot draws the figures from the golden files into DIR with
# gnuplot. Exit status: 0; 1 if something differs, does not hold or is not drawn.

set -u
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/golden
program=./figures
update=no
plots=
format=svg
figures="graphene infini edr hdr ndr equations statements crossings plans"
while test $# -gt 0; do
    case $1 in
    --program) program=${2:?--program wants a file} && shift ;;
    --update) update=yes ;;
    --plot) plots=${2:?--plot wants a directory} && shift ;;
    --format) format=${2:?--format wants svg or png} && shift ;;
    *)
        sed -n '4,/^$/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
    esac
    shift
done

# Draws one picture: bandwidth over size, a line for each column that is named.
draw() { # NAME FILE TITLE COLUMN...
    local name=$1 file=$golden/$2.csv title=$3 column lines= number
    shift 3
    for column; do
        number=$(sed -n '/^bytes,/{s/,/\n/g;p;q}' "$file" | grep -n "^$column\$" | cut -d: -f1)
        test -n "$number" || return
        lines+="${lines:+, }'$file' using 1:(\$1/\$$number*1000) with lines lw 2 title '$column'"
    done
    gnuplot <<END || return
set datafile separator ','
set datafile commentschars '#b'
set terminal $format size 900,600 $(test "$format" = svg && echo enhanced background "'white'")
set output '$plots/$name.$format'
set title '$title'
set logscale x 2
set xrange [1024:16777216]
set yrange [0:*]
set format x '%.0b %BB'
set xlabel 'message length'
set ylabel 'bandwidth (MB/s)'
set key right bottom
set grid
plot $lines
END
    test -s "$plots/$name.$format" && echo "$plots/$name.$format"
}

if test -n "$plots"; then
    command -v gnuplot >/dev/null || {
        echo "gnuplot is not installed (Debian: gnuplot-nox)" >&2
        exit 1
    }
    mkdir -p "$plots" &&
        draw figure2 graphene 'Figure 2: naive protocols, graphene' raw register copy &&
        draw figure4 equations 'Figure 4: the model of the pipeline, graphene' \
            raw register copy pipeline &&
        draw figure6-graphene graphene 'Figure 6: raw protocols, graphene' \
            raw register copy pipeline superpipeline tuned &&
        draw figure6-infini infini 'Figure 6: raw protocols, infini' \
            raw register copy pipeline superpipeline tuned || exit 1
    for machine in graphene infini edr hdr ndr; do
        draw "rendezvous-$machine" $machine "Behind a rendezvous: $machine" \
            staged reregister cached || exit 1
    done
    exit
fi

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
status=0
for figure in $figures; do
    if ! "$program" "$figure" >"$out/$figure.csv"; then
        echo "$figure: does not hold:"
        grep ',FAILS$' "$out/$figure.csv"
        status=1
    fi
    if test $update = yes; then
        cp "$out/$figure.csv" "$golden/$figure.csv" || status=1
    elif diff -U 0 "$golden/$figure.csv" "$out/$figure.csv" >"$out/difference"; then
        echo "$figure: as before"
    else
        echo "$figure: differs from $golden/$figure.csv (figures.sh --update takes it over)"
        head -n 20 "$out/difference"
        status=1
    fi
done
exit $status
