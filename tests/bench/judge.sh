#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests the judge of contrib/speed.sh on known lines: medians, intervals, and what is met or missed.

here=$(cd "$(dirname "$0")" && pwd)
judge=$here/../../contrib/speed_judge.pl
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

head=fabric,round,transport,size,buffers,pattern,type,cache,median_us,mb_per_s,messages_per_s,quiet
# line ROUND TRANSPORT BUFFERS TIME [QUIET]: 64 KB.
line() {
    echo "f,$1,$2,65536,$3,pingpong,bytes,warm,$4,1,1,${5-yes}"
}
{
    echo $head
    for round in 1 2 3 4 5 6 7; do
        line $round superpipeline fresh $((50 + round)) # the median is 54
        line $round ucx fresh $((2 * (50 + round)))
        line $round openib-pinned fresh $((47 + round + round % 2 * 8))
        line $round superpipeline reused 50
        line $round ucx reused 40
    done
    line 8 superpipeline fresh 500 no
    line 8 ucx fresh 1 no
} >"$work/large-graphene.csv"
sed 's/,superpipeline,65536/,superpipeline,65536/;s/,5[0-9],1,1,yes$/,30,1,1,yes/' "$work/large-graphene.csv" >"$work/large-roce40.csv"
printf 'profile,bandwidth,latency_ns\ngraphene,1400000000,2000\n' >"$work/networks.csv"

"$judge" "$work" >"$work/out" 2>"$work/err"
status=$?

found "$work/out" "superpipeline / ucx, 64 KB +<= 1 +0.5 +\(0.5 - 0.5, 7\)  met$"
# Rounds 1, 3, 5 and 7 are ahead, the others behind: the interval holds the limit.
found "$work/out" "superpipeline / openib-pinned, 64 KB +<= 1 +0\.9.* met \?$"
# 65536 bytes at 1.4 GB/s and 2 us are 48.81 us.
found "$work/out" "superpipeline / wire, 64 KB +<= 1.15 +1.106 .*met"
found "$work/out" "superpipeline / wire, 64 KB +<= 1.08 +1.106 .*MISSED"
found "$work/out" "superpipeline / wire, 1 MB +<= 1.02 +not measured"
# A first use takes 108, a later one 40, staged 30 each time.
found "$work/out" "^64 KB +30.0 .* 40: never"
try "what is missed has an exit status" test $status -eq 1
try "nothing on stderr" test ! -s "$work/err"
rm "$work/networks.csv"
"$judge" "$work" >"$work/out" 2>"$work/err"
found "$work/out" "superpipeline / wire, 64 KB +<= 1.15 +not measured"
try "nothing on stderr without a network" test ! -s "$work/err"
mkdir "$work/none"
try "nothing measured, nothing missed" "$judge" "$work/none"
tally
