#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Builds the tree in /work/source with the Open MPI of the system around it, installs it in
# /work/prefix and tests it on the emulated adapter. run.sh starts it, in a chroot. The last line
# counts.
#
#   inside.sh [--all]
set -u

long=()
test "${1-}" = --all && long=(--all)
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
        TALLY_TIMEOUT=600 try "make" make -C "$build" "$jobs" &&
        TALLY_TIMEOUT=120 try "make install" make -C "$build" install &&
        TALLY_TIMEOUT=300 try "MPI programs" make -C "$build/tests/mpi" "$jobs" check TESTS= && return
    tally
    exit
}

lists_component() {
    OMPI_MCA_mca_base_component_path=SYS_DEFAULT:$RBUF_COMPONENT_DIR \
        ompi_info --param btl rbuf --level 9 | tee /dev/stderr | grep -q 'API v3\.3.*Component v5\.'
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

# Debian's Open MPI 5.0 is linked with UCX, whose memory hooks hide the heap from Open MPI's: with them
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

# A component for the other series is left out with a message, and the program runs.
refuses_other() {
    local out
    mpi_launch_options 2
    out=$(mpirun "${mpi_args[@]}" --mca pml ob1 --mca mca_base_component_path SYS_DEFAULT:/work/other \
        --mca mca_base_component_show_load_errors 1 "$prefix/libexec/rbuf/nas_is" --class S 2>&1) ||
        return
    printf '%s\n' "$out"
    grep -q 'mca_btl_rbuf.*libopen-pal' <<<"$out"
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

mpirun --version | head -n 1
build_or_end
TALLY_TIMEOUT=60 try "exports" make -C "$build/tests/build" check VERBOSE=1
TALLY_TIMEOUT=300 try "verbs" make -C "$build/tests/verbs" check VERBOSE=1
test ${#long[@]} -eq 0 || TALLY_TIMEOUT=900 try "make check" make -C "$build" check VERBOSE=1
try "ompi_info lists the component" lists_component
try "mpirun says nothing of its own" silent
try "parameter set" parameter_set
try "one-sided operations are the adapter's" accelerated
try "a cache only with hooks that work" cache_needs_hooks
export UCX_MEM_EVENTS=n # for the cache, from here on
if test -r /work/other/mca_btl_rbuf.so; then
    try "Open MPI 5.0 refuses the component of 4.1" refuses_other
else
    skip "Open MPI 5.0 refuses the component of 4.1" "rbuf is not installed for it"
fi
# How many slots and places rings have is the core's affair, which stage mpi of check.sh runs with all
# settings. What Open MPI's own headers meet are the sizes of slots, and whether there are rings.
rings=default,small-slots,tight,off
test ${#long[@]} -eq 0 || rings+=,reuse,${rma_orders// /,}
try_script "MPI tests" "$source/tests/mpi/run.sh" --transports superpipeline,rcache --rings "$rings"
try_script "MPI tests" "$source/tests/mpi/run.sh" --transports pipeline,copy,register,helper \
    --only '^(pingpong|window|types|truncate|storm|one-sided|computing|spawn)$'
export OMPI_MCA_btl_rbuf_helper_policy=force
for protocol in $transport_protocols; do
    is_over "$protocol" S 2
    is_over "$protocol" W 2
done
is_over superpipeline W 4
tally
