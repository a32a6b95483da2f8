#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Without an adapter the transport is off, and says so if it was named, wherever: in the environment, on
# the command line, in a parameter set or in a file of parameters. Named alone it serves all that a job of
# one process a node needs.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
shared=$(ompi_info --parsable | sed -n 's/^mca:btl:\(vader\|sm\):version:.*/\1/p' | tail -n 1)
printf 'btl=rbuf,%s,self\n' "$shared" >"$TALLY_LOGS/named.conf"

without_adapter() { # TOLD|SILENT NAME OPTION...
    local session
    name="no adapter, $2"
    log=$(log_of "$name")
    status=0
    session=$(mktemp -d)
    TMPDIR=$session timeout -k 5 "$(patience_for 30)" "$mpirun" -np 2 --oversubscribe --bind-to none --mca pml ob1 \
        --mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR" "${@:3}" "$mpi_tests/finalize" nothing \
        >"$log" 2>&1 </dev/null || status=$?
    rm -rf "$session"
    took=30
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(wrong_words "$1")
}

wrong_words() { # TOLD|SILENT
    local said
    said=$(lines_with '^The rbuf transport')
    case $1:$said in
    told:0) echo "not said" ;;
    silent:[1-9]*) echo "said, though nobody asked" ;;
    told:1)
        grep -q -E '^  Remedy: +[^ ]' "$log" || echo "what to do is not said"
        ;;
    esac
}

absent() { # TOLD|SILENT NAME OPTION...
    local name wrong
    until_told without_adapter "$@"
    verdict "$name" "$wrong" "$1"
}

alone() { # RANKS PROGRAM [ARGUMENT...]
    local name="btl rbuf alone: ${*:2}, $1 ranks" btls=rbuf
    job "$name" 60 "$1" "$mpi_tests/$2" "${@:3}"
    verdict "$name" "$(wrong_success)" "$took s"
}

unset OMPI_MCA_btl
absent told "named on the command line" --mca btl "rbuf,$shared,self"
OMPI_MCA_btl=rbuf,$shared,self absent told "named in the environment"
absent told "named in a parameter set" --tune "$TALLY_LOGS/named.conf"
OMPI_MCA_mca_base_param_files=$TALLY_LOGS/named.conf absent told "named in a file of parameters"
absent silent "nothing named"
absent silent "others named" --mca btl "$shared,self"
absent silent "excluded" --mca btl ^rbuf
# By the processes themselves, as the launcher may lose what it is to print.
wrong_verbose() {
    wrong_success | grep . && return
    [ "$(lines_with '^The rbuf transport found no')" -ge 2 ] || echo "not said by both processes"
}
without_adapter told "with verbose output" --mca btl "rbuf,$shared,self" --mca btl_base_verbose 10
verdict "$name" "$(wrong_verbose)" "said by both processes"
alone 1 self
alone 2 self
alone 4 collectives
tally
