#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The part of run.sh that runs in a chroot; the last line counts. The tree is in /work/source, the packages are
# in /work/packages.
#
#   inside.sh build KIND...   makes them (deb, rpm) of the tree and looks them through
#   inside.sh use             installs the Debian ones, uses them, removes them, and meets another series of Open MPI
#
# What apt installs has been fetched when the chroot was made. Environment: SUITE, SERIES of Open MPI there.
set -u

source=/work/source
packages=/work/packages
# shellcheck source=tests/tally.sh
. "$source/tests/tally.sh"
export DEBIAN_FRONTEND=noninteractive
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1

the_only() { # PATTERN: the file of that name
    local found
    mapfile -t found < <(compgen -G "$packages/$1")
    test ${#found[@]} -eq 1 && echo "${found[0]}"
}

# --- build ---

# The paths of a package, directories and changelogs left out, with what differs between machines as *.
files_of() { # PACKAGE
    case $1 in
    *.deb) dpkg-deb --fsys-tarfile "$1" | tar -tf - | sed 's|^\.||' | grep -v '/$' ;;
    *.rpm) rpm -qp --queryformat '[%{FILEMODES:perms} %{FILENAMES}\n]' "$1" 2>/dev/null |
        sed -n '/\/\.build-id/d; s/^[^d][^ ]* //p' ;;
    esac | sed -E 's|^/usr/lib(64)?/([^/]*-linux-gnu[^/]*/)?|LIB/|; s|\.gz$||; s|^(LIB/openmpi/lib)/openmpi[0-9]*/|\1/openmpi/|
        /\/doc\/|\/licenses\//d' | sort
}

# Each listed path is in the package, and nothing else.
has_files() { # PACKAGE LIST
    diff <(sort "$2") <(files_of "$1")
}

check_files() { # NAME PATTERN LIST
    local package
    package=$(the_only "$2") || {
        fail "$SUITE, $1" "there is no $2, or several"
        return
    }
    try "$SUITE, $1: its files" has_files "$package" "$source/tests/packages/$3"
}

no_errors() {
    apt-get -q install -y --no-download lintian &&
        lintian --fail-on error --tag-display-limit 0 "$(the_only "rbuf_*.changes")"
}

# The package says which Open MPI it is for, in words and by its dependencies.
says_series() {
    local package next=${SERIES%.*}.$((${SERIES#*.} + 1))
    package=$(the_only "openmpi-rbuf_*.deb") || return
    dpkg-deb --field "$package" Depends Description
    dpkg-deb --field "$package" Description | grep -F "for Open MPI $SERIES," &&
        dpkg-deb --field "$package" Depends | grep -F "openmpi-bin (>= $SERIES~), openmpi-bin (<< $next~)"
}

# On a release its number is in the version; unstable has none, and the highest version.
says_release() {
    local version
    version=$(dpkg-deb --field "$(the_only "openmpi-rbuf_*.deb")" Version)
    echo "$version"
    case $SUITE in
    bookworm) [[ $version == *-1~deb12u1 ]] ;;
    trixie) [[ $version == *-1~deb13u1 ]] ;;
    *) [[ $version == *-1 ]] ;;
    esac
}

build() { # KIND...
    TALLY_TIMEOUT=300 try "$SUITE, what building takes" \
        apt-get -q build-dep -y --no-download "$source/packaging" || return
    [[ " $* " != *" rpm "* ]] || try "$SUITE, what RPM takes" apt-get -q install -y --no-download rpm
    TALLY_TIMEOUT=1800 try "$SUITE, packages.sh" "$source/contrib/packages.sh" --output $packages "$@" || return
    TALLY_TIMEOUT=300 try "$SUITE, lintian" no_errors
    check_files "openmpi-rbuf.deb" "openmpi-rbuf_*.deb" openmpi-rbuf.files
    check_files "softhca.deb" "softhca_*.deb" softhca.files
    try "$SUITE, which Open MPI it is for" says_series
    try "$SUITE, which release it is for" says_release
    if [[ " $* " == *" rpm "* ]]; then
        check_files "rbuf.rpm" "rbuf-[0-9]*[!c].rpm" openmpi-rbuf.files
        check_files "softhca.rpm" "softhca-[0-9]*.rpm" softhca.files
    fi
}

# --- use ---

# What Debian's package managers write anew at each turn is not counted.
all_files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /work -o -path /run \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o -print | sort
    find /var/lib/dpkg/info | sort
}

needs() {
    apt-get -q satisfy -y --no-download "$(dpkg-deb --field "$(the_only "openmpi-rbuf_*.deb")" Depends)" \
        "$(dpkg-deb --field "$(the_only "softhca_*.deb")" Depends)"
}

# Not the debugging symbols.
install_them() {
    dpkg -i "$(the_only "openmpi-rbuf_*.deb")" "$(the_only "softhca_*.deb")"
}

remove_them() {
    dpkg --purge openmpi-rbuf softhca
    all_files >/tmp/after
    diff /tmp/before /tmp/after
}

# Each page is there, and man has nothing to complain of.
shows_pages() {
    local page
    for page in rbuf rbuf-bench rbuf-compare rbuf-plot rbuf-tune softhca; do
        man -P cat "$page" >/tmp/page 2>/tmp/page.wrong && test "$(wc -l </tmp/page)" -gt 20 || return
        cat /tmp/page.wrong
        test ! -s /tmp/page.wrong || return
    done
}

# Open MPI of the next series, as far as dpkg can tell.
meets_next_series() {
    local next=${SERIES%.*}.$((${SERIES#*.} + 1)) status=0
    mkdir -p /tmp/next/DEBIAN
    cat >/tmp/next/DEBIAN/control <<END
Package: openmpi-bin
Version: $next.0-1
Architecture: $(dpkg --print-architecture)
Maintainer: Nobody <nobody@example.org>
Description: stands for a later release in a test
END
    dpkg-deb --build /tmp/next /tmp/next.deb && dpkg -i --force-all /tmp/next.deb || return
    LC_ALL=C install_them >/tmp/refused 2>&1 || status=$?
    cat /tmp/refused
    test $status -ne 0 && grep -q "openmpi-rbuf depends on openmpi-bin (<< $next~); however" /tmp/refused &&
        grep -q "Version of openmpi-bin on system is $next.0-1" /tmp/refused
}

use() {
    TALLY_TIMEOUT=300 try "$SUITE, what using takes" needs || return
    all_files >/tmp/before
    try "$SUITE, installed" install_them || return
    TALLY_TIMEOUT=300 try "$SUITE, a job" "$source/packaging/debian/tests/mpi-job"
    try "$SUITE, pages of the manual" shows_pages
    try "$SUITE, removed" remove_them
    try "$SUITE, refused by another series" meets_next_series
}

"$@"
tally
