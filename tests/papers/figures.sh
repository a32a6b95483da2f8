#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates the figures of docs/superpipeline.md and compares them with tests/papers/golden, to the
# nanosecond: whoever changes what a transfer takes has to look at what he did.
#
#   figures.sh [--program FILE] [--update | --plot DIR [--format svg|png]]
#
# --update writes the golden files anew. From these --plot draws the figures into DIR with gnuplot, those of
# docs/results.md into docs/plots. The tables of docs/ are made of them by contrib/docs_tables.pl. Exit status: 0; 1 if
# something differs, does not hold or is not drawn.

set -u
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/golden
program=./figures
update=no
plots=
format=svg
figures="graphene infini edr hdr ndr machines costs equations optimal statements crossings plans"
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

# Draws one picture, as rbuf-plot does: bandwidth over size, a line for each column that is named.
draw() { # NAME FILE TITLE COLUMN...
    local name=$1 file=$golden/$2.csv title=$3
    shift 3
    awk -F, -v columns="$*" '
        /^bytes,/ {
            count = split(columns, name, " ")
            for (i = 1; i <= NF; i++) at[$i] = i
            for (i = 1; i <= count; i++) if (!(name[i] in at)) exit 1
            print "size,transport,buffers,median_us,mb_per_s"
        }
        /^[0-9]/ && $1 >= 1024 && $1 <= 16777216 {
            for (i = 1; i <= count; i++)
                printf "%s,%s,%s,%s,%s\n", $1, name[i], name[i] == "cached" ? "reused" : "fresh", $at[name[i]] / 1000,
                    $1 / $at[name[i]] * 1000
        }' "$file" >"$csv" || return
    "$plotter" --title "$title" --size 900x600 --output "$plots/$name.$format" "$csv" && echo "$plots/$name.$format"
}

if test -n "$plots"; then
    command -v gnuplot >/dev/null || {
        echo "gnuplot is not installed (Debian: gnuplot-nox)" >&2
        exit 1
    }
    plotter=$here/../../ompi-mca-btl-rbuf/compare/plot.sh
    csv=$(mktemp) || exit 1
    trap 'rm -f "$csv"' EXIT
    mkdir -p "$plots" &&
        draw denis2011-fig1 costs 'Denis 2011, figure 1: cost of a copy and of a registration, graphene' \
            network copy registration &&
        draw denis2011-fig2 graphene 'Denis 2011, figure 2: naive protocols, simulated graphene' \
            raw register copy &&
        draw denis2011-fig4 equations 'Denis 2011, figure 4: the equations of the pipeline, graphene' \
            raw register copy pipeline &&
        draw denis2011-fig6-graphene graphene 'Denis 2011, figure 6: raw protocols, simulated graphene' \
            raw register copy pipeline superpipeline tuned &&
        draw denis2011-fig6-infini infini 'Denis 2011, figure 6: raw protocols, simulated infini' \
            raw register copy pipeline superpipeline tuned &&
        draw denis2011-fig7 graphene 'Denis 2011, figure 7: behind a rendezvous, simulated graphene' \
            early staged cached reregister || exit 1
    for machine in edr hdr ndr; do
        draw "rendezvous-$machine" $machine "Behind a rendezvous: $machine" \
            early staged reregister cached || exit 1
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
