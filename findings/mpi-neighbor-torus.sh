#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# On a torus with a dimension of one process MPI_Ineighbor_alltoall mixes up left and right, or even dimensions.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable); MPICH 4.0.2, 4.2.1 and
# 5.0.2 of the same releases.
# Input: one process that is its own neighbour four times: on a Cartesian communicator with two periodic dimensions of one
# process, and on a distributed graph. It sends "l", "r" (left and right, dimension 0), "d", "u" (down and up, dimension 1)
# by MPI_Neighbor_alltoall, then by its nonblocking form, then both of MPI_Neighbor_alltoallv.
# Expected by the MPI standard (4.1, section 8.6 and its example 8.10, that 4.0 lists in Annex B.1.1 as an erratum of 3.1):
# on the Cartesian communicator what goes left comes from the right: rlud, in all forms. On a graph the edges between two
# processes match in order: lrdu.
# Seen: right with Open MPI 6.0.0~rc2 and MPICH 5.0.2 only. No error elsewhere.
#
#                                Cartesian             graph
#                                a2a  ia2a a2av ia2av  the same
#     Open MPI 4.1.4-3+b1        rlud lrdu rlud lrdu   lrdu lrdu lrdu lrdu
#     Open MPI 5.0.7-1           rlud lrdu rlud lrdu   lrdu lrdu lrdu lrdu
#     Open MPI 6.0.0~rc2-2       rlud rlud rlud rlud   lrdu lrdu lrdu lrdu
#     MPICH 4.0.2-3+b1           udrl udrl lrdu lrdu   udrl udrl lrdu lrdu
#     MPICH 4.3.0+really4.2.1-1  udrl udrl udrl udrl   udrl udrl udrl udrl
#     MPICH 5.0.2-2              rlud rlud rlud rlud   lrdu lrdu lrdu lrdu
#     as stated
#
# Why, as far as the pattern tells: all messages between two processes have one tag, and match in the order in which they
# are posted. Open MPI's nonblocking form posts receives in the order of its sends; its blocking form does not. MPICH 4
# posts receives from the last one to the first one: right for one such dimension, not for two, nor for a graph. Known
# as issues 14430 of Open MPI and 2194 of MPICH.
# What it means: a halo exchange that is right with three and more processes in each direction swaps its edges where a
# dimension has one process (with Open MPI two as well), such as in a small test. No error tells of it, over any transport.
# With Open MPI, MPI_Neighbor_alltoall is right.
#
# Usage: findings/mpi-neighbor-torus.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-neighbor-torus
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

/* What has come by each form. */
static void exchange(MPI_Comm comm)
{
    const int one[4] = {1, 1, 1, 1}, place[4] = {0, 1, 2, 3};
    const char sent[] = "lrdu";
    char got[4][5];
    MPI_Request request;

    memset(got, 0, sizeof(got));
    MPI_Neighbor_alltoall(sent, 1, MPI_CHAR, got[0], 1, MPI_CHAR, comm);
    MPI_Ineighbor_alltoall(sent, 1, MPI_CHAR, got[1], 1, MPI_CHAR, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoallv(sent, one, place, MPI_CHAR, got[2], one, place, MPI_CHAR, comm);
    MPI_Ineighbor_alltoallv(sent, one, place, MPI_CHAR, got[3], one, place, MPI_CHAR, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%s %s %s %-7s", got[0], got[1], got[2], got[3]);
}

int main(int argc, char **argv)
{
    const int dimensions[2] = {1, 1}, periodic[2] = {1, 1}, self[4] = {0, 0, 0, 0}, weight[4] = {1, 1, 1, 1};
    MPI_Comm cartesian, graph;

    MPI_Init(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periodic, 0, &cartesian);
    exchange(cartesian);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, self, weight, 4, self, weight, MPI_INFO_NULL, 0, &graph);
    exchange(graph);
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
printf '%-27s%-22s%s\n' "" Cartesian graph "" "a2a  ia2a a2av ia2av" "the same"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version"
    [ "$library" != libmpich12 ] || name="MPICH $version"
    case $suite,$library in
    sid,*) stated="rlud rlud rlud rlud lrdu lrdu lrdu lrdu" ;;
    *,libopenmpi*) stated="rlud lrdu rlud lrdu lrdu lrdu lrdu lrdu" ;;
    bookworm,*) stated="udrl udrl lrdu lrdu udrl udrl lrdu lrdu" ;;
    *) stated="udrl udrl udrl udrl udrl udrl udrl udrl" ;;
    esac
    printf '%-27s%s\n' "$name" "$(sed 's/ *$//' "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
