#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Open MPI cuts a message that a process sends to itself, and reports success, if the receive is posted first.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable), with pml/ob1 and btl/self,
# which it chooses itself where no special network is; MPICH 4.0.2 and 5.0.2 beside them.
# Input: one process sends itself 100 bytes and receives at most 50, with MPI_ERRORS_RETURN: by MPI_Sendrecv; by MPI_Irecv
# and MPI_Send; the same with MPI_Ssend; by MPI_Isend and MPI_Recv. Then MPI_Sendrecv with all sizes up to 5000, into half.
# Expected by the MPI standard (3.1, section 3.2.4: an overflow error if not all data fit) and by Open MPI's MPI_Recv(3)
# ("An MPI_ERR_TRUNCATE is returned upon the overflow condition"): an error of class MPI_ERR_TRUNCATE, in whatever order.
# Between two processes of Open MPI it is so, and with MPICH.
# Seen (what MPI_Get_count says behind the class of the error): success where the receive was first. The largest message
# that is cut without an error is at the end.
#
#                                sendrecv     irecv, send  irecv, ssend isend, recv  silent up to
#     Open MPI 4.1.4-3+b1        success 50   success 50   truncate 100 truncate 100 968
#     Open MPI 5.0.7-1           success 50   success 50   truncate 100 truncate 100 944
#     Open MPI 6.0.0~rc2-2       success 50   success 50   truncate 100 truncate 100 944
#     MPICH 4.0.2-3+b1           truncate 50  truncate 50  truncate 50  truncate 50  -
#     MPICH 5.0.2-2              truncate 50  truncate 50  truncate 50  truncate 50  -
#     as stated
#
# Why (source of 5.0.7): btl/self hands a message over in two segments, header and data. pml/ob1, if a receive waits for it,
# takes for the message's length what the first segment holds and one byte for each further one, and compares that one with
# the receive. What does not fit is then left out. Messages of a type with holes, and larger ones, go another way.
# For users of rbuf: messages to oneself do not go through it. A program that is right may meet it where sizes differ
# by mistake: with one process, or at the edge of a torus, it goes on with old bytes; with more it ends with an error.
#
# Usage: findings/mpi-self-truncation.sh. It takes two to three minutes and 120 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-self-truncation
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

enum { MOST = 5000 };

static char from[MOST], to[MOST];

/* Posts a receive of half the size, then sends. */
static int receive_first(int synchronous, int size, MPI_Status *status)
{
    MPI_Request request;

    MPI_Irecv(to, size / 2, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    if (synchronous) {
        MPI_Ssend(from, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    } else {
        MPI_Send(from, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    return MPI_Wait(&request, status);
}

static int send_first(int size, MPI_Status *status)
{
    MPI_Request request;
    int result;

    MPI_Isend(from, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    result = MPI_Recv(to, size / 2, MPI_CHAR, 0, 1, MPI_COMM_WORLD, status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return result;
}

static int both(int size, MPI_Status *status)
{
    return MPI_Sendrecv(from, size, MPI_CHAR, 0, 1, to, size / 2, MPI_CHAR, 0, 1, MPI_COMM_WORLD, status);
}

static void show(int result, const MPI_Status *status)
{
    char text[40];
    int class, count;

    MPI_Error_class(result, &class);
    MPI_Get_count(status, MPI_CHAR, &count);
    snprintf(text, sizeof(text), "%s %d", class == MPI_SUCCESS ? "success" : class == MPI_ERR_TRUNCATE ? "truncate" : "other",
             count);
    printf("%-13s", text);
}

int main(int argc, char **argv)
{
    MPI_Status status;
    int most = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    show(both(100, &status), &status);
    show(receive_first(0, 100, &status), &status);
    show(receive_first(1, 100, &status), &status);
    show(send_first(100, &status), &status);
    for (int size = 2; size <= MOST; size++) {
        if (both(size, &status) == MPI_SUCCESS) {
            most = size;
        }
    }
    if (most > 0) {
        printf("%d\n", most);
    } else {
        printf("-\n");
    }
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
printf '%-27s%-13s%-13s%-13s%-13s%s\n' "" sendrecv "irecv, send" "irecv, ssend" "isend, recv" "silent up to"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="success 50 success 50 truncate 100 truncate 100 944"
    [ "$suite" != bookworm ] || stated=${stated/944/968}
    [ "$library" != libmpich12 ] || name="MPICH $version" stated="truncate 50 truncate 50 truncate 50 truncate 50 -"
    printf '%-27s%s\n' "$name" "$(sed 's/ *$//' "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
