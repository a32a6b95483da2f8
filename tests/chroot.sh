# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by test scripts, after tally.sh: another release of Debian in a chroot, where this tree is built and tested.
#
# The chroot is made once, by mmdebstrap from the mirror that this machine's apt uses, and kept in RBUF_CACHE; it is
# read-only afterwards. All mounts are in a name space of the script's own, with its processes: whatever ends the
# script, the kernel takes both away, and nothing is left of what was built. Two scripts may use a chroot at once:
# the first one makes it, the other one waits.
#
# The script calls chroot_enter, chroot_make and chroot_mount in this order, and sets top, the directory of this tree.
# chroot_mount_writable stands for chroot_mount where packages are installed: what changes is in memory, and
# chroot_unmount takes it away, for another one to begin as the first did.
# It defines skip_all REASON, which counts a skipped test and ends the script: what is needed and missing here is not
# a failure.

chroot_cache=${RBUF_CACHE:-$top/build/cache}

# What nobody reads there. A script that does reads it all: chroot_left_out=().
chroot_left_out=('/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*')

# What building the tree takes.
chroot_build_packages=gcc,libc6-dev,make,perl,m4,autoconf,automake,libtool,pkg-config,check
chroot_build_packages+=,openmpi-bin,libopenmpi-dev,libpmix-dev,libibverbs-dev,libevent-dev,libhwloc-dev

# What the tests with a later Open MPI take, in the one chroot that they share.
chroot_ompi_packages() { # trixie|unstable
    local packages=openssh-client,ibverbs-utils,slurmctld,slurmd,slurm-client,munge,iproute2,procps,mount
    test "$1" != unstable || packages+=,perftest
    echo "$chroot_build_packages,$packages"
}

# The script again, first process of its own name spaces. Killing unshare kills all that is in them.
chroot_enter() { # SCRIPT [ARGUMENT...]
    local spaces=(unshare --mount --propagation private --ipc --pid --fork --mount-proc --kill-child)

    test "${RBUF_CHROOT_ENTERED-}" = yes && return
    command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
    test "$(id -u)" -eq 0 || skip_all "a chroot takes root"
    "${spaces[@]}" true 2>/dev/null || skip_all "name spaces are not permitted here"
    RBUF_CHROOT_ENTERED=yes exec "${spaces[@]}" "$@"
}

# Where this machine gets Debian from.
chroot_mirror() {
    apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' 2>/dev/null |
        head -n 1
}

# Makes the chroot of that name, unless it is there and has what is wanted. Sets chroot_root, its directory.
chroot_make() { # NAME SUITE PACKAGES [OPTION OF MMDEBSTRAP]
    chroot_root=$chroot_cache/$1
    mkdir -p "$chroot_cache" || exit 2
    exec {chroot_lock}>"$chroot_root.lock" && flock "$chroot_lock" || exit 2
    test "$(cat "$chroot_root.made" 2>/dev/null)" = "${*:2}" || chroot_make_anew "${@:2}"
    exec {chroot_lock}>&-
}

chroot_make_anew() { # SUITE PACKAGES [OPTION OF MMDEBSTRAP]
    local uri options=('APT::Install-Recommends "false"')

    # unstable is new every few hours, and a mirror which is not is still signed.
    test "$1" != unstable || options+=('Acquire::Check-Valid-Until "false"')
    uri=$(chroot_mirror)
    if test -z "$uri"; then # apt knows them by its lists, which may have been cleared away
        timeout 300 apt-get -qq update >"$(log_of apt)" 2>&1 </dev/null
        uri=$(chroot_mirror)
    fi
    test -n "$uri" || skip_all "apt's sources name no mirror of Debian"
    rm -rf "$chroot_root.made" "$chroot_root" "$chroot_root.new"
    # Its own helpers are to find Debian's interpreters.
    if ! PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout -k 5 "$(patience_for 900)" mmdebstrap --mode=root --variant=apt \
        --include="$2" "${options[@]/#/--aptopt=}" \
        "${chroot_left_out[@]/#/--dpkgopt=path-exclude=}" "${@:3}" \
        "$1" "$chroot_root.new" "$uri" >"$(log_of chroot)" 2>&1 </dev/null; then
        rm -rf "$chroot_root.new"
        skip_all "no chroot could be made: $(grep '^E:' "$(log_of chroot)" | tail -n 1)"
    fi
    mkdir -p "$chroot_root.new/work" && touch "$chroot_root.new/etc/hosts" && # for mounts: nothing is made there later
        mv "$chroot_root.new" "$chroot_root" && echo "$*" >"$chroot_root.made"
}

chroot_mount() {
    {
        mount --bind "$chroot_root" "$chroot_root" &&
            mount -o remount,bind,ro "$chroot_root" &&
            chroot_mount_rest
    } 2>"$(log_of mounts)" || skip_all "mounting is not permitted here: $(tail -n 1 "$(log_of mounts)")"
}

chroot_mount_writable() {
    local changes=$chroot_root.changes
    {
        mkdir -p "$changes" &&
            mount -t tmpfs tmpfs "$changes" &&
            mkdir "$changes/upper" "$changes/work" &&
            mount -t overlay -o "lowerdir=$chroot_root,upperdir=$changes/upper,workdir=$changes/work" \
                overlay "$chroot_root" &&
            chroot_mount_rest
    } 2>"$(log_of mounts)" || skip_all "mounting is not permitted here: $(tail -n 1 "$(log_of mounts)")"
}

chroot_unmount() { # after chroot_mount_writable
    umount -R -l "$chroot_root" && umount "$chroot_root.changes"
}

# What the chroot gets from outside. /work is for all that is built there.
chroot_mount_rest() {
    mount --rbind /dev "$chroot_root/dev" &&
        mount -t tmpfs tmpfs "$chroot_root/dev/shm" &&
        mount -t proc proc "$chroot_root/proc" &&
        mount --rbind /sys "$chroot_root/sys" &&
        mount -t tmpfs tmpfs "$chroot_root/tmp" &&
        mount -t tmpfs tmpfs "$chroot_root/work" &&
        mkdir "$chroot_root/work/logs" "$chroot_root/work/source" &&
        mount --bind "$TALLY_LOGS" "$chroot_root/work/logs"
}

# The tree, in /work/source, without what autotools, configure or make left in it.
chroot_copy_tree() {
    tar -C "$top" --exclude=./build --exclude=./.git --exclude=./autom4te.cache \
        --exclude=./build-aux --exclude=./aclocal.m4 --exclude=./configure --exclude=Makefile \
        --exclude=Makefile.in --exclude='./config/l*.m4' --exclude='./config.*' --exclude='*.o' \
        --exclude='*.lo' --exclude='*.la' --exclude=.libs --exclude=.deps --exclude=.dirstamp \
        -cf - . | tar -C "$chroot_root/work/source" -xmf -
}

# Runs a program of the chroot with an environment of its own.
chroot_run() { # COMMAND...
    chroot "$chroot_root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/work LC_ALL=C \
        TALLY_LOGS=/work/logs "$@"
}
