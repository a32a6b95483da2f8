#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs the tests of what goes wrong; ends with the line "N passed, N failed, N skipped".
#
#   run.sh [--all] [NAME...]   names without .sh; all by default
#
# Environment: RBUF_BUILD, RBUF_COMPONENT_DIR, SOFTHCA, as common.sh has them; RBUF_SANITIZED_DIR, as
# sanitized.sh has it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
all_names="params report show asked series listener memlock staging rings early ports fork stopped unreceived reuse helper policy faults calls windows sanitized valgrind"
# shellcheck source=tests/named.sh
. "$here/../named.sh"
named_choose "$@"
export ROBUST_ALL=$named_all
: "${RBUF_BUILD:?names the build directory}"
for directory in mpi robust; do
    if [ -f "$RBUF_BUILD/tests/$directory/Makefile" ]; then
        make -C "$RBUF_BUILD/tests/$directory" check >/dev/null || exit 1
    fi
done
named_run
