#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# contrib/demo.sh with an rbuf that is installed: which programs of an NPB tree it runs, and that each runs over each
# transport. Scripts stand in for NASA's programs; NAS IS is contrib/nas_is, of class S. Ends with
# "N passed, N failed, N skipped".
#
# Environment as run.sh's; rbuf-bench is that of PATH, and the installation the one that it belongs to.
set -u

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$(dirname "$(command -v rbuf-bench)")/.." && pwd) || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
TALLY_LOGS=$work
. "$here/../tally.sh"

# program DIRECTORY NAME [VERDICT]: prints what NASA's print, and notes what it ran over.
program() {
    mkdir -p "$1"
    cat >"$1/$2" <<END_OF_PROGRAM
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK-}" = 0 ] || exit 0
set -- \$(env | sed -n 's/^OMPI_MCA_btl_rbuf_\(reuse\|polling_set\|ring_slots\)=/\1=/p')
echo "$2 \$OMPI_COMM_WORLD_SIZE \$OMPI_MCA_btl_rbuf_protocol\${1+ \$1}" >>"$work/ran"
echo " Time in seconds =                     0.25"
echo " Mop/s total     =                   100.00"
echo " Verification    =               ${3:-SUCCESSFUL}"
END_OF_PROGRAM
    chmod +x "$1/$2"
}

# demo OPTION...: class S on two ranks, its output in $out; returns its exit status.
demo() {
    : >"$work/ran"
    timeout -k 5 "$(patience_for 120)" "$here/../../contrib/demo.sh" --prefix "$prefix" --build "$work/build" --class S --rounds 1 \
        --picture none "$@" >"$out" 2>&1 </dev/null
}

# says STATUS TEXT COMMAND...: ends with that and prints that.
says() {
    local status=0 wanted=$1 text=$2
    shift 2
    "$@" || status=$?
    [ $status = "$wanted" ] && grep -qF -- "$text" "$out" && return
    echo "status $status instead of $wanted, or not '$text':"
    cat "$out"
    return 1
}

# Those of this class and number of ranks, in bin and beside it, with each transport.
each_with_each() {
    local tree=$work/each wanted
    program "$tree/bin" is.S.2
    program "$tree/bin" cg.S.x
    program "$tree/bin" lu.S.2
    program "$tree/bin" lu.S.4 # another number of ranks
    program "$tree/bin" sp.S.x # no square
    program "$tree/bin" ft.W.2 # another class
    program "$tree/bin" bt.S.2.mpi_io_full
    program "$tree" mg.S.2
    says 0 "left out: ft.W.2 (class W), lu.S.4 (4 ranks), sp.S.x (wants a square number of ranks)" \
        demo --npb-dir "$tree" --transports superpipeline,copy --json "$work/json" || return
    wanted=$(for name in cg.S.x is.S.2 lu.S.2 mg.S.2; do printf '%s 2 %s\n' $name copy $name superpipeline; done)
    diff <(echo "$wanted") <(sort "$work/ran") || return
    # Both kinds of IS and the four, with two transports each.
    perl -MJSON::PP -e '
        local $/;
        my %runs;
        for my $run (@{ decode_json(<STDIN>) }) {
            $run->{verified} or die "$run->{program} is not verified";
            $runs{$run->{program}}++;
            $run->{program} !~ /npb/ or $run->{seconds} == 0.25 && $run->{mops} == 100 or die "other times";
        }
        my $found = join " ", map { "$_=$runs{$_}" } sort keys %runs;
        $found eq "nas_is=4 npb-cg=2 npb-is=2 npb-lu=2 npb-mg=2" or die $found;
    ' <"$work/json"
}

# With a tree and no list of transports: those that the papers compare, too.
as_the_papers() {
    local tree=$work/papers
    program "$tree" lu.S.2
    says 0 "NPB lu, class S" demo --npb-dir "$tree" --json "$work/json" || return
    grep -q '"protocol": "superpipeline:ring_slots=5", "program": "npb-lu"' "$work/json" || return
    diff - <(grep -v rcache "$work/ran" | grep 'helper\|=' | sort) <<'END_OF_RUNS'
lu.S.2 2 helper
lu.S.2 2 superpipeline polling_set=0
lu.S.2 2 superpipeline reuse=on
lu.S.2 2 superpipeline ring_slots=5
END_OF_RUNS
}

parameters_that_cannot_be() {
    says 2 "only protocols of rbuf take parameters" demo --transports ucx:reuse=on &&
        says 2 "wants PARAMETER=VALUE" demo --transports superpipeline:reuse
}

square_number() {
    local tree=$work/square
    program "$tree" sp.S.x
    program "$tree" bt.S.4
    says 0 "and NPB bt sp, class S, 4 ranks" demo --npb-dir "$tree" --ranks 4 --transports copy
}

not_verified() {
    local tree=$work/wrong
    program "$tree" cg.S.2 UNSUCCESSFUL
    says 1 "0 of 1" demo --npb-dir "$tree" --transports copy
}

none_that_fits() {
    local tree=$work/none
    program "$tree" cg.A.2
    says 2 "there is cg.A.2 (class A)" demo --npb-dir "$tree" &&
        says 2 "there is none at all" demo --npb-dir "$work"
}

out=$work/out
for check in each_with_each as_the_papers parameters_that_cannot_be square_number not_verified none_that_fits; do
    try "demo.sh: ${check//_/ }" $check
done
tally
