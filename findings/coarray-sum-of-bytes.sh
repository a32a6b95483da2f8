#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Coarrays over Open MPI: co_sum of real(10), real(16) and integer(16) adds nothing but the lowest byte, without an error.
#
# Software: OpenCoarrays 2.10.1 over Open MPI 4.1.4, and over MPICH 4.0.2 (Debian 12); the machine's gfortran, 12 here.
# Input: two images. Each has 1.5 times its number as real(8), real(10) and real(16), and 200 times its number as
# integer(8) and integer(16), and calls co_sum for each, which then image 1 prints.
# Expected: 4.5 and 600 each time, or an error. Fortran 2018 (16.9.50) lets co_sum take any numeric type, and gfortran
# has these kinds. The MPI standard (MPI 3.1, section 5.9.2) gives MPI_BYTE the bitwise operations only, not MPI_SUM.
# Seen: Open MPI gives image 1 its own numbers back. Of 600 only the lowest byte is right: 88 is 0x58, 600 is 0x258, and
# the byte above comes from 200. MPICH refuses.
#
#     Open MPI 4.1.4-3+b1
#     real(8) 4.5 integer(8) 600
#     real(10) 1.5 real(16) 1.5 integer(16) 88
#     MPICH 4.0.2-3+b1
#     real(8) 4.5 integer(8) 600
#     MPI_SUM operation not defined for this datatype
#     as stated
#
# Why: for a kind that it does not know OpenCoarrays calls MPI_Allreduce with one MPI_BYTE (MPICH's error shows it), and Open
# MPI lets MPI_SUM work on bytes, against the standard. Each alone does little harm. co_max and co_min go the same
# way; co_broadcast is right. Small integers come out right, as long as no sum passes 255.
# It does not depend on the transport, so users of rbuf meet it as others do.
#
# Usage: findings/coarray-sum-of-bytes.sh. It takes about half a minute and 60 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=coarray-sum-of-bytes
# The release, and the versions in it. Where a mirror has them no more, what the release has is taken.
suite=bookworm
openmpi=4.1.4-3+b1
mpich=4.0.2-3+b1

give_up() { # REASON
    echo "$me: $1" >&2
    exit 2
}

# A configuration of apt in the temporary directory, that knows one release only.
open_release() { # SUITE
    local apt=$work/apt-$1 mirror keys=/usr/share/keyrings/debian-archive-keyring.gpg option=
    export APT_CONFIG=$apt/apt.conf
    [ ! -e "$APT_CONFIG" ] || return 0
    # shellcheck disable=SC2016 # for apt-get
    mirror=$(APT_CONFIG='' apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
        'Component: main' 2>/dev/null | head -n 1)
    [ -n "$mirror" ] || give_up "apt's sources name no mirror of Debian; apt-get update may help"
    [ ! -f "$keys" ] || option="[signed-by=$keys] "
    mkdir -p "$apt"/{lists,archives}/partial "$apt"/{state,parts}
    : >"$apt/status"
    echo "deb $option$mirror $1 main" >"$apt/sources.list"
    printf '%s "%s";\n' Dir::State "$apt/state" Dir::State::lists "$apt/lists" Dir::State::status "$apt/status" \
        Dir::Cache "$apt" Dir::Etc::sourcelist "$apt/sources.list" Dir::Etc::sourceparts "$apt/parts" \
        Dir::Etc::preferencesparts "$apt/parts" APT::Architecture amd64 APT::Sandbox::User root \
        APT::Install-Recommends 0 Acquire::Languages none >"$APT_CONFIG"
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $1: $(tail -n 1 "$work/log")"
}

# Unpacks what the packages need into $root, but not what comes with gfortran and its C library. Sets $version.
unpack() { # DIRECTORY VERSION PACKAGE...: the version is that of the first one
    local packages
    root=$work/$1 version=$2
    shift 2
    mkdir -p "$root"
    apt-cache show "$1=$version" >"$work/log" 2>&1 || # the mirror has another one now
        version=$(apt-cache policy "$1" | sed -n 's/ *Candidate: //p')
    packages=$(apt-get -s install "$1=$version" "${@:2}" 2>"$work/log" | sed -n 's/^Inst \([^ ]*\).*/\1/p' |
        grep -Ev '^(libc6|libgcc|libgfortran|libquadmath|libstdc|gcc-|libicu|passwd|perl)' | sed "s/^$1\$/&=$version/")
    # shellcheck disable=SC2086 # words
    (cd "$root" && apt-get -q download $packages) >"$work/log" 2>&1 ||
        give_up "$1 $version cannot be fetched: $(tail -n 1 "$work/log")"
    find "$root" -name '*.deb' -exec dpkg-deb -x {} "$root" \; -delete || give_up "$1 cannot be unpacked"
}

write_program() {
    cat <<'END'
program sums
    implicit none
    real(8) :: r8
    real(10) :: r10
    real(16) :: r16
    integer(8) :: i8
    integer(16) :: i16

    r8 = 1.5_8 * this_image()
    r10 = 1.5_10 * this_image()
    r16 = 1.5_16 * this_image()
    i8 = 200 * this_image()
    i16 = 200 * this_image()
    call co_sum(r8)
    call co_sum(i8)
    if (this_image() == 1) then
        print '(a, f3.1, a, i0)', 'real(8) ', r8, ' integer(8) ', i8
        flush (6)
    end if
    sync all
    call co_sum(r10)
    call co_sum(r16)
    call co_sum(i16)
    if (this_image() == 1) print '(2(a, f3.1), a, i0)', 'real(10) ', r10, ' real(16) ', r16, ' integer(16) ', i16
end program sums
END
}

# What two images say is in $work/seen, and what the library says of an error.
run() { # LIBRARY START...: how to start two processes
    local lib=$root/usr/lib/x86_64-linux-gnu caf
    caf=$(find "$root" -name "libcaf_$1.so.3" -type f | head -n 1)
    write_program >"$work/sums.f90"
    gfortran -O1 -fcoarray=lib "$work/sums.f90" -o "$root/program" "$caf" -Wl,--allow-shlib-undefined >"$work/log" 2>&1 ||
        give_up "the program cannot be compiled: $(tail -n 1 "$work/log")"
    shift
    (cd "$work" && env -i PATH="$root/usr/bin:$PATH" HOME="$work" TMPDIR="$work" OPAL_PREFIX="$root/usr" \
        LD_LIBRARY_PATH="$lib:${caf%/*}:$root/lib/x86_64-linux-gnu" OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none \
        OMPI_MCA_osc=^ucx OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        timeout -k 5 60 "$@" "$root/program") </dev/null >"$work/out" 2>"$work/log"
    grep -E '^(real|integer)' "$work/out" >"$work/seen"
    grep -ho 'MPI_SUM operation not.*datatype' "$work/out" "$work/log" | head -n 1 >>"$work/seen"
    cat "$work/seen"
    grep -q '^real(8) 4.5 integer(8) 600$' "$work/seen" || give_up "two images cannot be run: $(tail -n 1 "$work/log")"
}

command -v gfortran >/dev/null || give_up "gfortran is missing"
command -v dpkg-deb >/dev/null || give_up "dpkg-deb is missing: package dpkg"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
changed=
open_release "$suite"
unpack openmpi "$openmpi" libopenmpi3 openmpi-bin libcaf-openmpi-3
echo "Open MPI $version"
run openmpi "$root/usr/bin/mpirun.openmpi" -np 2
[ "$(sed 1d "$work/seen")" = "real(10) 1.5 real(16) 1.5 integer(16) 88" ] || changed+="Open MPI. "
unpack mpich "$mpich" libmpich12 mpich libcaf-mpich-3
echo "MPICH $version"
run mpich "$root/usr/bin/mpiexec.hydra" -launcher fork -n 2
[ "$(sed 1d "$work/seen")" = "MPI_SUM operation not defined for this datatype" ] || changed+="MPICH. "
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
