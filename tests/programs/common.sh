# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the scripts here: runs other people's MPI programs over a transport, on the emulated
# adapter where one is needed, gets the sources of Debian packages, and judges how a program ended.
#
# What a program does wrong over rbuf counts against rbuf unless it does so over Open MPI's own
# transports too, in the same run of the script: see innocent().
#
# Environment: RBUF_BUILD, RBUF_COMPONENT_DIR, SOFTHCA, TALLY_LOGS, RBUF_CACHE as contrib/check.sh
# sets them; PROGRAMS_ALL=yes, the long form; PROGRAMS_PROTOCOLS, superpipeline and rcache by default.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${RBUF_BUILD:?names the build directory}" "${RBUF_COMPONENT_DIR:?names the directory of mca_btl_rbuf.so}"
softhca=${SOFTHCA:-softhca}
programs_all=${PROGRAMS_ALL:-no}
read -ra protocols <<<"${PROGRAMS_PROTOCOLS:-superpipeline rcache}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
TALLY_LOGS=${TALLY_LOGS:-$work/logs}
cache=${RBUF_CACHE:-$work/cache}
mkdir -p "$TALLY_LOGS" "$cache" || exit 1
# shellcheck source=tests/tally.sh
. "$here/../tally.sh"
# shellcheck source=tests/programs/builds.sh
. "$here/builds.sh"
# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Ranks beyond the processors wait by yielding, and one thread each is enough.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

osc=           # component for one-sided communication; empty: the transport's own; default: none is named
placement=node # node: all ranks on this one; apart: each on one of its own, as Open MPI sees it

# job NAME TRANSPORT LIMIT RANKS PROGRAM [ARGUMENT...]: runs it in the current directory, at most LIMIT
# seconds. Sets log (a path), status (124 or 137: it had to be ended) and took (seconds).
job() {
    local name=$1 transport=$2 limit=$3 ranks=$4 fabric=() where named=() started
    shift 4
    log=$(log_of "$name")
    status=0
    transport_options "$transport" || exit 1
    if transport_needs_hca "$transport"; then
        fabric=("$softhca" --profile unpaced --)
    fi
    where=(-np "$ranks" --oversubscribe --bind-to none)
    if [ $placement = apart ]; then
        mpi_launch_apart "$ranks"
        where=("${mpi_args[@]}")
    fi
    [ "$osc" = default ] || named=(--mca osc "${osc:-$transport_osc}")
    started=$(date +%s.%N)
    TMPDIR=$work timeout -k 5 "$limit" "${fabric[@]}" "${MPIRUN:-mpirun}" "${where[@]}" "${transport_args[@]}" \
        "${named[@]}" --mca mpi_warn_on_fork 0 "$@" >"$log" 2>&1 </dev/null || status=$?
    took=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
}

# What is wrong with the last job: a line, or nothing. Further criteria are the caller's.
wrong_end() {
    case $status in
    0) ;;
    124 | 137) echo "no end after $took s" ;;
    *) echo "status $status" ;;
    esac
    return 0
}

# Counts a check: it passed if WRONG is empty.
verdict() { # NAME WRONG [REMARK]
    if [ -z "$2" ]; then
        pass "$1" "${3-}"
        return
    fi
    fail "$1" "$2"
    show_log "$1" 30
    return 1
}

# innocent RIVALS NAME JUDGE LIMIT RANKS PROGRAM [ARGUMENT...]: true if the program, which failed over rbuf,
# fails over one of RIVALS too: over Open MPI's own TCP transport, or over shared memory with the one-sided
# component that rbuf uses. JUDGE prints what is wrong with the last job. Sets culprit, where it failed.
innocent() {
    local rivals=$1 name=$2 judge=$3 osc
    shift 3
    for culprit in $rivals; do
        osc=rdma,sm
        [ $culprit != tcp ] || osc=
        job "$name over $culprit" $culprit "$@"
        [ -z "$("$judge")" ] || return 0
    done
    return 1
}

# Skips the whole script unless the commands are there.
need_commands() { # NAME COMMAND...
    local name=$1 command
    shift
    for command in "$@"; do
        if ! command -v "$command" >/dev/null; then
            skip "$name" "$command is not installed"
            tally
            exit
        fi
    done
}

# The archives that this machine's packages come from, as lines for sources. They are known by name only once
# their lists are there: the system's, or else our own.
archives_of_sources() {
    local lists
    for lists in /var/lib/apt/lists "$cache/apt/system"; do
        if [ "$lists" = "$cache/apt/system" ]; then
            mkdir -p "$lists/partial" && apt_with "$lists" update >&2 || return
        fi
        apt-get indextargets -o Dir::State::lists="$lists" 'Created-By: Packages' 'Origin: Debian' --format \
            'deb-src [signed-by=$(SIGNED_BY)] $(REPO_URI) $(RELEASE) $(COMPONENT)' |
            sed 's/\[signed-by=\$(SIGNED_BY)\] //' | sort -u | grep . && return
    done
    return 1
}

apt_with() { # LISTS APT-GET ARGUMENT...
    local lists=$1
    shift
    timeout 300 apt-get -q -o Dir::State::lists="$lists" -o Dir::Cache="$cache/apt/cache" \
        -o APT::Sandbox::User= "$@"
}

# apt-get with a configuration of our own, apart from the system's, so that nothing of the system
# changes and no privilege is needed.
apt_privately() { # ARGUMENT...
    local state=$cache/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" || return
    if [ ! -s "$state/sources.list" ]; then
        archives_of_sources >"$state/sources.list" || return
    fi
    apt_with "$state/lists" -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- "$@"
}

# debian_source PACKAGE SUBDIRECTORY: unpacks that part of the package's upstream sources to
# $cache/sources/PACKAGE, unless it is there. Returns 1 if it cannot be had; $log tells why.
debian_source() {
    local target=$cache/sources/$1 fetched=$work/fetched
    log=$(log_of "source of $1")
    [ -d "$target" ] && return
    rm -rf "$fetched" && mkdir -p "$fetched/tree" || return
    {
        command -v apt-get && apt_privately update && (cd "$fetched" &&
            apt_privately source --download-only "$1") &&
            tar -C "$fetched/tree" --strip-components 1 --wildcards -xf "$fetched/$1"_*.orig.tar.* "*/$2"
    } >"$log" 2>&1 </dev/null || return
    mkdir -p "$cache/sources" && mv "$fetched/tree/$2" "$target"
}

# The rest is for programs that use windows: on one node, and between nodes, where osc/rbuf packs.

# Builds mix.so, which tells what operations a program makes, and that PROGRAM (builds.sh), if one is named. Returns 1
# if that fails; sets log.
build_with_mix() { # [PROGRAM]
    log=$(log_of "building mix")
    build_mix "$work" >"$log" 2>&1 || return
    [ $# -gt 0 ] || return 0
    log=$(log_of "building $1")
    "build_$1" "$work" >"$log" 2>&1
}

# The same for a program of ours that compares its own results; skips the whole script if that fails.
build_or_skip() { # NAME PROGRAM
    checked=$2
    build_with_mix "$checked" && return
    skip "$1" "cannot be built: $(grep -m 1 -i -E 'error|not found' "$log")"
    tally
    exit
}

# What is wrong with the last job of that program.
wrong_checked() {
    wrong_end | grep . || grep -q 'checks, no errors' "$log" || grep -m 1 "^$checked:" "$log" || echo "no output"
}

# A number of the lines of the last job's ranks, all together.
mix_of() { # NAME
    # A line may stand behind a piece of another one.
    awk -v name="$1" '/mix: rank=/ { sub(/.*mix: /, ""); for (i = 2; i <= NF; i++) if (sub("^" name "=", "", $i)) n += $i } END { print n + 0 }' \
        "$log"
}

# What is wrong with operations of the last job, a line or nothing: between nodes rbuf carries them, and osc/rbuf
# packs accumulates.
wrong_mix() { # HOW
    local carried
    carried=$(($(mix_of one_sided_puts) + $(mix_of one_sided_gets) + $(mix_of atomics) + $(mix_of osc_rbuf_packed)))
    if [ $placement = apart ] && [ $carried = 0 ]; then
        echo "none of its operations went over rbuf"
    elif [ "$1" = apart ] && [ "$(mix_of osc_rbuf_packed)" = 0 ]; then
        echo "none of its operations was packed"
    fi
}

# In short what the last job did: operations, and what rbuf and osc/rbuf made of them.
mix() {
    local call text=
    for call in put get accumulate get_accumulate fetch_and_op compare_and_swap; do
        [ "$(mix_of $call)" = 0 ] || text+="$(mix_of $call) $call, "
    done
    echo "${text%, }: $(mix_of one_sided_puts) puts, $(mix_of one_sided_gets) gets, $(mix_of atomics) atomics," \
        "$(mix_of osc_rbuf_packed) packed in $(mix_of osc_rbuf_messages) messages"
}

# with_windows WHAT JUDGE LIMIT RANKS PROGRAM [ARGUMENT...]: a program over the first protocol by default
# settings, between nodes and on one, and between nodes with accumulates of passive target epochs left to osc/rdma.
# JUDGE prints what is wrong with its results.
with_windows() {
    local what=$1 judge=$2 how name wrong placement osc=default
    shift 2
    for how in apart active node; do
        placement=apart
        [ $how != node ] || placement=node
        name="$what over ${protocols[0]}, $how"
        if [ $placement = apart ] && transport_mpirun_is 5; then
            skip "$name" "processes of one node cannot be taken for those of several"
            continue
        fi
        window_job "$name" "${protocols[0]}" "$how" "$@"
        wrong=$("$judge" | grep . || wrong_mix $how)
        verdict "$name" "$wrong" "$took s; $(mix)"
    done
}

# As job, with what tells of operations; HOW as above.
window_job() { # NAME TRANSPORT HOW LIMIT RANKS PROGRAM [ARGUMENT...]
    local name=$1 transport=$2 passive=1 limit=$4 ranks=$5
    [ "$3" != active ] || passive=0
    shift 5
    # softhca has a library of its own to be loaded.
    OMPI_MCA_osc_rbuf_passive=$passive job "$name" "$transport" "$limit" "$ranks" \
        sh -c 'LD_PRELOAD="$LD_PRELOAD:'"$work"'/mix.so" exec "$@"' sh "$@"
}
