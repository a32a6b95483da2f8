#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A structure with a resized member or a subarray has another extent with MPICH than with Open MPI, so arrays of it differ.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable); MPICH 4.0.2, 4.2.1 and 5.0.2.
# Input: structures (MPI_Type_create_struct) of an int at 0 and one at 8: plain; the first one resized to the bounds that it
# has, 0 to 4; of a 4 x 4 subarray at 0 and an int at 64; of an int resized to 32 bytes at 16 and an int at 0. The bounds by
# MPI_Type_get_extent, and what MPI_Pack takes of the ints 0, 1, 2 ... for two of the second one.
# Expected by the MPI standard (3.1, section 4.1.6): MPI_Type_create_resized and MPI_Type_create_subarray put markers into
# the type, and where a structure has markers, they alone say where it begins and ends: as Open MPI has it. Expected by most
# programmers: that a type resized to its own bounds changes nothing, and that a structure holds its members, as with MPICH.
# Seen: no error with either one. Who sends by one and reads a file of the other, or moves a program, gets other data.
#
#                                plain  resized subarray wide   two of "resized"
#     Open MPI 4.1.4-3+b1        0-12   0-4     0-64     16-48  0 2 1 3
#     Open MPI 5.0.7-1           0-12   0-4     0-64     16-48  0 2 1 3
#     Open MPI 6.0.0~rc2-2       0-12   0-4     0-64     16-48  0 2 1 3
#     MPICH 4.0.2-3+b1           0-12   0-12    0-68     0-48   0 2 3 5
#     MPICH 4.3.0+really4.2.1-1  0-12   0-12    0-68     0-48   0 2 3 5
#     MPICH 5.0.2-2              0-12   0-12    0-68     0-48   0 2 3 5
#     as stated
#
# Why: MPICH has dropped markers with MPI_LB and MPI_UB (its issue 2220), Open MPI keeps them (its issue 8560).
# What it means: resize each structure itself, to what sizeof says, before an array of it goes anywhere; then both agree.
#
# Usage: findings/mpi-sticky-bounds.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-sticky-bounds
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libopenmpi3 libopenmpi-dev 4.1.4-3+b1
trixie libopenmpi40 libopenmpi-dev 5.0.7-1
sid libopenmpi40 libopenmpi-dev 6.0.0~rc2-2
bookworm libmpich12 libmpich-dev 4.0.2-3+b1
trixie libmpich12 libmpich-dev 4.3.0+really4.2.1-1
sid libmpich12 libmpich-dev 5.0.2-2"

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
    echo none >"$work/have-$1"
    echo "deb $option$mirror $1 main" >"$apt/sources.list"
    printf '%s "%s";\n' Dir::State "$apt/state" Dir::State::lists "$apt/lists" Dir::State::status "$apt/status" \
        Dir::Cache "$apt" Dir::Etc::sourcelist "$apt/sources.list" Dir::Etc::sourceparts "$apt/parts" \
        Dir::Etc::preferencesparts "$apt/parts" APT::Architecture amd64 APT::Sandbox::User root \
        APT::Install-Recommends 0 Acquire::Languages none >"$APT_CONFIG"
    apt-get -q update >"$work/log" 2>&1 || give_up "apt cannot read Debian's $1: $(tail -n 1 "$work/log")"
}

# Unpacks a library, what it needs and its headers into $root, but nothing for AMD's graphics. Sets $version.
unpack() { # SUITE LIBRARY HEADERS VERSION
    local packages
    open_release "$1"
    version=$4
    apt-cache show "$2=$4" "$3=$4" >"$work/log" 2>&1 || # the mirror has another one now
        version=$(apt-cache policy "$2" | sed -n 's/ *Candidate: //p')
    root=$work/$1 # for both libraries of a release
    mkdir -p "$root"
    packages=$(apt-get -s install "$2=$version" 2>"$work/log" | sed -n 's/^Inst \([^ ]*\).*/\1/p' |
        grep -Ev '^(libllvm|libamd|libz3|libhsa|libicu|systemd|passwd|perl)' | grep -Fvx -f "$work/have-$1" |
        tee -a "$work/have-$1" | sed "s/^$2\$/&=$version/")
    # shellcheck disable=SC2086 # words
    (cd "$root" && apt-get -q download $packages "$3=$version") >"$work/log" 2>&1 ||
        give_up "$2 $version of Debian's $1 cannot be fetched: $(tail -n 1 "$work/log")"
    find "$root" -name '*.deb' -exec dpkg-deb -x {} "$root" \; -delete || give_up "$2 cannot be unpacked"
    unset APT_CONFIG
}

# Runs the program with the library in $root, alone: what it says is in $work/seen.
run() {
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu include shared=() loader each
    local names="mpi.so.40 open_mpi.so.40" headers='/openmpi/include/mpi.h$'
    [ "$library" != libmpich12 ] || names=mpich.so.12 headers='/mpich(/include)?/mpi.h$'
    for each in $names; do
        [ ! -e "${libraries%:*}/lib$each" ] || shared+=("${libraries%:*}/lib$each")
    done
    include=$(find "$root" -name mpi.h | grep -E "$headers" | head -n 1)
    loader=$(find "$root" -name ld-linux-x86-64.so.2 -type f | head -n 1)
    write_program | gcc -std=gnu11 -O2 -Wall -x c - -x none -o "$root/program" -I"$(dirname "$include")" -Wl,--no-as-needed \
        "${shared[@]}" -Wl,--allow-shlib-undefined >"$work/log" 2>&1 ||
        give_up "the program cannot be compiled: $(tail -n 1 "$work/log")"
    (cd "$work" && env -i HOME="$work" TMPDIR="$work" OPAL_PREFIX="$root/usr" PMIX_PREFIX="$root/usr" OMPI_MCA_btl=self \
        OMPI_MCA_pml=ob1 OMPI_MCA_ess_singleton_isolated=1 timeout -k 5 60 "$loader" --library-path "$libraries" \
        "$root/program") </dev/null >"$work/seen" 2>"$work/log" ||
        give_up "the program failed with $version: $(tail -n 1 "$work/log")"
}

write_program() {
    cat <<'END'
#include <mpi.h>
#include <stdio.h>

/* Two members; shows where the structure begins and ends. */
static MPI_Datatype structure(MPI_Datatype first, MPI_Aint at, MPI_Datatype second, MPI_Aint then)
{
    const MPI_Datatype types[2] = {first, second};
    const MPI_Aint places[2] = {at, then};
    const int ones[2] = {1, 1};
    MPI_Datatype type;
    MPI_Aint lower, extent;

    MPI_Type_create_struct(2, ones, places, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    printf("%ld-%ld ", (long) lower, (long) (lower + extent));
    return type;
}

int main(int argc, char **argv)
{
    const int sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {1, 1};
    int numbers[] = {0, 1, 2, 3, 4, 5, 6, 7}, packed[4] = {0}, place = 0;
    MPI_Datatype same, subarray, wide, type;

    MPI_Init(&argc, &argv);
    MPI_Type_create_resized(MPI_INT, 0, 4, &same);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &subarray);
    MPI_Type_create_resized(MPI_INT, 0, 32, &wide);
    structure(MPI_INT, 0, MPI_INT, 8);
    type = structure(same, 0, MPI_INT, 8);
    structure(subarray, 0, MPI_INT, 64);
    structure(wide, 16, MPI_INT, 0);
    MPI_Pack(numbers, 2, type, packed, sizeof(packed), &place, MPI_COMM_SELF);
    printf("%d %d %d %d\n", packed[0], packed[1], packed[2], packed[3]);
    MPI_Finalize();
    return 0;
}
END
}

command -v gcc >/dev/null || give_up "gcc is missing"
command -v dpkg-deb >/dev/null || give_up "dpkg-deb is missing: package dpkg"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM
changed=
printf '%-27s%-7s%-8s%-9s%-7s%s\n' "" plain resized subarray wide 'two of "resized"'
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="0-12 0-4 0-64 16-48 0 2 1 3"
    [ "$library" != libmpich12 ] || name="MPICH $version" stated="0-12 0-12 0-68 0-48 0 2 3 5"
    read -r plain resized subarray wide rest <"$work/seen"
    printf '%-27s%-7s%-8s%-9s%-7s%s\n' "$name" "$plain" "$resized" "$subarray" "$wide" "$rest"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
