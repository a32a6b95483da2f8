#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH: a persistent receive from MPI_PROC_NULL says it has come from MPI_ANY_SOURCE; with 4.0.2 MPI_Irecv says from rank 0.
#
# Software: MPICH 4.0.2 (Debian 12), 4.2.1 (Debian 13) and 5.0.2 (unstable); Open MPI 4.1.4, 5.0.7 and 6.0.0~rc2 beside them.
# Input: a receive of one int with tag 3 from MPI_PROC_NULL, by MPI_Recv, by MPI_Irecv and by MPI_Recv_init, started twice.
# Expected by the MPI standard (3.1, section 3.11: the status then has the source MPI_PROC_NULL, the tag MPI_ANY_TAG and the
# count 0): "null,any,0" four times.
# Seen:
#
#                                MPI_Recv    MPI_Irecv   MPI_Recv_init
#     Open MPI 4.1.4-3+b1        null,any,0  null,any,0  null,any,0 null,any,0
#     Open MPI 5.0.7-1           null,any,0  null,any,0  null,any,0 null,any,0
#     Open MPI 6.0.0~rc2-2       null,any,0  null,any,0  null,any,0 null,any,0
#     MPICH 4.0.2-3+b1           null,any,0  0,other,0   any,any,0 any,any,0
#     MPICH 4.3.0+really4.2.1-1  null,any,0  null,any,0  any,any,0 any,any,0
#     MPICH 5.0.2-2              null,any,0  null,any,0  any,any,0 any,any,0
#     as stated
#
# Why, as far as the pattern tells: "any,any,0" is the empty status of a persistent request that is not active (section 3.7.3).
# MPI_Irecv is MPICH's issue 6805.
# What it means: a halo exchange that asks the status whether there was a neighbour takes the edge for a neighbour: once
# it uses persistent requests or, with 4.0.2, MPI_Irecv. The transport has no part in it.
#
# Usage: findings/mpi-proc-null-status.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-proc-null-status
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
#include <string.h>

static const char *name(int rank)
{
    return rank == MPI_PROC_NULL ? "null" : rank == MPI_ANY_SOURCE ? "any" : rank == 0 ? "0" : "?";
}

static void show(const MPI_Status *status)
{
    int count;

    MPI_Get_count(status, MPI_INT, &count);
    printf("%s,%s,%d ", name(status->MPI_SOURCE), status->MPI_TAG == MPI_ANY_TAG ? "any" : "other", count);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Status status;
    int number = 0;

    MPI_Init(&argc, &argv);
    MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_SELF, &status);
    show(&status);

    MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_SELF, &request);
    MPI_Wait(&request, &status);
    show(&status);

    MPI_Recv_init(&number, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_SELF, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        show(&status);
    }
    MPI_Request_free(&request);
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
printf '%-27s%-12s%-12s%s\n' "" MPI_Recv MPI_Irecv MPI_Recv_init
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version"
    [ "$library" != libmpich12 ] || name="MPICH $version"
    case $suite,$library in
    *,libopenmpi*) stated="null,any,0 null,any,0 null,any,0 null,any,0" ;;
    bookworm,*) stated="null,any,0 0,other,0 any,any,0 any,any,0" ;;
    *) stated="null,any,0 null,any,0 any,any,0 any,any,0" ;;
    esac
    read -r a b c <"$work/seen"
    printf '%-27s%-12s%-12s%s\n' "$name" "$a" "$b" "$c"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
