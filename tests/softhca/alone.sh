#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# contrib/softhca is whole by itself: a copy of that folder, without the tree around it, is configured, built,
# checked, installed and packed, and the copy that is installed runs from another place. The last line counts.

set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
TALLY_LOGS=$work/logs
mkdir "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$here/../tally.sh"
export TALLY_TIMEOUT=300

# Without what autoreconf or a build has made there.
copy_folder() {
    mkdir "$work/softhca" && tar -C "$here/../../contrib/softhca" --exclude=./configure --exclude=./aclocal.m4 \
        --exclude=./autom4te.cache --exclude=./build-aux --exclude=./config.status --exclude='./config/l*.m4' \
        --exclude=./logs --exclude=./libtool --exclude=./softhca --exclude=Makefile --exclude=Makefile.in \
        --exclude=.deps --exclude=.libs --exclude='*.o' --exclude='*.lo' --exclude='*.la' --exclude='*.a' \
        --exclude='*.log' --exclude='*.trs' -cf - . | tar -C "$work/softhca" -xf -
}

prepare() {
    cd "$work/softhca" && autoreconf --install --warnings=all,no-obsolete,no-portability
}

configure() { # DIRECTORY OPTION...
    mkdir "$work/$1" && cd "$work/$1" && ../softhca/configure --prefix="$work/prefix" --enable-werror "${@:2}"
}

in_build() { # ARGUMENT-OF-MAKE...
    timeout -k 5 "$(patience_for $TALLY_TIMEOUT)" make -C "$work/build" "$@"
}

with_sanitizers() {
    configure sanitized --enable-asan --enable-ubsan CFLAGS="-O1 -g" &&
        timeout -k 5 "$(patience_for $TALLY_TIMEOUT)" make -C "$work/sanitized" -j"$(nproc)" check
}

installed() {
    (cd "$work/prefix" && find . -type f | sort) | tee "$work/installed"
    diff "$work/installed" - <<'END'
./bin/softhca
./lib/softhca/libsofthca.la
./lib/softhca/libsofthca.so
./share/man/man1/softhca.1
END
}

# The installed library is one that runs: no other is left, and the launcher finds it beside itself.
runs_elsewhere() {
    mv "$work/prefix" "$work/elsewhere" && rm -r "$work/build" &&
        "$work/elsewhere/bin/softhca" -- ibv_devinfo | tee /dev/stderr | grep PORT_ACTIVE
}

distcheck() {
    in_build distcheck DISTCHECK_CONFIGURE_FLAGS=--enable-werror && ls "$work"/build/softhca-*.tar.xz
}

if ! command -v autoreconf >/dev/null; then
    skip "softhca alone" "autoreconf is not installed"
else
    try "copy of the folder" copy_folder &&
        try "autoreconf" prepare &&
        try "configure" configure build &&
        try "make" in_build -j"$(nproc)" &&
        try "make check" in_build check &&
        try "make install" in_build install &&
        try "what is installed" installed &&
        try "make distcheck" distcheck &&
        try "make check with sanitizers" with_sanitizers &&
        if command -v ibv_devinfo >/dev/null; then
            try "the installed one runs, moved" runs_elsewhere
        else
            skip "the installed one runs, moved" "ibv_devinfo is not installed"
        fi
fi
tally
