#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Messages that a program did not receive, and that come within MPI_Finalize, when Open MPI has unloaded who
# would take them: they are dropped and counted. The network is so slow that they come late.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

dropped() { # COUNT BYTES
    local name="unreceived: $1 of $2 bytes" wrong
    job "$name" 60 2 "$robust_tests/unreceived" "$1" "$2"
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(lines_with '^rank [01] is through$')" = 2 ] || wrong="not both ranks are through"
    [ -n "$wrong" ] || [ "$(lines_with "^rbuf-report: rank.* messages_undelivered=$1 ")" = 2 ] ||
        wrong="they are not counted"
    verdict "$name" "$wrong"
}

preload finalizing.c UNDELETED=1
hca=(--latency 300ms)
mpi=(--mca btl_rbuf_report 2)
dropped 1 8
dropped 20 1000
dropped 2 40000
dropped 2 1000000
tally
