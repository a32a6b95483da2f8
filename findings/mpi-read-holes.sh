#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# ROMIO (MPICH, and Open MPI's io/romio) never comes to the end of a file in a view with holes: it reads on, and old data come.
#
# Software: MPICH 4.0.2 (Debian 12), 4.2.1 (Debian 13) and 5.0.2 (unstable); Open MPI 4.1.4, 5.0.7 and 6.0.0~rc2 with io/ompio,
# the first two with io/romio321 and io/romio341 as well.
# Input: a file of ten ints, 10 to 19. MPI_File_read_at of eight ints, three in front of its end, then far behind it: as they are;
# into memory with holes (every other int); through a view with such holes. The buffer holds -1 before.
# Expected by the MPI standard (3.1, section 13.4.1: a program detects the end of the file by the amount of data read, that is
# less than asked for; MPI_Get_count tells it): the count and the ints that have changed in the buffer "3,3", then "0,0".
# Seen: so where nothing has holes. Elsewhere ROMIO reads eight of eight, anywhere, and writes all of them into the buffer:
#
#                                            as they are   holes in memory   holes in the view
#     Open MPI 4.1.4-3+b1, ompio             3,3 0,0       3,3 0,0           3,3 0,0
#     Open MPI 4.1.4-3+b1, romio321          3,3 0,0       8,8 8,8           8,8 8,8
#     Open MPI 5.0.7-1, ompio                3,3 0,0       3,3 0,0           3,3 0,0
#     Open MPI 5.0.7-1, romio341             3,3 0,0       8,8 8,8           8,8 8,8
#     Open MPI 6.0.0~rc2-2, ompio            3,3 0,0       3,3 0,0           3,3 0,0
#     MPICH 4.0.2-3+b1                       3,3 0,0       8,8 8,8           8,8 8,8
#     MPICH 4.3.0+really4.2.1-1              3,3 0,0       8,8 8,8           8,8 8,8
#     MPICH 5.0.2-2                          3,3 0,0       8,8 8,8           8,8 8,8
#     as stated
#
# What stands in the buffer then is what the memory of the library held: often the records of the read before, so that the end
# of the file comes again and again.
# Why, as far as the pattern tells: ROMIO reads the whole region with its holes into a buffer of its own (data sieving), and
# copies out of it what was asked for, however much the file gave. The wrong count in a view is MPICH's issue 2347. With
# the hint romio_ds_read=disable the buffer stays as it was; the count is wrong all the same. MPI_File_read_at_all of two
# processes is right with MPICH 4.2.1 and 5.0.2, not with 4.0.2.
# What it means: a loop that reads records until there are fewer never ends, or works with records that are in no file.
# Take the size by MPI_File_get_size. The transport has no part in it.
#
# Usage: findings/mpi-read-holes.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-read-holes
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
        OMPI_MCA_pml=ob1 OMPI_MCA_io="$io" \
        OMPI_MCA_ess_singleton_isolated=1 timeout -k 5 60 "$loader" --library-path "$libraries" \
        "$root/program") </dev/null >"$work/seen" 2>"$work/log" ||
        give_up "the program failed with $version: $(tail -n 1 "$work/log")"
}

write_program() {
    cat <<'END'
#include <mpi.h>
#include <stdio.h>

enum { NUMBERS = 10, ROOM = 8 };

/* How many a read at a place says it has got, and how many places of the buffer it has changed. */
static void show(MPI_File file, MPI_Offset place, int count, MPI_Datatype type)
{
    int buffer[2 * ROOM], said, changed = 0;
    MPI_Status status;

    for (int i = 0; i < 2 * ROOM; i++) {
        buffer[i] = -1;
    }
    MPI_File_read_at(file, place, buffer, count, type, &status);
    MPI_Get_count(&status, type, &said);
    for (int i = 0; i < 2 * ROOM; i++) {
        changed += buffer[i] != -1;
    }
    printf("%d,%-4d", said, changed);
}

int main(int argc, char **argv)
{
    const int numbers[NUMBERS] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    MPI_Datatype spread;
    MPI_File file;

    MPI_Init(&argc, &argv);
    MPI_File_open(MPI_COMM_SELF, "numbers", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at(file, 0, numbers, NUMBERS, MPI_INT, MPI_STATUS_IGNORE);
    /* One int of two, for memory and for the file */
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);

    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    show(file, 7, ROOM, MPI_INT);
    show(file, 1000, ROOM, MPI_INT);
    printf("  ");
    show(file, 7, ROOM, spread);
    show(file, 1000, ROOM, spread);
    printf("  ");
    MPI_File_set_view(file, 0, MPI_INT, spread, "native", MPI_INFO_NULL);
    show(file, 2, ROOM, MPI_INT); /* the fifth, seventh and ninth are left */
    show(file, 1000, ROOM, MPI_INT);
    printf("\n");
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
printf '%-39s%-14s%-18s%s\n' "" "as they are" "holes in memory" "holes in the view"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    case $suite,$library in
    bookworm,libopenmpi3) inputs="ompio romio321" ;;
    trixie,libopenmpi40) inputs="ompio romio341" ;;
    *,libopenmpi*) inputs=ompio ;;
    *) inputs=romio ;;
    esac
    for io in $inputs; do
        run
        name="Open MPI $version, $io" stated="3,3 0,0 8,8 8,8 8,8 8,8"
        [ "$library" != libmpich12 ] || name="MPICH $version"
        [ "$io" != ompio ] || stated="3,3 0,0 3,3 0,0 3,3 0,0"
        read -r a b c d e f <"$work/seen"
        printf '%-39s%-14s%-18s%s\n' "$name" "$a $b" "$c $d" "$e $f"
        [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
    done
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
