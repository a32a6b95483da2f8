# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the run.sh of a folder whose tests are scripts NAME.sh beside it: its command line, and the run of those
# that are wanted. The caller sets here, that folder, and all_names, those that there are. The usage:
#
#   run.sh [--all] [NAME...]   names without .sh; all by default

# shellcheck source=tests/tally.sh
. "$(dirname "${BASH_SOURCE[0]}")/tally.sh"

# named_choose ARGUMENT...: sets names, and named_all to yes with --all, else to no. Ends with 2 on bad usage.
# shellcheck disable=SC2034 # named_all is for the caller
named_choose() {
    names=()
    named_all=no
    while [ $# -gt 0 ]; do
        case $1 in
        --all) named_all=yes ;;
        *)
            # shellcheck disable=SC2154 # of the caller
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
}

# named_run: those, one after the other, and the line "N passed, N failed, N skipped".
named_run() {
    local name started
    for name in "${names[@]}"; do
        started=$SECONDS
        echo "-- $name"
        # shellcheck disable=SC2154 # of the caller
        try_script "$name" "$here/$name.sh"
        echo "-- $name took $((SECONDS - started)) s"
    done
    tally
}
