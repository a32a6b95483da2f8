# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=sh
#
# Sourced by the scripts here: the emulated adapter of the build, which RBUF_BUILD names. Sets build and softhca.

build=${RBUF_BUILD:-$(cd "$(dirname "$0")/../.." && pwd)}
softhca=$build/contrib/softhca/softhca
export SOFTHCA_LIB="${SOFTHCA_LIB:-$build/contrib/softhca/.libs/libsofthca.so}"
# The library is preloaded, so that a sanitizer's runtime does not come first. It is none the worse.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"

# Skips the whole script unless softhca and the programs are built.
need_built() { # PROGRAM...
    for program in "$softhca" "$@"; do
        if ! test -x "$program"; then
            echo "skipped: $program is not built"
            exit 77
        fi
    done
}
