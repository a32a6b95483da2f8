#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Builds packages from this tree: make dist, and from what that has made the Debian and RPM packages.
#
#   contrib/packages.sh [--output DIR] [--build DIR] [KIND...]
#
# Kinds: dist, deb and rpm, all by default; each of the others makes dist first. What is made is left in the output
# directory (build/packages): the .tar.xz, .deb with .changes, .rpm with the source's. They are for the Open
# MPI of this machine. The version of those that are made on a release of Debian says which: 1-1~deb13u1 on Debian 13.
# unstable has no number, and its packages are of a later version than all of these. The build directory is
# output/work by default and is made anew.
#
# The environment: MAINTAINER, "NAME <ADDRESS>", who is named in the packages' changelogs instead of the placeholder;
# DEB_BUILD_OPTIONS, nocheck by default, as contrib/check.sh runs the tests. Packages that are needed:
# contrib/deps.sh packages.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
output=$top/build/packages
work=
kinds=()
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck}

refuse() {
    echo "packages.sh: $* (--help explains)" >&2
    exit 2
}

while test $# -gt 0; do
    case $1 in
    --output) output=${2:?--output wants a directory} && shift ;;
    --build) work=${2:?--build wants a directory} && shift ;;
    --help)
        sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"
        exit 0
        ;;
    dist | deb | rpm) kinds+=("$1") ;;
    *) refuse "unknown: '$1'" ;;
    esac
    shift
done
test ${#kinds[@]} -gt 0 || kinds=(dist deb rpm)
mkdir -p "$output" && output=$(cd "$output" && pwd)
work=${work:-$output/work}
rm -rf "$work" && mkdir -p "$work"
version=$(sed -n 's/.*RBUF_VERSION "\(.*\)".*/\1/p' "$top/opal/mca/btl/rbuf/rbuf_version.h")
archive=$output/rbuf-$version.tar.xz

# From a copy: a tree that is configured, or in use, stays as it is.
make_dist() {
    mkdir "$work/source" "$work/dist"
    if test "$(git -C "$top" rev-parse --show-toplevel 2>/dev/null)" = "$top"; then
        git -C "$top" ls-files -z --cached --others --exclude-standard
    else
        find "$top" -path "$output" -prune -o -type f -printf '%P\0'
    fi | tar -C "$top" --null --ignore-failed-read -T - -cf - | tar -C "$work/source" -xmf -
    (cd "$work/source" && ./autogen.pl)
    (cd "$work/dist" && "$work/source/configure" && make -j"$(nproc)" && make dist)
    mv "$work/dist/rbuf-$version.tar.xz" "$archive"
}

# Of a package's version: the release of Debian that it is for.
release_suffix() {
    # shellcheck source=/dev/null
    (. /etc/os-release 2>/dev/null && test "${ID-}" = debian && echo "${VERSION_ID:+~deb${VERSION_ID}u1}") || true
}

make_deb() {
    local tree=$work/deb/rbuf-$version
    mkdir "$work/deb"
    cp "$archive" "$work/deb/rbuf_$version.orig.tar.xz"
    tar -C "$work/deb" -xf "$archive"
    cp -R "$tree/packaging/debian" "$tree/debian"
    rm "$tree/debian/changelog.in"
    if test -n "${MAINTAINER-}"; then
        sed -i "s/^ -- .* <.*>  / -- $MAINTAINER  /" "$tree/debian/changelog"
        sed -i "s/^Maintainer: .*/Maintainer: $MAINTAINER/" "$tree/debian/control"
    fi
    sed -i "1s/^\(rbuf (.*\)) /\1$(release_suffix)) /" "$tree/debian/changelog"
    (cd "$tree" && dpkg-buildpackage -us -uc)
    find "$work/deb" -maxdepth 1 -type f -exec mv -t "$output" {} +
}

# --nodeps: what is built against may have come from other packages.
make_rpm() {
    rpmbuild --nodeps --define "_topdir $work/rpm" -ta "$archive"
    find "$work/rpm" -name '*.rpm' -exec mv -t "$output" {} +
}

make_dist
for kind in "${kinds[@]}"; do
    test "$kind" = dist || "make_$kind"
done
rm -rf "$work"
find "$output" -maxdepth 1 -type f -name "*$version*" | sort
