#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Open MPI 5.0.7 sends wrong bytes of doubles in packed records: of a vector of vectors whose stride is no multiple of 8.
#
# Software: Open MPI 5.0.7 (Debian 13), with pml/ob1 and btl/self; 4.1.4 (Debian 12) and 6.0.0~rc2 (unstable) are right.
# Input: 400 groups, one each 64 bytes, of three doubles, 8 to 20 bytes from one to the next; 12 is a packed record of a
# double and an int. The type is MPI_Type_create_hvector(400, 1, 64, hvector(3, 1, STRIDE, MPI_DOUBLE)); nothing overlaps.
# One process sends it to itself by MPI_Sendrecv, and receives 9600 bytes; MPI_Pack of the same is what they should be.
# Expected by the MPI standard (3.1, section 4.1: the displacements of a type are bytes, any number of them): the same.
# Seen: no error, and 16 bytes that are others with 5.0.7, from byte 944 on, unless the stride is a multiple of 8.
#
#     bytes that are wrong, stride    8    9   10   11   12   14   16   18   20
#     Open MPI 4.1.4-3+b1             0    0    0    0    0    0    0    0    0
#     Open MPI 5.0.7-1                0   16   16   16   16   16    0   16   16
#     Open MPI 6.0.0~rc2-2            0    0    0    0    0    0    0    0    0
#     as stated
#
# Why: 944 bytes are what btl/self takes of a message at first; the next part begins behind the first double of a group,
# and what is read there lies too low by the stride less 8. So much the pattern tells. It is no matter of btl/self: between
# two processes over btl/sm such types have wrong bytes as well, the first one at 4016.
# For users of rbuf: a message of such a type goes through the same routines of Open MPI 5.0, cut at other places. Records
# without gaps are safe as MPI_BYTE, or by MPI_Pack.
#
# Usage: findings/mpi-packed-records.sh. It takes a minute or two and 100 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-packed-records
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libopenmpi3 libopenmpi-dev 4.1.4-3+b1
trixie libopenmpi40 libopenmpi-dev 5.0.7-1
sid libopenmpi40 libopenmpi-dev 6.0.0~rc2-2"

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
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu include shared=() loader each
    for each in mpi.so.40 open_mpi.so.40; do
        [ ! -e "${libraries%:*}/lib$each" ] || shared+=("${libraries%:*}/lib$each")
    done
    include=$(find "$root" -name mpi.h | grep '/openmpi/include/mpi.h$' | head -n 1)
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
#include <string.h>

enum { GROUPS = 400, BYTES = GROUPS * 3 * 8 };

static char memory[GROUPS * 64], packed[BYTES], got[BYTES];

int main(int argc, char **argv)
{
    const int strides[] = {8, 9, 10, 11, 12, 14, 16, 18, 20};

    MPI_Init(&argc, &argv);
    for (int i = 0; i < (int) sizeof(memory); i++) {
        memory[i] = (char) (i * 2654435761u >> 13);
    }
    for (int i = 0; i < (int) (sizeof(strides) / sizeof(strides[0])); i++) {
        MPI_Datatype group, type;
        int place = 0, wrong = 0;

        MPI_Type_create_hvector(3, 1, strides[i], MPI_DOUBLE, &group);
        MPI_Type_create_hvector(GROUPS, 1, 64, group, &type);
        MPI_Type_commit(&type);
        MPI_Pack(memory, 1, type, packed, BYTES, &place, MPI_COMM_SELF);
        memset(got, 0, BYTES);
        MPI_Sendrecv(memory, 1, type, 0, 0, got, BYTES, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        for (int byte = 0; byte < BYTES; byte++) {
            wrong += got[byte] != packed[byte];
        }
        printf("%5d", wrong);
        MPI_Type_free(&type);
        MPI_Type_free(&group);
    }
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
echo "bytes that are wrong, stride    8    9   10   11   12   14   16   18   20"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    stated="0 0 0 0 0 0 0 0 0"
    [ "$suite" != trixie ] || stated="0 16 16 16 16 16 0 16 16"
    printf '%-28s%s\n' "Open MPI $version" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="Open MPI $version. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
