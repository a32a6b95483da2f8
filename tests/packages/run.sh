#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The packages for each release of Debian: contrib/packages.sh makes them, lintian finds no error, each has the files
# that it is to have, the Debian ones work where nothing else is installed (autopkgtest), and leave nothing behind.
#
#   tests/packages/run.sh [--all] [--suite SUITE]   --all is for contrib/check.sh: there is nothing further
#
# Suites, one after the other by default: bookworm (Debian 12, with Open MPI 4.1), trixie (13, with 5.0) and unstable
# (6.0). The RPM packages are made on bookworm.
#
# Each suite has a chroot of tests/chroot.sh, SUITE-packages in RBUF_CACHE, which keeps the packages that are needed
# to be installed, but not installed. Three times it is writable, and what changes is in memory: the packages are built,
# with what the source package says that it takes; they are tested; they are installed and removed. So what is built is
# for the Open MPI that it meets, and neither the network nor this machine's packages have a part in it.
# What is missing here makes a suite skipped, with the reason. Environment: RBUF_CACHE; TALLY_LOGS, where logs are kept.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
arguments=("$@")
suite=
while test $# -gt 0; do
    case $1 in
    --all) ;;
    --suite) suite=${2:?--suite wants a release of Debian} && shift ;;
    *) suite=unknown ;;
    esac
    shift
done
case $suite in
'') ;;
bookworm) series=4.1 kinds=(deb rpm) ;;
trixie) series=5.0 kinds=(deb) ;;
unstable) series=6.0 kinds=(deb) ;;
*) echo "usage: run.sh [--all] [--suite bookworm|trixie|unstable]" >&2 && exit 2 ;;
esac
export TALLY_LOGS=${TALLY_LOGS:-$top/build/logs/packages}
mkdir -p "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"

if test -z "$suite"; then
    for suite in bookworm trixie unstable; do
        echo "-- $suite"
        TALLY_LOGS=$TALLY_LOGS/$suite try_script "$suite" "$0" --suite "$suite"
    done
    tally
    exit
fi

skip_all() { # REASON
    skip "packages, $suite" "$1"
    tally
    exit
}

# For mmdebstrap: fetches what building takes by debian/control, and what is installed afterwards. The file comes by the
# environment: a chroot that was made of another copy of the tree, with the same file, is as good.
# shellcheck disable=SC2016 # for the shell of the hook
fetch='mkdir -p "$1/tmp/source/debian" && cp "$CONTROL" "$1/tmp/source/debian/control" &&
    chroot "$1" apt-get -q build-dep -y --download-only /tmp/source </dev/null &&
    chroot "$1" apt-get -q install -y --download-only $FURTHER </dev/null && rm -r "$1/tmp/source"'
# What else is needed: to look through the packages, and by their tests.
further="lintian openmpi-bin ibverbs-utils perftest"
test "${kinds[*]}" = deb || further+=" rpm"

make_chroot() {
    export CONTROL=$top/packaging/debian/control
    chroot_left_out=()
    chroot_make "$suite-packages" "$suite" dpkg-dev,apt-utils,man-db,openssh-client,procps --skip=cleanup/apt \
        --customize-hook="# $(sha256sum <"$CONTROL")" --customize-hook="FURTHER='$further'; $fetch"
}

say_versions() {
    local version
    version=$(chroot "$chroot_root" apt-cache policy openmpi-bin | sed -n 's/^ *Candidate: //p')
    echo "Debian $suite: openmpi-bin $version"
    [[ $version == "$series".* ]] || skip_all "Debian $suite has no Open MPI $series, but $version"
}

inside() { # PART [ARGUMENT...]
    try_script "$suite, $1" chroot_run SUITE="$suite" SERIES="$series" /work/source/tests/packages/inside.sh "$@"
}

the_only() { # PATTERN: the file of that name
    local found
    mapfile -t found < <(compgen -G "$output/$1")
    test ${#found[@]} -eq 1 && echo "${found[0]}"
}

build() {
    chroot_mount_writable
    chroot_copy_tree
    inside build "${kinds[@]}"
    cp "$chroot_root"/work/packages/* "$output"
    chroot_unmount
}

test_packages() {
    TMPDIR=/tmp timeout -k 10 "$(patience_for 900)" autopkgtest --no-built-binaries \
        "$(the_only "rbuf_*.dsc")" "$output"/*.deb -- chroot "$chroot_root"
}

run_autopkgtest() {
    command -v autopkgtest >/dev/null || { skip "$suite, autopkgtest" "it is not installed" && return; }
    chroot_mount_writable
    try "$suite, autopkgtest" test_packages
    chroot_unmount
}

install_and_remove() {
    chroot_mount_writable
    chroot_copy_tree
    mkdir "$chroot_root/work/packages" && cp "$output"/*.deb "$chroot_root/work/packages"
    inside use
    chroot_unmount
}

chroot_enter "$0" "${arguments[@]}"
trap 'exit 143' INT TERM
make_chroot
say_versions
output=$(mktemp -d) || exit 2
trap 'rm -rf "$output"' EXIT
build
if the_only "openmpi-rbuf_*.deb" >/dev/null; then
    run_autopkgtest
    install_and_remove
fi
tally
