#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Strangers at the listeners of a job, many and of every kind, while it exchanges checked messages
# and sets up connections to further peers: the job goes on and ends well, and counts them. Those that are only
# late, or for others, are counted for themselves, and are nothing unusual.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
seconds=6
ranks=4
test "$robust_all" = yes && seconds=30
first=$((28100 + $$ % 1000 * 4)) # a range of its own, so that two runs do not meet
unauthenticated=$TALLY_LOGS/unauthenticated.txt

# Calls come as soon as the first listener is there.
flood() {
    local tries=0
    until (exec 3<>"/dev/tcp/127.0.0.1/$first") 2>/dev/null; do
        tries=$((tries + 1))
        test $tries -lt 200 || return
        sleep 0.1
    done
    exec perl "$here/unauthenticated.pl" "$first" $((first + ranks - 1)) "$seconds"
}

# The sum of a counter over the reports.
counted() { # COUNTER
    sed -n "s/^rbuf-report:.* $1=\([0-9]*\).*/\1/p" "$log" | awk '{ n += $1 } END { print n + 0 }'
}

# Every rank counted some, and all together at least half of what was tried.
wrong_counts() {
    local line tried counted=0 reports=0
    tried=$(sed -n 's/.*connections=\([0-9]*\).*/\1/p' "$unauthenticated" | awk '{ n += $1 } END { print n + 0 }')
    while read -r line; do
        reports=$((reports + 1))
        counted=$((counted + line))
        test "$line" -gt 0 || echo "a rank counted no unauthenticated connection"
    done < <(sed -n 's/^rbuf-report:.* unauthenticated=\([0-9]*\).*/\1/p' "$log")
    if [ $reports != $ranks ]; then
        echo "$reports reports"
    elif [ $((counted + $(counted latecomers))) -lt $((tried / 2)) ]; then
        echo "$counted unauthenticated connections counted of $tried, and $(counted latecomers) late"
    elif [ "$(counted latecomers)" = 0 ]; then
        echo "those for another process, and those without a word, are not counted for themselves"
    fi
}

: >"$unauthenticated"
flood >"$unauthenticated" 2>&1 &
flooding=$!
ports=("$first" $((first + ranks - 1)))
mpi=(--mca btl_rbuf_listen_ports "$first-$((first + ranks - 1))" --mca btl_rbuf_report 2
    --mca btl_rbuf_connect_timeout 2s)
job "unauthenticated" $((seconds + 60)) $ranks "$robust_tests/steady" $((seconds + 3))
status_of_unauthenticated=0
wait $flooding || status_of_unauthenticated=$?
cat "$unauthenticated"
verdict "unauthenticated" "$(wrong_success)" "the job ended well after $took s"
wrong=$(wrong_counts)
verdict_on_others "unauthenticated connections are counted" "$wrong" || cat "$log"
if [ $status_of_unauthenticated = 0 ]; then
    pass "unauthenticated connections are closed, unanswered"
else
    fail "unauthenticated connections are closed, unanswered" "some were not, see above"
fi

# Probes without a word, and requests with the token of another process.
probe() {
    until (exec 3<>"/dev/tcp/127.0.0.1/$first") 2>/dev/null; do
        sleep 0.1
    done
    exec perl "$here/unauthenticated.pl" "${ports[@]}" 2 token hang_up
}
wrong_unusual() {
    wrong_success | grep . && return
    if grep -q 'unusual: .*strangers' "$log"; then
        echo "they are taken for strangers"
    elif ! grep -q -E '^rbuf-report: unusual: .*; as usual: [1-9][0-9]* connections' "$log"; then
        echo "they are not counted: $(grep unusual "$log")"
    fi
}
mpi=(--mca btl_rbuf_listen_ports "$first-$((first + ranks - 1))" --mca btl_rbuf_report 1)
probe >/dev/null 2>&1 &
probing=$!
job "late callers are nothing unusual" 60 $ranks "$robust_tests/steady" 4
kill $probing 2>/dev/null
wait $probing
verdict "late callers are nothing unusual" "$(wrong_unusual)"
tally
