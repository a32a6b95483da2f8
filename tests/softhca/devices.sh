#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A few MPI programs over rbuf with the emulated device like each of the adapters that softhca knows
# (softhca --list-models), and with other ports and limits. Each runs, or is refused with a reason that
# the table below has a word of; nothing hangs or crashes. RBUF_BUILD is the build directory,
# RBUF_COMPONENT_DIR that of mca_btl_rbuf.so, SOFTHCA the launcher; an argument is a regular
# expression of the settings to run. The last line counts.

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${RBUF_BUILD:-$here/../..}" && pwd) || exit 2
TALLY_LOGS=${TALLY_LOGS:-$build/logs/devices}
mkdir -p "$TALLY_LOGS" || exit 2
. "$here/../tally.sh"
. "$here/../../contrib/transports.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
only=${1:-.}
# A rank that waits polls, so one that hangs uses up its time on the processor. What a program takes by the
# clock says nothing: where fourteen others want the two processors, a minute gives pingpong four seconds of
# the five that it needs, and it is silent until its end.
seconds=60
patience=600 # s by the clock, for one that sleeps

# options of softhca | ports of the two ranks, or - | runs, or a regular expression of the reason
table='
--like mlx4              | -   | runs
--like mlx5              | -   | runs
--like rxe               | -   | runs
--like bnxt_re           | -   | runs
--like irdma             | -   | runs
--like hns               | -   | runs
--like efa               | -   | without reliable connected
--like efa               | -   | mtl ofi
--like siw               | -   | iWARP, not supported
--like siw               | -   | FI_PROVIDER="verbs;ofi_rxm"
--devices a/link=roce    | -   | runs
--devices a/state=down,b | -   | runs
--devices a/state=down   | -   | active port
--ports 2                | 2:2 | runs
--ports 1                | 2:1 | runs
--ports 1                | 1:3 | runs
--grh-required           | -   | runs
--max-inline 0           | -   | runs
--max-inline 101         | -   | runs
--pkeys 0,0x8001         | -   | runs
--pkeys 0x7fff,0x8001    | -   | runs
--pkeys 0x7fff           | -   | limited members
--pkeys 0,0x8000         | -   | no valid key
--devices a/link=roce/gids=v1:fe80000000000000+fe80000000000000+v1:10.1+10.1 | - | runs
--devices a/link=roce/gids=fd00000000000001 | - | runs
--devices a/link=roce/gids=v1:fe80000000000000 | - | runs
'

# The programs of a setting that runs; of one that is refused the first is enough.
programs="pingpong order truncate"

# One program on two ranks, each with its number of ports and so many seconds on the processor.
launch() { # OPTIONS PORTS PROGRAM
    local options ports=$2 program=$build/tests/mpi/$3
    read -ra options <<<"$1"
    transport_options superpipeline && mpi_launch_options 2 || return
    # shellcheck disable=SC2016 # the rank's shell expands it
    timeout -k 5 "$(patience_for $patience)" "${SOFTHCA:-softhca}" --profile unpaced --fabric "devices-$$" "${options[@]}" -- \
        "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" sh -c '
            ulimit -t "$1"
            test "$2" = - || {
                test "$OMPI_COMM_WORLD_RANK" = 0 && ports=${2%:*} || ports=${2#*:}
                export SOFTHCA_PORTS="$ports"
            }
            shift 2
            exec "$@"' rank "$seconds" "$ports" "$program"
}

# Runs a program once; sets log to its output and wrong to what is wrong with its end.
run_refused() { # NAME REASON OPTIONS PORTS PROGRAM
    local status=0
    log=$(log_of "$1")
    launch "$3" "$4" "$5" >"$log" 2>&1 </dev/null || status=$?
    wrong=
    if test $status -eq 0 || test $status -eq 124 || test $status -ge 128 && test $status -ne 255; then
        wrong="status $status"
    elif ! grep -qE "$2" "$log"; then
        wrong="no message: $2"
    fi
}

# The program ends by itself, badly, and says why.
refused() { # REASON OPTIONS PORTS PROGRAM
    local name="$2 is refused: $1" log wrong
    until_told run_refused "$name" "$@"
    if test -z "$wrong"; then
        pass "$name"
    else
        fail "$name" "$wrong"
        show_log "$name"
    fi
}

while IFS='|' read -r options ports outcome; do
    read -r options <<<"$options"
    read -r ports <<<"$ports"
    read -r outcome <<<"$outcome"
    name=$options
    test "$ports" = - || name="ports $ports"
    test -n "$options" && [[ $name =~ $only ]] || continue
    if test "$outcome" != runs; then
        refused "$outcome" "$options" "$ports" pingpong
        continue
    fi
    for program in $programs; do
        TALLY_TIMEOUT=$((patience + 10)) try "$name: $program" launch "$options" "$ports" "$program"
    done
done <<<"$table"
tally
