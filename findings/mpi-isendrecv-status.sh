#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH: the status of MPI_Isendrecv belongs to another message, and a message that is longer than its room is a success.
#
# Software: MPICH 4.2.1 (Debian 13) and 5.0.2 (unstable); Open MPI 5.0.7 and 6.0.0~rc2 of the same releases beside them.
# Input: one process. First an int with tag 7, by MPI_Irecv. Then three ints with tag 5 into room for four, by MPI_Isendrecv and
# by MPI_Sendrecv; MPI_Isendrecv with MPI_PROC_NULL on both sides; with MPICH 4000 ints into room for 2000, by both.
# Expected by the MPI standard (4.0, section 3.10: a nonblocking MPI_Sendrecv; 3.7.3: MPI_Wait returns in status the
# information on the completed operation; 3.11: a receive from MPI_PROC_NULL has the source MPI_PROC_NULL, the tag MPI_ANY_TAG
# and the count 0; 3.2.4: a message longer than its room is an error): both the same, "0,5,3", then "null,any,0", then
# "truncated" twice.
# Seen (source, tag, count of ints):
#
#                                three ints, tag 5       null          4000 into 2000
#                                Isendrecv   Sendrecv    Isendrecv     Isendrecv    Sendrecv
#     Open MPI 5.0.7-1           ok 0,5,3    ok 0,5,3    ok null,any,0 -
#     Open MPI 6.0.0~rc2-2       ok 0,5,3    ok 0,5,3    ok null,any,0 -
#     MPICH 4.3.0+really4.2.1-1  ok 0,7,1    ok 0,5,3    ok untouched  ok 0,5,3     truncated
#     MPICH 5.0.2-2              ok 0,7,1    ok 0,5,3    ok untouched  ok 0,5,3     truncated
#     as stated
#
# The data themselves are right, and nothing is written behind the room.
# Why, as far as the pattern tells: MPICH takes the status out of a request that nothing has filled in. What stands there is
# that of an earlier message: here the one with tag 7, then the one of MPI_Sendrecv. It does not hand on the error of
# the receive inside either.
# What it means: a program that learns by MPI_Isendrecv how much has come, or from whom, needs MPI_Sendrecv with MPICH, or
# MPI_Irecv and MPI_Isend. A test with messages of one size and one tag passes: the earlier status is the same.
#
# Usage: findings/mpi-isendrecv-status.sh. It takes one to two minutes and 120 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-isendrecv-status
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="trixie libopenmpi40 libopenmpi-dev 5.0.7-1
sid libopenmpi40 libopenmpi-dev 6.0.0~rc2-2
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

enum { LARGE = 4000 };

static int from[LARGE] = {1, 2, 3}, to[LARGE];

static void show(int error, MPI_Status *status)
{
    int count, class;

    MPI_Error_class(error, &class);
    MPI_Get_count(status, MPI_INT, &count);
    printf("%s ", class == MPI_SUCCESS ? "ok" : class == MPI_ERR_TRUNCATE ? "truncated" : "error");
    if (class != MPI_SUCCESS) {
        return;
    }
    if (status->MPI_SOURCE == 999) {
        printf("untouched ");
    } else if (status->MPI_SOURCE == MPI_PROC_NULL) {
        printf("null,%s,%d ", status->MPI_TAG == MPI_ANY_TAG ? "any" : "?", count);
    } else {
        printf("%d,%d,%d ", status->MPI_SOURCE, status->MPI_TAG, count);
    }
}

static MPI_Status clean(void)
{
    MPI_Status status;

    memset(&status, 0, sizeof(status));
    status.MPI_SOURCE = status.MPI_TAG = 999;
    return status;
}

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Request request;
    int error;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* A message of one int with tag 7, as it might have been before */
    MPI_Irecv(to, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    MPI_Send(from, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    status = clean();
    MPI_Isendrecv(from, 3, MPI_INT, 0, 5, to, 4, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    error = MPI_Wait(&request, &status);
    show(error, &status);
    status = clean();
    error = MPI_Sendrecv(from, 3, MPI_INT, 0, 5, to, 4, MPI_INT, 0, 5, MPI_COMM_SELF, &status);
    show(error, &status);
    status = clean();
    MPI_Isendrecv(from, 3, MPI_INT, MPI_PROC_NULL, 5, to, 4, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_SELF, &request);
    error = MPI_Wait(&request, &status);
    show(error, &status);

#ifdef MPICH
    status = clean();
    MPI_Isendrecv(from, LARGE, MPI_INT, 0, 5, to, LARGE / 2, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    error = MPI_Wait(&request, &status);
    show(error, &status);
    status = clean();
    error = MPI_Sendrecv(from, LARGE, MPI_INT, 0, 5, to, LARGE / 2, MPI_INT, 0, 5, MPI_COMM_SELF, &status);
    show(error, &status);
#else
    printf("-");
#endif
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
printf '%-27s%-24s%-14s%s\n' "" "three ints, tag 5" null "4000 into 2000" \
    "" "Isendrecv   Sendrecv" Isendrecv "Isendrecv    Sendrecv"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="ok 0,5,3 ok 0,5,3 ok null,any,0 -"
    [ "$library" != libmpich12 ] || name="MPICH $version" stated="ok 0,7,1 ok 0,5,3 ok untouched ok 0,5,3 truncated"
    read -r a b c d e f g h i <"$work/seen"
    [ "$g" = - ] || g="$(printf '%-13s' "$g $h")$i"
    printf '%-27s%-12s%-12s%-14s%s\n' "$name" "$a $b" "$c $d" "$e $f" "$g"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
