#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# rbuf-bench between two ranks: every pattern's bytes arrive, and the probes decide what counts and end
# in time. Nothing here depends on how fast the machine is. Ends with "N passed, N failed, N skipped".
#
# Environment as run.sh's; rbuf-bench is that of PATH. Over tcp, and over rbuf where there is an adapter.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
TALLY_LOGS=$work
. "$here/../tally.sh"

# bench OPTION...: over $transport, what it printed in $out.
bench() {
    local before=()
    transport_options "$transport" || return
    mpi_launch_options 2
    if [ "$transport" != tcp ]; then
        before=("${SOFTHCA:-softhca}" --profile graphene --fabric "bench$$" --)
    fi
    timeout -k 5 100 "${before[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" \
        rbuf-bench "$@" >"$out" 2>&1 </dev/null
}

# column NAME: that of every line of $out that is a case.
column() {
    awk -F, -v name="$1" '
        $1 == "size" { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        at && NF > 15 { print $at }' "$out"
}

# rows COUNT NAME VALUE: so many cases, each with that value.
rows() {
    local values
    values=$(column "$2")
    [ "$(grep -c . <<<"$values")" = "$1" ] && [ "$(sort -u <<<"$values")" = "$3" ] && return
    echo "not $1 lines with $2 = $3:"
    cat "$out"
    return 1
}

patterns=pingpong,stream,rate,both,late,overlap,overlap-send,overlap-recv
all_patterns() {
    bench --sizes 8,3k,100k --pattern $patterns --buffers fresh,50%,reused --reps 6 --check || {
        cat "$out"
        return 1
    }
    rows 72 checked ok && rows 72 quiet -
}

all_types() {
    bench --sizes 64,100k --type bytes,vector,struct --cache warm,cold,cold-recv --reps 4 --check ||
        {
            cat "$out"
            return 1
        }
    rows 18 checked ok
}

# Whatever the machine does fits: nothing is waited for.
any_handover_fits() {
    bench --sizes 8,100k --reps 10 --buffers fresh,50% --check --probe --probe-rate 1 \
        --probe-handover 0:1000000 || {
        cat "$out"
        return 1
    }
    rows 4 quiet yes && rows 4 checked ok
}

# No line takes under a picosecond. The run ends when its waiting time does, with every repetition measured.
no_handover_fits() {
    local start=$SECONDS
    bench --sizes 8,100k --reps 10 --buffers fresh,50% --check --probe --probe-wait 1 \
        --probe-handover 0:0.001 || {
        cat "$out"
        return 1
    }
    rows 4 quiet no && rows 4 checked ok && rows 4 reps 10 && [ $((SECONDS - start)) -le 30 ]
}

# About half of the repetitions fit, so many are measured again: a share of reused buffers stays what it
# is, which the last draw would not survive otherwise.
some_handovers_fit() {
    local middle
    bench --sizes 8 --reps 4 --probe --probe-rate 1 || {
        cat "$out"
        return 1
    }
    middle=$(column handover_ns | sort -n | sed -n 1p)
    [ "$middle" != - ] || return 77
    bench --sizes 8,3k --reps 40 --buffers 25% --check --probe --probe-rate 1 --probe-wait 3 \
        --probe-handover "$middle:1000000" || {
        cat "$out"
        return 1
    }
    rows 2 checked ok && column quiet | grep -vqE '^(yes|no)$' && return 1
    return 0
}

out=$work/out
for transport in tcp superpipeline; do
    if [ $transport != tcp ] && ! command -v "${SOFTHCA:-softhca}" >/dev/null; then
        skip "rbuf-bench over $transport" "the emulated adapter's launcher is not installed"
        continue
    fi
    for check in all_patterns all_types any_handover_fits no_handover_fits some_handovers_fit; do
        try "rbuf-bench over $transport: ${check//_/ }" $check
    done
done
tally
