#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The packages: contrib/packages.sh makes them, lintian finds no error, each has the files that it is to have, and
# the Debian ones work where nothing else is installed (autopkgtest in a chroot of Debian 12).
#
#   tests/packages/run.sh [--all]
#
# The chroot is made by mmdebstrap from the mirror that this machine's apt uses, and kept in RBUF_CACHE. What is missing
# here makes a test skipped, with the reason. Environment: RBUF_CACHE; TALLY_LOGS, where logs are kept.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${RBUF_CACHE:-$top/build/cache}
export TALLY_LOGS=${TALLY_LOGS:-$top/build/logs/packages}
mkdir -p "$TALLY_LOGS" "$cache" || exit 2
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"
output=$(mktemp -d) || exit 2
trap 'rm -rf "$output"' EXIT
suite=bookworm
root=$cache/$suite.tar
chroot_packages=dpkg-dev,apt-utils,man-db,openssh-client,procps

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

the_only() { # PATTERN: the file of that name
    local found=("$output"/$1)
    test ${#found[@]} -eq 1 && test -e "${found[0]}" && echo "${found[0]}"
}

check_files() { # NAME PATTERN LIST
    local package
    package=$(the_only "$2") || {
        fail "$1" "there is no $2, or several"
        return
    }
    try "$1: its files" has_files "$package" "$here/$3"
}

no_errors() {
    lintian --fail-on error --no-tag-display-limit "$(the_only "rbuf_*.changes")"
}

mirror() {
    apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' 2>/dev/null | head -n 1
}

# A chroot for autopkgtest, unless it is there and has what is wanted.
bootstrap() {
    local uri new=$cache/$suite.new.tar # mmdebstrap goes by the end of the name
    test "$(cat "$root.made" 2>/dev/null)" = $chroot_packages && return
    rm -f "$root.made"
    uri=$(mirror)
    test -n "$uri" || { timeout 300 apt-get -qq update && uri=$(mirror); }
    test -n "$uri" || { echo "apt's sources name no mirror of Debian" && return 77; }
    if ! timeout -k 5 900 mmdebstrap --mode=root --variant=apt --include=$chroot_packages \
        --aptopt='APT::Install-Recommends "false"' "$suite" "$new" "$uri"; then
        rm -f "$new"
        echo "no chroot could be made" && return 77
    fi
    mv "$new" "$root" && echo $chroot_packages >"$root.made"
}

# In name spaces of its own: whatever ends this, no mount is left. TMPDIR has to be there in the chroot, too.
installed() {
    local chroot=$output/chroot
    bootstrap || return
    unshare --mount --propagation private true 2>/dev/null || { echo "name spaces are not permitted here" && return 77; }
    mkdir "$chroot" && tar -C "$chroot" -xf "$root" && mkdir "$chroot/dev/shm" 2>/dev/null
    # shellcheck disable=SC2016
    timeout -k 10 900 unshare --mount --propagation private --ipc --pid --fork --mount-proc --kill-child bash -c '
        mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
            mount -t tmpfs -o size=1g shm "$1/dev/shm" && cp /etc/resolv.conf "$1/etc/resolv.conf" &&
            TMPDIR=/tmp autopkgtest --no-built-binaries --setup-commands "apt-get -qq update" \
                "${@:2}" -- chroot "$1"' \
        - "$chroot" "$(the_only "rbuf_*.dsc")" "$output"/*.deb
}

if ! TALLY_TIMEOUT=1800 try "packages.sh" "$top/contrib/packages.sh" --output "$output"; then
    tally
    exit
fi
if command -v lintian >/dev/null; then
    TALLY_TIMEOUT=300 try "lintian" no_errors
else
    skip lintian "it is not installed"
fi
check_files "openmpi-rbuf.deb" "openmpi-rbuf_*.deb" openmpi-rbuf.files
check_files "softhca.deb" "softhca_*.deb" softhca.files
check_files "rbuf.rpm" "rbuf-[0-9]*[!c].rpm" openmpi-rbuf.files
check_files "softhca.rpm" "softhca-[0-9]*.rpm" softhca.files
try "autopkgtest" installed
tally
