#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Open MPI's MPI_SEEK_END misses the end of a file seen through a view with holes: data are overwritten, or lie far behind.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable), io/ompio, their default; MPICH 5.0.2
# (ROMIO) beside them.
# Input: a file of 25 bytes, a to y, and a view of which each four bytes show the first two (etype MPI_CHAR): 13 etypes
# are in the file. The program seeks to the end and writes X and Y. Then a view of MPI_INT without holes over the first
# 22 bytes of the file, and a seek to the end.
# Expected by the MPI standard (MPI 3.1, section 13.1.1, "end of file": the offset of the first etype that the view shows
# behind the last byte of the file): 13, so X and Y are the bytes 25 and 28; and 6 for the integers, as the sixth one,
# offset 5, has two bytes in the file. So it is with MPICH.
# Seen: 4.1.4 goes to the end of the first piece of the view, whatever the file's size, and X and Y overwrite data. The
# later ones take the position in bytes for an offset in the view. An integer that has begun is overwritten by all.
#
#                              end   integers   the file after writing there
#     Open MPI 4.1.4-3+b1      2     5          abcdXYghijklmnopqrstuvwxy
#     Open MPI 5.0.7-1         25    5          abcdefghijklmnopqrstuvwxy........................X..Y
#     Open MPI 6.0.0~rc2-2     25    5          abcdefghijklmnopqrstuvwxy........................X..Y
#     MPICH 5.0.2-2            13    6          abcdefghijklmnopqrstuvwxyX..Y
#     as stated
#
# Why (source of 5.0.7): mca_io_ompio_file_get_eof_offset finds the end in bytes of the file, holes and all, rounded down to
# whole etypes. MPI_File_seek takes that for an offset in the view.
# A program that appends should set a view that begins at the file's size, or count for itself.
#
# Usage: findings/mpi-seek-end-of-view.sh. It takes about a minute and 120 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-seek-end-of-view
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libopenmpi3 libopenmpi-dev 4.1.4-3+b1
trixie libopenmpi40 libopenmpi-dev 5.0.7-1
sid libopenmpi40 libopenmpi-dev 6.0.0~rc2-2
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

int main(int argc, char **argv)
{
    char bytes[80];
    MPI_Datatype two, view;
    MPI_Offset end, integers, size;
    MPI_File file;

    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(2, MPI_CHAR, &two);
    MPI_Type_create_resized(two, 0, 4, &view);
    MPI_Type_commit(&view);
    MPI_File_open(MPI_COMM_SELF, "file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, "abcdefghijklmnopqrstuvwxy", 25, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_CHAR, view, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &end);
    /* One by one, so that nobody writes back what lies between them. */
    MPI_File_write(file, "X", 1, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_write(file, "Y", 1, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    MPI_File_get_size(file, &size);
    MPI_File_read_at(file, 0, bytes, (int) size, MPI_CHAR, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++) {
        bytes[i] = bytes[i] == '\0' ? '.' : bytes[i];
    }
    MPI_File_set_size(file, 22);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &integers);
    printf("%-6ld%-11ld%.*s\n", (long) end, (long) integers, (int) size, bytes);
    MPI_File_close(&file);
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
printf '%-25s%-6s%-11s%s\n' "" end integers "the file after writing there"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    case "$library $suite" in
    "libopenmpi3 "*) name="Open MPI $version" stated="2 5 abcdXYghijklmnopqrstuvwxy" ;;
    libopenmpi*) name="Open MPI $version" stated="25 5 abcdefghijklmnopqrstuvwxy........................X..Y" ;;
    *) name="MPICH $version" stated="13 6 abcdefghijklmnopqrstuvwxyX..Y" ;;
    esac
    printf '%-25s%s\n' "$name" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
