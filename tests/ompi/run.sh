#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The same source with a later Open MPI: another release of Debian in a chroot, where inside.sh builds and
# tests it.
#
#   tests/ompi/run.sh [--all] [--slurm] SUITE
#
# Suites: trixie (Debian 13), which has Open MPI 5.0; unstable, for 6.0. With --slurm the jobs of tests/slurm run
# there, and nothing else.
#
# The chroot is that of tests/chroot.sh, which Slurm's test and contrib/beside_ucx.sh share. What is needed and missing
# here makes the test skipped, with the reason; so does a suite which does not have that Open MPI, or has it no more.
#
# Environment: RBUF_CACHE; TALLY_LOGS, where logs are kept; RBUF_PREFIX, an installation for this
# machine's own Open MPI, for the tests in which one release meets a component of the other.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
suite=${*: -1}
case $suite in
trixie)
    series=5.0
    ;;
unstable)
    series=6.0
    ;;
*)
    echo "usage: run.sh [--all] [--slurm] trixie|unstable" >&2
    exit 2
    ;;
esac
export TALLY_LOGS=${TALLY_LOGS:-$top/build/logs/ompi-$suite}
mkdir -p "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$top/tests/tally.sh"
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"

skip_all() { # REASON
    skip "Open MPI $series" "$1"
    tally
    exit
}

# What was tested, for those who read the result later.
say_versions() {
    local versions
    # shellcheck disable=SC2016 # for dpkg-query
    versions=$(chroot "$chroot_root" dpkg-query -W -f '${Package} ${Version}, ' \
        openmpi-bin libpmix-dev libucx0 libibverbs1 slurmd gcc 2>/dev/null)
    echo "Debian $suite: ${versions%, }"
    [[ $versions == "openmpi-bin $series".* || $versions == *", openmpi-bin $series".* ]] ||
        skip_all "Debian $suite has no Open MPI $series: ${versions%, }"
}

copy_trees() {
    chroot_copy_tree && mkdir "$chroot_root/work/other" || return
    if test -r "${RBUF_PREFIX-}/lib/openmpi/mca_btl_rbuf.so"; then
        cp "$RBUF_PREFIX/lib/openmpi/mca_btl_rbuf.so" "$chroot_root/work/other/"
    fi
}

# This machine's Open MPI meets the component that was built in the chroot.
refused_here() {
    local out
    out=$("${MPIRUN:-mpirun}" --allow-run-as-root -np 1 --bind-to none --mca pml ob1 \
        --mca mca_base_component_path "SYS_DEFAULT:$chroot_root/work/prefix/lib/openmpi" \
        --mca mca_base_component_show_load_errors 1 \
        "$RBUF_PREFIX/libexec/rbuf/nas_is" --class S 2>&1) || return
    printf '%s\n' "$out"
    grep -qE 'mca_btl_rbuf.*(libopen-pal|undefined symbol|GLIBC)' <<<"$out"
}

chroot_enter "$0" "$@"
trap 'exit 143' INT TERM
chroot_make "$suite" "$suite" "$(chroot_ompi_packages "$suite")"
say_versions
chroot_mount
try "copy the tree" copy_trees
try_script "inside the chroot" chroot_run /work/source/tests/ompi/inside.sh "${@:1:$#-1}"
if [[ " $* " == *" --slurm "* ]]; then
    tally
    exit
fi
# Builds anew, as what is in the chroot's /work is installed elsewhere.
if [[ " $* " == *" --all "* ]]; then
    TALLY_TIMEOUT=1800 try "rbuf beside UCX, a short round" env -u RBUF_CHROOT_ENTERED RBUF_CACHE="$chroot_cache" \
        "$top/contrib/beside_ucx.sh" --suite "$suite" --quick --build "$TALLY_LOGS/beside_ucx"
fi
if ! "${MPIRUN:-mpirun}" --version 2>/dev/null | grep -q 'Open MPI) 4\.' ||
    ! test -x "${RBUF_PREFIX-}/libexec/rbuf/nas_is"; then
    skip "Open MPI 4.1 refuses the component of $series" "rbuf is not installed here for Open MPI 4.1"
else
    TALLY_TIMEOUT=60 try "Open MPI 4.1 refuses the component of $series" refused_here
fi
tally
