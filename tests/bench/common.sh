# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the tests of scripts that measure, and judge what was measured: the script runs on known lines, or with
# stand-ins for the programs that it calls. Sets work, a directory that goes with the test, and counts as tests/tally.sh.

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
TALLY_LOGS=$work
# shellcheck source=tests/tally.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tally.sh"

# stand_in_adapter: in $work/bin, which goes before PATH, one for softhca that runs its command, and one for ibv_devinfo
# that finds no adapter. MPIRUN and SOFTHCA name those there; what they note goes to $CALLS. With LAUNCHES in the
# environment softhca notes its call there.
stand_in_adapter() {
    mkdir -p "$work/bin" || exit 99
    cat >"$work/bin/softhca" <<'END'
#!/bin/bash
[ -z "${LAUNCHES-}" ] || echo "softhca $*" >>"$LAUNCHES"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
END
    stand_in 1 ibv_devinfo
    chmod +x "$work/bin"/*
    export PATH=$work/bin:$PATH CALLS=$work/calls MPIRUN=$work/bin/mpirun SOFTHCA=$work/bin/softhca RBUF_COMPONENT_DIR=
}

# stand_in STATUS NAME...: programs there that do nothing, and end with that status.
stand_in() {
    local name
    for name in "${@:2}"; do
        printf '#!/bin/sh\nexit %d\n' "$1" >"$work/bin/$name" && chmod +x "$work/bin/$name"
    done
}

# run NAME STATUS OPTION...: the script that $tested names; its output is the log of that name. Calls are noted anew.
run() {
    local name=$1 wanted=$2 status=0
    shift 2
    : >"$CALLS"
    # shellcheck disable=SC2154 # of the caller
    "$tested" "$@" >"$(log_of "$name")" 2>&1 </dev/null || status=$?
    if [ $status -eq "$wanted" ]; then
        pass "$name"
    else
        fail "$name" "exit status $status"
        show_log "$name"
    fi
}

# found FILE PATTERN: a line of the file is like that.
found() {
    if grep -qE -- "$2" "$1"; then
        pass "  $2"
    else
        fail "  $2" "not in:"
        tail -n 20 "$1" | sed 's/^/      | /'
    fi
}
