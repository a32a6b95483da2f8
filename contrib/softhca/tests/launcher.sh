#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests the launcher: its options and units, what it puts into the environment, how it ends, and that
# it leaves no file behind. It needs no adapter: a library of the system stands in for libsofthca.
# SOFTHCA_BUILD is softhca's build directory, by default its source's.

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${SOFTHCA_BUILD:-$here/..}" && pwd)
softhca=$build/softhca
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
TALLY_LOGS=$work
# shellcheck source=contrib/softhca/tests/tally.sh
. "$here/tally.sh"

stand_in=$(ldd /bin/sh | sed -n 's/.*=> \(\/.*libc\.[^ ]*\) .*/\1/p')
export SOFTHCA_LIB=$stand_in
unset LD_PRELOAD
# Where the launcher is built with a sanitizer: some tests preload a library before that one's.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0

# The options put VALUE into VARIABLE.
sets() { # VARIABLE VALUE OPTION...
    local variable=$1 value=$2 got
    shift 2
    got=$("$softhca" "$@" -- sh -c "echo \${$variable-unset}" 2>&1)
    if test "$got" = "$value"; then
        pass "$* sets $variable to $value"
    else
        fail "$* sets $variable to $value" "got: $got"
    fi
}

# The option is refused: status 125, one line that names the option, the value and what is allowed.
refuses() { # OPTION VALUE
    local output status=0
    output=$("$softhca" "--$1" "$2" -- true 2>&1) || status=$?
    if test $status -eq 125 && test "$(printf '%s\n' "$output" | wc -l)" -eq 1 &&
        [[ $output == *"--$1 "*"${2:-"''"}"*"allowed: "* ]]; then
        pass "--$1 '$2' is refused"
    else
        fail "--$1 '$2' is refused" "status $status: $output"
    fi
}

# The launcher ends with that status.
ends() { # STATUS NAME COMMAND...
    local wanted=$1 name=$2 status=0
    shift 2
    # The group keeps the shell's own word on signals out of the output.
    { "$@" >"$(log_of "$name")" 2>&1; } 2>/dev/null || status=$?
    if test $status -eq "$wanted"; then
        pass "$name"
    else
        fail "$name" "status $status instead of $wanted"
        show_log "$name"
    fi
}

test_units() {
    sets SOFTHCA_BANDWIDTH 1400000000 --bandwidth 1.4G
    sets SOFTHCA_BANDWIDTH 12500 --bandwidth 12.5k
    sets SOFTHCA_BANDWIDTH 0 --bandwidth 0
    sets SOFTHCA_LATENCY 1500 --latency 1.5us
    sets SOFTHCA_LATENCY 0 --latency 0
    sets SOFTHCA_GAP 100 --gap 100ns
    sets SOFTHCA_REG 68000,200 --reg 68us,200ns
    sets SOFTHCA_DEREG 1000000,0 --dereg 1ms,0
    sets SOFTHCA_MEMLOCK 67108864 --memlock 64M
    sets SOFTHCA_MEMLOCK 12800 --memlock 12.5k
    local value
    for value in 1.4X 1.4Gx 1..4G .5G 5.G -1 +1 '' ' 1' '1 ' 1e9 0x10 1.0000000001G 99999999999G \
        99999999999999999999999; do
        refuses bandwidth "$value"
    done
    for value in 2 2u 1.5ns us 2us,3us 99999999999999s; do
        refuses latency "$value"
    done
    for value in 68us 68us, ,200ns 68,200 68us,200ns,1ns '68us, 200ns'; do
        refuses reg "$value"
    done
    refuses dereg x,y
    refuses gap 1.0001us5
    refuses memlock 64MB
    refuses memlock 1.3333k
}

test_options() {
    refuses profile nosuch
    refuses profile ''
    refuses data-in-order maybe
    refuses fabric a/b
    refuses fabric ..
    refuses fabric ''
    refuses stats ''
    sets SOFTHCA_BANDWIDTH 1400000000 --profile graphene
    sets SOFTHCA_REG 68000,200 --profile infini
    sets SOFTHCA_BANDWIDTH 2000000000 --bandwidth 2G --profile graphene
    sets SOFTHCA_DATA_IN_ORDER 0 --data-in-order off
    sets SOFTHCA_DATA_IN_ORDER 1 --data-in-order on
    sets SOFTHCA_DATA_IN_ORDER aligned --data-in-order aligned
    sets SOFTHCA_DATA_IN_ORDER unset
    SOFTHCA_DATA_IN_ORDER=aligned sets SOFTHCA_DATA_IN_ORDER aligned
    sets SOFTHCA_STATS "$PWD/x" --stats x
    sets SOFTHCA_STATS unset
    sets SOFTHCA_FAULT order=random --fault order=random
    sets SOFTHCA_MAX_INLINE 96 --max-inline 96
    sets SOFTHCA_MAX_INLINE unset
    SOFTHCA_MAX_INLINE=32 sets SOFTHCA_MAX_INLINE 32
    refuses max-inline 513
    refuses max-inline 1k
    refuses max-inline ''
    sets SOFTHCA_LIKE mlx5 --like mlx5
    sets SOFTHCA_LIKE unset
    refuses like nosuch
    refuses like ''
    try "--list-models names all, with sources" sh -c "'$softhca' --list-models | grep -c source: | grep -x 9"
    sets SOFTHCA_PORTS 2 --ports 2
    sets SOFTHCA_PORTS unset
    refuses ports 0
    refuses ports 9
    sets SOFTHCA_DEVICES a/ports=2,b --devices a/ports=2,b
    refuses devices ''
    sets SOFTHCA_GRH_REQUIRED 1 --grh-required
    sets SOFTHCA_GRH_REQUIRED unset
    sets SOFTHCA_LOG unset
    sets LD_PRELOAD "$stand_in"
    LD_PRELOAD=$stand_in sets LD_PRELOAD "$stand_in:$stand_in"
    try "--list-profiles names all" sh -c "'$softhca' --list-profiles | grep -c -E \
        '^(graphene|infini|roce40|edr|unpaced):' | grep -x 5"
    try "every profile names a source" sh -c "test \$('$softhca' --list-profiles | grep -c source:) = 5"
    try "edr warns" sh -c "'$softhca' --profile edr -- true 2>&1 | grep 'profile edr asks for 12 GB/s'"
    ends 0 "--help" "$softhca" --help
    ends 0 "--version" "$softhca" --version
    ends 125 "an unknown option" "$softhca" --nosuch -- true
    ends 125 "no command" "$softhca" --profile graphene
    ends 125 "a missing library" env SOFTHCA_LIB=/nonexistent.so "$softhca" -- true
}

# A signal sent to the launcher reaches the command, which answers with a status of its own.
pass_signal() { # SIGNAL
    local status=0 i
    rm -f "$work/ready"
    "$softhca" -- bash -c "trap 'exit 42' $1; : >'$work/ready'; while :; do sleep 0.05; done" &
    for ((i = 0; i < 100; i++)); do
        test -e "$work/ready" && break
        sleep 0.05
    done
    kill -s "$1" $!
    wait $! || status=$?
    if test $status -eq 42; then
        pass "SIG$1 reaches the command"
    else
        fail "SIG$1 reaches the command" "status $status"
    fi
}

test_ends() {
    ends 0 "status 0" "$softhca" -- true
    ends 7 "status 7" "$softhca" -- sh -c 'exit 7'
    ends 127 "a command that is not there" "$softhca" -- "$work/nosuch"
    ends 126 "a command that cannot be run" "$softhca" -- "$work"
    ends 143 "a command ended by SIGTERM" "$softhca" -- sh -c 'kill -TERM $$'
    ends 137 "a command ended by SIGKILL" "$softhca" -- sh -c 'kill -KILL $$'
    ends 139 "a command ended by SIGSEGV" "$softhca" -- sh -c 'kill -SEGV $$'
    ends 3 "options of the command are its own" "$softhca" -- sh -c 'test "$1" = --help && exit 3' sh --help
    ends 3 "-- may be left out" "$softhca" sh -c 'exit 3'
    pass_signal TERM
    pass_signal HUP
    pass_signal USR1
}

segment_of() { # OPTION...
    "$softhca" "$@" -- sh -c 'echo "$SOFTHCA_SEGMENT"'
}

test_fabrics() {
    local one
    one=$(segment_of --fabric t$$ --latency 1us)
    try "the same settings share a fabric" test "$one" = "$(segment_of --latency 1000ns --fabric t$$)"
    try "other settings do not" test "$one" != "$(segment_of --fabric t$$ --latency 2us)"
    try "another name does not" test "$one" != "$(segment_of --fabric u$$ --latency 1us)"
    try "the fabric's files are removed" "$softhca" --fabric t$$ -- sh -c ': >"$SOFTHCA_SEGMENT"'
    one=$(segment_of --fabric t$$)
    try "nothing is left behind" test ! -e "$one" -a ! -e "$one.users"
    try "a second launcher leaves the first its fabric" "$softhca" --fabric t$$ -- sh -c \
        ": >\"\$SOFTHCA_SEGMENT\"; '$softhca' --fabric t$$ -- true; test -e \"\$SOFTHCA_SEGMENT\""
    : >"$one"
    try "what a killed launcher left is removed" "$softhca" --fabric t$$ -- sh -c \
        'test ! -e "$SOFTHCA_SEGMENT"'
}

test -x "$softhca" || { echo "$softhca is not built"; exit 99; }
test_units
test_options
test_ends
test_fabrics
tally
