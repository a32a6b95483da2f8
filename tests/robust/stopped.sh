#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A process that is stopped before the first message to it, for longer than a host is called again that does
# not answer: it is waited for, and that is said. Or there is an end, as btl_rbuf_answer_timeout says.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

waited_for() { # NAME
    job "$1" 60 3 "$robust_tests/stopped" 4
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(lines_with '^The rbuf transport waits for a peer')" = 1 ] || wrong="it is not said once"
}

mpi=(--mca btl_rbuf_connect_timeout 200ms)
until_told waited_for "stopped: a process is waited for"
verdict "stopped: a process is waited for" "$wrong" "$took s"

given_up() { # NAME
    job "$1" 60 2 "$robust_tests/stopped" 0
    wrong=$(wrong_failure "$patience")
    [ -n "$wrong" ] || grep -q '^  Reason: .*its host answers, but the process does not' "$log" ||
        wrong="the reason is not said"
}

mpi+=(--mca btl_rbuf_answer_timeout 2s)
until_told given_up "stopped: btl_rbuf_answer_timeout"
verdict "stopped: btl_rbuf_answer_timeout" "$wrong" "$took s"
tally
