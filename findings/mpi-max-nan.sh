#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# A NaN in MPI_MAX: the ranks get different results of one MPI_Allreduce (MPICH), or the elements of one array do (Open MPI).
#
# Software: MPICH 4.0.2 (Debian 12) and 5.0.2 (unstable), each with its mpiexec; Open MPI 4.1.4 (Debian 12), 5.0.7
# (Debian 13) and 6.0.0~rc2 (unstable), on a processor with AVX.
# Input: MPI_Reduce_local with MPI_MAX over nine times NaN and 1, then over nine times 1 and NaN. MPI_Allreduce with MPI_MAX
# of one double over two ranks, NaN of rank 0 and 1 of rank 1.
# Expected: the MPI standard does not say which one is larger. It says that the result of MPI_Allreduce appears in all
# members of the group (MPI 3.1, section 5.9.6), and that predefined operations apply to each element alike (5.9.1). So:
# both ranks the same, and nine times the same.
# Seen ("N" is NaN): neither.
#
#                              NaN, 1    1, NaN       ranks 0 and 1 of MPI_Allreduce
#     Open MPI 4.1.4-3+b1      11111111N NNNNNNNN1    -
#     Open MPI 5.0.7-1         11111111N NNNNNNNN1    -
#     Open MPI 6.0.0~rc2-2     11111111N NNNNNNNN1    -
#     MPICH 4.0.2-3+b1         NNNNNNNNN 111111111    1 N
#     MPICH 5.0.2-2            NNNNNNNNN 111111111    1 N
#     as stated
#
# Why, as far as the pattern tells: a comparison with NaN is false, so one operand always wins. In MPICH that is the one that
# came from the other rank. In Open MPI's op/avx the processor's maximum of whole vectors returns the second operand,
# and the comparison in C for what is left returns the first one.
# What it means: a program that computes the largest residual and leaves its loop by it may leave it on some ranks only;
# the others wait for ever, whatever the transport. Reduce isnan() as well, as an integer.
#
# Usage: findings/mpi-max-nan.sh. It takes about a minute and 120 MB for packages, unpacked in a temporary directory.
# Exit status 0: as stated; 1: it has changed; 2: it could not be run.
set -u

me=mpi-max-nan
# Suite, library, headers, version. Where a mirror has that version no more, what the release has is taken.
libraries="bookworm libopenmpi3 libopenmpi-dev 4.1.4-3+b1
trixie libopenmpi40 libopenmpi-dev 5.0.7-1
sid libopenmpi40 libopenmpi-dev 6.0.0~rc2-2
bookworm mpich libmpich-dev 4.0.2-3+b1
sid mpich libmpich-dev 5.0.2-2"

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

# Runs the program with the library in $root, on two ranks where that has a launcher: what it says is in $work/seen.
run() {
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu include shared=() loader each start=()
    for each in mpich.so.12 mpi.so.40 open_mpi.so.40; do
        [ ! -e "${libraries%:*}/lib$each" ] || shared+=("${libraries%:*}/lib$each")
    done
    include=$(find "$root" -name mpi.h | grep -E '/(openmpi/include|mpich|mpich/include)/mpi.h$' | head -n 1)
    loader=$(find "$root" -name ld-linux-x86-64.so.2 -type f | head -n 1)
    write_program | gcc -std=gnu11 -O2 -Wall -x c - -x none -o "$root/program" -I"$(dirname "$include")" -Wl,--no-as-needed \
        "${shared[@]}" -Wl,--allow-shlib-undefined >"$work/log" 2>&1 ||
        give_up "the program cannot be compiled: $(tail -n 1 "$work/log")"
    mkdir -p "$root/bin"
    for each in "$root/usr/bin/hydra_pmi_proxy" "$root/program"; do # these run with the loader of their release
        printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$each" >"$root/bin/${each##*/}"
        chmod 755 "$root/bin/${each##*/}"
    done
    [ ! -e "$root/usr/bin/mpiexec.hydra" ] || start=("$loader" --argv0 "$root/bin/mpiexec.hydra" --library-path "$libraries"
        "$root/usr/bin/mpiexec.hydra" -launcher fork -n 2)
    (cd "$work" && env -i PATH="$PATH" HOME="$work" TMPDIR="$work" OPAL_PREFIX="$root/usr" PMIX_PREFIX="$root/usr" \
        OMPI_MCA_btl=self OMPI_MCA_pml=ob1 OMPI_MCA_ess_singleton_isolated=1 timeout -k 5 60 ${start[@]+"${start[@]}"} \
        "$root/bin/program") </dev/null >"$work/seen" 2>"$work/log" ||
        give_up "the program failed with $version: $(tail -n 1 "$work/log")"
}

write_program() {
    cat <<'END'
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 9 }; /* a vector of the processor and one */

/* The larger ones of nine times the same two numbers */
static void show_local(double first, double second)
{
    double in[COUNT], result[COUNT];

    for (int i = 0; i < COUNT; i++) {
        in[i] = first;
        result[i] = second;
    }
    MPI_Reduce_local(in, result, COUNT, MPI_DOUBLE, MPI_MAX);
    for (int i = 0; i < COUNT; i++) {
        putchar(isnan(result[i]) ? 'N' : '1');
    }
    putchar(' ');
}

int main(int argc, char **argv)
{
    double mine, largest, all[2] = {0, 0};
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = rank == 0 ? NAN : 1;
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Gather(&largest, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        show_local(NAN, 1);
        show_local(1, NAN);
        printf(size == 2 ? "   %c %c\n" : "   -\n", isnan(all[0]) ? 'N' : '1', isnan(all[1]) ? 'N' : '1');
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
grep -q "^flags.* avx " /proc/cpuinfo || give_up "the processor has no AVX"
printf '%-25s%-10s%-13s%s\n' "" "NaN, 1" "1, NaN" "ranks 0 and 1 of MPI_Allreduce"
while read -r suite library headers version; do
    unpack "$suite" "$library" "$headers" "$version"
    run
    case "$library $suite" in
    libopenmpi*) name="Open MPI $version" stated="11111111N NNNNNNNN1 -" ;;
    *) name="MPICH $version" stated="NNNNNNNNN 111111111 1 N" ;;
    esac
    printf '%-25s%s\n' "$name" "$(cat "$work/seen")"
    [ "$(xargs <"$work/seen")" = "$stated" ] || changed+="$name. "
done <<<"$libraries"
if [ -n "$changed" ]; then
    echo "changed: $changed"
    exit 1
fi
echo "as stated"
