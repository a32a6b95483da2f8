#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Three releases of Open MPI write a long double in "external32" in three ways; one of them is right, and it is not the last.
#
# Software: Open MPI 4.1.4 (Debian 12), 5.0.7 (Debian 13) and 6.0.0~rc2 (unstable), MPICH 4.0.2 and 5.0.2 beside them,
# on x86-64, where a long double has 80 bits in 16 bytes.
# Input: 1.5L by MPI_Pack_external, MPI_LONG_DOUBLE; the result by MPI_Unpack_external; and IEEE's 1.5 in binary128.
# Expected by the MPI standard (MPI 3.1, section 13.5.2: MPI_LONG_DOUBLE has 16 bytes there, IEEE's "double extended" of 15
# bits of exponent and 112 of fraction, big-endian, on every machine): 3fff8000 and zeros, and 1.5 twice.
# Seen: no error anywhere, and these bytes:
#
#                              packed                                 back           from binary128
#     Open MPI 4.1.4-3+b1      00006000 00000080 00000000 00000000    1.26079e-4932  1.5
#     Open MPI 5.0.7-1         3fff8000 00000000 00000000 00000000    1.5            1.5
#     Open MPI 6.0.0~rc2-2     00000000 00003fff c0000000 00000000    1.5            0
#     MPICH 4.0.2-3+b1         3fff8000 00000000 00000000 00000000    1.5            1.5
#     MPICH 5.0.2-2            3fff8000 00000000 00000000 00000000    1.5            1.5
#     as stated
#
# 4.1.4 loses the value (Open MPI's issue 8918). 5.0.7 converts. 6.0.0~rc2 only turns the 16 bytes of memory round, the six
# that the processor does not use first: as it reads its own bytes back, a test by a round trip passes. But it reads 0
# out of what 5.0.7 and MPICH wrote, and they read something tiny out of its bytes.
# For those who go from 5.0 to 6.0: files and packed messages with long doubles in external32 are lost, without an error.
#
# Usage: findings/mpi-external32-long-double.sh. It takes about a minute and 120 MB for packages, unpacked in a temporary
# directory. Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-external32-long-double
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
    static const unsigned char binary128[16] = {0x3f, 0xff, 0x80}; /* 1.5 */
    /* The same in memory, the six bytes that are not used zero */
    static const unsigned char value[sizeof(long double)] = {[7] = 0xc0, [8] = 0xff, [9] = 0x3f};
    unsigned char packed[16];
    long double foreign = 0, own = 0;
    MPI_Aint size = 0;

    MPI_Init(&argc, &argv);
    MPI_Pack_external("external32", value, 1, MPI_LONG_DOUBLE, packed, sizeof(packed), &size);
    size = 0;
    MPI_Unpack_external("external32", packed, sizeof(packed), &size, &own, 1, MPI_LONG_DOUBLE);
    size = 0;
    MPI_Unpack_external("external32", binary128, sizeof(binary128), &size, &foreign, 1, MPI_LONG_DOUBLE);
    for (int i = 0; i < 16; i++) {
        printf("%02x%s", packed[i], i % 4 == 3 ? " " : "");
    }
    printf("   %-15Lg%Lg\n", own, foreign);
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
printf '%-25s%-39s%-15s%s\n' "" packed back "from binary128"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    case "$library $suite" in
    "libopenmpi3 "*) name="Open MPI $version" stated="00006000 00000080 00000000 00000000 1.26079e-4932 1.5" ;;
    "libopenmpi40 sid") name="Open MPI $version" stated="00000000 00003fff c0000000 00000000 1.5 0" ;;
    libopenmpi*) name="Open MPI $version" stated="3fff8000 00000000 00000000 00000000 1.5 1.5" ;;
    *) name="MPICH $version" stated="3fff8000 00000000 00000000 00000000 1.5 1.5" ;;
    esac
    printf '%-25s%s\n' "$name" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
