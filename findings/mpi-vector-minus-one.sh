#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Open MPI takes a stride of -1 byte for no stride: a type that should go backwards goes forwards.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable); MPICH 4.0.2 and 5.0.2 beside them.
# Input: types over the letters from k on, packed by MPI_Pack. MPI_Type_vector(5, 1, -1, MPI_CHAR) is the string
# backwards; the same by MPI_Type_create_hindexed_block; a stride of -2; and MPI_Type_create_hvector(3, 2, -1, MPI_CHAR).
# Expected by the MPI standard (MPI 3.1, section 4.1.2: block i of a vector begins i times the stride from the first one,
# and a stride may be negative): the same for the first two, k j i h g, lower bound -4. So it is with MPICH.
# Seen: no error, and other bytes, with each release of Open MPI. All other strides are right.
#
#                              vector -1      by places      vector -2      hvector 2, -1
#     Open MPI 4.1.4-3+b1      klmno lb 0     kjihg lb -4    kigec lb -8    klmnop lb 0
#     Open MPI 5.0.7-1         klmno lb 0     kjihg lb -4    kigec lb -8    klmnop lb 0
#     Open MPI 6.0.0~rc2-2     klmno lb 0     kjihg lb -4    kigec lb -8    klmnop lb 0
#     MPICH 4.0.2-3+b1         kjihg lb -4    kjihg lb -4    kigec lb -8    kljkij lb -2
#     MPICH 5.0.2-2            kjihg lb -4    kjihg lb -4    kigec lb -8    kljkij lb -2
#     as stated
#
# Why (source of 5.0.7): opal_datatype_add, which adds blocks to a type, takes a distance of -1 for "as far as the type is
# long", and vectors hand it their stride in bytes. MPI_Type_vector meets it with types of one byte,
# MPI_Type_create_hvector with all.
# For users of rbuf: packed and one-sided transfers get the type from Open MPI, so they move the same wrong bytes.
# MPI_Type_create_hindexed_block is right.
#
# Usage: findings/mpi-vector-minus-one.sh. It takes about a minute and 120 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-vector-minus-one
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libopenmpi3 libopenmpi-dev 4.1.4-3+b1
trixie libopenmpi40 libopenmpi-dev 5.0.7-1
sid libopenmpi40 libopenmpi-dev 6.0.0~rc2-2
bookworm libmpich12 libmpich-dev 4.0.2-3+b1
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
    root=$work/$1-$2
    mkdir -p "$root"
    packages=$(apt-get -s install "$2=$version" 2>"$work/log" | sed -n 's/^Inst \([^ ]*\).*/\1/p' |
        grep -Ev '^(libllvm|libamd|libz3|libhsa|libicu|systemd|passwd|perl)' | sed "s/^$2\$/&=$version/")
    # shellcheck disable=SC2086 # words
    (cd "$root" && apt-get -q download $packages "$3=$version") >"$work/log" 2>&1 ||
        give_up "$2 $version of Debian's $1 cannot be fetched: $(tail -n 1 "$work/log")"
    find "$root" -name '*.deb' -exec dpkg-deb -x {} "$root" \; -delete || give_up "$2 cannot be unpacked"
    unset APT_CONFIG
}

# Runs the program with the library in $root, alone: what it says is in $work/seen.
run() {
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu include shared=() loader each
    for each in mpich.so.12 mpi.so.40 open_mpi.so.40; do
        [ ! -e "${libraries%:*}/lib$each" ] || shared+=("${libraries%:*}/lib$each")
    done
    include=$(find "$root" -name mpi.h | grep -E '/(openmpi/include|mpich|mpich/include)/mpi.h$' | head -n 1)
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

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

static void show(MPI_Datatype type)
{
    char packed[64] = "", text[80];
    MPI_Aint lower, extent;
    int size = 0;

    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Pack(letters + 10, 1, type, packed, (int) sizeof(packed) - 1, &size, MPI_COMM_SELF);
    packed[size] = '\0';
    snprintf(text, sizeof(text), "%s lb %ld", packed, (long) lower);
    printf("%-15s", text);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Aint places[5] = {0, -1, -2, -3, -4};
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    MPI_Type_vector(5, 1, -1, MPI_CHAR, &type);
    show(type);
    MPI_Type_create_hindexed_block(5, 1, places, MPI_CHAR, &type);
    show(type);
    MPI_Type_vector(5, 1, -2, MPI_CHAR, &type);
    show(type);
    MPI_Type_create_hvector(3, 2, -1, MPI_CHAR, &type);
    show(type);
    printf("\n");
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
printf '%-25s%-15s%-15s%-15s%s\n' "" "vector -1" "by places" "vector -2" "hvector 2, -1"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    case $library in
    libopenmpi*) name="Open MPI $version" stated="klmno lb 0 kjihg lb -4 kigec lb -8 klmnop lb 0" ;;
    *) name="MPICH $version" stated="kjihg lb -4 kjihg lb -4 kigec lb -8 kljkij lb -2" ;;
    esac
    printf '%-25s%s\n' "$name" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
