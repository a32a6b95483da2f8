#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Compiles what is installed with every gcc from 12 on and every clang from 14 on that a release of Debian
# has, with the warnings of configure --enable-werror as errors, as C11 and as C23. The last line counts.
#
#   tests/build/compilers.sh [--all] [SUITE...]   --all is for contrib/check.sh: there is nothing further
#
# Suites: bookworm (Debian 12, with Open MPI 4.1), trixie (13, with 5.0) and unstable (6.0), which are the default.
# Each is a chroot of tests/chroot.sh, SUITE-compilers in RBUF_CACHE, with all its compilers; one that cannot
# be installed is skipped, with the reason.
#
# Environment: RBUF_CACHE; TALLY_LOGS, where logs are kept.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
parts="opal/mca/btl/rbuf ompi/mca/osc/rbuf contrib/softhca contrib/nas_is ompi-mca-btl-rbuf"
names='^(gcc-(1[2-9]|[2-9][0-9])|clang-(1[4-9]|[2-9][0-9]))$'
export TALLY_LOGS=${TALLY_LOGS:-$top/build/logs/compilers}
mkdir -p "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"

skip_all() { # REASON
    skip "compilers, $suite" "$1"
    tally
    exit
}

# --- outside of the chroot ---

# For mmdebstrap: installs each compiler by itself, so that one which unstable cannot install just now keeps no
# other one away.
# shellcheck disable=SC2016 # for the shell of the hook
install_each='for package in $(chroot "$1" apt-cache --names-only search "$NAMES" | cut -d" " -f1); do
    chroot "$1" apt-get -q install -y --no-install-recommends "$package" </dev/null || echo "not installed: $package"
done'

in_suite() { # SUITE
    chroot_make "$suite-compilers" "$suite" "$chroot_build_packages" --customize-hook="NAMES='$names'; $install_each"
    chroot_mount
    if try "copy the tree" chroot_copy_tree; then
        try_script "inside the chroot" chroot_run SUITE="$suite" /work/source/tests/build/compilers.sh --inside
    fi
    tally
    exit
}

# --- inside ---

# This compiler's name for the standard, or nothing.
standard_of() { # COMPILER c11|c23
    local name
    for name in "$2" "${2/c23/c2x}"; do
        ! "$1" -std="$name" -Werror -fsyntax-only -x c /dev/null 2>/dev/null || { echo "$name" && return; }
    done
}

# Once, with gcc: what it finds out is of the system and not of the compiler.
configure() {
    mkdir /work/build && cd /work/build && /work/source/configure --prefix=/work/prefix --enable-werror
}

# CFLAGS come behind the standard that configure chose, so this one counts. Nothing is linked: libtool.sh stands for
# libtool.
compile() { # COMPILER FLAG...
    local part status=0 left=(LIBTOOL="/work/source/tests/build/libtool.sh" AR=: RANLIB=:)
    for part in $parts; do
        make -C "/work/build/$part" clean >/dev/null &&
            make -C "/work/build/$part" V=1 -k -j"$(nproc)" "${left[@]}" CC="$1" CFLAGS="${*:2}" || status=1
    done
    return $status
}

# The optimizer's warnings do not depend on the standard, and clang has few of them.
test_compiler() { # COMPILER
    local standard name version how=()
    version=$("$1" --version | head -n 1)
    for standard in c11 c23; do
        name=$(standard_of "$1" $standard)
        how=(-fsyntax-only)
        case $standard:$1 in
        c11:gcc-*) how=(-O2) ;;
        *:clang-*) how+=(-Qunused-arguments) ;; # -c, which clang warns of from 22 on
        esac
        if test -z "$name"; then
            skip "$SUITE, $1, $standard" "$version does not know it"
        elif try "$SUITE, $1, $standard" compile "$1" "-std=$name" "${how[@]}"; then
            echo "      $version, -std=$name ${how[*]}, $(grep -c -- ' -c -o ' "$(log_of "$SUITE, $1, $standard")") files"
        else
            echo "      $version, -std=$name ${how[*]}:"
            grep -E '(error|warning):' "$(log_of "$SUITE, $1, $standard")" | sort | uniq -c | sort -rn | head -n 20
        fi
    done
}

inside() {
    local compiler
    TALLY_TIMEOUT=180 try "$SUITE: autogen.pl" /work/source/autogen.pl --force &&
        try "$SUITE: configure" configure || { tally && exit; }
    for compiler in $(apt-cache --names-only search "$names" | cut -d' ' -f1 | sort -V); do
        if command -v "$compiler" >/dev/null; then
            test_compiler "$compiler"
        else
            skip "$SUITE, $compiler" "Debian's package could not be installed"
        fi
    done
    tally
    exit
}

case ${1-} in
--all) shift ;;
--inside) inside ;;
--suite)
    suite=$2
    chroot_enter "$0" "$@"
    trap 'exit 143' INT TERM
    in_suite
    ;;
-*)
    echo "usage: compilers.sh [--all] [bookworm|trixie|unstable]..." >&2
    exit 2
    ;;
esac
test $# -gt 0 || set -- bookworm trixie unstable
for suite; do
    echo "-- $suite"
    try_script "$suite" "$0" --suite "$suite"
done
tally
