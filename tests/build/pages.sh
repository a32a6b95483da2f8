#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Sphinx makes the manual without a warning. Who has no Sphinx: a distribution has the man pages ready, and installs
# them; a checkout installs none, configure says so at its end, and makes no distribution without them. Takes minutes, so
# contrib/check.sh runs it.
#
#   RBUF_BUILD=DIR tests/build/pages.sh
#
# DIR is a build with Sphinx. The last line counts.

set -u
build=$(cd "${RBUF_BUILD:?}" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
TALLY_LOGS=$work/logs
mkdir "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$(dirname "$0")/../tally.sh"
export TALLY_TIMEOUT=300
pages="man1/rbuf-bench.1 man1/rbuf-compare.1 man1/rbuf-plot.1 man1/rbuf-tune.1 man7/rbuf.7"

# Reads all anew: of what it has read before Sphinx complains only once. A link that leads nowhere is a warning.
manual() {
    make -C "$build/docs" html SPHINX_FLAGS="-q -E -W --keep-going" && test -s "$build/docs/html/index.html"
}

# Its name is one of its own, so that it is in nobody's way.
distribution() {
    make -C "$build" dist distdir=rbuf-pages && tar -C "$work" -xf "$build/rbuf-pages.tar.xz" &&
        rm "$build/rbuf-pages.tar.xz"
}

configure() { # DIRECTORY
    mkdir "$work/$1" && cd "$work/$1" && "$work/rbuf-pages/configure" --cache-file="$work/cache" \
        --prefix="$work/$1/prefix" SPHINX_BUILD=/bin/false
}

says() { # DIRECTORY WORDS
    grep -E "^  man pages +$2" "$(log_of "configure in $1")"
}

# The pages that are installed are those that are wanted, each with a head of its own.
installs() { # DIRECTORY PAGE...
    local page
    make -C "$work/$1/docs" install || return
    diff <(printf '%s\n' "${@:2}") <(cd "$work/$1/prefix" 2>/dev/null && find share/man -type f -printf '%P\n' | sort)
    for page in "${@:2}"; do
        grep -q '^\.TH ' "$work/$1/prefix/share/man/$page" || return
    done
}

installs_none() { # DIRECTORY
    make -C "$work/$1/docs" install && test ! -e "$work/$1/prefix/share/man"
}

no_distribution() { # DIRECTORY
    local status=0
    mkdir "$work/copy" && make -C "$work/$1/docs" distdir distdir="$work/copy" top_distdir="$work/copy" \
        >"$work/refused" 2>&1 || status=$?
    cat "$work/refused"
    test $status -ne 0 && grep -q 'cannot be made without Sphinx' "$work/refused"
}

sed -n 's/^SPHINX_BUILD = //p' "$build/Makefile" | grep -q . || {
    skip "man pages" "the build has no Sphinx"
    tally
    exit
}
try "make html, without a warning" manual
try "make dist" distribution &&
    try "configure in distributed" configure distributed &&
    try "a distribution: configure says it" says distributed "installed as the distribution has them" &&
    try "a distribution: its pages are installed" installs distributed $pages &&
    try "the distribution without them stands for a checkout" rm -r "$work/rbuf-pages/docs/made" &&
    try "configure in checkout" configure checkout &&
    try "a checkout: configure says it" says checkout "not built, none is installed: Sphinx is missing" &&
    try "a checkout: no page is installed" installs_none checkout &&
    try "a checkout: no distribution is made" no_distribution checkout
tally
