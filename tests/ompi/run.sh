#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The same source with a later Open MPI: another release of Debian in a chroot, where inside.sh builds and
# tests it.
#
#   tests/ompi/run.sh [--all] SUITE
#
# Suites: trixie (Debian 13), which has Open MPI 5.0; unstable, for 6.0.
#
# The chroot is made once, by mmdebstrap from the mirror that this machine's apt uses, and kept in
# RBUF_CACHE; it is read-only afterwards. All mounts are in a name space of our own, with the processes:
# whatever ends this script, the kernel takes both away, and nothing is left of what was built. What
# is needed and missing here makes the test skipped, with the reason; so does a suite which does not have that
# Open MPI, or has it no more.
#
# Environment: RBUF_CACHE; TALLY_LOGS, where logs are kept; RBUF_PREFIX, an installation for this
# machine's own Open MPI, for the tests in which one release meets a component of the other.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${RBUF_CACHE:-$top/build/cache}
packages=gcc,libc6-dev,make,perl,m4,autoconf,automake,libtool,pkg-config,check,openssh-client,ibverbs-utils
packages+=,openmpi-bin,libopenmpi-dev,libpmix-dev,libibverbs-dev,libevent-dev,libhwloc-dev
apt_options=('APT::Install-Recommends "false"')
suite=${*: -1}
case $suite in
trixie)
    series=5.0
    ;;
unstable)
    series=6.0
    packages+=,perftest
    # It is new every few hours, and a mirror which is not is still signed.
    apt_options+=('Acquire::Check-Valid-Until "false"')
    ;;
*)
    echo "usage: run.sh [--all] trixie|unstable" >&2
    exit 2
    ;;
esac
root=$cache/$suite
export TALLY_LOGS=${TALLY_LOGS:-$top/build/logs/ompi-$suite}
mkdir -p "$TALLY_LOGS" "$cache" || exit 2
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"

skip_all() { # REASON
    skip "Open MPI $series" "$1"
    tally
    exit
}

# This script again, first process of its own name spaces. Killing unshare kills all that is in them.
enter() {
    local spaces=(unshare --mount --propagation private --ipc --pid --fork --mount-proc --kill-child)

    command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
    test "$(id -u)" -eq 0 || skip_all "a chroot takes root"
    "${spaces[@]}" true 2>/dev/null || skip_all "name spaces are not permitted here"
    RBUF_OMPI_ENTERED=yes exec "${spaces[@]}" "$0" "$@"
}

# Where this machine gets Debian from.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' 2>/dev/null |
        head -n 1
}

# Makes the chroot, unless it is there and has what is wanted.
bootstrap() {
    local wanted="$suite $packages" uri

    test "$(cat "$root.made" 2>/dev/null)" = "$wanted" && return
    uri=$(mirror)
    if test -z "$uri"; then # apt knows them by its lists, which may have been cleared away
        timeout 300 apt-get -qq update >"$(log_of apt)" 2>&1 </dev/null
        uri=$(mirror)
    fi
    test -n "$uri" || skip_all "apt's sources name no mirror of Debian"
    rm -rf "$root.made" "$root" "$root.new"
    # Its own helpers are to find Debian's interpreters.
    if ! PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout -k 5 900 mmdebstrap --mode=root --variant=apt \
        --include="$packages" "${apt_options[@]/#/--aptopt=}" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        "$suite" "$root.new" "$uri" >"$(log_of chroot)" 2>&1 </dev/null; then
        rm -rf "$root.new"
        skip_all "no chroot could be made: $(grep '^E:' "$(log_of chroot)" | tail -n 1)"
    fi
    mkdir -p "$root.new/work" && mv "$root.new" "$root" && echo "$wanted" >"$root.made"
}

# What was tested, for those who read the result later.
say_versions() {
    local versions
    # shellcheck disable=SC2016 # for dpkg-query
    versions=$(chroot "$root" dpkg-query -W -f '${Package} ${Version}, ' \
        openmpi-bin libpmix-dev libucx0 libibverbs1 gcc 2>/dev/null)
    echo "Debian $suite: ${versions%, }"
    [[ $versions == "openmpi-bin $series".* || $versions == *", openmpi-bin $series".* ]] ||
        skip_all "Debian $suite has no Open MPI $series: ${versions%, }"
}

# What the chroot gets from outside. /work is for all that is built there.
mount_all() {
    mount --bind "$root" "$root" &&
        mount -o remount,bind,ro "$root" &&
        mount --rbind /dev "$root/dev" &&
        mount -t tmpfs tmpfs "$root/dev/shm" &&
        mount -t proc proc "$root/proc" &&
        mount --rbind /sys "$root/sys" &&
        mount -t tmpfs tmpfs "$root/tmp" &&
        mount -t tmpfs tmpfs "$root/work" &&
        mkdir "$root/work/logs" "$root/work/source" "$root/work/other" &&
        mount --bind "$TALLY_LOGS" "$root/work/logs"
}

# The tree without what autotools, configure or make left in it.
copy_tree() {
    tar -C "$top" --exclude=./build --exclude=./.git --exclude=./autom4te.cache \
        --exclude=./build-aux --exclude=./aclocal.m4 --exclude=./configure --exclude=Makefile \
        --exclude=Makefile.in --exclude='./config/l*.m4' --exclude='./config.*' --exclude='*.o' \
        --exclude='*.lo' --exclude='*.la' --exclude=.libs --exclude=.deps --exclude=.dirstamp \
        -cf - . | tar -C "$root/work/source" -xmf -
    if test -r "${RBUF_PREFIX-}/lib/openmpi/mca_btl_rbuf.so"; then
        cp "$RBUF_PREFIX/lib/openmpi/mca_btl_rbuf.so" "$root/work/other/"
    fi
}

# This machine's Open MPI meets the component that was built in the chroot.
refused_here() {
    local out
    out=$("${MPIRUN:-mpirun}" --allow-run-as-root -np 1 --bind-to none --mca pml ob1 \
        --mca mca_base_component_path "SYS_DEFAULT:$root/work/prefix/lib/openmpi" \
        --mca mca_base_component_show_load_errors 1 \
        "$RBUF_PREFIX/libexec/rbuf/nas_is" --class S 2>&1) || return
    printf '%s\n' "$out"
    grep -qE 'mca_btl_rbuf.*(libopen-pal|undefined symbol|GLIBC)' <<<"$out"
}

test "${RBUF_OMPI_ENTERED-}" = yes || enter "$@"
trap 'exit 143' INT TERM
bootstrap
say_versions
if ! mount_all 2>"$(log_of mounts)"; then
    skip_all "mounting is not permitted here: $(tail -n 1 "$(log_of mounts)")"
fi
try "copy the tree" copy_tree
try_script "inside the chroot" chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/work LC_ALL=C TALLY_LOGS=/work/logs /work/source/tests/ompi/inside.sh "$@"
if ! "${MPIRUN:-mpirun}" --version 2>/dev/null | grep -q 'Open MPI) 4\.' ||
    ! test -x "${RBUF_PREFIX-}/libexec/rbuf/nas_is"; then
    skip "Open MPI 4.1 refuses the component of $series" "rbuf is not installed here for Open MPI 4.1"
else
    TALLY_TIMEOUT=60 try "Open MPI 4.1 refuses the component of $series" refused_here
fi
tally
