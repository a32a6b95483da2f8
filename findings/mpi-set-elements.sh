#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH 4: MPI_Status_set_elements multiplies: seven elements that an operation of one's own reports are 21 for the one who waits.
#
# Software: MPICH 4.0.2 (Debian 12), 4.2.1 (Debian 13) and 5.0.2 (unstable); Open MPI 4.1.4, 5.0.7 and 6.0.0~rc2 beside them.
# Input: a type of three ints. A message of seven ints is received by it. A generalized request whose query function says by
# MPI_Status_set_elements that it has got seven elements of it. MPI_Status_set_elements_x with 3000000000 elements of it;
# MPI_Status_set_elements with six ints. What MPI_Get_elements_x and MPI_Get_count then say about the type of three.
# Expected by the MPI standard (3.1, section 12.3: MPI_GET_ELEMENTS then returns that count, and MPI_GET_COUNT a compatible
# one. Elements are of predefined types: that is why elements are set and not the count, as its rationale says): as the
# message has it, seven elements, no whole number of threes.
# Seen (elements, count):
#
#                                message      request      of three               of int
#     Open MPI 4.1.4-3+b1        7,undefined  7,undefined  3000000000,1000000000  6,2
#     Open MPI 5.0.7-1           7,undefined  7,undefined  3000000000,1000000000  6,2
#     Open MPI 6.0.0~rc2-2       7,undefined  7,undefined  3000000000,1000000000  6,2
#     MPICH 4.0.2-3+b1           7,undefined  21,7         9000000000,undefined   6,2
#     MPICH 4.3.0+really4.2.1-1  7,undefined  21,7         9000000000,undefined   6,2
#     MPICH 5.0.2-2              7,undefined  7,undefined  3000000000,1000000000  6,2
#     as stated
#
# Why, as far as the numbers tell: MPICH 4 takes the number for one of whole types, three ints each.
# What it means: a library that puts its own operations behind MPI requests makes its caller believe in more data than have
# come, unless it counts in predefined types, as in the last column: that is right everywhere.
#
# Usage: findings/mpi-set-elements.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-set-elements
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

static MPI_Datatype triple;

/* The operation behind a generalized request: it has got seven ints into a receive of triples. */
static int query(void *nothing, MPI_Status *status)
{
    MPI_Status_set_elements(status, triple, 7);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *nothing)
{
    return MPI_SUCCESS;
}

static int cancel(void *nothing, int done)
{
    return MPI_SUCCESS;
}

/* What the status says: elements and whole triples. */
static void show(const MPI_Status *status)
{
    MPI_Count elements;
    int count;

    MPI_Get_elements_x(status, triple, &elements);
    MPI_Get_count(status, triple, &count);
    printf("%lld,", (long long) elements);
    printf(count == MPI_UNDEFINED ? "undefined " : "%d ", count);
}

int main(int argc, char **argv)
{
    int from[7] = {0}, to[9];
    MPI_Request request;
    MPI_Status status;

    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    MPI_Sendrecv(from, 7, MPI_INT, 0, 1, to, 3, triple, 0, 1, MPI_COMM_SELF, &status);
    show(&status);
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    show(&status);
    MPI_Status_set_elements_x(&status, triple, 3000000000);
    show(&status);
    MPI_Status_set_elements(&status, MPI_INT, 6);
    show(&status);
    printf("\n");
    MPI_Type_free(&triple);
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
printf '%-27s%-13s%-13s%-23s%s\n' "" message request "of three" "of int"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="7,undefined 7,undefined 3000000000,1000000000 6,2"
    [ "$library" != libmpich12 ] || name="MPICH $version"
    [ "$library" != libmpich12 ] || [ "$suite" = sid ] || stated="7,undefined 21,7 9000000000,undefined 6,2"
    read -r a b c d <"$work/seen"
    printf '%-27s%-13s%-13s%-23s%s\n' "$name" "$a" "$b" "$c" "$d"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
