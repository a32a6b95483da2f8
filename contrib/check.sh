#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Builds and tests everything on this machine, with an emulated adapter where an adapter is needed.
#
#   contrib/check.sh [--all] [--at-once N] [--build DIR] [STAGE...]
#
# Stages, in order and all by default:
#   deps      installs the packages that are missing (as root; otherwise names them and ends)
#   build     builds with warnings as errors and installs into DIR/prefix; the programs of the tests
#   unit      make check: unit tests, litmus tests of the emulated adapter, what the components export
#   features  the component without what configure may leave out (tests/build/features.sh); with --all each by itself, too,
#             and more tests
#   sanitize  the unit tests again under AddressSanitizer and UndefinedBehaviorSanitizer
#   softhca   the emulated adapter from a copy of its folder alone; other people's verbs programs on it
#   mpi       MPI programs over rbuf with every protocol, some with other settings of eager rings and with
#             auto without its cache; rbuf-bench, and what rbuf-tune says
#   devices   a slice of the MPI programs with the emulated adapter like each real one, and with several ports
#   is        NAS IS, classes S and W, verified, over rbuf with every protocol, and with other settings
#             of eager rings
#   robust    bad parameters, unauthenticated connections, too little memory, faults, each call failing;
#             parts of it under sanitizers and memcheck
#   fuzz      everything that parses bytes from outside, for seconds each (tests/fuzz)
#   soak      random traffic on 4 ranks with checked bytes, and 64 ranks all to all (tests/soak)
#   programs  other people's MPI programs over rbuf (tests/programs)
#   slurm     rbuf under a Slurm of its own, of two nodes on this machine (tests/slurm); if it is named or --all is given
#             also with the releases of Debian 13 and unstable, in chroots
#   ompi5, ompi6  the same source with Open MPI 5.0 and 6.0, in chroots, and a slice of the tests (tests/ompi);
#             by turns, a day each, unless one is named or --all is given
#   vm        Soft-RoCE in one guest and in two linked ones (tests/vm)
#   packages  Debian and RPM packages for Debian 12, 13 and unstable: built, looked through, installed, used and removed,
#             in chroots (tests/packages); with --all, or if it is named
#   in-tree   Open MPI 5.0 with btl/rbuf and osc/rbuf in its tree, as DSOs and in its libraries; with --all, or if it is
#             named (contrib/check_in_tree.sh)
#   compilers every gcc and clang of three releases of Debian, in chroots, as C11 and C23 (tests/build/compilers.sh);
#             with --all, or if it is named
#   format    clang-format of the tree
#   measure   what wants a quiet machine: bandwidths of the emulated adapter against those that it is set
#             to, what rbuf-tune measures; instructions of a message; ranks that share processors, beside openib
# N stages run at once, by default as many as there are processors: those that wait for mpirun or a guest
# beside those that compute. More are slower: ranks that poll in vain keep others off. deps, build and measure
# have the machine to themselves.
# What a stage says is shown when it and those before it have ended.
# --all adds what is long: all bandwidths of measure, the long MPI tests and a third of them on each adapter that is
# emulated, more settings of rings, IS class A, make distcheck, 40 seconds for each fuzzer,
# an hour of random traffic. What fuzz, soak, programs, slurm, ompi5, ompi6, vm, packages or compilers needs and this
# machine cannot have makes it skipped, with the reason. DIR is build/check by default; what takes long to fetch or make, as guests
# and chroots, is kept in $RBUF_CACHE, ~/.cache/rbuf by default, for the runs to come; in DIR/cache where that
# cannot be had or another run has it. What is tested is a copy of this tree (DIR/source), so that a tree which is
# configured or in use does not matter. Each stage's log is kept in DIR/logs, and what failed is shown of
# it. The last line counts; the exit status is 0 if nothing failed.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build/check
all=no
at_once=
stages=()
slurm_suites="here trixie unstable"
all_stages="deps build unit features sanitize softhca mpi devices is robust fuzz soak programs slurm ompi5 ompi6 vm packages in-tree compilers format measure"
alone=" deps build measure " # these run beside nothing
while test $# -gt 0; do
    case $1 in
    --all) all=yes ;;
    --at-once) at_once=${2:?--at-once wants a number} && shift ;;
    --build) build=${2:?--build wants a directory} && shift ;;
    -h | --help)
        sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        if [[ " $all_stages " != *" $1 "* ]]; then
            echo "usage: check.sh [--all] [--build DIR] [STAGE...]; stages: $all_stages" >&2
            exit 2
        fi
        stages+=("$1")
        ;;
    esac
    shift
done
test -n "$at_once" || at_once=$(nproc)
[[ $at_once =~ ^[1-9][0-9]*$ ]] || { echo "check.sh: --at-once '$at_once': a number from 1 on" >&2 && exit 2; }
if test ${#stages[@]} -eq 0; then
    if test $all = yes; then
        read -ra stages <<<"$all_stages"
    else # each chroot takes minutes to build
        today=$(($(date +%s) / 86400))
        left_out=ompi$((today % 2 + 5))
        read -ra stages <<<"$(sed "s/ packages//; s/ in-tree//; s/ compilers//; s/ $left_out//" <<<"$all_stages")"
        slurm_suites=here # a build in another chroot takes as long as half of the stages
        echo "check.sh: $left_out is tomorrow's, or --all's"
    fi
fi
mkdir -p "$build/logs" && build=$(cd "$build" && pwd) || exit 2
: "${RBUF_CACHE:=${XDG_CACHE_HOME:-${HOME:-$build}/.cache}/rbuf}"

# The cache is one run's at a time: those of a user would make the same files at once. The lock ends with this
# shell; the stages do not inherit it, so that nothing which they leave behind holds it.
own_cache() {
    mkdir -p "$RBUF_CACHE" && exec {cache_lock}>"$RBUF_CACHE/lock" && flock -n "$cache_lock"
}

if ! own_cache; then
    echo "check.sh: $RBUF_CACHE cannot be had, or another run has it; $build/cache is used"
    RBUF_CACHE=$build/cache
    own_cache || exit 2
fi
RBUF_CACHE=$(cd "$RBUF_CACHE" && pwd) || exit 2
source=$build/source
plain=$build/plain
sanitized=$build/sanitized
prefix=$build/prefix
TALLY_LOGS=$build/logs
. "$top/tests/tally.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Adds counts that another program made.
add() { # NAME PASSED FAILED SKIPPED
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    printf '%s: %d passed, %d failed, %d skipped\n' "$1" "$2" "$3" "$4"
}

# What failed and was skipped, each failure with the lines of its own log that the script showed below it.
show_complaints() { # LOG
    awk '/^(FAIL|SKIP)/ { print; shown = /^FAIL/; next }
        shown && /^ +\|/ { print; next }
        { shown = 0 }' "$1"
}

# Runs a script whose last line counts; at most TALLY_TIMEOUT seconds.
add_counted() { # NAME COMMAND...
    local name=$1 status=0 line log
    shift
    log=$(log_of "$name")
    timeout -k 5 "$TALLY_TIMEOUT" "$@" >"$log" 2>&1 </dev/null || status=$?
    line=$(tail -n 1 "$log")
    show_complaints "$log"
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        add "$name" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
        test "${BASH_REMATCH[2]}" -eq 0 && test $status -eq 0 && return
        if test "${BASH_REMATCH[2]}" -eq 0; then
            fail "$name" "exit status $status though nothing failed"
            show_log "$name" 15
        fi
    else
        fail "$name" "ended with status $status and no count"
        show_log "$name" 15
    fi
    echo "      all of it: $log"
}

# Runs automake's check in a build directory and adds its counts.
add_make_check() { # NAME DIRECTORY
    local name=$1 status=0 log counts
    log=$(log_of "$name")
    timeout -k 5 1200 make -C "$2" -k -j"$(nproc)" check >"$log" 2>&1 </dev/null || status=$?
    counts=$(awk '/^# (PASS|XFAIL):/ { p += $3 } /^# (FAIL|XPASS|ERROR):/ { f += $3 }
        /^# SKIP:/ { s += $3 } END { print p + 0, f + 0, s + 0 }' "$log")
    # shellcheck disable=SC2086
    add "$name" $counts
    test $status -eq 0 && return
    [[ $counts == *" 0 "* ]] && fail "$name" "make check ended with status $status"
    echo "      all of it: $log"
    grep -E '^(FAIL|ERROR|XPASS):|error:|\*\*\*' "$log" | head -n 20 | sed 's/^/      | /'
}

# The tree as it is, without what a build or configure left in it.
copy_tree() {
    rm -rf "$source" && mkdir -p "$source" || return
    if test -e "$top/.git"; then # a copy of the tree may be in a repository's ignored folder
        git -C "$top" ls-files -z --cached --others --exclude-standard
    else
        find "$top" -path "$build" -prune -o -type f -printf '%P\0'
    fi | tar -C "$top" --null --ignore-failed-read -T - -cf - | tar -C "$source" -xmf -
}

configure_in() { # DIRECTORY OPTION...
    local directory=$1
    shift
    mkdir -p "$directory" && (cd "$directory" && "$source/configure" "$@")
}

run_deps() {
    local status=0
    "$top/contrib/deps.sh" build test docs || status=$?
    if test $status -ne 0; then
        fail deps
        tally
        exit $status
    fi
    pass deps
}

# Nothing further makes sense if this fails.
build_or_end() {
    try "copy the tree" copy_tree &&
        TALLY_TIMEOUT=180 try "autogen.pl" "$source/autogen.pl" &&
        try "configure" configure_in "$plain" --prefix="$prefix" --enable-werror &&
        TALLY_TIMEOUT=600 try "make" make -C "$plain" -j"$(nproc)" &&
        TALLY_TIMEOUT=120 try "make install" make -C "$plain" install &&
        TALLY_TIMEOUT=600 try "programs of the tests" programs_of_tests && return
    tally
    exit 1
}

# Stages that run at once find them made: two makes of one directory would be in each other's way.
programs_of_tests() {
    make -C "$plain" -j"$(nproc)" check TESTS=
}

run_build() {
    local file version
    build_or_end
    for file in lib/openmpi/mca_btl_rbuf.so lib/openmpi/mca_osc_rbuf.so share/openmpi/help-mpi-btl-rbuf.txt \
        share/openmpi/help-mpi-osc-rbuf.txt bin/softhca bin/rbuf-bench bin/rbuf-compare bin/rbuf-plot bin/rbuf-tune \
        lib/softhca/libsofthca.so libexec/rbuf/nas_is \
        share/openmpi/amca-param-sets/rbuf.conf; do
        try "installed: $file" test -s "$prefix/$file"
    done
    version=$(sed -n 's/.*RBUF_VERSION "\(.*\)".*/\1/p' "$source/opal/mca/btl/rbuf/rbuf_version.h")
    for file in rbuf-bench rbuf-compare rbuf-plot rbuf-tune softhca; do
        try "$file says its version" sh -c '"$1" --version | grep -wF "$2"' - "$prefix/bin/$file" "$version"
    done
    TALLY_TIMEOUT=300 add_counted "man pages" env RBUF_BUILD="$plain" "$source/tests/build/pages.sh"
    try "ompi_info lists the component" env \
        "OMPI_MCA_mca_base_component_path=SYS_DEFAULT:$prefix/lib/openmpi" sh -c \
        'ompi_info --param btl rbuf --level 9 | tee /dev/stderr | grep "parameter \"btl_rbuf_protocol\""'
}

run_unit() {
    add_make_check unit "$plain"
    test $all = no || TALLY_TIMEOUT=2400 try "make distcheck" make -C "$plain" distcheck
}

run_features() {
    local long=()
    test $all = yes && long=(--all)
    TALLY_TIMEOUT=3600 add_counted features env PATH="$prefix/bin:$PATH" RBUF_BUILD="$plain" \
        SOFTHCA="$prefix/bin/softhca" TALLY_LOGS="$build/logs/features" "$source/tests/build/features.sh" "${long[@]}"
}

run_sanitize() {
    try "sanitize: build" build_sanitized anew
    add_make_check sanitize "$sanitized/tests/unit"
}

configure_sanitized() {
    configure_in "$sanitized" --enable-asan --enable-ubsan --enable-trace --enable-werror CFLAGS="-O1 -g" \
        --prefix="$sanitized/prefix"
}

# The unit tests and the component under sanitizers. Whoever comes first builds both, sanitize anew: it
# starts before robust.
build_sanitized() { # [anew]
    (
        flock 9
        { test "${1-}" != anew && test -f "$sanitized/config.status"; } || configure_sanitized || exit
        make -C "$sanitized/tests/sim" -j"$(nproc)" &&
            make -C "$sanitized/tests/unit" -j"$(nproc)" check TESTS= &&
            make -C "$sanitized/opal/mca/btl/rbuf" -j"$(nproc)" install
    ) 9>"$build/sanitized.lock"
}

run_softhca() {
    TALLY_TIMEOUT=600 add_counted "softhca alone" "$source/tests/softhca/alone.sh"
    TALLY_TIMEOUT=1200 add_counted softhca "$source/contrib/softhca/tests/run.sh" --build "$plain/contrib/softhca" clients
    TALLY_TIMEOUT=600 add_counted openib "$source/tests/softhca/run.sh" --build "$plain"
}

run_mpi() {
    local long=()
    test $all = yes && long=(--all)
    try "what counts as skipped" "$source/tests/mpi/skips.sh"
    TALLY_TIMEOUT=4500 add_counted mpi env PATH="$prefix/bin:$PATH" RBUF_BUILD="$plain" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" \
        "$source/tests/mpi/run.sh" "${long[@]}"
    TALLY_TIMEOUT=300 add_counted "auto without a cache" env RBUF_BUILD="$plain" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" \
        "$source/tests/mpi/run.sh" --transports auto --rings default --mca btl_rbuf_allow_cache off \
        --only '^(remap|reuse|read-only|window-4|truncate|threads|one-sided|lost-peer)'
    TALLY_TIMEOUT=900 add_counted bench env PATH="$prefix/bin:$PATH" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" "$source/tests/mpi/bench.sh"
    TALLY_TIMEOUT=600 add_counted demo env PATH="$prefix/bin:$PATH" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" "$source/tests/mpi/demo.sh"
    TALLY_TIMEOUT=900 add_counted "tune, what it says" env PATH="$prefix/bin:$PATH" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" "$source/tests/mpi/tune.sh" says
}

run_measure() {
    local quick=(--quick)
    test $all = yes && quick=()
    TALLY_TIMEOUT=1200 add_counted accuracy "$source/contrib/softhca/tests/run.sh" "${quick[@]}" \
        --build "$plain/contrib/softhca" accuracy
    TALLY_TIMEOUT=600 add_counted tune env PATH="$prefix/bin:$PATH" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" "$source/tests/mpi/tune.sh" measures
    TALLY_TIMEOUT=400 try "more ranks than processors" env RBUF_BUILD="$plain" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" "$source/tests/mpi/turns.sh"
    TALLY_TIMEOUT=600 try "hundreds of windows" env RBUF_BUILD="$plain" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" "$source/tests/mpi/windows.sh"
    TALLY_TIMEOUT=400 try "instructions of a message" env RBUF_PREFIX="$prefix" \
        "$source/tests/cost/component.sh"
    TALLY_TIMEOUT=900 try "instructions of reuse" env RBUF_PREFIX="$prefix" \
        "$source/tests/cost/reuse.sh"
}

run_devices() {
    TALLY_TIMEOUT=1200 add_counted devices env RBUF_BUILD="$plain" TALLY_LOGS="$build/logs/devices" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" \
        "$source/tests/softhca/devices.sh"
    test $all = no || programs_on_each_model
}

# The MPI programs on each adapter that rbuf runs on: every third one on each, by turns, so that each is on
# two of them.
programs_on_each_model() {
    local model turn=0
    for model in mlx4 mlx5 rxe bnxt_re hns irdma; do
        TALLY_TIMEOUT=1800 add_counted "programs, $model" env SOFTHCA_LIKE="$model" RBUF_BUILD="$plain" \
            PATH="$prefix/bin:$PATH" RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" \
            "$source/tests/mpi/run.sh" --transports superpipeline --rings default --part $turn/3
        turn=$(((turn + 1) % 3))
    done
}

# One run of IS; it verifies its own result.
is_over() { # PROTOCOL CLASS RANKS [OPTION]
    is_with default "$@"
}

# The same with a setting of eager rings.
is_with() { # SETTING PROTOCOL CLASS RANKS [OPTION]
    local rings=$1 protocol=$2 class=$3 ranks=$4 suffix=
    shift 4
    ring_options "$rings"
    test "$rings" = default || suffix=", rings $rings"
    if ! transport_options "$protocol" || ! fabric_choose graphene; then
        fail "is.$class.$ranks over $protocol$suffix"
        return
    fi
    mpi_launch_options "$ranks"
    TALLY_TIMEOUT=120 try "is.$class.$ranks over $protocol${*:+ $*}$suffix" "${fabric_command[@]}" \
        "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" "${ring_args[@]}" \
        "$prefix/libexec/rbuf/nas_is" --class "$class" "$@"
}

run_is() {
    local protocol rings
    export SOFTHCA=$prefix/bin/softhca RBUF_COMPONENT_DIR=$prefix/lib/openmpi
    . "$source/contrib/transports.sh"
    . "$source/tests/rings.sh"
    export OMPI_MCA_btl_rbuf_helper_policy=force
    for protocol in $transport_protocols; do
        is_over "$protocol" S 2
        is_over "$protocol" W 2
        is_over "$protocol" W 2 --fresh-buffers
    done
    is_over superpipeline S 4
    is_over superpipeline W 4
    for rings in $ring_settings; do
        is_with "$rings" superpipeline S 4
        is_with "$rings" superpipeline W 2
        test $all = no || is_with "$rings" rcache W 4
    done
    if test $all = yes; then
        is_over superpipeline A 2
        is_over superpipeline A 2 --fresh-buffers
    fi
}

run_robust() {
    local long=()
    test $all = yes && long=(--all)
    try "robust: the component with sanitizers" build_sanitized
    TALLY_TIMEOUT=4500 add_counted robust env RBUF_BUILD="$plain" \
        RBUF_SANITIZED_DIR="$sanitized/prefix/lib/openmpi" TALLY_LOGS="$build/logs/robust" \
        RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" \
        "$source/tests/robust/run.sh" "${long[@]}"
}

# A stage that is a script of its own, with packages of its own: tests/STAGE/run.sh, or another with arguments.
# RBUF_CACHE keeps from one run to the next what takes long to fetch or make.
run_apart() { # STAGE SECONDS [SCRIPT-OR-DIRECTORY ARGUMENT...]
    local long=() script=${3-$1} argument=("${@:4}")
    test $all = yes && long=(--all)
    [[ $script == *.sh ]] || script+=/run.sh
    # apt installs for one at a time.
    if ! flock "$build/deps.lock" "$top/contrib/deps.sh" "$1" >"$(log_of "$1.deps")" 2>&1; then
        skip "$1" "$(tail -n 1 "$(log_of "$1.deps")")"
        return
    fi
    TALLY_TIMEOUT=$2 add_counted "$1" env PATH="$prefix/bin:$PATH" RBUF_BUILD="$plain" \
        RBUF_PREFIX="$prefix" RBUF_COMPONENT_DIR="$prefix/lib/openmpi" SOFTHCA="$prefix/bin/softhca" \
        RBUF_CACHE="$RBUF_CACHE" TALLY_LOGS="$build/logs/$1" "$source/tests/$script" \
        "${long[@]}" "${argument[@]}"
}

run_fuzz() {
    run_apart fuzz 2400
}

run_soak() {
    run_apart soak 6000
}

# Programs with windows bring much with them; those that cannot be had are skipped.
run_programs() {
    flock "$build/deps.lock" "$top/contrib/deps.sh" one-sided >"$(log_of one-sided.deps)" 2>&1 || true
    run_apart programs 5400
}

run_slurm() {
    local suite
    for suite in $slurm_suites; do
        case $suite in
        here) run_apart slurm 1800 ;;
        *) run_apart "slurm-$suite" 3600 slurm --suite "$suite" ;;
        esac
    done
}

run_compilers() {
    run_apart compilers 14400 build/compilers.sh
}

run_ompi5() {
    run_apart ompi5 3600 ompi trixie
}

run_ompi6() {
    run_apart ompi6 3600 ompi unstable
}

run_vm() {
    run_apart vm 7500
}

run_packages() {
    run_apart packages 7200
}

# Steps of the build that succeeded in DIR before are not done again.
run_in-tree() {
    local form steps="source graft configure ompi features rbuf mpi is"
    if ! flock "$build/deps.lock" "$top/contrib/deps.sh" in-tree >"$(log_of in-tree.deps)" 2>&1; then
        skip in-tree "$(tail -n 1 "$(log_of in-tree.deps)")"
        return
    fi
    for form in dso static; do
        # shellcheck disable=SC2086
        TALLY_TIMEOUT=7200 add_counted "in-tree, $form" "$source/contrib/check_in_tree.sh" --form $form \
            --build "$build/in_tree" --transports superpipeline,rcache \
            --only '^(early|fences|packed|one-sided|remap)' $steps
        steps=${steps/ features rbuf/} # the same for both
    done
}

run_format() {
    try "format" check_format
}

check_format() {
    local files
    mapfile -t files < <(find "$source" -name '*.[ch]' | sort)
    if [ ${#files[@]} -eq 0 ]; then
        echo "no source in $source: the stage build copies the tree there"
        return 1
    fi
    clang-format --style=file --dry-run -Werror "${files[@]}" 2>&1 |
        sed -n "s,^$source/\(.*\):[0-9]*:[0-9]*: error: .*,not as clang-format has it: \1,p" | sort -u |
        awk '{ print } END { exit NR > 0 }'
}

# Sets $processor_seconds to what the processes that this shell has waited for took; a subshell has its own.
count_processors() { # STAGE
    times >"$build/logs/$1.times"
    processor_seconds=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int(60 * $1 + $2 + 60 * $3 + $4) }' "$build/logs/$1.times")
}

run_stage() { # STAGE
    local started=$SECONDS processor_seconds before
    count_processors "$1"
    before=$processor_seconds
    echo "== $1"
    "run_$1" {cache_lock}>&-
    count_processors "$1"
    echo "== $1 took $((SECONDS - started)) s, and $((processor_seconds - before)) s of processors"
}

# A stage beside others: its output and its counts go to files. Open MPI's files of two jobs that begin at
# once would be in each other's way. A rank that polls in vain gives way: the peer that it waits for may
# be without a processor, which the scheduler would not give it for milliseconds.
run_beside() { # STAGE
    passed=0 failed=0 skipped=0
    export OMPI_MCA_mpi_yield_when_idle=1
    TMPDIR=$(mktemp -d) && export TMPDIR || exit
    run_stage "$1" >"$build/logs/$1.out" 2>&1 </dev/null
    rm -rf "$TMPDIR"
    echo "$passed $failed $skipped" >"$build/logs/$1.counts"
}

# Shows the stages of the group that have ended, up to the first that has not, and adds what they counted.
show_ended() {
    local counts
    while test ${#group[@]} -gt 0 && test -n "${ended[${group[0]}]-}"; do
        cat "$build/logs/${group[0]}.out"
        if read -ra counts <"$build/logs/${group[0]}.counts"; then
            passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
        else
            fail "${group[0]}" "it ended without a count"
        fi
        group=("${group[@]:1}")
    done 2>/dev/null
}

trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

# The stages of the group side by side; those that take longest start first.
run_group() {
    local stage pid running=0
    local -A stage_of=() ended=()
    for stage in sanitize robust programs mpi vm ompi5 ompi6 compilers in-tree soak packages devices unit features softhca fuzz slurm is format; do
        [[ " ${group[*]} " == *" $stage "* ]] || continue
        if test $running -ge "$at_once"; then
            wait -n -p pid
            running=$((running - 1)) ended[${stage_of[$pid]}]=yes
            show_ended
        fi
        rm -f "$build/logs/$stage.counts"
        run_beside "$stage" &
        stage_of[$!]=$stage running=$((running + 1))
    done
    while test $running -gt 0; do
        wait -n -p pid
        running=$((running - 1)) ended[${stage_of[$pid]}]=yes
        show_ended
    done
}

group=()
for stage in "${stages[@]}"; do
    if [[ $alone == *" $stage "* ]]; then
        run_group
        run_stage "$stage"
    else
        [[ " ${group[*]} " == *" $stage "* ]] || group+=("$stage")
    fi
done
run_group
tally
