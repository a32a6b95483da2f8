#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates the figures of docs/superpipeline.md and compares them with tests/sim/golden, to the
# nanosecond: whoever changes what a transfer takes has to look at what he did.
#
#   figures.sh [--program FILE] [--update | --tables | --plot DIR [--format svg|png]]
#
# --update writes the golden files anew. From these --tables prints the tables of the page, which is
# compared with them, too, and --plot draws the figures into DIR with gnuplot. Exit status: 0; 1 if
# something differs, does not hold or is not drawn.

set -u
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/golden
program=./figures
page=$here/../../docs/superpipeline.md
update=no
tables=no
plots=
format=svg
figures="graphene infini edr hdr ndr equations statements crossings plans"
while test $# -gt 0; do
    case $1 in
    --program) program=${2:?--program wants a file} && shift ;;
    --update) update=yes ;;
    --tables) tables=yes ;;
    --plot) plots=${2:?--plot wants a directory} && shift ;;
    --format) format=${2:?--format wants svg or png} && shift ;;
    *)
        sed -n '4,/^$/s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
    esac
    shift
done

lengths="4096 16384 65536 262144 1048576 4194304 16777216"

# Lines of the page: bandwidth in MB/s by length, and how much longer than raw the last two take.
raw_table() { # MACHINE
    awk -F, -v lengths="$lengths" '
        BEGIN { split(lengths, list, " "); for (i in list) wanted[list[i]] = 1 }
        wanted[$1] {
            printf "| %s |", $1 < 1048576 ? $1 / 1024 " KB" : $1 / 1048576 " MB"
            for (i = 2; i <= 7; i++) {
                printf " %.0f", $1 / $i * 1000
                if (i >= 6)
                    printf " (+%.1f %%)", ($i / $2 - 1) * 100
                printf " |"
            }
            print ""
        }' "$golden/$1.csv"
}

# Lines of the page: early / staged / reregister / cached, MB/s, for all machines.
rendezvous_table() {
    awk -F, -v lengths="$lengths" '
        BEGIN { count = split(lengths, list, " "); for (i in list) wanted[list[i]] = 1 }
        wanted[$1] {
            line[$1] = line[$1] sprintf(" %.0f / %.0f / %.0f / %.0f |", $1 / $11 * 1000,
                                        $1 / $8 * 1000, $1 / $9 * 1000, $1 / $10 * 1000)
        }
        END {
            for (i = 1; i <= count; i++) {
                bytes = list[i]
                name = bytes < 1048576 ? bytes / 1024 " KB" : bytes / 1048576 " MB"
                print "| " name " |" line[bytes]
            }
        }' "$golden"/{graphene,infini,edr,hdr,ndr}.csv
}

print_tables() {
    raw_table graphene && raw_table infini && rendezvous_table
}

if test $tables = yes; then
    print_tables
    exit
fi

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
        draw figure2 graphene 'Figure 2: naive protocols, graphene' raw register copy &&
        draw figure4 equations 'Figure 4: the model of the pipeline, graphene' \
            raw register copy pipeline &&
        draw figure6-graphene graphene 'Figure 6: raw protocols, graphene' \
            raw register copy pipeline superpipeline tuned &&
        draw figure6-infini infini 'Figure 6: raw protocols, infini' \
            raw register copy pipeline superpipeline tuned || exit 1
    for machine in graphene infini edr hdr ndr; do
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
if test $update = no && print_tables | grep -Fvxf "$page" >"$out/missing"; then
    echo "docs/superpipeline.md: says something else than (figures.sh --tables)"
    cat "$out/missing"
    status=1
fi
exit $status
