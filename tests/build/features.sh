#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The component without what configure may leave out: --without-helper, --without-reuse, and both. Each form builds
# without a warning, has no object of what it leaves out, no parameter and no counter of it, tells who sets one, and
# passes what is left of the tests. The short form has both left out, and few tests.
#
#   features.sh [--all]     all three forms, all unit tests, more MPI tests and the parameters
#
# Environment: RBUF_BUILD, a build of the same source with everything, which has the test programs and says how it was
# configured; SOFTHCA, the launcher of the emulated adapter; TALLY_LOGS, where logs go.
# Ends with the line "N passed, N failed, N skipped".

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${RBUF_BUILD:?a build with everything}
long=no
[ "${1-}" != --all ] || long=yes
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: "${TALLY_LOGS:=$work/logs}"
mkdir -p "$TALLY_LOGS" || exit 1
# shellcheck source=tests/tally.sh
. "$here/../tally.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

parts=(opal/mca/btl/rbuf ompi/mca/osc/rbuf)

# As the build was, but for the prefix. The emulated adapter is that of the build.
configure_form() ( # FEATURE...
    eval "set -- $("$build/config.status" --config) ${*/#/--without-}"
    mkdir -p "$form" && cd "$form" && "$top/configure" "$@" --prefix="$form/prefix" --enable-werror --no-recursion
)

make_form() {
    local part
    for part in "${parts[@]}"; do
        make -C "$form/$part" -j"$(nproc)" install || return
    done
}

# No object of it, here or in the simulator.
check_objects() { # FEATURE
    local files="core/helper/ registration/helper registration/sharing registration/call_stack" file
    [ "$1" = helper ] || files="core/choice/frequent core/choice/gather registration/frequent btl/in_place btl/bml"
    for file in $files; do
        if find "$form" -path "*/rbuf/$file*.o" | grep .; then
            return 1
        fi
        [ -e "$top/opal/mca/btl/rbuf/$file" ] || [ -e "$top/opal/mca/btl/rbuf/$file.c" ] || {
            echo "there is no $file at all"
            return 1
        }
    done
}

ask_ompi_info() {
    OMPI_MCA_mca_base_component_path="SYS_DEFAULT:$form/prefix/lib/openmpi" ompi_info --param btl rbuf --level 9
}

# Its parameters and counters are not there, the others are; and where it is not left out it is there.
check_parameters() {
    local feature found
    ask_ompi_info >"$work/info" 2>&1
    grep -q '"btl_rbuf_protocol"' "$work/info" || {
        cat "$work/info"
        return 1
    }
    for feature in helper reuse; do
        found=$(grep -c "\"btl_rbuf_${feature}_" "$work/info")
        if [[ " $left_out " == *" $feature "* ]]; then
            [ "$found" = 0 ]
        else
            [ "$found" -gt 3 ]
        fi || {
            echo "$found parameters and counters of $feature"
            return 1
        }
    done
}

unit_tests() { # all | few
    make -C "$form/tests/sim" -j"$(nproc)" || return
    if [ "$1" = all ]; then
        make -C "$form/tests/unit" -j"$(nproc)" check
    else # those that are left out, and two of what they share with others
        make -C "$form/tests/unit" -j"$(nproc)" check-TESTS \
            TESTS="test_gather test_choice $(left_out_tests | sed -E 's/([a-z_]+)/\1.left_out/g')"
    fi >"$work/unit" 2>&1 || {
        grep -E '^(FAIL|ERROR)|error:|\*\*\*' "$work/unit"
        return 1
    }
    # Each of those that are left out counts as skipped.
    [ "$(awk '/^# SKIP:/ { print $3 }' "$work/unit")" -ge "$(left_out_tests | wc -w)" ] || {
        echo "not all that is left out counts as skipped"
        return 1
    }
}

# The unit tests of what is left out: the lists of their names in Makefile.am.
left_out_tests() {
    local feature
    for feature in $left_out; do
        awk -v list="${feature}_tests" '$1 == list { on = 1 } on { sub(/.*= */, ""); more = sub(/\\$/, ""); print; on = more }' \
            "$top/tests/unit/Makefile.am"
    done | tr -s ' \n' ' '
}

# With the programs of the build.
run_script() { # SCRIPT ARGUMENT...
    RBUF_COMPONENT_DIR=$form/prefix/lib/openmpi "$@"
}

# Whoever sets a parameter of it, or asks for the protocol, is told.
check_told() {
    local feature
    for feature in $left_out; do
        tells "^  Parameters: *btl_rbuf_${feature}_min\$" --mca "btl_rbuf_${feature}_min" 1k || return
        tells "^  Remedy: .* --without-$feature\$" --mca "btl_rbuf_${feature}_min" 1k || return
    done
    [[ " $left_out " != *" helper "* ]] || tells '^  Reason: .*--without-helper' --mca btl_rbuf_protocol helper || return
    ! tells '--without-' >/dev/null
}

# Whether a job of one process says that. The launcher may lose a text: then it is asked again.
tells() { # REGEX OPTION OF MPIRUN...
    local log=$work/told wrong
    until_told run_told "$@"
    [ -z "$wrong" ] || {
        echo "$wrong"
        cat "$log"
        return 1
    }
}

run_told() { # as tells()
    wrong=
    timeout -k 5 60 "${SOFTHCA:-softhca}" --profile unpaced -- "${MPIRUN:-mpirun}" -np 1 --mca pml ob1 --mca btl rbuf,self \
        --mca mca_base_component_path "SYS_DEFAULT:$form/prefix/lib/openmpi" "${@:2}" \
        "$build/tests/mpi/finalize" nothing >"$log" 2>&1
    grep -E -e "$1" "$log" || wrong="no message"
}

check_form() { # FEATURE...
    local feature name="without $*"
    left_out="$*"
    form=$work/${*// /-}
    form=${form// /-}
    TALLY_TIMEOUT=180 try "$name: configure" configure_form "$@" || return
    TALLY_TIMEOUT=400 try "$name: make" make_form || return
    try "$name: parameters and counters" check_parameters
    try "$name: who asks for it is told" check_told
    if [ $long = yes ]; then
        TALLY_TIMEOUT=900 try "$name: unit tests" unit_tests all
        try_script "$name: MPI tests" run_script "$here/../mpi/run.sh" \
            --transports superpipeline,auto,helper --rings default,reuse \
            --only '^(pingpong|order|one-sided|remap|reuse|forks|window|early|packed|spawn)'
        try_script "$name: parameters" run_script "$here/../robust/params.sh"
    else
        TALLY_TIMEOUT=300 try "$name: unit tests" unit_tests few
        try_script "$name: MPI tests" run_script "$here/../mpi/run.sh" \
            --transports superpipeline,auto,helper --rings default,reuse --only '^(pingpong|one-sided|remap)$'
    fi
    for feature in "$@"; do
        try "$name: no object of $feature" check_objects "$feature"
    done
    rm -rf "$form"
}

if [ $long = yes ]; then
    check_form helper
    check_form reuse
fi
check_form helper reuse
tally
