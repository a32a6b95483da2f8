#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# rbuf-bench between two ranks, and more: every pattern's bytes arrive, and the probes decide what counts, and end.
# Nothing here depends on how fast the machine is. Ends with "N passed, N failed, N skipped".
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

# bench OPTION...: over $transport, what it printed in $out, which is shown if it fails.
ranks=2
bench() {
    local before=()
    transport_options "$transport" || return
    mpi_launch_options $ranks
    if [ "$transport" != tcp ]; then
        before=("${SOFTHCA:-softhca}" --profile graphene --fabric "bench$$" --)
    fi
    timeout -k 5 "$(patience_for 60)" "${before[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" \
        --mca osc "$transport_osc" rbuf-bench "$@" >"$out" 2>&1 </dev/null || {
        cat "$out"
        return 1
    }
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

patterns=pingpong,stream,sends,processor,rate,both,late,overlap,overlap-send,overlap-recv
all_patterns() {
    bench --sizes 8,3k,100k --pattern $patterns --buffers fresh,50%,reused --reps 6 --check || return
    rows 90 checked ok && rows 90 quiet - || return
    bench --sizes 8,3k --pattern pingpong,stream,processor --sets 5 --working-set 64k --reps 3 --check || return
    rows 6 checked ok && rows 6 sets 5
}

one_sided() {
    if [ "$transport" = tcp ]; then
        echo "Open MPI may make no windows over tcp"
        return 77
    fi
    bench --sizes 8,3k,100k --pattern put,get --buffers fresh,reused --cache warm,cold --reps 4 --check || return
    rows 24 checked ok
    bench --sizes 1k --pattern put,get --type vector,struct --reps 2 --check || return
    rows 4 checked ok
    bench --sizes 8,3k --pattern put,get --window 16 --burst 5 --sets 3 --reps 3 --check || return
    rows 4 checked ok
    bench --sizes 8,3k,100k --pattern put-pscw,get-pscw --buffers fresh,reused --burst 3 --reps 3 --check || return
    rows 12 checked ok
    bench --sizes 8,3k,100k --pattern puts-gets,put-get-pscw --buffers fresh,reused --burst 3 --reps 3 --check || return
    rows 12 checked ok
    bench --sizes 3k --pattern put-spectrum,get-spectrum --window 20 --pages --reps 3 --check || return
    rows 2 checked ok
}

four_ranks() {
    local ranks=4
    bench --sizes 0,8,3k,100k --pattern bcast,scatter,allreduce,barrier --buffers fresh,reused --reps 4 --check ||
        return
    rows 32 checked ok
    bench --sizes 1k --pattern bcast,allreduce,barrier --burst 3 --reps 4 --check || return
    rows 3 checked ok
}

all_types() {
    bench --sizes 64,100k --type bytes,vector,struct --cache warm,cold,cold-recv --reps 4 --check || return
    rows 18 checked ok
}

# As CSV has them: the same names, numbers as numbers.
json() {
    bench --sizes 8,3k --pattern pingpong,overlap --buffers fresh,25% --reps 4 --check || return
    sed -n 's/^size,.*/&/p' "$out" >"$work/names"
    bench --sizes 8,3k --pattern pingpong,overlap --buffers fresh,25% --reps 4 --check --json || return
    grep '^{' "$out" | perl -MJSON::PP -e '
        open my $file, "<", shift or die;
        chomp(my $names = <$file>);
        my @names = sort split /,/, $names;
        my ($lines, $hidden) = (0, 0);
        while (<STDIN>) {
            my $case = decode_json($_);
            join(",", sort keys %$case) eq join(",", @names) or die "other names: $_";
            $case->{median_us} > 0 && $case->{median_us} =~ /^[0-9.]+$/ or die "no time: $_";
            /"size":(8|3072),/ && /"checked":"ok"/ && /"quiet":null/ or die "not as it was asked for: $_";
            $hidden += defined $case->{hidden_percent};
            $lines++;
        }
        $lines == 8 && $hidden == 4 or die "$lines lines, $hidden of them with what was hidden";
    ' "$work/names" && ! grep -q '^size,' "$out"
}

# That the peers are in each other's polling set is behind the few messages that are measured, or not.
admitted() {
    bench --sizes 8 --reps 1 "$@" || return
    grep -c '^rbuf-report: .* ring_admitted=1 ' "$out"
}
warm_up() {
    if [ "$transport" = tcp ]; then
        bench --sizes 8 --reps 1 --no-warm-up
        return
    fi
    export OMPI_MCA_btl_rbuf_report=2
    local warm cold
    warm=$(admitted)
    cold=$(admitted --no-warm-up)
    unset OMPI_MCA_btl_rbuf_report
    echo "$warm ranks have admitted the other, without warm-up $cold"
    [ "$warm" = 2 ] && [ "$cold" = 0 ]
}

# As contrib/reuse_gain.sh reads it: a line for the size that was measured.
costs_are_told() {
    if [ "$transport" = tcp ]; then
        echo "that is rbuf's"
        return 77
    fi
    OMPI_MCA_btl_rbuf_reuse=on OMPI_MCA_btl_base_verbose=10 bench --sizes 1k --pattern put --burst 200 --reps 4 || return
    grep -qE ' reuse: rank=0 kind=put from=1024 copied_ns=[0-9]+ gathered_ns=0 registration_ns=[0-9]+ way=(copy|gather)$' "$out" &&
        return
    cat "$out"
    return 1
}

# 77 where nothing can be probed: ranks that share no memory, or a processor.
can_probe() {
    bench --sizes 8 --reps 2 --probe --probe-wait 1 --probe-rate 1 || return
    [ "$(column handover_ns)" != - ] && return
    echo "the ranks share no memory, or a processor"
    return 77
}

# probed QUIET CASES OPTION...: measured so, each case is, and is marked so.
probed() {
    local quiet=$1 cases=$2
    shift 2
    can_probe || return
    bench --sizes 8,100k --reps 10 --check --probe --probe-rate 1 "$@" || return
    rows "$cases" quiet "$quiet" && rows "$cases" checked ok && rows "$cases" reps 10
}

# Whatever the machine does fits.
any_case_fits() {
    probed yes 2
}
any_handover_fits() {
    probed yes 4 --buffers fresh,50% --probe-handover 0:1000000
}
# A probe that another job keeps from its processor for a ms does not fit, and is not made again.
any_fits_without_waiting() {
    local try status
    for try in 1 2 3 4; do
        probed yes 4 --buffers fresh,50% --probe-handover 0:1000000 --probe-wait 0
        status=$?
        [ $status = 1 ] || return $status
    done
    echo "not once in $try tries"
    return 1
}

# No line takes under a picosecond. The run ends when its waiting time does.
no_handover_fits() {
    probed no 4 --buffers fresh,50% --probe-wait 1 --probe-handover 0:0.001
}

# What fits is taken from what this machine shows, so that some repetitions fit and others are measured
# again. A draw that went on with these would end before the case does, and rbuf-bench with it.
some_handovers_fit() {
    local least
    can_probe || return
    least=$(column handover_ns)
    bench --sizes 8,3k,100k --reps 60 --buffers 25% --check --probe --probe-rate 1 --probe-wait 3 \
        --probe-handover "$least:1000000" || return
    rows 3 checked ok && rows 3 reps 60
}

out=$work/out
for transport in tcp superpipeline; do
    if [ $transport != tcp ] && ! command -v "${SOFTHCA:-softhca}" >/dev/null; then
        skip "rbuf-bench over $transport" "the emulated adapter's launcher is not installed"
        continue
    fi
    for check in json warm_up costs_are_told all_patterns all_types one_sided four_ranks any_case_fits any_handover_fits any_fits_without_waiting \
        no_handover_fits some_handovers_fit; do
        try "rbuf-bench over $transport: ${check//_/ }" $check
    done
done
tally
