#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Open MPI: MPI_Pack_size says 0 bytes for 4 GiB, 8 MiB for 4 GiB and 8 MiB, and a negative number for 2 GiB.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable); MPICH 4.0.2, 4.2.1 and 5.0.2 beside them.
# Input: MPI_Pack_size of 255, 256, 512 and 513 rows of 8 MiB, a contiguous type of doubles, and of 2^30 times MPI_INT.
# MPI_Pack_size_c of 513 rows where there is one.
# Expected by the MPI standard (3.1, section 4.2: an upper bound of what MPI_PACK adds to its position, and MPI_UNDEFINED
# where an int cannot express it): 2139095040, then "undefined" four times.
# Seen: no error, MPI_SUCCESS, and
#
#                                255 rows   256         512       513       2^30 ints MPI_Pack_size_c
#     Open MPI 4.1.4-3+b1        2139095040 -2147483648 0         8388608   0         -
#     Open MPI 5.0.7-1           2139095040 -2147483648 0         8388608   0         -
#     Open MPI 6.0.0~rc2-2       2139095040 -2147483648 0         8388608   0         4303355904
#     MPICH 4.0.2-3+b1           2139095040 undefined   undefined undefined undefined 4303355904
#     MPICH 4.3.0+really4.2.1-1  2139095040 undefined   undefined undefined undefined 4303355904
#     MPICH 5.0.2-2              2139095040 undefined   undefined undefined undefined 4303355904
#     as stated
#
# Why, as far as the numbers tell: Open MPI stores the lower 32 bits of the size. MPI_Type_size of the same library has
# MPI_UNDEFINED. The same for MPI_Pack_size_c in later sources is Open MPI's issue 14004.
# What it means: who asks whether the size is MPI_UNDEFINED, and then allocates as much, allocates nothing or too little, and
# attaches too small a buffer for MPI_Bsend. A negative size tells it, 8 MiB do not. Multiply by MPI_Type_size_x.
#
# Usage: findings/mpi-pack-size.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-pack-size
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

static void show(int count, MPI_Datatype type)
{
    int size = -1;

    MPI_Pack_size(count, type, MPI_COMM_SELF, &size);
    printf(size == MPI_UNDEFINED ? "undefined " : "%d ", size);
}

int main(int argc, char **argv)
{
    MPI_Datatype row;

    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(1 << 20, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    show(255, row);
    show(256, row);
    show(512, row);
    show(513, row);
    show(1 << 30, MPI_INT);
#if MPI_VERSION >= 4 && !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION >= 6
    MPI_Count size = -1;
    MPI_Pack_size_c(513, row, MPI_COMM_SELF, &size);
    printf("%lld\n", (long long) size);
#else
    printf("-\n");
#endif
    MPI_Type_free(&row);
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
printf '%-27s%-11s%-12s%-10s%-10s%-10s%s\n' "" "255 rows" 256 512 513 "2^30 ints" MPI_Pack_size_c
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="2139095040 -2147483648 0 8388608 0 -"
    [ "$suite" != sid ] || stated="${stated%-}4303355904"
    [ "$library" != libmpich12 ] || name="MPICH $version" stated="2139095040 undefined undefined undefined undefined 4303355904"
    read -r a b c d e f <"$work/seen"
    printf '%-27s%-11s%-12s%-10s%-10s%-10s%s\n' "$name" "$a" "$b" "$c" "$d" "$e" "$f"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
