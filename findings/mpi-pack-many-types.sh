#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH 4.0 packs fewer bytes of a contiguous type the more datatypes a program has: 85 of 100 with 1400 types.
#
# Software: MPICH 4.0.2 (Debian 12); 4.2.1 (Debian 13) and 5.0.2 (unstable) are right.
# Input: a program that makes 2600 times the same type, MPI_Type_contiguous(25, MPI_FLOAT), and keeps all. With the newest
# it calls MPI_Pack, once it has 1, 600, 800, 1100, 1400, 2100 and 2600 of them. Then it packs 25 MPI_FLOAT without a type.
# Expected by the MPI standard (3.1, section 4.2: MPI_Pack moves the position behind what it has packed): 100 bytes each.
# Seen: MPI_SUCCESS, a position that is too low, and nothing in the buffer behind it.
#
#     types                      1    600  800  1100 1400 2100 2600 none
#     MPICH 4.0.2-3+b1           100  100  99   96   85   96   68   100
#     MPICH 4.3.0+really4.2.1-1  100  100  100  100  100  100  100  100
#     MPICH 5.0.2-2              100  100  100  100  100  100  100  100
#     as stated
#
# Why, as far as the numbers tell: a predefined type's handle has its size in bits 8 to 15, and MPI_Pack reads them there for
# other types as well, to cut the data to whole elements. There a derived type has a part of its number: 3 makes 99 of
# 100, 0x10 makes 96, 0x11 makes 85. Types that are not contiguous, MPI_Send and MPI_Unpack do not.
# What it means: the next MPI_Pack writes over the missing place, and all behind it is shifted. A library that keeps
# some types for each neighbour and field comes to such numbers. MPI_Send of the type itself is right.
#
# Usage: findings/mpi-pack-many-types.sh. It takes a minute or two and 100 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-pack-many-types
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libmpich12 libmpich-dev 4.0.2-3+b1
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
    root=$work/$1
    mkdir -p "$root"
    packages=$(apt-get -s install "$2=$version" 2>"$work/log" | sed -n 's/^Inst \([^ ]*\).*/\1/p' |
        grep -Ev '^(libllvm|libamd|libz3|libhsa|libicu|systemd|passwd|perl)' |
        sed "s/^$2\$/&=$version/")
    # shellcheck disable=SC2086 # words
    (cd "$root" && apt-get -q download $packages "$3=$version") >"$work/log" 2>&1 ||
        give_up "$2 $version of Debian's $1 cannot be fetched: $(tail -n 1 "$work/log")"
    find "$root" -name '*.deb' -exec dpkg-deb -x {} "$root" \; -delete || give_up "$2 cannot be unpacked"
    unset APT_CONFIG
}

# Runs the program with the library in $root, alone: what it says is in $work/seen.
run() {
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu include loader
    include=$(find "$root" -name mpi.h | grep -E '/mpich(/include)?/mpi.h$' | head -n 1)
    loader=$(find "$root" -name ld-linux-x86-64.so.2 -type f | head -n 1)
    write_program | gcc -std=gnu11 -O2 -Wall -x c - -x none -o "$root/program" -I"$(dirname "$include")" -Wl,--no-as-needed \
        "${libraries%:*}/libmpich.so.12" -Wl,--allow-shlib-undefined >"$work/log" 2>&1 ||
        give_up "the program cannot be compiled: $(tail -n 1 "$work/log")"
    (cd "$work" && env -i HOME="$work" TMPDIR="$work" timeout -k 5 60 "$loader" --library-path "$libraries" \
        "$root/program") </dev/null >"$work/seen" 2>"$work/log" ||
        give_up "the program failed with $version: $(tail -n 1 "$work/log")"
}

write_program() {
    cat <<'END'
#include <mpi.h>
#include <stdio.h>

static float numbers[25];
static char packed[1000];

static int pack(int count, MPI_Datatype type)
{
    int place = 0;

    return MPI_Pack(numbers, count, type, packed, sizeof(packed), &place, MPI_COMM_SELF) == MPI_SUCCESS ? place : -1;
}

int main(int argc, char **argv)
{
    const int wanted[] = {1, 600, 800, 1100, 1400, 2100, 2600, 0};
    int next = 0;

    MPI_Init(&argc, &argv);
    for (int types = 1; wanted[next] != 0; types++) {
        MPI_Datatype type;

        MPI_Type_contiguous(25, MPI_FLOAT, &type);
        MPI_Type_commit(&type);
        if (types == wanted[next]) {
            printf("%-4d ", pack(1, type));
            next++;
        }
    }
    printf("%d\n", pack(25, MPI_FLOAT));
    fflush(stdout);
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
echo "types                      1    600  800  1100 1400 2100 2600 none"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    stated="100 100 100 100 100 100 100 100"
    [ "$suite" != bookworm ] || stated="100 100 99 96 85 96 68 100"
    printf '%-27s%s\n' "MPICH $version" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="MPICH $version. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
