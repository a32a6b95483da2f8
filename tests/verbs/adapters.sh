#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What is found out about adapters, and queue pairs on them: a line for each kind. All of the table runs
# on the emulated adapter; RBUF_BUILD names the build directory.
set -u
# shellcheck source=tests/verbs/emulated.sh
. "$(dirname "$0")/emulated.sh"
need_built "$build/tests/verbs/test_ports"

number=0 failed=0
try() { # OPTIONS PROGRAMS SAYS
    local log options program wrong=
    read -ra options <<<"$1"
    number=$((number + 1))
    for program in test_ports $2; do
        if ! log=$(timeout 120 "$softhca" ${options[@]+"${options[@]}"} --fabric "adapters-$$-$number" -- \
            "$build/tests/verbs/$program" 2>&1); then
            wrong="$program fails: $log"
        elif [ "$program" = test_ports ] && ! grep -q "^# .*$3" <<<"$log"; then
            wrong="it says otherwise: $log"
        fi
    done
    if [ -n "$wrong" ]; then
        failed=$((failed + 1))
        echo "FAILED  ${1:-without options}: $wrong"
    else
        echo "passed  ${1:-without options}"
    fi
}

# Options; further programs to be run on that adapter; what test_ports says of the port.
while IFS='|' read -r options programs says; do
    try "$options" "$programs" "${says# }"
done <<'END'
                                 | test_fork            | in order: yes (the adapter says so
--data-in-order off              | test_queue_pair test_verbs | in order: no (the adapter does not promise
--grh-required                   | test_pair test_queue_pair test_verbs | in order: yes (the adapter says so
--like mlx5                      | test_pair            | in order: yes (the adapter says so
--like mlx5 --data-in-order off  |                      | in order: no (the adapter does not promise
--like mlx4                      | test_pair            | in order: no (the adapter does not promise
--like bnxt_re                   | test_pair            | in order: no (the adapter does not promise
--max-inline 0                   |                      | inline 0,
--max-inline 101                 | test_pair            | inline 101,
--like hns                       | test_pair            | inline 32,
--like irdma                     | test_pair test_queue_pair test_verbs test_receive | in order: no (the adapter does not promise
--like rxe                       | test_pair            | in order: no (the adapter does not promise
--pkeys 0,0x8001                 | test_pair test_queue_pair test_verbs | partition 0x8001 at 1,
--pkeys 0x7fff,0,0x8001,0x8002   | test_pair            | partition 0x8001 at 2,
--devices a/link=roce/gids=v1:fe80000000000000+fe80000000000000+v1:10.1+10.1+10.2 | test_pair test_queue_pair test_verbs | GID 3,
--devices a/link=roce/gids=v1:10.1+fe80000000000000+fd00000000000001 | test_pair | GID 2,
--devices a/link=roce/gids=v1:fe80000000000000+fe80000000000000+v1:10.1 | test_pair | GID 2,
--devices a/link=roce/gids=fd00000000000001+10.1+fe80000000000000 | test_pair | GID 1,
--devices a/link=roce/gids=v1:fe80000000000000+fe80000000000000 | test_pair | GID 1,
END
[ "$number" -eq 19 ] && [ "$failed" -eq 0 ]
