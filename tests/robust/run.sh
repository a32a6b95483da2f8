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
names=()
export ROBUST_ALL=no
while [ $# -gt 0 ]; do
    case $1 in
    --all) ROBUST_ALL=yes ;;
    *)
        if [[ " $all_names " != *" $1 "* ]]; then
            echo "usage: run.sh [--all] [NAME...]; names: $all_names" >&2
            exit 2
        fi
        names+=("$1")
        ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || read -ra names <<<"$all_names"
: "${RBUF_BUILD:?names the build directory}"
for directory in mpi robust; do
    if [ -f "$RBUF_BUILD/tests/$directory/Makefile" ]; then
        make -C "$RBUF_BUILD/tests/$directory" check >/dev/null || exit 1
    fi
done

# shellcheck source=tests/tally.sh
. "$here/../tally.sh"
for name in "${names[@]}"; do
    started=$SECONDS
    echo "-- $name"
    try_script "$name" "$here/$name.sh"
    echo "-- $name took $((SECONDS - started)) s"
done
tally
