#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH counts the elements of a structure in a structure wrongly: MPI_Get_elements says six where four have come.
#
# Software: MPICH 4.0.2 (Debian 12), 4.2.1 (Debian 13) and 5.0.2 (unstable); Open MPI 4.1.4, 5.0.7 and 6.0.0~rc2 beside them.
# Input: a process sends itself two of a type by MPI_Sendrecv, and asks MPI_Get_elements and MPI_Get_count for that type.
# Six types of MPI_Type_create_struct: {char, short}; {{char}, short}; {short, {char}}; {{double}, short, short};
# {{char, char}, short}; {double, {char, int}}. What stands in inner braces is a structure of its own.
# Expected by the MPI standard (3.1, section 4.1.11: the number of basic elements that have come, for whole copies the
# type's number times theirs): 4, 4, 4, 6, 6, 6 elements of 2 copies, as Open MPI says.
# Seen: the copies are right, the elements are not, without an error.
#
#                                c,s     {c},s   s,{c}   {d},s,s {c,c},s d,{c,i}
#     Open MPI 4.1.4-3+b1        4 of 2  4 of 2  4 of 2  6 of 2  6 of 2  6 of 2
#     Open MPI 5.0.7-1           4 of 2  4 of 2  4 of 2  6 of 2  6 of 2  6 of 2
#     Open MPI 6.0.0~rc2-2       4 of 2  4 of 2  4 of 2  6 of 2  6 of 2  6 of 2
#     MPICH 4.0.2-3+b1           4 of 2  6 of 2  5 of 2  3 of 2  8 of 2  6 of 2
#     MPICH 4.3.0+really4.2.1-1  4 of 2  6 of 2  5 of 2  3 of 2  8 of 2  6 of 2
#     MPICH 5.0.2-2              4 of 2  6 of 2  5 of 2  3 of 2  8 of 2  6 of 2
#     as stated
#
# Why, as far as the pattern tells: an inner structure of one kind of element makes MPICH take what follows for elements of
# that size: three bytes as three characters, 12 bytes as one double and a half. Inner structures of two kinds are right.
# What it means: a program that finds the end of a partly filled last record by MPI_Get_elements reads too much or too
# little with MPICH. MPI_Get_count is right, and MPI_Get_elements of flat structures.
#
# Usage: findings/mpi-nested-elements.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-nested-elements
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

static char memory[1024];

static MPI_Datatype structure(int members, MPI_Datatype first, MPI_Datatype second, MPI_Datatype third)
{
    const MPI_Datatype types[3] = {first, second, third};
    const MPI_Aint places[3] = {0, 64, 128};
    const int ones[3] = {1, 1, 1};
    MPI_Datatype type;

    MPI_Type_create_struct(members, ones, places, types, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Sends two of the type. */
static void show(MPI_Datatype type)
{
    MPI_Status status;
    int elements, count;

    MPI_Sendrecv(memory, 2, type, 0, 0, memory + 512, 2, type, 0, 0, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, type, &elements);
    MPI_Get_count(&status, type, &count);
    printf("%d of %d  ", elements, count);
}

int main(int argc, char **argv)
{
    const MPI_Datatype none = MPI_DATATYPE_NULL;

    MPI_Init(&argc, &argv);
    MPI_Datatype letter = structure(1, MPI_CHAR, none, none);
    MPI_Datatype number = structure(1, MPI_DOUBLE, none, none);
    show(structure(2, MPI_CHAR, MPI_SHORT, none));
    show(structure(2, letter, MPI_SHORT, none));
    show(structure(2, MPI_SHORT, letter, none));
    show(structure(3, number, MPI_SHORT, MPI_SHORT));
    show(structure(2, structure(2, MPI_CHAR, MPI_CHAR, none), MPI_SHORT, none));
    show(structure(2, MPI_DOUBLE, structure(2, MPI_CHAR, MPI_INT, none), none));
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
printf '%-27s%-8s%-8s%-8s%-8s%-8s%s\n' "" "c,s" "{c},s" "s,{c}" "{d},s,s" "{c,c},s" "d,{c,i}"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="4 of 2 4 of 2 4 of 2 6 of 2 6 of 2 6 of 2"
    [ "$library" != libmpich12 ] || name="MPICH $version" stated="4 of 2 6 of 2 5 of 2 3 of 2 8 of 2 6 of 2"
    printf '%-27s%s\n' "$name" "$(sed 's/ *$//' "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
