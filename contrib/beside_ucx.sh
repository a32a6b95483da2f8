#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Measures rbuf beside UCX with a later Open MPI than this machine's, on the emulated adapter, in a chroot.
#
#   contrib/beside_ucx.sh [OPTION...] [STEP...]
#
# Steps, in order and both by default:
#   build     makes the chroot, this tree in it, and UCX where it is needed; other programs may run beside that
#   measure   rounds of rbuf and UCX in turn, each rank on a core of its own: half round trips of 8 B, 1 KB, 64 KB and
#             1 MB with reused and with new buffers, and windows of 64 messages both ways; prints medians, spreads and
#             ratios. The machine has to be idle. A round takes less than a minute.
# Options:
#   --suite SUITE     unstable (Open MPI 6.0, the default) or trixie (Debian 13: Open MPI 5.0)
#   --ucx FILE        UCX is made of this: a source package (.dsc), a tarball of sources, or what Debian has built
#                     (libucx0_*.deb, of any release). Without it: the release's own UCX, if that has a part for
#                     adapters (Debian 13's has), else made of the release's source package. An older one than the
#                     release's own does not do: other libraries there are linked with that
#   --transports LIST superpipeline,ucx by default; others as rbuf-compare --help has them
#   --rounds N        7 by default
#   --handover NS:NS  20:160 by default: nothing counts that was measured while a cache line took less or more from
#                     core to core (rbuf-bench --help, PROBING)
#   --profile NAME    of the emulated adapter (graphene)
#   --quick           one short round that waits for no quiet machine: whether it works, not how fast it is
#   --csv FILE        every line of every round, for contrib/docs_tables.pl
#   --build DIR       keeps what was built, and logs (build/beside_ucx)
#
# UCX is configured as its own contrib/configure-release does, which leaves out checks: the fastest that it has. All
# runs, those of rbuf too, have that UCX in LD_LIBRARY_PATH, since Open MPI from 5.0 on is linked with it. The chroot is
# that of tests/ompi or, to make UCX, SUITE-ucx in RBUF_CACHE. Needs root, and mmdebstrap; to make UCX, dpkg-dev.
# Exit status: 0; 1 if something failed, or a transport was not measured; 2 on bad usage; 77 if something is missing.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
arguments=("$@")
suite=unstable
ucx=
transports=superpipeline,ucx
rounds=7
handover=20:160
profile=graphene
quick=no
csv=
build=$top/build/beside_ucx
steps=()

refuse() {
    echo "beside_ucx.sh: $* (--help explains)" >&2
    exit 2
}

parse() {
    while test $# -gt 0; do
        case $1 in
        -h | --help)
            sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"
            exit 0
            ;;
        --quick) quick=yes ;;
        --suite | --ucx | --transports | --rounds | --handover | --profile | --csv | --build)
            test -n "${2-}" || refuse "$1 wants a value"
            printf -v "${1#--}" %s "$2"
            shift
            ;;
        build | measure) steps+=("$1") ;;
        *) refuse "no step or option '$1'" ;;
        esac
        shift
    done
    [[ $suite == unstable || $suite == trixie ]] || refuse "--suite '$suite': unstable or trixie"
    [[ $rounds =~ ^[1-9][0-9]*$ ]] || refuse "--rounds '$rounds': wants a whole number above 0"
    [[ $handover =~ ^(any|[0-9.]+:[0-9.]+)$ ]] || refuse "--handover '$handover': wants any or NS:NS"
    [[ $transports =~ ^[a-z0-9_,:=.-]+$ ]] || refuse "--transports '$transports': a list with commas"
    [[ $profile =~ ^[a-z0-9]+$ ]] || refuse "--profile '$profile': a name"
    test -z "$ucx" || ucx=$(realpath -e "$ucx" 2>/dev/null) || refuse "--ucx: there is no such file"
    test ${#steps[@]} -gt 0 || steps=(build measure)
}

# ---- inside of the chroot ----

kept=${BESIDE_UCX_KEPT:-/work/kept} # what is built, and the lines of the rounds: DIR/SUITE outside

# Where UCX's libraries are, if they are not the system's.
ucx_libraries() {
    local found
    found=$(find "$kept/ucx" -name 'libucp.so.0' 2>/dev/null | head -n 1)
    test -z "$found" || dirname "$found"
}

inside_rbuf() {
    local jobs
    jobs=-j$(nproc)
    rm -rf "$kept/rbuf" && mkdir /work/build && cd /work/build && /work/source/autogen.pl --force &&
        /work/source/configure --prefix="$kept"/rbuf && make "$jobs" && make install
}

# The options are those of UCX's contrib/configure-release, and of Debian where threads are concerned. What this
# compiler warns of is not ours to mend; nor are releases older than C23, which gcc 15 and later take by default. Nothing
# needs its tools.
inside_ucx() {
    local jobs part
    jobs=-j$(nproc)
    cd /work/ucx && { test -x configure || ./autogen.sh; } &&
        ./configure --prefix="$kept"/ucx --disable-logging --disable-debug --disable-assertions \
            --disable-params-check --enable-mt --with-verbs --disable-numa --without-java --without-go \
            --disable-doxygen-doc --disable-static CFLAGS="-std=gnu17 -O3 -g -Wno-error" || return
    for part in ucm ucs uct ucp; do
        make -C src/$part "$jobs" && make -C src/$part install || return
    done
    compgen -G "$kept/ucx/lib/ucx/libuct_ib.so*"
}

# The lines of all groups, which have the same columns.
join_lines() {
    local group
    head -n 1 "$kept/small.csv"
    for group in small large small-windows large-windows; do
        tail -n +2 "$kept/$group.csv"
    done
}

# One round of one group of cases, into its file.
compare() { # GROUP OPTION...
    local group=$1
    shift
    rbuf-compare --profile "$PROFILE" --transports "$TRANSPORTS" --rounds 1 --csv "$kept/$group.csv" --add \
        "${probe[@]}" "$@" >/tmp/said 2>&1 || {
        cat /tmp/said
        return 1
    }
    grep 'left out' /tmp/said || true
}

# Small messages need more repetitions than large ones for a median that holds.
measure_round() { # REPETITIONS: small, large, windows of small, of large
    local windows=(--pattern both --window 64 --buffers reused)
    compare small --sizes 8,1k --pattern pingpong --buffers reused,fresh --reps "$1" &&
        compare large --sizes 64k,1M --pattern pingpong --buffers reused,fresh --reps "$2" &&
        compare small-windows --sizes 8,1k,4k "${windows[@]}" --reps "$3" &&
        compare large-windows --sizes 32k,64k,1M "${windows[@]}" --reps "$4"
}

inside_measure() {
    local round name libraries
    libraries=$(ucx_libraries)
    export LD_LIBRARY_PATH=$libraries PATH=$kept/rbuf/bin:$PATH
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    probe=(--handover "$HANDOVER")
    rm -f "$kept"/*.csv
    if test "$QUICK" = yes; then
        probe=(--no-probe)
        measure_round 100 10 10 3 || return
    else
        for ((round = 1; round <= ROUNDS; round++)); do
            echo "round $round of $ROUNDS"
            measure_round 2000 80 200 10 || return
        done
    fi
    join_lines >"$kept/all.csv"
    rbuf-compare --report "$kept/all.csv"
    for name in ${TRANSPORTS//,/ }; do
        grep -q "[0-9],$name," "$kept/all.csv" || { echo "$name was not measured" && return 1; }
    done
}

# ---- outside ----

skip_all() { # REASON
    echo "beside_ucx.sh: $1" >&2
    exit 77
}

inside() { # PART
    chroot_run PROFILE="$profile" TRANSPORTS="$transports" ROUNDS="$rounds" HANDOVER="$handover" QUICK="$quick" \
        /work/source/contrib/beside_ucx.sh --inside "$1"
}

chroot_package() { # FORMAT: of the chroot's libucx0
    chroot "$chroot_root" dpkg-query -W -f "$1" libucx0
}

# Debian's source package of the UCX that the chroot has. Sets ucx.
fetch_ucx() {
    local version apt=$build/$suite/apt
    # shellcheck disable=SC2016 # for dpkg-query
    version=$(chroot_package '${source:Version}')
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" || exit 2
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(chroot_mirror) $suite main" \
        >"$apt/sources/$suite.list"
    set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" \
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root \
        -o Acquire::Check-Valid-Until=false
    (cd "$apt" && apt-get "$@" --error-on=any update && apt-get "$@" source --download-only "ucx=$version") \
        >"$(log_of fetch)" 2>&1 ||
        skip_all "Debian's mirror does not give the sources of UCX $version: $(tail -n 1 "$(log_of fetch)"); name them by --ucx"
    ucx=$(find "$apt" -maxdepth 1 -name "ucx_*.dsc" -newer "$apt/sources/$suite.list" | head -n 1)
    test -n "$ucx" || skip_all "apt has left no source package of UCX $version"
}

# Into the chroot's /work/ucx, or what is built already into kept/ucx.
unpack_ucx() {
    local target=$chroot_root/work/ucx
    case $ucx in
    *.dsc) dpkg-source --no-check -x "$ucx" "$target" ;;
    *.deb) dpkg-deb -x "$ucx" "$build/$suite/ucx" ;;
    *) mkdir "$target" && tar -C "$target" --strip-components=1 -xf "$ucx" ;;
    esac
}

# What UCX was made, or is to be, by name and bytes; of the system's the version.
ucx_key() {
    # shellcheck disable=SC2016 # for dpkg-query
    if test -n "$ucx"; then
        echo "$(basename "$ucx") $(sha256sum <"$ucx")"
    else
        chroot_package 'libucx0 ${Version} of Debian, as it is\n'
    fi
}

# Nothing to do, if the UCX that is wanted is there.
build_ucx() {
    local made=$build/$suite/ucx.made
    test -n "$ucx" || compgen -G "$chroot_root/usr/lib/*/ucx/libuct_ib.so*" >/dev/null || fetch_ucx
    if test "$(cat "$made" 2>/dev/null)" = "$(ucx_key)"; then
        pass "UCX" "made before: $(cat "$made")"
        return
    fi
    rm -rf "$made" "$build/$suite/ucx"
    if test -n "$ucx"; then
        try "unpack UCX" unpack_ucx || return
        [[ $ucx == *.deb ]] || TALLY_TIMEOUT=1800 try "UCX" inside ucx || return
    fi
    ucx_key >"$made"
}

say_versions() {
    # shellcheck disable=SC2016 # for dpkg-query
    echo "Debian $suite: $(chroot "$chroot_root" dpkg-query -W -f '${Package} ${Version}, ' openmpi-bin libibverbs1 gcc)" \
        "UCX: $(cut -d' ' -f1-2 "$build/$suite/ucx.made" 2>/dev/null || echo none yet)"
}

# UCX's configure wants a C++ compiler, which the chroot of tests/ompi has not.
choose_chroot() {
    if [[ $ucx == *.deb ]] || { test -z "$ucx" && test $suite = trixie; }; then
        chroot_make "$suite" "$suite" "$(chroot_ompi_packages "$suite")"
    else
        chroot_make "$suite-ucx" "$suite" "$chroot_build_packages,g++,openssh-client,procps"
    fi
}

main() {
    local step status=0
    choose_chroot
    chroot_mount
    try "copy the tree" chroot_copy_tree || exit 1
    mkdir -p "$chroot_root$kept" && mount --bind "$build/$suite" "$chroot_root$kept" ||
        skip_all "mounting is not permitted here"
    for step in "${steps[@]}"; do
        case $step in
        build)
            build_ucx && TALLY_TIMEOUT=1200 try "rbuf" inside rbuf || exit 1
            ;;
        measure)
            test -x "$build/$suite/rbuf/bin/rbuf-compare" || refuse "nothing was built in $build: the step build"
            say_versions
            inside measure || status=1
            test $status -ne 0 || test -z "$csv" || cp "$build/$suite/all.csv" "$csv" || status=1
            ;;
        esac
    done
    exit $status
}

if test "${1-}" = --inside; then
    "inside_$2"
    exit
fi
parse "$@"
mkdir -p "$build/$suite/logs" && build=$(cd "$build" && pwd) || exit 2
TALLY_LOGS=$build/$suite/logs
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"
: "${RBUF_CACHE:=${XDG_CACHE_HOME:-${HOME:-$build}/.cache}/rbuf}"
chroot_cache=$RBUF_CACHE
chroot_enter "$0" "${arguments[@]}"
trap 'exit 143' INT TERM
main
