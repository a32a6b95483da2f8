#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Builds the tree in /work/source with the Open MPI of the system around it, installs it in
# /work/prefix and tests it on the emulated adapter. run.sh starts it, in a chroot. The last line
# counts.
#
#   inside.sh [--all] [--slurm]
#
# With --slurm only the jobs of tests/slurm run. What does not depend on the release of Open MPI is tested elsewhere,
# with 4.1: here a slice of the MPI tests
# runs, what calls Open MPI in most ways, and with --all everything.
set -u

long=()
[[ " $* " != *" --all "* ]] || long=(--all)
source=/work/source
build=/work/build
prefix=/work/prefix
# shellcheck source=tests/tally.sh
. "$source/tests/tally.sh"
# shellcheck source=contrib/transports.sh
. "$source/contrib/transports.sh"
# shellcheck source=tests/rings.sh
. "$source/tests/rings.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 # jobs run side by side here, and with other stages of check.sh
export PATH=$prefix/bin:$PATH SOFTHCA=$prefix/bin/softhca
export RBUF_BUILD=$build RBUF_COMPONENT_DIR=$prefix/lib/openmpi

configure() {
    mkdir -p "$build" && cd "$build" && "$source/configure" --prefix="$prefix" --enable-werror
}

# Nothing further makes sense if this fails.
build_or_end() {
    local jobs
    jobs=-j$(nproc)
    TALLY_TIMEOUT=180 try "autogen.pl" "$source/autogen.pl" --force &&
        try "configure" configure &&
        TALLY_TIMEOUT=1200 try "make" make -C "$build" "$jobs" &&
        TALLY_TIMEOUT=120 try "make install" make -C "$build" install &&
        TALLY_TIMEOUT=600 try "MPI programs" make -C "$build/tests/mpi" "$jobs" check TESTS= && return
    tally
    exit
}

lists_component() {
    OMPI_MCA_mca_base_component_path=SYS_DEFAULT:$RBUF_COMPONENT_DIR \
        ompi_info --param btl rbuf --level 9 | tee /dev/stderr | grep -q "API v3\.3.*Component v$series\."
}

# mpirun on the emulated adapter. (The one of Open MPI 5.0.7 writes bytes of zero between messages.)
emulated() { # MPIRUN'S ARGUMENTS...
    timeout -k 5 "$(patience_for 120)" "$SOFTHCA" --profile unpaced -- mpirun "$@" 2>&1 | tr -d '\0'
    return "${PIPESTATUS[0]}"
}

over_rbuf() { # PROTOCOL RANKS ARGUMENTS...
    transport_options "$1" && mpi_launch_options "$2" || return
    shift 2
    emulated "${mpi_args[@]}" "${transport_args[@]}" "$@"
}

# The same, with a report of each rank at the end. (mpirun would mix lines of two ranks.)
reported() { # COMMAND... PROGRAM
    local program=${*: -1} status=0
    rm -f /tmp/report.*
    "${@:1:$#-1}" --mca btl_rbuf_report 2 sh -c 'exec "$0" 2>/tmp/report.$$' "$program" || status=$?
    cat /tmp/report.*
    return $status
}

# Said as the README has it, PMIx has nothing to say of our path.
silent() {
    local out
    out=$(over_rbuf superpipeline 2 "$build/tests/mpi/finalize") || return
    printf '%s\n' "$out"
    ! grep -vE '^([0-9]+ checks, 0 wrong)?$' <<<"$out"
}

# The parameter set, and the path beside it, since mpirun leaves none in the file.
parameter_set() {
    local out
    mpi_launch_options 2
    out=$(reported emulated "${mpi_args[@]}" \
        --tune "$prefix/share/openmpi/amca-param-sets/rbuf.conf" \
        --mca mca_base_component_path "SYS_DEFAULT:$RBUF_COMPONENT_DIR" \
        "$build/tests/mpi/finalize") || return
    printf '%s\n' "$out"
    test "$(grep -c '^rbuf-report:' <<<"$out")" -eq 2
}

# osc/rdma puts and counts by the adapter; else everything would go through active messages.
accelerated() {
    local out
    out=$(reported over_rbuf superpipeline 2 --mca osc rdma "$build/tests/mpi/onesided") || return
    printf '%s\n' "$out"
    grep -q ' direct_puts=[1-9]' <<<"$out" && grep -q ' atomics=[1-9]' <<<"$out"
}

# The five lines count both processes, and the messages that they have sent.
five_lines() {
    local out
    out=$(over_rbuf superpipeline 2 --mca btl_rbuf_report 1 "$build/tests/mpi/pingpong") || return
    printf '%s\n' "$out"
    test "$(grep -c '^rbuf-report: ' <<<"$out")" -eq 5 &&
        grep -qE '^rbuf-report: 2 processes on 1 node, version' <<<"$out" &&
        grep -qE '^rbuf-report: messages: [1-9]' <<<"$out"
}

# A text of ours is shown, and once for both processes.
help_texts() { # PARAMETER VALUE MPIRUN'S ARGUMENTS...
    local out
    out=$(over_rbuf superpipeline 2 --mca "$1" "$2" "${@:3}") # it may fail, as it should
    printf '%s\n' "$out"
    test "$(grep -c "Parameter:  $1\$" <<<"$out")" -eq 1 && grep -q "Value:      $2\$" <<<"$out"
}

# Debian's Open MPI from 5.0 on is linked with UCX, whose memory hooks hide the heap from Open MPI's: with them
# there is no cache and a message, without them there is one.
cache_needs_hooks() {
    local out
    out=$(reported over_rbuf rcache 2 "$build/tests/mpi/types") || return
    printf '%s\n' "$out"
    if grep -q 'memory hooks are not told' <<<"$out"; then
        ! grep -q ' cache_hits=[1-9]' <<<"$out" || return
    else
        grep -q ' cache_hits=[1-9]' <<<"$out" || return
    fi
    out=$(UCX_MEM_EVENTS=n reported over_rbuf rcache 2 "$build/tests/mpi/types") || return
    printf '%s\n' "$out"
    grep -q ' cache_hits=[1-9]' <<<"$out"
}

# A pml ucx is listed even if its UCX has nothing for adapters: rbuf-compare leaves it out and goes on.
compares_with_ucx() {
    local out wanted='pml ucx does not start on softhca:unpaced: ucx is left out'
    out=$(rbuf-compare --profile unpaced --transports superpipeline,ucx --rounds 1 --sizes 8 --reps 20 \
        --no-probe 2>&1) || { printf '%s\n' "$out" && return 1; }
    printf '%s\n' "$out"
    if compgen -G '/usr/lib/*/ucx/libuct_ib.so*' >/dev/null; then
        ! grep -q "$wanted" <<<"$out"
    else
        grep -q "$wanted" <<<"$out"
    fi
}

# A component for the other series is left out with a message, and the program runs.
refuses_other() {
    local out
    mpi_launch_options 2
    out=$(mpirun "${mpi_args[@]}" --mca pml ob1 --mca mca_base_component_path SYS_DEFAULT:/work/other \
        --mca mca_base_component_show_load_errors 1 "$prefix/libexec/rbuf/nas_is" --class S 2>&1) ||
        return
    printf '%s\n' "$out"
    grep -qE 'mca_btl_rbuf.*(libopen-pal|libunwind|undefined symbol)' <<<"$out"
}

# One run of IS; it verifies its own result.
is_over() { # PROTOCOL CLASS RANKS
    if ! transport_options "$1" || ! fabric_choose graphene; then
        fail "is.$2.$3 over $1"
        return
    fi
    mpi_launch_options "$3"
    TALLY_TIMEOUT=120 try "is.$2.$3 over $1" "${fabric_command[@]}" mpirun "${mpi_args[@]}" \
        "${transport_args[@]}" "$prefix/libexec/rbuf/nas_is" --class "$2"
}

# The MPI tests that a series is most likely to break, with the protocol that is the default and the one that
# uses Open MPI's cache.
slice_of_mpi() {
    local two_sided one_sided cached
    two_sided='finalize|pingpong|window|types|truncate|packed|persistent|collectives|threads|communicators|sessions'
    two_sided+='|spawn|return|killed-peer|lost-peer'
    one_sided='one-sided|one-sided-packed|accumulate-3|epochs|epochs-packed|packing|rma-threads-packed|scheduled'
    cached='types|remap|read-only|one-sided'
    try_script "MPI tests" "$source/tests/mpi/run.sh" --transports superpipeline --rings default \
        --only "^($two_sided|$one_sided)\$"
    try_script "MPI tests" "$source/tests/mpi/run.sh" --transports superpipeline --rings tight,off \
        --only '^(storm-small|rings-sizes)$'
    try_script "MPI tests" "$source/tests/mpi/run.sh" --transports rcache --rings default --only "^($cached)\$"
}

all_of_mpi() {
    try_script "MPI tests" "$source/tests/mpi/run.sh" --transports superpipeline,rcache \
        --rings "default,small-slots,tight,off,reuse,${rma_orders// /,}"
    try_script "MPI tests" "$source/tests/mpi/run.sh" --transports pipeline,copy,register,helper \
        --only '^(pingpong|window|types|truncate|storm|one-sided|computing|spawn)$'
}

# Other people's verbs programs, which change with the release of rdma-core.
verbs_programs() {
    local some=()
    test ${#long[@]} -gt 0 || some=(--only '^(calls|ibv_|ib_.*_bw 4096|ib_send_lat|ib_atomic_bw)')
    command -v ib_write_bw >/dev/null || some=(--only '^(calls|ibv_)') # the chroot has no perftest
    try_script "verbs programs" "$source/contrib/softhca/tests/run.sh" "${some[@]}" \
        --build "$build/contrib/softhca" calls clients
}

series=$(mpirun --version | sed -n 's/.*(Open MPI) \([0-9]*\.[0-9]*\).*/\1/p')
build_or_end
if [[ " $* " == *" --slurm "* ]]; then
    try_script "jobs under Slurm" "$source/tests/slurm/run.sh" "${long[@]}"
    tally
    exit
fi
TALLY_TIMEOUT=60 try "exports" make -C "$build/tests/build" check VERBOSE=1
test ${#long[@]} -eq 0 || TALLY_TIMEOUT=900 try "make check" make -C "$build" check VERBOSE=1
try "ompi_info lists the component" lists_component
try "mpirun says nothing of its own" silent
try "parameter set" parameter_set
try "one-sided operations are the adapter's" accelerated
try "a cache only with hooks that work" cache_needs_hooks
try "report of the job" five_lines
try "help texts of btl/rbuf" help_texts btl_rbuf_block_size 12.5k \
    "$build/tests/mpi/finalize"
try "help texts of osc/rbuf" help_texts osc_rbuf_limit 12.5k \
    --mca osc_rbuf_aggregate 1 --mca osc rdma,rbuf "$build/tests/mpi/onesided"
export UCX_MEM_EVENTS=n # for the cache, from here on
TALLY_TIMEOUT=120 try "rbuf-compare beside UCX" compares_with_ucx
if test -r /work/other/mca_btl_rbuf.so; then
    try "Open MPI $series refuses the component of 4.1" refuses_other
else
    skip "Open MPI $series refuses the component of 4.1" "rbuf is not installed for it"
fi
verbs_programs
export OMPI_MCA_btl_rbuf_helper_policy=force
if test ${#long[@]} -eq 0; then
    slice_of_mpi
    is_over superpipeline S 4
    is_over rcache S 2
else
    all_of_mpi
    for protocol in $transport_protocols; do
        is_over "$protocol" S 2
        is_over "$protocol" W 2
    done
    is_over superpipeline W 4
fi
tally
