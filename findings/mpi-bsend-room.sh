#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH: MPI_Bsend fails in a buffer as large as the standard says, where messages have 1 to 7 bytes more than a multiple of 16.
#
# Software: MPICH 4.0.2 (Debian 12), 4.2.1 (Debian 13) and 5.0.2 (unstable); Open MPI 4.1.4, 5.0.7 and 6.0.0~rc2 beside them.
# Input: for 100 messages of so many bytes a buffer of 100 times what MPI_Pack_size says and MPI_BSEND_OVERHEAD; 100 times
# MPI_Bsend, then the receives. The same for two messages of one byte, and for one.
# Expected by the MPI standard (3.1, section 3.6.1: a message takes at most what MPI_PACK_SIZE says and MPI_BSEND_OVERHEAD
# more, its envelope and pointers included): 100, and 2, and 1.
# Seen: how many went. The others got an error, of the class MPI_ERR_BUFFER.
#
#                                overhead 1   4   7   8   16  17  23  24 bytes     two, one
#     Open MPI 4.1.4-3+b1        128      100 100 100 100 100 100 100 100       2    1
#     Open MPI 5.0.7-1           128      100 100 100 100 100 100 100 100       2    1
#     Open MPI 6.0.0~rc2-2       128      100 100 100 100 100 100 100 100       2    1
#     MPICH 4.0.2-3+b1           96       93  96  99  100 100 94  99  100       1    1
#     MPICH 4.3.0+really4.2.1-1  96       93  96  99  100 100 94  99  100       1    1
#     MPICH 5.0.2-2              96       93  96  99  100 100 94  99  100       1    1
#     as stated
#
# Why, as far as the numbers tell: a message takes 88 bytes and its own size, rounded up to a multiple of 16. MPI_BSEND_OVERHEAD
# is 96: so up to 7 bytes are missing for each, and the last messages find no room.
# What it means: a program that counts its room as the standard says fails with MPICH at its second small message, or
# after dozens of them, and works with Open MPI. Eight bytes more for each message are enough.
#
# Usage: findings/mpi-bsend-room.sh. It takes two to three minutes and 150 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-bsend-room
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
#include <stdlib.h>

enum { MOST = 100 };

/* How many messages of so many bytes MPI_Bsend takes, in room that the standard says suffices for all. */
static int sent(int messages, int bytes)
{
    char message[MOST] = "";
    int packed, room, good = 0;
    void *buffer;

    MPI_Pack_size(bytes, MPI_CHAR, MPI_COMM_SELF, &packed);
    room = messages * (packed + MPI_BSEND_OVERHEAD);
    buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);
    for (int i = 0; i < messages; i++) {
        good += MPI_Bsend(message, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS;
    }
    for (int i = 0; i < good; i++) {
        MPI_Recv(message, MOST, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    return good;
}

int main(int argc, char **argv)
{
    const int bytes[] = {1, 4, 7, 8, 16, 17, 23, 24};

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    printf("%-9d", MPI_BSEND_OVERHEAD);
    for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
        printf("%-4d", sent(100, bytes[i]));
    }
    printf("      %d    %d\n", sent(2, 1), sent(1, 1));
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
printf '%-27s%-9s%-43s%s\n' "" overhead "1   4   7   8   16  17  23  24 bytes" "two, one"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    name="Open MPI $version" stated="128 100 100 100 100 100 100 100 100 2 1"
    [ "$library" != libmpich12 ] || name="MPICH $version" stated="96 93 96 99 100 100 94 99 100 1 1"
    printf '%-27s%s\n' "$name" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
