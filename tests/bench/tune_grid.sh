#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests contrib/tune_grid.sh without measuring: what it judges of known lines, and what it runs, with
# stand-ins for rbuf-tune's file and rbuf-compare.

here=$(cd "$(dirname "$0")" && pwd)
grid=$here/../../contrib/tune_grid.sh
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

# lines FILE FACTOR...: six rounds, two sizes; the pick, then points whose times are FACTOR of its, a bit up
# and down from round to round.
lines() {
    local file=$1 round size factor point
    shift
    echo fabric,round,transport,size,buffers,median_us >"$file"
    for round in 1 2 3 4 5 6; do
        for size in 65536 1048576; do
            echo "f,$round,picked,$size,reused,$((size / 1000))"
            point=0
            for factor in "$@"; do
                point=$((point + 1))
                awk -v s=$size -v f="$factor" -v r=$round -v p=$point 'BEGIN {
                    printf "f,%d,point%d,%d,reused,%.3f\n", r, p, s, int(s / 1000) * f * (1 + (r % 3 - 1) * 0.002) }'
            done
        done
    done >>"$file"
}

judged() { # NAME STATUS TEXT OPTION...
    local name=$1 wanted=$2 text=$3 status=0
    shift 3
    "$grid" "$@" >"$(log_of "$name")" 2>&1 </dev/null || status=$?
    if [ $status -eq "$wanted" ] && grep -qE -- "$text" "$(log_of "$name")"; then
        pass "$name"
    else
        fail "$name" "status $status, wanted $wanted and '$text'"
        show_log "$name"
    fi
}

lines "$work/good.csv" 1.02 1.1
lines "$work/level.csv" 1.001 1.1
lines "$work/bad.csv" 1.05 0.95
judged "a pick that is ahead" 0 "best of the grid, point1: 1\.0[12]" --report "$work/good.csv"
judged "a pick that is level" 0 "best of the grid, point1: (1\.00|0\.99)" --report "$work/level.csv"
judged "a pick that is behind" 1 "best of the grid, point2: 0\.95" --report "$work/bad.csv"
sed -n '1,7p' "$work/good.csv" >"$work/short.csv"
judged "too little to judge" 1 "too few rounds" --report "$work/short.csv"
judged "no such file" 2 "cannot be read" --report "$work/none.csv"
judged "few rounds" 2 "wants 4 or more" --rounds 3
judged "an unknown column" 2 "--column 'speed'" --column speed
judged "an unknown option" 2 "unknown option '--fast'" --fast

mkdir "$work/bin"
cat >"$work/bin/rbuf-compare" <<END
#!/bin/bash
echo "\$*" >"$work/calls"
while [ "\$1" != --csv ]; do shift; done
cp "$work/good.csv" "\$2"
END
chmod +x "$work/bin/rbuf-compare"
printf '# chosen\nbtl_rbuf_block_size=4k\nbtl_rbuf_c0=8k\nbtl_rbuf_q=2\nbtl_rbuf_buffers=3\nbtl_rbuf_largest_chunk=128k\n' \
    >"$work/p.conf"
export PATH=$work/bin:$PATH
judged "what was picked is run first" 0 "best of the grid" --file "$work/p.conf" -- --no-probe
has() { grep -qF -- "$1" "$work/calls"; }
try "  the pick" has "--transports superpipeline:c0=8k:q=2:buffers=3:largest_chunk=128k:block_size=4k,superpipeline:c0=4k:q=1:"
try "  further options" has "--buffers reused --no-probe"
echo 'btl_rbuf_early_size=128k' >>"$work/p.conf"
judged "what was picked has early data" 0 "best of the grid" --file "$work/p.conf" -- --no-probe
try "  all have them" has ":block_size=4k:early_size=128k,superpipeline:c0=4k:q=1:buffers=3:largest_chunk=128k:block_size=4k:early_size=128k,"
once() { [ "$(grep -o 'c0=8k:q=2:' "$work/calls" | wc -l)" = 1 ]; }
try "  the pick is in the grid once" once
tally
