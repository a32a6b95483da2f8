#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What the probe of order says of adapters that keep it, that do not, and that refuse something: a line for
# each. All of the table runs on the emulated adapter; RBUF_BUILD names the build directory.
set -u
# shellcheck source=tests/verbs/emulated.sh
. "$(dirname "$0")/emulated.sh"
need_built "$build/tests/verbs/test_order_probe"

# That a word is early is seen by who looks at the right time: on a loaded machine not in every try.
number=0 failed=0
try() { # SAYS OPTION...
    local log says=$1 tries=1 status=1
    shift
    number=$((number + 1))
    [ "$says" != early ] || tries=20
    while [ $status != 0 ] && [ $tries -gt 0 ]; do
        tries=$((tries - 1))
        log=$(timeout 120 "$softhca" "$@" --fabric "order-probe-$$-$number" -- \
            "$build/tests/verbs/test_order_probe" "$says" 2>&1)
        status=$?
    done
    if [ $status = 0 ]; then
        echo "passed  $says ${*:-without options}"
    else
        failed=$((failed + 1))
        echo "FAILED  $says ${*:-without options}: $log"
    fi
}

# Opening the port takes one of create_cq and create_qp and three of modify_qp.
while read -r says options; do
    read -ra options <<<"$options"
    try "$says" ${options[@]+"${options[@]}"}
done <<'END'
clean
clean  --like rxe
clean  --like mlx5
early  --fault order=random
early  --fault order=random,seed=2
early  --fault order=tail-first
unable --fault call=reg_mr:1
unable --fault call=create_cq:2
unable --fault call=create_qp:2
unable --fault call=modify_qp:4
unable --fault call=modify_qp:5
unable --fault call=modify_qp:6
unable --fault call=post_send:1
unable --fault call=post_send:2
unable --fault order=random,call=post_send:1
unable --fault link-down=1
END
[ "$number" -eq 16 ] && [ "$failed" -eq 0 ]
